import Endpoints
import RequestPath
import Settings
import Testing
import Vocabulary

@Suite("What proxies are answered that cannot do as the gateway does")
struct CheckAnswerTests {
    private static let origin = "https://app.example.com"
    private static let login = "\(Self.origin)/.sallyport/login"

    @Test(
        "A page with a transfer token that its route does not use is opened again without it",
        arguments: [
            ("/open/x?session_transfer_token=a", "/open/x"),
            ("/open/x?a=1&session_transfer_token=a&b=%2F", "/open/x?a=1&b=%2F"),
            ("/open/x?session%5Ftransfer_token=a&b", "/open/x?b"), ("/open/x?session_transfer_token", "/open/x"),
            ("/open/x?session_transfer_token=a&session_transfer_token=b&c=d", "/open/x?c=d"),
            ("/maybe/x?session_transfer_token=", "/maybe/x"), ("/app/x?session_transfer_token=a", "/app/x"),
        ]
    )
    func tokens(target: String, page: String) throws {
        let bench = try CheckBench()
        let fields = ["X-Session-Token: \(try bench.token())"]
        for (method, sent) in [("GET", CheckTests.navigation), ("GET", []), ("HEAD", [])] {
            for verdict in [
                try bench.forwardAuth(method, target, fields + sent), try bench.extAuthz(method, target, fields + sent),
            ] {
                #expect(verdict.status == 303 && verdict["location"] == [Self.origin + page], "\(verdict.text)")
                #expect(verdict["cache-control"] == ["no-store"] && verdict["x-auth-subject"].isEmpty)
            }
            let nginx = try bench.authRequest(method, Self.origin + target, fields + sent)
            #expect(nginx.status == 401 && nginx["location"] == [Self.origin + page], "\(nginx.text)")
            #expect(nginx["www-authenticate"].isEmpty)
        }
        // A method that has a body is repeated as it is, where the proxy passes that on.
        for verdict in [try bench.forwardAuth("POST", target, fields), try bench.extAuthz("PUT", target, fields)] {
            #expect(verdict.status == 307 && verdict["location"] == [Self.origin + page], "\(verdict.text)")
        }
        for verdict in [
            try bench.authRequest("POST", Self.origin + target, fields),
            try bench.forwardAuth("GET", target, fields + ["Sec-Fetch-Mode: websocket"]),
        ] {
            #expect(verdict.status == 403 && verdict.reason == Reason.handoffNotNavigation.rawValue, "\(verdict.text)")
        }
    }

    @Test("Where the app takes tokens itself, the URL stays as it is")
    func left() throws {
        let bench = try CheckBench { settings in
            for index in settings.hosts[0].routes.indices { settings.hosts[0].routes[index].passesHandoffToApp = true }
        }
        #expect(try bench.forwardAuth("GET", "/open/x?session_transfer_token=a", CheckTests.navigation).status == 200)
        let referrer = ["Referer: \(Self.origin)/open/y?session_transfer_token=a"]
        #expect(try bench.extAuthz("GET", "/open/x", referrer)["x-envoy-auth-headers-to-remove"].isEmpty)
    }

    @Test("Envoy is told to remove a Referer with a transfer token, in every spelling")
    func referrer() throws {
        let bench = try CheckBench()
        for query in [
            "session_transfer_token=a", "x=1&session%5Ftransfer_token=a", "u=%2F%3Fsession_transfer_token%3Da",
        ] {
            let verdict = try bench.extAuthz("GET", "/open/x", ["Referer: \(Self.origin)/open/y?\(query)"])
            #expect(verdict["x-envoy-auth-headers-to-remove"] == ["referer"], "\(verdict.text)")
        }
        let plain = try bench.extAuthz("GET", "/open/x", ["Referer: \(Self.origin)/open/y?a=1"])
        #expect(plain["x-envoy-auth-headers-to-remove"].isEmpty, "\(plain.text)")
    }

    @Test("At oauth2-proxy's path, whose proxies pass no redirect on, such a page leads to the sign-in")
    func oauth2Proxy() throws {
        let bench = try CheckBench { $0.oauth2ProxyPaths = true }
        let verdict = try bench.ask(
            [
                "GET /oauth2/auth HTTP/1.0", "Host: app.example.com", "X-Real-IP: 198.51.100.7",
                "X-Forwarded-Uri: /open/x?session_transfer_token=a",
            ] + CheckTests.navigation
        )
        #expect(verdict.status == 401 && verdict["location"].isEmpty, "\(verdict.text)")
    }

    @Test("A refusal's document has the status and the title of the answer, in each dialect (RFC 9457 3.1.2)")
    func documents() throws {
        let bench = try CheckBench {
            $0.oauth2ProxyPaths = true
            $0.provider = FixedUsersSettings([])
        }
        let token = ["X-Session-Token: \(try bench.token())"]
        let requests: [(method: String, target: String, fields: [String])] = [
            ("GET", "/app/x", []), ("GET", "/app/%2e%2e/x", []), ("GET", "/none", []), ("GET", "/strict/x", token),
            ("GET", "/app/x", ["X-Session-Token: a", "Authorization: Bearer b"]), ("GET", "/app/x", ["Early-Data: 1"]),
            ("POST", "/open/x?session_transfer_token=a", []), ("G(T", "/open/x", []), ("TRACE", "/open/x", []),
        ]
        var statuses: Set<Int> = []
        for (method, target, fields) in requests {
            for verdict in [
                try bench.forwardAuth(method, target, fields),
                try bench.authRequest(method, Self.origin + target, fields),
                try bench.authRequest(method, "https://other.example.com" + target, fields),
                try bench.ask(
                    [
                        "GET /oauth2/auth HTTP/1.0", "Host: app.example.com", "X-Forwarded-Uri: \(target)",
                        "X-Real-IP: 198.51.100.7",
                    ] + fields
                ),
                try bench.ask(
                    ["GET /oauth2/auth HTTP/1.0", "Host: app.example.com", "X-Forwarded-Uri: \(target)"] + fields
                ),
                try bench.ask(["GET /authz/auth-request HTTP/1.1", "Host: app.example.com"] + fields),
            ] where verdict.text.contains("application/problem+json") {
                let status = try #require(
                    verdict.text.firstMatch(of: /"title":"([^"]+)","status":([0-9]+),"reason":/),
                    "\(verdict.text)"
                )
                #expect(status.2 == "\(verdict.status)", "\(verdict.text)")
                #expect(String(status.1) == StatusText.phrase(verdict.status), "\(verdict.text)")
                #expect(verdict.text.contains("\"reason\":\"\(verdict.reason ?? "")\""), "\(verdict.text)")
                let end = try #require(verdict.text.firstRange(of: "\r\n\r\n")).upperBound
                #expect(verdict["content-length"] == ["\(verdict.text[end...].utf8.count)"], "\(verdict.text)")
                statuses.insert(verdict.status)
            }
        }
        #expect(statuses.isSuperset(of: [400, 401, 403, 404]), "\(statuses)")
    }

    @Test("In Authelia's place, each 401 for nginx leads to the sign-in, whoever asks and why")
    func authelia() throws {
        let bench = try CheckBench {
            $0.identity.preset = .authelia
            $0.provider = FixedUsersSettings([])
        }
        func ask(_ folder: String, _ method: String, _ fields: [String]) throws -> CheckBench.Verdict {
            try bench.ask(
                [
                    "GET \(folder)/auth-request HTTP/1.1", "Host: gateway:9092", "X-Original-Method: \(method)",
                    "X-Original-URL: \(Self.origin)/app/x?y=1", "X-Forwarded-For: 198.51.100.7",
                ] + fields
            )
        }
        let referrer = "Referer: \(Self.origin)/app/page?z=1"
        for (method, fields, page) in [
            ("GET", CheckTests.navigation, "/app/x%3Fy%3D1"), ("GET", [referrer], "/app/page%3Fz%3D1"),
            ("POST", ["Accept: application/json", referrer], "/app/page%3Fz%3D1"), ("PUT", [], "/"),
            ("GET", ["Authorization: Bearer x", referrer], "/app/page%3Fz%3D1"), ("GET", ["X-Session-Token: y"], "/"),
        ] {
            let verdict = try ask("/api/authz", method, fields)
            #expect(verdict.status == 401, "\(method) \(fields): \(verdict.text)")
            #expect(verdict["location"] == ["\(Self.login)?return_to=\(page)"], "\(method) \(fields): \(verdict.text)")
            #expect(verdict["www-authenticate"].isEmpty, "\(verdict.text)")
        }
        // Where the configuration is ours, a script gets its 401.
        let script = try ask("/authz", "GET", [referrer])
        #expect(script.status == 401 && script["location"].isEmpty && !script["www-authenticate"].isEmpty)
        let forbidden = try ask("/api/authz", "TRACE", [])
        #expect(forbidden.status == 403 && forbidden["location"].isEmpty, "\(forbidden.text)")
    }
}
