import AddressIntelligence
import RequestPath
import Settings
import Testing
import Vocabulary

@Suite("The judge's first step: where a request goes")
struct RouteStepTests {
    private static let routes = [
        route("/**", .public), route("/hook", .public, methods: ["POST"]), route("/admin/**", .required),
        route("/small/**", .public) { $0.maxBody = 10 },
        route("/open/**", .required) {
            $0.cors = CORSSettings()
            $0.cors?.origins = ["https://b.example"]
            $0.cors?.methods = ["PUT"]
        },
    ]

    @Test("a host that the shown certificate does not cover is refused with 421")
    func misdirected() throws {
        let bench = try JudgeBench(Self.routes)
        for (path, host) in [
            ("/x", "app.example.com"), ("/.sallyport/login", "app.example.com"), ("/x", "other.example.com"),
        ] {
            let request = JudgedRequest(bench, "GET", path, host: host)
            request.misdirect()
            #expect(try request.begin() == .answer(421, .requestMisdirected))
        }
    }

    @Test(
        "RFC 8470: a request that may be a replay is asked for again where a replay would do harm, whoever says so",
        arguments: [
            ("GET", "/x", "1", .permitted(route: "/**", subject: nil)),
            ("HEAD", "/x", "1", .permitted(route: "/**", subject: nil)),
            ("POST", "/x", "1", .answer(425, .requestEarlyData)),
            ("BREW", "/x", "1", .answer(425, .requestEarlyData)),
            // Any value counts as 1.
            ("DELETE", "/x", "0", .answer(425, .requestEarlyData)),
            ("PUT", "/x", "", .answer(425, .requestEarlyData)),
            ("GET", "/x?session_transfer_token=abc", "1", .answer(425, .requestEarlyData)),
            ("GET", "/.sallyport/login", "1", .answer(425, .requestEarlyData)),
        ] as [(String, String, String, JudgedRequest.Told)]
    )
    func early(method: String, target: String, value: String, expected: JudgedRequest.Told) throws {
        let bench = try JudgeBench([route("/**", .public) { $0.handoff = true }])
        for name in ["Early-Data", "early-data"] {
            #expect(try JudgedRequest(bench, method, target, ["\(name): \(value)"]).begin() == expected)
        }
        let upgrade = [
            "Early-Data: 1", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ]
        #expect(try JudgedRequest(bench, "GET", "/x", upgrade).begin() == .answer(425, .requestEarlyData))
    }

    @Test(
        "Host, path and method choose a route, one of the gateway's endpoints, or a refusal",
        arguments: [
            ("GET", "app.example.com", "/x", .permitted(route: "/**", subject: nil)),
            ("GET", "APP.example.com.:443", "/x", .permitted(route: "/**", subject: nil)),
            ("GET", "other.example.com", "/x", .answer(404, .routeUnknownHost)),
            ("POST", "app.example.com", "/hook", .permitted(route: "/hook", subject: nil)),
            ("GET", "app.example.com", "/hook", .answer(405, .routeMethodNotAllowed)),
            ("BREW", "app.example.com", "/x", .permitted(route: "/**", subject: nil)),
            ("hook", "app.example.com", "/hook", .answer(405, .routeMethodNotAllowed)),
            ("OPTIONS", "app.example.com", "*", .answer(204, nil)),
            ("GET", "app.example.com", "/admin/x", .answer(401, .credentialMissing)),
            ("GET", "app.example.com", "/%61dmin/x", .answer(400, .pathAmbiguous)),
            ("GET", "app.example.com", "/Admin/x", .answer(400, .pathAmbiguous)),
            ("GET", "app.example.com", "/x%2Fy", .answer(400, .pathEncodedSlash)),
            ("GET", "app.example.com", "/x/%2e%2e/admin", .answer(400, .pathDotSegment)),
            // The gateway's own paths belong to no route, whether or not there is an endpoint.
            ("GET", "app.example.com", "/.sallyport/login", .collect("/.sallyport/login")),
            ("PUT", "app.example.com", "/.sallyport/login", .answer(405, .routeMethodNotAllowed)),
            ("GET", "app.example.com", "/.sallyport/%6Cogin", .answer(400, .pathAmbiguous)),
            ("GET", "app.example.com", "/.sallyport/other", .answer(404, .routeNotFound)),
        ] as [(String, String, String, JudgedRequest.Told)]
    )
    func destination(method: String, host: String, target: String, expected: JudgedRequest.Told) throws {
        let request = JudgedRequest(try JudgeBench(Self.routes), method, target, host: host)
        #expect(try request.begin() == expected)
    }

    @Test(
        "CVE-2026-40912: a path that would reach the app as another one than was judged is refused",
        arguments: [
            ("/app/x", nil), ("/app", nil), ("/app/", nil), ("/app/x;a=b//c?d", nil), ("/app/x%20y", nil),
            ("/%61pp/x", .pathAmbiguous), ("/a%70p", .pathAmbiguous), ("/app//x", .pathAmbiguous),
            ("//app/x", .pathAmbiguous),
            ("/app;a=b/x", .pathAmbiguous), ("/app;a", .pathAmbiguous), ("/app/../app/x", .pathDotSegment),
            ("/app/%2e%2e/x", .pathDotSegment), ("/app/%2Fx", .pathAmbiguous),
        ] as [(String, Reason?)]
    )
    func prefixed(target: String, reason: Reason?) throws {
        let bench = try JudgeBench([
            route("/app/**", .public) { $0.stripPrefix = "/app" }, route("/**", .public) { $0.stripPrefix = nil },
        ])
        let told = try JudgedRequest(bench, "GET", target).begin()
        #expect(told == (reason.map { .answer(400, $0) } ?? .permitted(route: "/app/**", subject: nil)))
    }

    @Test(
        "A body that is too large is refused by its declared length, before any other check",
        arguments: [
            ("/small/x", 10, .permitted(route: "/small/**", subject: nil)),
            ("/small/x", 11, .answer(413, .requestBodyTooLarge)),
            ("/x", 1000, .permitted(route: "/**", subject: nil)), ("/x", 1001, .answer(413, .requestBodyTooLarge)),
            ("/admin/x", 1001, .answer(413, .requestBodyTooLarge)),
            ("/.sallyport/login", 100, .collect("/.sallyport/login")),
            ("/.sallyport/login", 101, .answer(413, .requestBodyTooLarge)),
        ] as [(String, Int, JudgedRequest.Told)]
    )
    func bodies(target: String, length: Int, expected: JudgedRequest.Told) throws {
        let routes = Self.routes.map { route in
            var route = route
            route.maxBody = route.maxBody ?? 1000
            return route
        }
        let bench = try JudgeBench(routes)
        let request = JudgedRequest(bench, "POST", target, ["Content-Length: \(length)"])
        #expect(try request.begin() == expected)
    }

    @Test(
        "A preflight is answered without credentials if the route has CORS settings",
        arguments: [
            ("/open/x", "https://b.example", .answer(204, nil)),
            ("/open/x", "https://evil.example", .answer(403, .requestCrossSite)),
            ("/x", "https://b.example", .permitted(route: "/**", subject: nil)),
        ] as [(String, String, JudgedRequest.Told)]
    )
    func preflight(target: String, origin: String, expected: JudgedRequest.Told) throws {
        let fields = ["Origin: \(origin)", "Access-Control-Request-Method: PUT"]
        let request = JudgedRequest(try JudgeBench(Self.routes), "OPTIONS", target, fields)
        #expect(try request.begin() == expected)
        let isAllowed = expected == .answer(204, nil)
        #expect(request.values("Access-Control-Allow-Origin") == (isAllowed ? [origin] : []))
    }

    @Test("A refusal can be read by scripts of the origins that the route names, and by no others")
    func readableRefusal() throws {
        for (origin, expected) in [("https://b.example", ["https://b.example"]), ("https://evil.example", [String]())] {
            let request = JudgedRequest(try JudgeBench(Self.routes), "GET", "/open/x", ["Origin: \(origin)"])
            #expect(try request.begin() == .answer(401, .credentialMissing))
            #expect(request.values("Access-Control-Allow-Origin") == expected)
        }
    }

    @Test("Only a trusted proxy can set the client's address and the request's id")
    func proxies() throws {
        let block = try #require(CIDRBlock("192.0.2.0/24"))
        let trusting = try JudgeBench(Self.routes) { $0.trustedProxies = [block] }
        let fields = ["X-Forwarded-For: 203.0.113.9", "X-Request-Id: abc-1"]
        let told = JudgedRequest(trusting, "GET", "/x", fields)
        _ = try told.begin()
        #expect(told.judge.findings.clientAddress == IPAddress("203.0.113.9"))
        #expect(told.judge.findings.requestID.text == "abc-1" && told.judge.findings.events.isEmpty)
        for id in ["", String(repeating: "a", count: 65), "a b", "a\"b"] {
            let odd = JudgedRequest(trusting, "GET", "/x", ["X-Request-Id: \(id)"])
            _ = try odd.begin()
            #expect(odd.judge.findings.requestID.given == nil, "\(id)")
        }
        let stray = JudgedRequest(try JudgeBench(Self.routes), "GET", "/x", fields)
        _ = try stray.begin()
        #expect(stray.judge.findings.clientAddress == JudgeBench.peer)
        #expect(stray.judge.findings.requestID.given == nil)
        guard case .strayForwarding("X-Forwarded-For")? = stray.judge.findings.events.first else {
            Issue.record("the stray field is noted: \(stray.judge.findings.events)")
            return
        }
    }
}
