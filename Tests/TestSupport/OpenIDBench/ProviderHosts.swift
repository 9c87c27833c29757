package import GatewayBench
import Testing

/// Gateways with three hosts in front of one app, whose users sign in at a scripted OpenID provider on the first host.
package struct ProviderHosts {
    /// The host with endpoints.
    package static let a = "http://login.example.com"
    package static let b = "http://app.example.com"
    package static let c = "http://other.example.com:8080"
    /// All three.
    package static let all = [a, b, c]

    package let provider: OpenIDProvider
    package let gateways: [Gateway]
    package let app: FakeUpstream

    /// Runs `body` with a provider, an app and gateways; all are stopped afterwards.
    ///
    /// - Parameters:
    ///   - count: The number of gateways.
    ///   - redis: The Redis that they share; nil: each keeps its own sessions.
    ///   - more: Lines of `provider.oidc`.
    ///   - app: Handles a connection of the app.
    package static func with(
        _ script: OpenIDScript = OpenIDScript(),
        count: Int = 1,
        redis: String? = nil,
        _ more: String = "",
        app serve: @escaping @Sendable (Link) -> Void = FakeUpstream.echo,
        _ body: (ProviderHosts) throws -> Void
    ) throws {
        let provider = try OpenIDProvider(script)
        defer { provider.stop() }
        let app = try FakeUpstream(serve: serve)
        defer { app.stop() }
        let settings = self.settings(provider, app, more)
        let files = [
            "client-secret": script.clients[0].secret ?? "", "secret": String(repeating: "s", count: 48) + "\n",
        ]
        let environment = redis.map { ["SALLYPORT_REDIS_URL": $0] } ?? [:]
        var gateways: [Gateway] = []
        defer { for gateway in gateways { gateway.stop() } }
        for _ in 0..<count { gateways.append(try Gateway(settings, files: files, environment: environment)) }
        for gateway in gateways {
            #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
        }
        try body(ProviderHosts(provider: provider, gateways: gateways, app: app))
    }

    private static func settings(_ provider: OpenIDProvider, _ app: FakeUpstream, _ more: String) -> String {
        """
        listen: 127.0.0.1:0
        event_loops: 2
        admin: {listen: 127.0.0.1:0}
        upstream: http://127.0.0.1:\(app.port)
        session: {cookie: sallyport}
        secret_file: secret
        hosts:
          - public_url: \(self.b)
            routes:
              - {path: /**}
              - {path: /public/**, auth: public}
          - public_url: \(self.a)
            endpoints: true
            routes:
              - {path: /**}
              - {path: /public/**, auth: public}
          - public_url: \(self.c)
            routes:
              - {path: /**}
              - {path: /public/**, auth: public}
        clients:
          - {client_id: rp, allowed_logout_urls: ["https://rp.example.com/bye"]}
        provider:
          oidc:
            issuer: \(provider.issuer)
            client_id: gateway
            client_secret_file: client-secret
            \(more.split(separator: "\n").joined(separator: "\n    "))
        drain: {delay: 0s, timeout: 100ms}

        """
    }

    /// A browser whose requests reach the gateways in turn.
    package func user() -> WebUser { WebUser(self.gateways) }

    /// A browser that is signed in on all hosts.
    package func signedInUser() throws -> WebUser {
        var user = self.user()
        for origin in Self.all {
            let arrival = try user.open("\(origin)/x")
            guard arrival.url == "\(origin)/x", arrival.answer.status == 200 else {
                throw BenchFailure("no sign-in: \(user.trail) \(arrival.answer.lines) \(arrival.answer.text)")
            }
        }
        return user
    }

    /// The statuses of a script's requests with the cookies of a browser: each host at each gateway.
    package func statuses(_ user: WebUser) -> Set<Int> {
        var statuses: Set<Int> = []
        for gateway in self.gateways {
            for origin in Self.all {
                let host = String(origin.dropFirst("http://".count))
                let request = "GET /x HTTP/1.1\r\nHost: \(host)\r\n\(user.cookies(of: host))Accept: */*\r\n\r\n"
                statuses.insert((try? gateway.request(request).status) ?? 0)
            }
        }
        return statuses
    }
}
