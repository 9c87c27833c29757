import Foundation
import GatewayBench
import Synchronization
import Testing

/// A user of the providers of `RealProviders`.
struct RealUser: Sendable {
    let login: String
    let password: String
    let email: String
    let name: String

    static let ada = RealUser(
        login: "ada",
        password: "analytical-engine",
        email: "ada@example.com",
        name: "Ada Lovelace"
    )
    static let grace = RealUser(
        login: "grace",
        password: "nanoseconds",
        email: "grace@example.org",
        name: "Grace Hopper"
    )
}

/// The OpenID providers of others that tests start.
enum RealProviderKind: String, CaseIterable, Sendable {
    /// PyPI's library, which `deploy/test.sh` installs if PyPI can be reached.
    case idpyoidc
    /// Debian's server.
    case glewlwyd

    /// Ends the test if it is not installed.
    func requireInstalled() throws {
        switch self {
        case .idpyoidc: if IDPyOIDC.python == nil { try Servers.missing("idpyoidc", isOptional: true) }
        case .glewlwyd: if Glewlwyd.program == nil { try Servers.missing("glewlwyd") }
        }
    }

    /// Lines of `provider.oidc` by which the gateway gets refresh tokens, and access tokens for `audiences`.
    var tokenSettings: String {
        switch self {
        // OpenID Connect Core 11: without prompt=consent the provider ignores offline_access.
        case .idpyoidc: "scopes: [openid, profile, email, offline_access]\nprompt: consent"
        case .glewlwyd: "parameters: {resource: \"\(Self.resource)\"}"
        }
    }

    /// The audiences of their access tokens.
    static let audiences = "[gateway, \"\(Self.resource)\"]"
    private static let resource = "https://api.example.com"

    /// Prepares the provider with the gateway at `origin` as client, and starts it.
    ///
    /// - Parameter name: The provider's name in the settings of a host that lists several; nil: the host has this one.
    func start(for origin: String, named name: String? = nil, life: Int = 3600) throws -> any RealProvider {
        let callback = "/.sallyport/callback" + (name.map { "/\($0)" } ?? "")
        switch self {
        case .idpyoidc: return try IDPyOIDC(for: origin, callback: callback, life: life)
        case .glewlwyd: return try Glewlwyd(for: origin, callback: callback, life: life)
        }
    }
}

/// An OpenID provider that others have made, as a process that can be stopped and started again. It keeps what it knows.
protocol RealProvider: Sendable {
    var issuer: String { get }
    var process: RealProcess { get }

    /// Does at a page of the provider what `who` does to sign in: types the password, if it is asked for. Returns the URL
    /// of the gateway's callback, which is not loaded.
    func grant(_ user: inout WebUser, at page: WebUser.Arrival, as who: RealUser) throws -> String
    /// Agrees at the page to which a sign-out leads, and follows.
    func confirmSignOut(_ user: inout WebUser, at page: WebUser.Arrival) throws -> WebUser.Arrival
    /// Whether the page asks a user for the password, or the provider would.
    func asksForPassword(_ user: inout WebUser, at page: WebUser.Arrival) throws -> Bool
    /// Signs with new keys from now on.
    func rotateKeys() throws
    /// Accepts no refresh token of its users any more.
    func endTokens() throws
}

extension RealProvider {
    static var secret: String { "hemligtord-hemligtord-hemligtord" }

    /// Signs in, and follows to the page that was asked for. The provider may know the user already.
    func signIn(_ user: inout WebUser, at page: WebUser.Arrival, as who: RealUser = .ada) throws -> WebUser.Arrival {
        guard page.url.hasPrefix("http://127.0.0.1:\(self.process.port)/") else { return page }
        return try user.open(try self.grant(&user, at: page, as: who))
    }
}

/// The process and the folder of a provider.
final class RealProcess: Sendable {
    let port: Int
    let folder: URL
    private let program: String
    private let arguments: [String]
    private let running = Mutex<Servers.Running?>(nil)

    /// - Parameters:
    ///   - arguments: Makes the program's arguments from the port and the folder.
    init(_ program: String, _ arguments: (Int, URL) -> [String]) throws {
        self.port = try ServerPorts.take()
        self.folder = try Servers.folder()
        self.program = program
        self.arguments = arguments(self.port, self.folder)
    }

    /// Starts it, and waits until it accepts connections.
    func start() throws {
        let running = try Servers.Running(self.program, self.arguments, in: self.folder, port: self.port, within: 60)
        self.running.withLock { $0 = running }
    }

    /// Ends it.
    func stop() {
        self.running.withLock { $0 }?.stop()
    }

    /// A file next to this source file.
    static func script(_ name: String) -> String {
        Gateway.root.appending(path: "Tests/IntegrationTests/RealProviders/\(name)").path
    }
}
