import Foundation
import GatewayBench
import Testing

/// A native app whose user signed in through the system's browser, with a WebView that it has handed off to.
struct FollowedApp {
    /// What may be used of a sign-in.
    enum Part: String, CaseIterable {
        case refresh, mint, webView, browser
    }

    /// The clients in the settings. A refresh token that does not rotate can be tried again and again, and needs a client with
    /// a secret.
    static let clients = """
        clients:
          - client_id: ios
            client_secret_file: client-secret
            callbacks: ["com.example.ios:/callback"]
            refresh_token: {rotation_type: non-rotating, confirm_every: 1m}
            session_transfer: {can_create_session_transfer_token: true}
          - client_id: web
            session_transfer: {allowed_authentication_methods: [query], enforce_device_binding: none}
        """
    static let routes = "[{path: /**, client: web}]"

    private let origin: String
    private let gateway: Gateway
    private let browser: WebUser
    private let webView: WebUser
    private let refreshToken: String

    /// - Parameter browser: Is signed in at `origin`.
    init(_ browser: WebUser, at origin: String, of gateway: Gateway) throws {
        var browser = browser
        let query =
            "client_id=ios&response_type=code&scope=openid+offline_access&code_challenge_method=S256"
            + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        let back = try browser.send("GET", "\(origin)/authorize?\(query)")
        guard let code = back.value("location")?.firstMatch(of: /[?&]code=([A-Za-z0-9_-]+)/) else {
            throw BenchFailure("no code: \(back.lines) \(back.text)")
        }
        (self.origin, self.gateway, self.browser) = (origin, gateway, browser)
        let form =
            "grant_type=authorization_code&client_id=ios&code=\(code.1)"
            + "&code_verifier=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        let granted = try Self.token(form, at: origin, of: gateway)
        self.refreshToken = try Self.member("refresh_token", of: granted)
        let minted = try Self.token(Self.minting(self.refreshToken, origin), at: origin, of: gateway)
        var webView = WebUser(gateway)
        let page = try webView.open(
            "\(origin)/page?session_transfer_token=\(Self.member("access_token", of: minted))"
        )
        guard page.answer.status == 200 else { throw BenchFailure("no handoff: \(page.url) \(page.answer.lines)") }
        self.webView = webView
    }

    /// A transfer token that was not presented yet.
    func transferToken() throws -> String {
        let minted = try Self.token(Self.minting(self.refreshToken, self.origin), at: self.origin, of: self.gateway)
        return try Self.member("access_token", of: minted)
    }

    /// Whether a transfer token signs in.
    func signsIn(_ transferToken: String) throws -> Bool {
        var other = WebUser(self.gateway)
        let page = try other.open("\(self.origin)/page?session_transfer_token=\(transferToken)")
        return page.url.hasPrefix("\(self.origin)/page") && page.answer.status == 200
    }

    /// Uses a part of the sign-in.
    func use(_ part: Part) throws -> Answer {
        switch part {
        case .refresh:
            try Self.token(
                "grant_type=refresh_token&client_id=ios&refresh_token=\(self.refreshToken)",
                at: self.origin,
                of: self.gateway
            )
        case .mint: try Self.token(Self.minting(self.refreshToken, self.origin), at: self.origin, of: self.gateway)
        case .webView: try self.load(self.webView)
        case .browser: try self.load(self.browser)
        }
    }

    /// Uses a part until its answer has one of these statuses: once a second, as the refreshes of one family are limited.
    func use(_ part: Part, until statuses: Set<Int>, within seconds: Double = 60) -> Bool {
        eventually(within: seconds) {
            if let status = try? self.use(part).status, statuses.contains(status) { return true }
            usleep(1_000_000)
            return false
        }
    }

    /// The statuses of all parts.
    func statuses() throws -> [Int] { try Part.allCases.map { try self.use($0).status } }

    /// The statuses of a part that has ended.
    static let ended: Set = [400, 401, 403]

    private func load(_ user: WebUser) throws -> Answer {
        var user = user
        return try user.send("GET", "\(self.origin)/page", Self.script)
    }

    private static let script = ["Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty", "Accept: */*"]

    private static func minting(_ refreshToken: String, _ origin: String) -> String {
        let audience = "urn:\(origin.dropFirst("http://".count)):session_transfer"
        return "grant_type=refresh_token&client_id=ios&refresh_token=\(refreshToken)&audience=\(audience)"
    }

    private static func token(_ form: String, at origin: String, of gateway: Gateway) throws -> Answer {
        var app = WebUser(gateway)
        let type = "Content-Type: application/x-www-form-urlencoded"
        let body = "\(form)&client_secret=\(IDPyOIDC.secret)"
        return try app.send("POST", "\(origin)/oauth/token", self.script + [type], body: body)
    }

    private static func member(_ name: String, of answer: Answer) throws -> String {
        let parts = answer.text.components(separatedBy: #""\#(name)":""#)
        guard parts.count == 2, let member = parts[1].split(separator: "\"").first else {
            throw BenchFailure("no \(name): \(answer.lines) \(answer.text)")
        }
        return String(member)
    }
}

// A test that fails prints its values, and these have tokens and cookies.
extension FollowedApp: CustomTestStringConvertible {
    var testDescription: String { "the app at \(self.origin)" }
}

/// Native apps whose users are disabled at a provider that others have made.
@Suite("Apps that follow providers of others", .blocking) struct FollowedAppTests {
    private func with(
        _ kind: RealProviderKind,
        _ body: (RealProviderBench, FollowedApp) throws -> Void
    ) throws {
        try RealProviderBench.with(
            kind,
            kind.tokenSettings,
            routes: FollowedApp.routes,
            rest: FollowedApp.clients,
            life: 5
        ) { bench throws in
            var browser = WebUser(bench.gateway)
            let page = try bench.open("\(bench.first)/page", &browser)
            #expect(page.answer.status == 200, "\(page.url) \(page.answer.lines)")
            try body(bench, try FollowedApp(browser, at: bench.first, of: bench.gateway))
        }
    }

    /// Uses the WebView until the gateway has counted a renewal with this result.
    private func use(_ app: FollowedApp, until result: String, _ gateway: Gateway) -> Bool {
        let series = "sallyport_provider_renewals_total{result=\"\(result)\"}"
        return eventually { (try? app.use(.webView).status) == 200 && ((try? gateway.metric(series)) ?? 0) > 0 }
    }

    private func expectEnded(_ app: FollowedApp, _ transferToken: String, _ gateway: Gateway) throws {
        for part in FollowedApp.Part.allCases {
            #expect(app.use(part, until: FollowedApp.ended, within: 3), "\(part)")
        }
        for part in [FollowedApp.Part.refresh, .mint] {
            let answer = try app.use(part)
            let isRefused = answer.text.contains(#""invalid_grant""#)
            #expect(isRefused, "\(part): \(answer.status)")
        }
        #expect(try !app.signsIn(transferToken))
        let ends = gateway.output.split(separator: "\n").filter { $0.contains(#""reason":"session.provider_ended""#) }
        #expect(ends.count == 1 && ends[0].contains(#""event":"session.ended""#), "\(ends)")
    }

    @Test(
        "An account that is disabled at idpyoidc ends app, WebView, browser and transfer token when one of them is used",
        arguments: FollowedApp.Part.allCases
    )
    func disabled(_ part: FollowedApp.Part) throws {
        try self.with(.idpyoidc) { bench, app throws in
            #expect(self.use(app, until: "renewed", bench.gateway))
            #expect(try app.statuses() == [200, 200, 200, 200])
            let unused = try app.transferToken()
            try bench.provider.endTokens()
            #expect(app.use(part, until: FollowedApp.ended))
            try self.expectEnded(app, unused, bench.gateway)
        }
    }

    @Test("A provider that is stopped ends nobody; an account that is disabled when it is back ends")
    func stopped() throws {
        try self.with(.idpyoidc) { bench, app throws in
            bench.provider.process.stop()
            #expect(self.use(app, until: "later", bench.gateway))
            #expect(try app.statuses() == [200, 200, 200, 200])
            let unused = try app.transferToken()
            try bench.provider.process.start()
            try bench.provider.endTokens()
            #expect(app.use(.refresh, until: FollowedApp.ended))
            try self.expectEnded(app, unused, bench.gateway)
        }
    }

    /// glewlwyd refuses a refresh token that was revoked with 400 and no error code, as it does everything else.
    @Test("A refusal of glewlwyd, which does not say why, ends nobody")
    func withoutCode() throws {
        try self.with(.glewlwyd) { bench, app throws in
            try bench.provider.endTokens()
            #expect(self.use(app, until: "later", bench.gateway))
            #expect(try app.statuses() == [200, 200, 200, 200])
            #expect(try bench.gateway.metric(#"sallyport_provider_renewals_total{result="ended"}"#) == 0)
        }
    }

    @Test(
        "GitHub token revoked: a user whom Authlib's server makes inactive ends within confirm_every of any use",
        .enabled(if: ProcessInfo.processInfo.environment["SOAK"] != nil, "only with SOAK: it takes a minute"),
        arguments: [FollowedApp.Part.refresh, .webView]
    )
    func inactive(_ part: FollowedApp.Part) throws {
        if AuthlibServer.python == nil { try Servers.missing("Authlib", isOptional: true) }
        let port = try ServerPorts.take()
        let origin = "http://localhost:\(port)"
        let server = try AuthlibServer(redirectURI: "\(origin)/.sallyport/callback")
        defer {
            server.process.stop()
            try? FileManager.default.removeItem(at: server.process.folder)
        }
        let upstream = try FakeUpstream()
        defer { upstream.stop() }
        let settings = """
            public_url: \(origin)
            listen: 127.0.0.1:\(port)
            admin: {listen: 127.0.0.1:0}
            upstream: http://127.0.0.1:\(upstream.port)
            routes: \(FollowedApp.routes)
            provider:
              oauth2:
                name: hub
                authorization_url: \(server.origin)/authorize
                token_url: \(server.origin)/token
                userinfo_url: \(server.origin)/user
                client_id: gateway
                client_secret_file: client-secret
                scopes: [user]
                claims: {subject: id, traits: {username: login}}
            drain: {delay: 0s, timeout: 100ms}
            \(FollowedApp.clients)

            """
        try Gateway.with(settings, files: ["client-secret": IDPyOIDC.secret]) { gateway throws in
            var browser = WebUser(gateway)
            let page = try browser.open("\(origin)/page")
            let arrival = try browser.open(try server.grant(&browser, at: page, as: .ada))
            #expect(arrival.answer.status == 200, "\(arrival.url) \(arrival.answer.lines)")
            let app = try FollowedApp(browser, at: origin, of: gateway)
            try server.disableUsers()
            #expect(try app.statuses() == [200, 200, 200, 200])
            #expect(app.use(part, until: FollowedApp.ended, within: 90))
            for part in FollowedApp.Part.allCases {
                #expect(app.use(part, until: FollowedApp.ended, within: 3), "\(part)")
            }
        }
    }
}
