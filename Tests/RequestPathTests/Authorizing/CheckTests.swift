import AddressIntelligence
import Endpoints
import NIOEmbedded
import RequestPath
import Sessions
import Settings
import Testing
import Vocabulary

/// A proxy at `192.0.2.1` asks about requests to `app.example.com`: `/app/` needs a session, `/open/` is public,
/// `/maybe/` takes both, and `/strict/` is for sessions of browsers only.
final class CheckBench {
    let bench: ExchangeBench

    /// - Parameter forms: `nil` if they are those of the settings.
    init(
        _ endpoints: [Endpoint] = [],
        forms: CheckForms? = nil,
        _ change: (inout Settings) -> Void = { _ in }
    ) throws {
        self.bench = try ExchangeBench(endpoints, service: .checks, forms: forms) { settings in
            settings.hosts[0].routes = [
                route("/app/**", .required), route("/open/**", .public), route("/maybe/**", .optional),
                route("/strict/**", .required) { $0.require.origins = ["browser"] },
            ]
            settings.authorization = AuthorizationSettings(
                listen: ListenAddress(host: "127.0.0.1", port: 0),
                peers: ["192.0.2.0/24"].compactMap { CIDRBlock($0) }
            )
            change(&settings)
        }
    }

    /// A check's status, fields with lower-case names, and body.
    struct Verdict {
        let status: Int
        let fields: [(name: String, value: String)]
        let text: String

        init(_ text: String) {
            self.text = text
            // A line break is one character.
            let lines = text.split(separator: "\r\n", omittingEmptySubsequences: false).prefix { !$0.isEmpty }
            self.status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
            self.fields = lines.dropFirst().map { line in
                let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                let value = parts.last.map { $0.drop { $0 == " " } } ?? ""
                return (parts[0].lowercased(), String(value))
            }
        }

        subscript(name: String) -> [String] { self.fields.filter { $0.name == name }.map(\.value) }
        var reason: String? { self["x-sallyport-reason"].first }
    }

    func ask(_ lines: [String], body: String = "") throws -> Verdict {
        let before = self.bench.client.sent.count
        try self.bench.begin(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
        self.bench.eventLoop.run()
        return Verdict(String(self.bench.client.sent.dropFirst(before)))
    }

    /// Traefik's or Caddy's check.
    func forwardAuth(
        _ method: String = "GET",
        _ target: String,
        host: String = "app.example.com",
        _ fields: [String] = []
    ) throws -> Verdict {
        try self.ask(
            [
                "GET /authz/forward-auth HTTP/1.1", "Host: gateway:9092", "X-Forwarded-Method: \(method)",
                "X-Forwarded-Proto: https", "X-Forwarded-Host: \(host)", "X-Forwarded-Uri: \(target)",
                "X-Forwarded-For: 198.51.100.7",
            ] + fields
        )
    }

    /// nginx's check.
    func authRequest(_ method: String = "GET", _ url: String, _ fields: [String] = []) throws -> Verdict {
        try self.ask(
            [
                "GET /authz/auth-request HTTP/1.0", "Host: gateway:9092", "X-Original-URL: \(url)",
                "X-Original-Method: \(method)", "X-Forwarded-For: 198.51.100.7",
            ] + fields
        )
    }

    /// Envoy's check.
    func extAuthz(_ method: String = "GET", _ target: String, _ fields: [String] = []) throws -> Verdict {
        try self.ask(["\(method) /authz/ext-authz\(target) HTTP/1.1", "Host: app.example.com"] + fields)
    }

    func token() throws -> String { String(decoding: try self.bench.signIn("ada").token.bytes, as: UTF8.self) }

    /// The token of a browser's session.
    func browser() throws -> String {
        let (token, _) = try self.bench.signIn("ada") { session in
            session.kind = .web
            session.origin = .browser
            session.host = "app.example.com"
        }
        return String(decoding: token.bytes, as: UTF8.self)
    }
}

@Suite("Checks by other proxies")
struct CheckTests {
    static let navigation = ["Sec-Fetch-Mode: navigate", "Accept: text/html"]

    @Test("A permitted request is answered with every identity field, empty where the user has none")
    func permitted() throws {
        let bench = try CheckBench()
        let token = try bench.token()
        let credential = ["X-Session-Token: \(token)"]
        for verdict in [
            try bench.forwardAuth("POST", "/app/x?y=1", credential),
            try bench.authRequest("POST", "https://app.example.com/app/x?y=1", credential),
            try bench.extAuthz("POST", "/app/x?y=1", credential),
        ] {
            #expect(verdict.status == 200, "\(verdict.text)")
            #expect(verdict["x-auth-subject"] == ["ada"])
            #expect(verdict["x-auth-email"] == [""] && verdict["x-auth-groups"] == [""])
            #expect(verdict["cache-control"] == ["no-store"] && verdict["content-length"] == ["0"])
            #expect(!verdict.text.contains(token))
        }
        // Nobody is signed in, and the client says who it is.
        for path in ["/open/x", "/maybe/x"] {
            let verdict = try bench.forwardAuth("GET", path, ["X-Auth-Subject: eve"])
            #expect(verdict.status == 200 && verdict["x-auth-subject"] == [""], "\(verdict.text)")
        }
    }

    @Test("Envoy is told which credentials the app must not get")
    func removal() throws {
        let bench = try CheckBench()
        let token = try bench.token()
        let bearer = try bench.extAuthz("GET", "/app/x", ["Authorization: Bearer \(token)", "Cookie: a=1"])
        #expect(bearer["x-envoy-auth-headers-to-remove"] == ["authorization"] && bearer["cookie"].isEmpty)
        let cookie = try bench.extAuthz("GET", "/open/x", ["Cookie: a=1; __Host-sallyport=x; b=2"])
        #expect(cookie.status == 200 && cookie["cookie"] == ["a=1; b=2"], "\(cookie.text)")
        let only = try bench.extAuthz("GET", "/open/x", ["Cookie: __Host-sallyport=x"])
        #expect(only["x-envoy-auth-headers-to-remove"] == ["cookie"] && only["cookie"].isEmpty)
        // What replaces a field is not removed with it.
        let basic = try CheckBench {
            $0.identity.basic = IdentitySettings.BasicAuth(usernamePath: "subject", password: Secret("open sesame"))
        }
        let replaced = try basic.extAuthz("GET", "/app/x", ["Authorization: Bearer \(try basic.token())"])
        #expect(replaced["authorization"] == ["Basic YWRhOm9wZW4gc2VzYW1l"])
        #expect(replaced["x-envoy-auth-headers-to-remove"].isEmpty, "\(replaced.text)")
    }

    @Test("A refusal has the form that the dialect can pass on")
    func refusals() throws {
        let bench = try CheckBench()
        let url = "https://app.example.com"
        // Nobody is signed in.
        #expect(try bench.forwardAuth("GET", "/app/x").status == 401)
        #expect(try bench.extAuthz("GET", "/app/x").status == 401)
        let api = try bench.authRequest("GET", url + "/app/x")
        #expect(
            api.status == 401 && api["www-authenticate"] == [#"Bearer realm="sallyport""#]
                && api.reason == "credential.missing"
        )
        // The session does not suffice.
        let credential = ["X-Session-Token: \(try bench.token())"]
        for verdict in [
            try bench.forwardAuth("GET", "/strict/x", credential),
            try bench.authRequest("GET", url + "/strict/x", credential),
            try bench.extAuthz("GET", "/strict/x", credential),
        ] {
            #expect(verdict.status == 403 && verdict.reason == "require.origin", "\(verdict.text)")
            #expect(verdict["x-auth-subject"].isEmpty)
        }
        // A request that is refused whoever sends it.
        #expect(try bench.forwardAuth("GET", "/app/../x").status == 400)
        #expect(try bench.extAuthz("GET", "/app/%2e%2e/x").status == 400)
        let path = try bench.authRequest("GET", url + "/app/%2e%2e/x")
        #expect(path.status == 403 && path.reason == "path.dot_segment")
        let host = try bench.authRequest("GET", "https://other.example.com/app/x")
        #expect(host.status == 403 && host.reason == "route.unknown_host")
        // No answer but that of a permit lets a request pass.
        #expect(try bench.forwardAuth("OPTIONS", "*").status == 403)
        #expect(try bench.authRequest("OPTIONS", url + "/app/x").status == 401)
    }

    @Test("A native app is asked for another sign-in by proxies that pass the challenge on, which nginx does not")
    func nativeStepUp() throws {
        let bench = try CheckBench { settings in
            var client = ClientSettings(clientID: "web")
            client.allowsCookie = true
            settings.clients = [client]
            settings.provider = FixedUsersSettings([
                UserSettings(identifier: "ada", id: "ada", passwordHash: Secret(""), traits: .object([:]), aal: .aal2)
            ])
            settings.hosts[0].routes = [
                route("/app/**", .required) {
                    $0.client = "web"
                    $0.handoff = true
                    $0.require.aal = .aal2
                }
            ]
        }
        let (token, _) = try bench.bench.signIn("ada") { session in
            session.kind = .web
            session.origin = .transfer
            session.host = "app.example.com"
        }
        let cookie = "Cookie: __Host-sallyport=\(String(decoding: token.bytes, as: UTF8.self))"
        let fields = Self.navigation + ["Sallyport-Native: 1", cookie]
        let challenge = #"SessionTransfer realm="https://app.example.com", return_to="/app/x", acr_values="aal2""#
        for verdict in [
            try bench.forwardAuth("GET", "/app/x", fields),
            // Envoy always says who asks.
            try bench.extAuthz("GET", "/app/x", fields + ["X-Forwarded-For: 198.51.100.7"]),
        ] {
            #expect(verdict.status == 403 && verdict["www-authenticate"] == [challenge], "\(verdict.text)")
        }
        let nginx = try bench.authRequest("GET", "https://app.example.com/app/x", fields)
        #expect(nginx.status == 401 && nginx.reason == "require.aal", "\(nginx.text)")
        let login = "https://app.example.com/.sallyport/login?return_to=/app/x&prompt=login"
        #expect(nginx["location"] == [login] && nginx["www-authenticate"].isEmpty)
    }

    @Test("Only the named peers may ask")
    func peers() throws {
        let bench = try CheckBench { $0.authorization?.peers = ["10.0.0.0/8"].compactMap { CIDRBlock($0) } }
        let verdict = try bench.forwardAuth("GET", "/open/x")
        #expect(verdict.status == 403 && verdict.reason == Reason.authorizationPeer.rawValue)
    }

    @Test(
        "A method is whatever a forwarded request may have",
        arguments: ["VERSION-CONTROL", "M-SEARCH", "PROPFIND", "X!#$%&'*+-.^_`|~9", "get"]
    )
    func methods(_ method: String) throws {
        let bench = try CheckBench()
        for verdict in [
            try bench.forwardAuth(method, "/open/x"),
            try bench.authRequest(method, "https://app.example.com/open/x"),
            try bench.extAuthz(method, "/open/x"),
        ] {
            #expect(verdict.status == 200, "\(verdict.text)")
        }
    }

    @Test("Only the listener's own paths are answered")
    func paths() throws {
        let bench = try CheckBench { $0.authorization?.dialects = [.forwardAuth, .extAuthz] }
        let fields = ["Host: app.example.com", "X-Forwarded-For: 198.51.100.7"]
        let paths = [
            "/", "/open/x", "/authz", "/authz/", "/authz/forward-auth/", "/authz/forward-authx", "/authz/auth-request",
            "/authz/ext-authz", "/authz/ext-authzx/open/x", "/oauth2/auth", "/api/authz/verify",
        ]
        for path in paths {
            let verdict = try bench.ask(["GET \(path) HTTP/1.1"] + fields)
            #expect(
                verdict.status == 404 && verdict.reason == Reason.authorizationDialect.rawValue,
                "\(path): \(verdict.text)"
            )
        }
        // Envoy's prefix for Authelia ends with a slash, ours does not.
        func envoy(_ path: String) throws -> CheckBench.Verdict { try bench.ask(["GET \(path) HTTP/1.1"] + fields) }
        #expect(try envoy("/api/authz/ext-authz//open/x").status == 200)
        #expect(try envoy("/authz/ext-authz/open/x").status == 200)
        for path in ["/api/authz/ext-authz/open/x", "/api/authz/ext-authz/", "/api/authz/ext-authz/*"] {
            #expect(try envoy(path).status == 400, "\(path)")
        }
        // Caddy appends the client's query.
        let query = try bench.ask(
            [
                "GET /api/authz/forward-auth?x=1 HTTP/1.1", "X-Forwarded-Method: GET", "X-Forwarded-Proto: http",
                "X-Forwarded-Host: app.example.com", "X-Forwarded-Uri: /open/x",
            ] + fields
        )
        #expect(query.status == 200, "\(query.text)")
    }

    @Test("The gateway's own paths are not for the app")
    func endpoints() throws {
        let login = Endpoint(path: "/.sallyport/login", methods: ["GET"], scope: .everyHost) { _ in
            EndpointResponse(status: 200)
        }
        let bench = try CheckBench([login])
        for (method, path) in [
            ("GET", "/.sallyport/login"), ("PUT", "/.sallyport/login"),
        ] {
            let verdict = try bench.forwardAuth(method, path)
            #expect(
                verdict.status == 403 && verdict.reason == Reason.authorizationEndpoint.rawValue,
                "\(path): \(verdict.text)"
            )
        }
    }

    @Test(
        "A check that does not describe one request is refused",
        arguments: [
            // Members that are missing, empty or twice.
            ["X-Forwarded-Method: GET", "X-Forwarded-Proto: https", "X-Forwarded-Host: app.example.com"],
            ["X-Forwarded-Proto: https", "X-Forwarded-Host: app.example.com", "X-Forwarded-Uri: /open/x"],
            ["X-Forwarded-Method: GET", "X-Forwarded-Proto: https", "X-Forwarded-Uri: /open/x"],
            ["X-Forwarded-Method: GET", "X-Forwarded-Host: app.example.com", "X-Forwarded-Uri: /open/x"],
            [
                "X-Forwarded-Method: GET", "X-Forwarded-Proto: https", "X-Forwarded-Host: app.example.com",
                "X-Forwarded-Uri:",
            ],
            [
                "X-Forwarded-Method: GET", "X-Forwarded-Proto: https", "X-Forwarded-Host: app.example.com",
                "X-Forwarded-Uri: /open/x", "X-Forwarded-Uri: /app/x",
            ],
            [
                "X-Forwarded-Method: GET", "X-Forwarded-Proto: https", "X-Forwarded-Host: app.example.com",
                "X-Forwarded_Uri: /open/x",
            ],
            // What is no method, host or target.
            [
                "X-Forwarded-Method: GE(T)", "X-Forwarded-Proto: https", "X-Forwarded-Host: app.example.com",
                "X-Forwarded-Uri: /open/x",
            ],
            [
                "X-Forwarded-Method: trace", "X-Forwarded-Proto: https", "X-Forwarded-Host: app.example.com",
                "X-Forwarded-Uri: /open/x",
            ],
            [
                "X-Forwarded-Method: GET /x HTTP/1.1", "X-Forwarded-Proto: https", "X-Forwarded-Host: app.example.com",
                "X-Forwarded-Uri: /open/x",
            ],
            [
                "X-Forwarded-Method: CONNECT", "X-Forwarded-Proto: https", "X-Forwarded-Host: app.example.com",
                "X-Forwarded-Uri: /open/x",
            ],
            [
                "X-Forwarded-Method: TRACE", "X-Forwarded-Proto: https", "X-Forwarded-Host: app.example.com",
                "X-Forwarded-Uri: /open/x",
            ],
            [
                "X-Forwarded-Method: GET", "X-Forwarded-Proto: https", "X-Forwarded-Host: app.example.com/x",
                "X-Forwarded-Uri: /open/x",
            ],
            [
                "X-Forwarded-Method: GET", "X-Forwarded-Proto: https", "X-Forwarded-Host: a@app.example.com",
                "X-Forwarded-Uri: /open/x",
            ],
            [
                "X-Forwarded-Method: GET", "X-Forwarded-Proto: https",
                "X-Forwarded-Host: app.example.com, other.example.com", "X-Forwarded-Uri: /open/x",
            ],
            [
                "X-Forwarded-Method: GET", "X-Forwarded-Proto: https", "X-Forwarded-Host: app.example.com",
                "X-Forwarded-Uri: https://app.example.com/open/x",
            ],
            [
                "X-Forwarded-Method: GET", "X-Forwarded-Proto: https", "X-Forwarded-Host: app.example.com",
                "X-Forwarded-Uri: /open/x HTTP/1.1",
            ],
            [
                "X-Forwarded-Method: GET", "X-Forwarded-Proto: https", "X-Forwarded-Host: app.example.com",
                "X-Forwarded-Uri: /open/x#y",
            ],
            [
                "X-Forwarded-Method: GET", "X-Forwarded-Proto: https", "X-Forwarded-Host: app.example.com",
                "X-Forwarded-Uri: open/x",
            ],
        ]
    )
    func metadata(_ fields: [String]) throws {
        let bench = try CheckBench()
        let verdict = try bench.ask(
            ["GET /authz/forward-auth HTTP/1.1", "Host: app.example.com", "X-Forwarded-For: 198.51.100.7"] + fields
        )
        #expect(verdict.status == 400 || verdict.status == 405, "\(verdict.text)")
        let reasons: [Reason] = [
            .authorizationMetadata, .requestMethod, .requestMalformed, .requestHost, .requestTarget,
        ]
        #expect(reasons.contains { $0.rawValue == verdict.reason }, "\(verdict.text)")
        #expect(verdict["x-auth-subject"].isEmpty)
        // The connection to the proxy stays.
        #expect(bench.bench.client.ends == [.next])
    }

    @Test("A client that is not named is refused where the dialect names it")
    func address() throws {
        let bench = try CheckBench()
        let verdict = try bench.ask(
            [
                "GET /authz/auth-request HTTP/1.1", "Host: app.example.com", "X-Original-Method: GET",
                "X-Original-URL: https://app.example.com/open/x",
            ]
        )
        #expect(verdict.status == 403 && verdict.reason == Reason.authorizationAddress.rawValue)
        #expect(try bench.extAuthz("GET", "/open/x").status == 200)
        // Nor does a field that ends with no address name a client: the proxy would be taken for it.
        for value in ["", " ", ",", "198.51.100.7, junk", "unknown", "198.51.100.7,,junk,"] {
            let fields = [
                "GET /authz/auth-request HTTP/1.1", "Host: app.example.com", "X-Original-Method: GET",
                "X-Original-URL: https://app.example.com/open/x", "X-Forwarded-For: \(value)",
            ]
            #expect(try bench.ask(fields).reason == Reason.authorizationAddress.rawValue, "\(value)")
            #expect(try bench.ask(fields + ["X-Forwarded-For: 198.51.100.7, ,"]).status == 200, "\(value)")
        }
        let bound = try CheckBench { $0.hosts[0].routes[0].liveBinding = .ip }
        #expect(try bound.extAuthz("GET", "/open/x").reason == Reason.authorizationAddress.rawValue)
    }

    @Test("Each dialect reads one place only, whatever the client sends beside it")
    func onePlace() throws {
        let bench = try CheckBench()
        let forged = [
            "X-Original-URL: https://app.example.com/open/x", "X-Original-Method: GET", "X-Original-URI: /open/x",
            "X-Rewrite-URL: /open/x", "X-Forwarded-Prefix: /open", "X_Forwarded_Uri: /open/x",
            "X-HTTP-Method-Override: OPTIONS",
        ]
        #expect(try bench.forwardAuth("GET", "/app/x", forged).status == 401)
        #expect(try bench.extAuthz("GET", "/app/x", forged).status == 401)
        let forwarded = [
            "X-Forwarded-Method: GET", "X-Forwarded-Proto: https", "X-Forwarded-Host: app.example.com",
            "X-Forwarded-Uri: /open/x",
        ]
        #expect(try bench.authRequest("GET", "https://app.example.com/app/x", forwarded).status == 401)
        #expect(try bench.extAuthz("GET", "/app/x", forwarded).status == 401)
        // With another setting it is the other way round.
        let other = try CheckBench { $0.authorization?.metadata = .forwarded }
        #expect(try other.authRequest("GET", "https://app.example.com/app/x", forwarded).status == 200)
    }

    @Test("The path is read as it was sent, and two slashes at its beginning are no host")
    func slashes() throws {
        let bench = try CheckBench()
        for target in ["//app/x", "/app//x", "/%61pp/x"] {
            #expect(try bench.forwardAuth("GET", target).status != 200)
            #expect(try bench.extAuthz("GET", target).status != 200)
            #expect(try bench.authRequest("GET", "https://app.example.com" + target).status != 200)
        }
        for url in [
            "https://app.example.com", "https://app.example.com?/open/x", "//app.example.com/open/x", "/open/x",
        ] {
            #expect(try bench.authRequest("GET", url).status == 403, "\(url)")
        }
    }

    @Test("A browser without a session is sent to the sign-in page")
    func navigation() throws {
        let bench = try CheckBench { settings in
            settings.provider = FixedUsersSettings([])
        }
        let location = "https://app.example.com/.sallyport/login?return_to=/app/x%3Fy%3D1"
        let forward = try bench.forwardAuth("GET", "/app/x?y=1", Self.navigation)
        #expect(forward.status == 303 && forward["location"] == [location], "\(forward.text)")
        let envoy = try bench.extAuthz("GET", "/app/x?y=1", Self.navigation)
        #expect(envoy.status == 303 && envoy["location"] == [location])
        let nginx = try bench.authRequest("GET", "https://app.example.com/app/x?y=1", Self.navigation)
        #expect(nginx.status == 401 && nginx["location"] == [location] && nginx["www-authenticate"].isEmpty)
    }

    @Test("The configuration of oauth2-proxy goes on to work")
    func oauth2Proxy() throws {
        let bench = try CheckBench { $0.oauth2ProxyPaths = true }
        func ask(_ fields: [String]) throws -> CheckBench.Verdict {
            try bench.ask(["GET /oauth2/auth HTTP/1.0", "Host: app.example.com", "X-Forwarded-Uri: /app/x"] + fields)
        }
        #expect(try ask(["X-Forwarded-For: 198.51.100.7"]).reason == Reason.authorizationAddress.rawValue)
        // The client's own field is not read.
        let fields = ["X-Real-IP: 198.51.100.7", "X-Forwarded-For: 203.0.113.9"]
        #expect(try ask(fields).status == 401)
        #expect(try ask(fields + Self.navigation)["location"].isEmpty)
        let verdict = try ask(fields + ["X-Session-Token: \(try bench.token())"])
        #expect(verdict.status == 202 && verdict["x-auth-request-user"] == ["ada"])
        #expect(verdict.text.hasPrefix("HTTP/1.1 202 Accepted\r\n"))
        for address in ["", "junk", "198.51.100.7, 203.0.113.9"] {
            #expect(try ask(["X-Real-IP: \(address)"]).reason == Reason.authorizationAddress.rawValue, "\(address)")
        }
        #expect(verdict["x-auth-request-email"] == [""] && verdict["x-auth-subject"] == ["ada"])
        // What restricts a site there is said by its routes here. Any other query is a client's, which Caddy appends.
        for (query, status) in [
            ("allowed_groups=admins", 403), ("a=b&allowed_emails=", 403), ("%61llowed_email_domains", 403), ("", 202),
            ("x=1&y=allowed_groups", 202), ("allowed_groupsx=1&allowed=2", 202),
        ] {
            let verdict = try bench.ask(
                [
                    "GET /oauth2/auth?\(query) HTTP/1.0", "Host: app.example.com", "X-Forwarded-Uri: /app/x",
                    "X-Session-Token: \(try bench.token())",
                ] + fields
            )
            #expect(verdict.status == status, "\(query): \(verdict.text)")
            if status == 403 { #expect(verdict.reason == Reason.authorizationMetadata.rawValue) }
        }
        // Nothing else is.
        #expect(try bench.ask(["GET /open/x HTTP/1.1", "Host: app.example.com"]).status == 404)
    }

    @Test("Where the method is not told, what has the Origin of another site is refused")
    func crossSite() throws {
        let bench = try CheckBench {
            $0.oauth2ProxyPaths = true
            $0.hosts[0].routes[0].trustedOrigins = ["https://static.example.com"]
        }
        let cookie = "Cookie: __Host-sallyport=\(try bench.browser())"
        func ask(_ fields: [String]) throws -> CheckBench.Verdict {
            try bench.ask(
                [
                    "GET /oauth2/auth HTTP/1.0", "Host: app.example.com", "X-Forwarded-Uri: /app/x",
                    "X-Real-IP: 198.51.100.7", cookie,
                ] + fields
            )
        }
        for fields in [
            [], ["Sec-Fetch-Site: cross-site"] + Self.navigation, ["Origin: https://app.example.com"],
            ["Origin: https://app.example.com", "Sec-Fetch-Site: same-origin"],
            ["Origin: https://static.example.com", "Sec-Fetch-Site: same-site"],
        ] {
            #expect(try ask(fields).status == 202, "\(fields)")
        }
        for fields in [
            ["Origin: https://evil.example"], ["Origin: https://evil.example", "Sec-Fetch-Site: cross-site"],
            ["Origin: null", "Sec-Fetch-Site: same-site"], ["Origin: https://app.example.com.evil.example"],
        ] {
            let verdict = try ask(fields)
            #expect(verdict.status == 403 && verdict.reason == Reason.requestCrossSite.rawValue, "\(verdict.text)")
        }
    }

    @Test(
        "A WebSocket of another origin is refused, however its proxy tells that it is one",
        arguments: [
            "Sec-WebSocket-Key: x", "Sec-WebSocket-Version: 13", "Sec-Fetch-Mode: websocket",
            "Connection: Upgrade\r\nUpgrade: websocket",
        ]
    )
    func webSocket(_ sign: String) throws {
        let bench = try CheckBench()
        let token = try bench.browser()
        let foreign = ["Cookie: __Host-sallyport=\(token)", "Origin: https://evil.example"]
        #expect(try bench.forwardAuth("GET", "/app/x", foreign).status == 200)
        let verdict = try bench.forwardAuth("GET", "/app/x", foreign + [sign])
        #expect(verdict.status == 403 && verdict.reason == Reason.requestCrossSite.rawValue, "\(verdict.text)")
    }

    @Test("A check that announces a body is the last one of its connection", arguments: ["/open/x", "/app/x"])
    func body(_ path: String) throws {
        for framing in ["Content-Length: 77", "Transfer-Encoding: chunked"] {
            let bench = try CheckBench()
            let verdict = try bench.forwardAuth("POST", path, [framing])
            #expect(verdict.status == (path == "/open/x" ? 200 : 401) && verdict["connection"] == ["close"])
            #expect(bench.bench.client.ends == [.close])
        }
    }

    @Test("A route without an app is judged for proxies and forwarded for nobody")
    func withoutApp() throws {
        let routes = [RouteSettings(path: "/app/**", upstream: nil, auth: .public)]
        let asked = try CheckBench { $0.hosts[0].routes = routes }
        #expect(try asked.forwardAuth("POST", "/app/x").status == 200)
        let direct = try ExchangeBench { $0.hosts[0].routes = routes }
        try direct.begin("POST /app/x HTTP/1.1\r\nHost: app.example.com\r\nContent-Length: 0\r\n\r\n")
        #expect(direct.client.sent.hasPrefix("HTTP/1.1 404 "), "\(direct.client.sent)")
        #expect(direct.client.sent.contains(Reason.routeNotForwarded.rawValue))
    }

    @Test("Each cookie of an answer for nginx stands in a field of its own, too")
    func cookies() throws {
        let bench = try CheckBench()
        let jar = ["Cookie: __Host-sallyport=a; __Host-sallyport=b"] + Self.navigation
        let nginx = try bench.authRequest("GET", "https://app.example.com/maybe/x", jar)
        #expect(nginx.status == 200)
        #expect(nginx["set-cookie"].count == 1 && nginx["x-sallyport-cookie-1"] == nginx["set-cookie"], "\(nginx.text)")
        let caddy = try CheckBench { $0.authorization?.cookiesOnSuccess = false }
        #expect(try caddy.forwardAuth("GET", "/maybe/x", jar)["set-cookie"].isEmpty)
    }
}
