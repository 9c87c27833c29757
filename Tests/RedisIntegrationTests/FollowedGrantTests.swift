import Foundation
import GatewayBench
import OpenIDBench
import RedisServers
import TestSupport
import Testing

/// The provider's word about a sign-in that a browser, an app and a WebView use at two gateways with one Redis. The provider
/// gives a new refresh token each time, and ends the user's grant if one comes twice.
@Suite("Apps that follow their provider, at two gateways", .blocking, .serialized) struct FollowedGrantTests {
    private struct Bench {
        let provider: OpenIDProvider
        let gateways: [Gateway]

        func waitUntilReady() async throws {
            for (index, gateway) in self.gateways.enumerated() {
                try await waitUntil("gateway \(index) is ready") { try gateway.admin("/readyz").status == 200 }
            }
        }

        /// Waits until the first gateway asks the provider, whose answers are held, because the WebView is used. The second
        /// one does not look: it would let refreshes go on as long as the first one asks.
        func isAsked(by signIn: SignIn) -> Bool {
            eventually {
                _ = try? self.gateways[0].request(signIn.use(of: signIn.webView))
                return self.provider.waiting(at: .token) == 1
            }
        }

        /// Sends five refreshes at once, waits until they wait for the provider, and lets it answer.
        func refresh(_ signIn: SignIn, then heal: () throws -> Void) throws -> [Answer] {
            let wires = try (0..<5).map { try self.gateways[$0 % 2].connect() }
            for wire in wires { wire.send(signIn.refresh) }
            let series = "sallyport_http_requests_in_flight"
            // A refresh waits for three seconds at most.
            #expect(
                eventually(within: 2) {
                    self.gateways.map { (try? $0.metric(series)) ?? 0 }.reduce(0, +) >= 5
                }
            )
            try heal()
            return try wires.map { try $0.answer(seconds: 30) }
        }

        /// The statuses of browser and WebView at both gateways.
        func statuses(_ signIn: SignIn) -> Set<Int> {
            var statuses: Set<Int> = []
            for gateway in self.gateways {
                for cookie in [signIn.browser, signIn.webView] {
                    statuses.insert((try? gateway.request(signIn.use(of: cookie)).status) ?? 0)
                }
            }
            return statuses
        }

        /// The lines of all audit streams that say that the provider ended the sign-in.
        var ends: Int {
            let reason = #""reason":"session.provider_ended""#
            return self.gateways.map { $0.output.components(separatedBy: reason).count - 1 }.reduce(0, +)
        }
    }

    /// What came of one sign-in.
    private struct SignIn {
        /// The session cookies.
        let browser: String
        let webView: String
        let refreshToken: String
        /// A transfer token that was not presented.
        let unused: String

        private static let navigation = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Accept: text/html"]

        /// Signs in at the first gateway, and hands off at the second.
        init(_ bench: Bench) throws {
            let (one, two) = (bench.gateways[0], bench.gateways[1])
            let login = try one.get("/.sallyport/login?return_to=/", Self.navigation)
            guard let location = login.value("location"), let back = bench.provider.follow(location) else {
                throw BenchFailure("no sign-in: \(login.lines) \(login.text)")
            }
            let cookies = login.values("set-cookie").map { String($0.prefix { $0 != ";" }) }
            let callback = try one.get(
                String(back.dropFirst(Request.origin.count)),
                Self.navigation + ["Cookie: \(cookies.joined(separator: "; "))"]
            )
            self.browser = try Self.cookie(of: callback)
            let query =
                "client_id=ios&response_type=code&scope=openid+offline_access&code_challenge_method=S256"
                + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
            let code = try one.get("/authorize?\(query)", Self.navigation + ["Cookie: sallyport=\(self.browser)"])
            let granted = try one.request(
                Self.form(
                    "grant_type=authorization_code&client_id=ios",
                    "code=\(Self.match(code.value("location") ?? "", /[?&]code=([A-Za-z0-9_-]+)/))",
                    "code_verifier=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
                )
            )
            self.refreshToken = try Self.match(granted.text, /"refresh_token":"([^"]+)"/)
            let mint = Self.mint(self.refreshToken)
            let token = try Self.match(try one.request(mint).text, /"access_token":"([^"]+)"/)
            self.webView = try Self.cookie(of: try two.get("/?session_transfer_token=\(token)", Self.navigation))
            self.unused = try Self.match(try two.request(mint).text, /"access_token":"([^"]+)"/)
        }

        private static func cookie(of answer: Answer) throws -> String {
            guard let cookie = answer.sessionCookie else {
                throw BenchFailure("no session: \(answer.lines) \(answer.text)")
            }
            return cookie
        }

        private static func match(_ text: String, _ pattern: Regex<(Substring, Substring)>) throws -> String {
            guard let match = text.firstMatch(of: pattern) else { throw BenchFailure("not found: \(text)") }
            return String(match.1)
        }

        private static func form(_ parameters: String...) -> String {
            let type = "Content-Type: application/x-www-form-urlencoded"
            let body = parameters + ["client_secret=\(FollowedGrantTests.secret)"]
            return Request.post("/oauth/token", [type], body: body.joined(separator: "&"))
        }

        private static func mint(_ refreshToken: String) -> String {
            Self.form(
                "grant_type=refresh_token&client_id=ios&refresh_token=\(refreshToken)",
                "audience=urn:\(Request.host):session_transfer"
            )
        }

        /// The request of the app that refreshes.
        var refresh: String {
            Self.form("grant_type=refresh_token&client_id=ios&refresh_token=\(self.refreshToken)")
        }

        /// The request of the app that mints.
        var mint: String { Self.mint(self.refreshToken) }

        /// A script's request with a session.
        func use(of cookie: String) -> String { Request.get("/", ["Cookie: sallyport=\(cookie)"]) }

        /// Whether the unused transfer token signs in.
        func signsIn(at gateway: Gateway) throws -> Bool {
            try gateway.get("/?session_transfer_token=\(self.unused)", Self.navigation).sessionCookie?.isEmpty == false
        }
    }

    private static let secret = "a-secret-of-the-app-which-is-long-enough"

    private func with(_ url: String, _ body: (Bench) async throws -> Void) async throws {
        var script = OpenIDScript()
        script.accessTokenLifetime = .seconds(6)
        script.refresh = .rotating(overlap: .zero)
        let provider = try OpenIDProvider(script)
        defer { provider.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        // A refresh token that does not rotate may be due at each use, and needs a client with a secret.
        let settings = """
            public_url: \(Request.origin)
            listen: 127.0.0.1:0
            event_loops: 2
            admin: {listen: 127.0.0.1:0}
            upstream: http://127.0.0.1:\(app.port)
            session: {cookie: sallyport}
            secret_file: secret
            routes: [{path: /**, client: web}]
            clients:
              - client_id: ios
                client_secret_file: app-secret
                callbacks: ["com.example.ios:/callback"]
                refresh_token: {rotation_type: non-rotating}
                session_transfer: {can_create_session_transfer_token: true}
              - client_id: web
                session_transfer: {allowed_authentication_methods: [query], enforce_device_binding: none}
            provider:
              oidc:
                issuer: \(provider.issuer)
                client_id: gateway
                client_secret_file: client-secret
            drain: {delay: 0s, timeout: 100ms}

            """
        let files = [
            "client-secret": script.clients[0].secret ?? "", "secret": "\(UUID())\(UUID())",
            "app-secret": Self.secret + "\n",
        ]
        let environment = ["SALLYPORT_REDIS_URL": url]
        let gateways = try (0..<2).map { _ in try Gateway(settings, files: files, environment: environment) }
        defer { for gateway in gateways { gateway.stop() } }
        let bench = Bench(provider: provider, gateways: gateways)
        try await bench.waitUntilReady()
        try await body(bench)
    }

    @Test("five refreshes, two gateways: one upstream call; a no ends everything at both within a second of the answer")
    func fiveAtOnce() async throws {
        try await RedisServer.with { server in
            try await self.with(RedisURLs.standalone(server.port)) { bench in
                let signIn = try patiently { try SignIn(bench) }
                bench.provider.hold(.token)
                #expect(bench.isAsked(by: signIn))
                let before = bench.provider.refreshes
                let granted = try bench.refresh(signIn) { bench.provider.heal(.token) }
                #expect(granted.map(\.status) == [200, 200, 200, 200, 200], "\(granted.map(\.text))")
                #expect(bench.provider.refreshes == before && bench.provider.reuses == 0)
                #expect(bench.statuses(signIn) == [200])

                bench.provider.hold(.token)
                #expect(bench.isAsked(by: signIn))
                let asked = bench.provider.refreshes
                let refused = try bench.refresh(signIn) {
                    bench.provider.endGrants()
                    bench.provider.heal(.token)
                }
                for answer in refused {
                    #expect(answer.text.contains(#""invalid_grant""#), "\(answer.lines) \(answer.text)")
                }
                #expect(eventually(within: 1) { bench.statuses(signIn) == [401] }, "\(bench.statuses(signIn))")
                for gateway in bench.gateways {
                    for request in [signIn.refresh, signIn.mint] {
                        #expect(try gateway.request(request).text.contains(#""invalid_grant""#))
                    }
                    #expect(try !signIn.signsIn(at: gateway))
                }
                #expect(bench.provider.refreshes == asked && bench.provider.reuses == 0 && bench.ends == 1)
            }
        }
    }

    @Test(
        "A failover while the provider answers: a yes signs nobody out, a no ends everything at both gateways",
        arguments: [true, false]
    )
    func failover(isYes: Bool) async throws {
        try await RedisSentinelGroup.with { group in
            try await self.with(RedisURLs.sentinels(group)) { bench in
                let signIn = try patiently { try SignIn(bench) }
                bench.provider.hold(.token)
                #expect(bench.isAsked(by: signIn))
                if !isYes { bench.provider.endGrants() }
                let former = try group.killPrimary()
                bench.provider.heal(.token)
                try await group.waitForPrimary(otherThan: former)
                #expect(eventually { bench.statuses(signIn) == [isYes ? 200 : 401] }, "\(bench.statuses(signIn))")
                #expect(bench.provider.reuses == 0)
                guard isYes else {
                    for gateway in bench.gateways {
                        #expect(
                            eventually { (try? gateway.request(signIn.refresh).text.contains("invalid_grant")) == true }
                        )
                    }
                    #expect(eventually { bench.ends == 1 })
                    return
                }
                // The next question is asked with the tokens of the answer, which were not lost.
                let before = bench.provider.refreshes
                #expect(
                    eventually {
                        _ = try? bench.gateways[1].request(signIn.use(of: signIn.webView))
                        return bench.provider.refreshes > before
                    }
                )
                #expect(eventually { (try? bench.gateways[0].request(signIn.refresh).status) == 200 })
                #expect(bench.provider.reuses == 0 && bench.ends == 0 && bench.statuses(signIn) == [200])
            }
        }
    }
}
