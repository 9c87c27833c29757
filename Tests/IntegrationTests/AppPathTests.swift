import Foundation
import GatewayBench
import Testing

/// Paths that the gateway could take for itself, or misread, and that belong to the app.
@Suite("Paths of the app", .blocking) struct AppPathTests {
    /// The smallest settings: one app, and users of the file.
    private static func smallest(_ app: FakeUpstream, _ more: String = "") -> String {
        """
        listen: 127.0.0.1:0
        admin: {listen: 127.0.0.1:0}
        public_url: \(Request.origin)
        upstream: http://127.0.0.1:\(app.port)
        session: {cookie: sallyport}
        provider:
          static:
            users:
        \(Config.users)
        drain: {delay: 0s, timeout: 100ms}
        \(more)

        """
    }

    private static let paths = [
        "/sessions", "/sessions/5", "/sessions/whoami", "/sessions/5/extend", "/sessions/token-exchange", "/authorize",
        "/userinfo", "/oauth/token", "/oauth/revoke", "/oauth/introspect", "/oauth/par", "/oidc/logout", "/v2/logout",
        "/self-service/login/api", "/self-service/settings", "/.well-known/openid-configuration",
        "/.well-known/oauth-authorization-server", "/.well-known/jwks.json",
    ]

    @Test("The app of the only host answers every path outside of /.sallyport/, by its route")
    func onlyHost() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Self.smallest(app)) { gateway throws in
            for path in Self.paths {
                #expect(try gateway.get(path).status == 401, "\(path): its route wants a session")
            }
            #expect(app.requests.isEmpty)
            let cookie = "Cookie: sallyport=\(try gateway.browser())"
            for path in Self.paths {
                for method in ["GET", "POST", "DELETE"] {
                    let fields = [cookie, "Origin: \(Request.origin)", "Content-Length: 0"]
                    let answer = try gateway.request(Request.get(path, fields, method: method))
                    #expect(answer.status == 200, "\(method) \(path): \(answer.text)")
                }
            }
            #expect(app.requests.map(\.target) == Self.paths.flatMap { [$0, $0, $0] })
            #expect(try gateway.get("/.sallyport/login").status == 200)
        }
    }

    @Test(
        "A reload takes the paths when clients are configured, and gives them back to the app's routes with its demands"
    )
    func reload() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let with = Self.smallest(app, "clients: [{client_id: native}]")
        try Gateway.with(Self.smallest(app)) { gateway throws in
            #expect(try gateway.get("/sessions/whoami").text.contains("credential.missing"))
            try gateway.reload(with)
            #expect(try gateway.get("/self-service/login/api").status == 200)
            #expect(try gateway.get("/sessions/whoami").text.contains(#""error":{"#))
            #expect(try gateway.get("/oauth/token").status == 405)
            try gateway.reload(Self.smallest(app))
            for path in Self.paths { #expect(try gateway.get(path).status == 401, "\(path)") }
            #expect(app.requests.isEmpty)
        }
    }

    @Test("The app gets what is encoded twice and encoded backslashes as they came, where every reading has one demand")
    func encodedTwice() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let paths = [
            "/job/repo/job/feature%252Fx/", "/back%5Cslash.txt", "/a%252fb", "/a%255Cb?x=%5C", "/a%25252Fb",
            "/%5C%5Chost/x", "/api/queues/%2F/name",
        ]
        let both = "  - path: /**\n    auth: public\n  - path: /admin/**\n"
        let refused = [
            "/x/%252e%252e/admin", "/x%5C..%5Cadmin", "/x%255C%2e%2e%255Cadmin", "/x\\y", "/x%252f..%252fadmin",
            "/a%2500",
        ]
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            for path in paths { #expect(try gateway.get(path).status == 200, "\(path)") }
            #expect(app.requests.map(\.target) == paths)
            for path in refused { #expect(try gateway.get(path).status == 400, "\(path)") }
        }
        try Gateway.with(Config.file(upstream: app.port, routes: both)) { gateway throws in
            for path in ["/admin%5Cx", "/admin%252Fx", "/%5Cadmin", "/a%25252Fb"] + refused {
                #expect(try gateway.get(path).status == 400, "\(path)")
            }
            #expect(try gateway.get(paths[0]).status == 200)
        }
    }
}
