import Foundation
import GatewayBench
import Testing

/// One host at which users sign in with a form, at two OpenID providers or at a server of plain OAuth 2.0, as they choose:
/// all three are others' work.
struct ChoiceBench {
    /// A provider of the host to which browsers are sent.
    enum Choice: String, CaseIterable {
        case company, partner, hub

        /// What the sign-in page calls it.
        var label: String {
            switch self {
            case .company: "Company account"
            case .partner: "Partner"
            case .hub: "Hub"
            }
        }

        /// Whether its pages are programs, which do nothing without scripts.
        var needsScripts: Bool { self == .partner }
    }

    let gateway: Gateway
    let origin: String
    let company: any RealProvider
    let partner: any RealProvider
    let hub: AuthlibServer

    /// Does at a page of a provider what Ada does to sign in. Returns the URL of the gateway's callback, which is not loaded.
    func grant(_ user: inout WebUser, at page: WebUser.Arrival, of provider: Choice) throws -> String {
        switch provider {
        case .company: try self.company.grant(&user, at: page, as: .ada)
        case .partner: try self.partner.grant(&user, at: page, as: .ada)
        case .hub: try self.hub.grant(&user, at: page, as: .ada)
        }
    }

    /// Signs out, agrees at the provider if it asks, and follows to the end.
    func signOut(_ user: inout WebUser, of provider: Choice) throws -> WebUser.Arrival {
        let page = try user.follow(try user.signOut(self.origin), from: self.origin)
        switch provider {
        case .company: return try self.company.confirmSignOut(&user, at: page)
        case .partner: return try self.partner.confirmSignOut(&user, at: page)
        case .hub: return page
        }
    }

    /// Runs `body` with all of them; they are stopped afterwards.
    ///
    /// - Parameter more: Top-level lines.
    static func with(more: String = "", _ body: (ChoiceBench) throws -> Void) throws {
        for kind in RealProviderKind.allCases { try kind.requireInstalled() }
        if AuthlibServer.python == nil { try Servers.missing("Authlib", isOptional: true) }
        let port = try ServerPorts.take()
        let origin = "http://localhost:\(port)"
        let company = try RealProviderKind.idpyoidc.start(for: origin, named: Choice.company.rawValue)
        defer { company.process.end() }
        let partner = try RealProviderKind.glewlwyd.start(for: origin, named: Choice.partner.rawValue)
        defer { partner.process.end() }
        let hub = try AuthlibServer(redirectURI: "\(origin)/.sallyport/callback/\(Choice.hub)")
        defer { hub.process.end() }
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = """
            listen: 127.0.0.1:\(port)
            admin: {listen: 127.0.0.1:0}
            upstream: http://127.0.0.1:\(app.port)
            identity: {headers: {X-User: subject, X-Email: identity.traits.email, X-Provider: provider.name}}
            hosts:
              - public_url: \(origin)
                endpoints: true
                providers: [people, company, partner, hub]
                routes: [{path: /**}]
            providers:
              - name: people
                static: {users: [{identifier: ada@example.com, traits: {email: ada@example.com}, password_hash: \
            "scrypt:1024:8:1:MDEyMzQ1Njc4OWFiY2RlZg:JK3x34E88OjnlWzoh-3vk39XLGOeBZZqn8v12YBrhP8"}]}
              - name: company
                label: Company account
                oidc: {issuer: \(company.issuer), client_id: gateway, client_secret_file: client-secret}
              - name: partner
                oidc: {issuer: \(partner.issuer), client_id: gateway, client_secret_file: client-secret}
              - name: hub
                oauth2:
                  name: hub
                  authorization_url: \(hub.origin)/authorize
                  token_url: \(hub.origin)/token
                  userinfo_url: \(hub.origin)/user
                  client_id: gateway
                  client_secret_file: client-secret
                  scopes: [user]
                  claims: {subject: id, traits: {username: login}}
            drain: {delay: 0s, timeout: 100ms}
            \(more)

            """
        try Gateway.with(settings, files: ["client-secret": IDPyOIDC.secret]) { gateway in
            #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
            try body(
                ChoiceBench(gateway: gateway, origin: origin, company: company, partner: partner, hub: hub)
            )
        }
    }
}

extension RealProcess {
    /// Ends it, and removes what it kept.
    fileprivate func end() {
        self.stop()
        try? FileManager.default.removeItem(at: self.folder)
    }
}
