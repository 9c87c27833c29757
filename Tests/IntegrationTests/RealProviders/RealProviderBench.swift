import Foundation
import GatewayBench
import Testing

/// An app behind a gateway with two hosts, whose users sign in at a provider that others have made.
struct RealProviderBench {
    let provider: any RealProvider
    let gateway: Gateway
    let app: FakeUpstream
    /// The host with endpoints.
    let first: String
    /// The other host.
    let second: String

    /// Runs `body` with all of them; they are stopped afterwards.
    ///
    /// - Parameters:
    ///   - more: Lines of `provider.oidc`.
    ///   - routes: The routes of both hosts.
    ///   - rest: Top-level lines.
    ///   - life: The life of access tokens in seconds.
    ///   - isUp: Whether the provider serves when the gateway starts.
    static func with(
        _ kind: RealProviderKind,
        _ more: String = "",
        routes: String = "[{path: /**}]",
        rest: String = "",
        life: Int = 3600,
        isUp: Bool = true,
        _ body: (RealProviderBench) throws -> Void
    ) throws {
        try self.run(kind, life: life, isUp: isUp, body) { port, upstream, issuer in
            let settings = """
                listen: 127.0.0.1:\(port)
                admin: {listen: 127.0.0.1:0}
                upstream: http://127.0.0.1:\(upstream)
                hosts:
                  - public_url: http://localhost:\(port)
                    endpoints: true
                    routes: \(routes)
                  - public_url: http://second.localhost:\(port)
                    routes: \(routes)
                provider:
                  oidc:
                    issuer: \(issuer)
                    client_id: gateway
                    client_secret_file: client-secret
                    \(more.split(separator: "\n").joined(separator: "\n    "))
                drain: {delay: 0s, timeout: 100ms}
                \(rest)

                """
            return (settings, [:])
        }
    }

    /// The same with one host, whose settings are the five variables and the ports of this test.
    static func withVariables(_ kind: RealProviderKind, _ body: (RealProviderBench) throws -> Void) throws {
        try self.run(kind, life: 3600, isUp: true, body) { port, upstream, issuer in
            let variables = [
                "SALLYPORT_UPSTREAM": "http://127.0.0.1:\(upstream)",
                "SALLYPORT_PUBLIC_URL": "http://localhost:\(port)",
                "SALLYPORT_OIDC_URL": issuer,
                "SALLYPORT_OIDC_CLIENT_ID": "gateway",
                "SALLYPORT_OIDC_CLIENT_SECRET_FILE": "client-secret",
            ]
            let ports = "listen: 127.0.0.1:\(port)\nadmin: {listen: 127.0.0.1:0}\ndrain: {delay: 0s, timeout: 100ms}\n"
            return (ports, variables)
        }
    }

    private static func run(
        _ kind: RealProviderKind,
        life: Int,
        isUp: Bool,
        _ body: (RealProviderBench) throws -> Void,
        _ settings: (_ port: Int, _ upstream: Int, _ issuer: String) -> (String, [String: String])
    ) throws {
        try kind.requireInstalled()
        let port = try ServerPorts.take()
        let first = "http://localhost:\(port)"
        let provider = try kind.start(for: first, life: life)
        defer {
            provider.process.stop()
            try? FileManager.default.removeItem(at: provider.process.folder)
        }
        if !isUp { provider.process.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        var (text, variables) = settings(port, app.port, provider.issuer)
        let secret = IDPyOIDC.secret
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "client-secret")
        try secret.write(to: file, atomically: true, encoding: .utf8)
        if variables["SALLYPORT_OIDC_CLIENT_SECRET_FILE"] != nil {
            variables["SALLYPORT_OIDC_CLIENT_SECRET_FILE"] = file.path
        }
        try Gateway.with(text, files: ["client-secret": secret], environment: variables) { gateway in
            let bench = RealProviderBench(
                provider: provider,
                gateway: gateway,
                app: app,
                first: first,
                second: "http://second.localhost:\(port)"
            )
            if isUp { #expect(eventually { bench.isReady }) }
            try body(bench)
        }
    }

    var isReady: Bool { (try? self.gateway.admin("/readyz").status) == 200 }

    /// Opens a page, signs in if the provider asks, and follows to the end.
    func open(_ url: String, _ user: inout WebUser, as who: RealUser = .ada) throws -> WebUser.Arrival {
        try self.provider.signIn(&user, at: try user.open(url), as: who)
    }

    /// Whether opening the page needs no sign-in.
    func isSignedIn(_ user: WebUser, at url: String) throws -> Bool {
        var user = user
        let page = try user.open(url)
        return page.url == url && page.answer.status == 200
    }

    /// Signs out at a host, and agrees at the provider.
    func signOut(_ user: inout WebUser, at origin: String) throws -> WebUser.Arrival {
        let page = try user.follow(try user.signOut(origin), from: origin)
        return try self.provider.confirmSignOut(&user, at: page)
    }

    /// A field of the last request that the app received.
    func field(_ name: String) -> String? { self.app.requests.last?.values(name).first }
}
