import Foundation
import GatewayBench
import OpenIDBench
import TestSupport
import Testing
import Vocabulary

/// A web app that knows nothing of the gateway, set up as the guide HeaderApps says. One entry in `all` is enough to have it
/// started, signed in to, used, handed off to, ended and put below a prefix.
struct RealApp: Sendable, CustomTestStringConvertible {
    /// A server that the app consists of, which listens on a port of its own.
    struct Server: Sendable {
        let program: String
        let arguments: [String]
        let port: Int
        var environment: [String: String] = [:]
    }

    /// How a page of the app hears news.
    enum Stream: Sendable {
        /// By server-sent events from a path.
        case events(String)
        /// By a WebSocket at a path, which answers each text.
        case socket(String)
    }

    let testDescription: String
    /// Ends the test if it is not installed.
    let requireInstalled: @Sendable () throws -> Void
    /// Writes its files to the folder and returns the servers to start, in this order. The last one serves on the port.
    let servers: @Sendable (_ folder: URL, _ port: Int) throws -> [Server]
    /// A page to which a link leads, with its query.
    var page = "/"
    /// A request whose answer tells who the app's user is; without a path, one for the page.
    var question = (method: "GET", path: String?.none, body: String?.none)
    /// The user's name in the body of that answer; nil if the app knows no user.
    var user: @Sendable (String) -> String? = { _ in nil }
    /// False for an app that does not ask who its user is.
    var knowsUsers = true
    /// More keys of its routes.
    var routeKeys = ""
    /// More keys of its route below a prefix.
    var prefixKeys = ""
    /// What its users do with it.
    var use: @Sendable (AppVisit) throws -> Void = { _ in }
    var stream: Stream?
    /// True once its page works, in a browser; nil if it has no pages.
    var isLoaded: String? = "document.body.innerText.includes('ada')"
    /// True for an app that is set up for the prefix of the walk and gets paths with it, as its pages lead to a root of its own.
    var knowsPrefix = false

    /// Every app that the walk visits.
    static let all: [RealApp] = [
        .radicale, .django, .phpFPM, .wsgiref, .events, .git, .upload, .tomcat, .tornado, .webDAV, .registry,
        .packageIndex,
        .prometheus, .trac,
    ]
    /// Those of `all` that take their user from `X-Remote-User`, one of each kind.
    static let readingHeader: [RealApp] = [.radicale, .django, .php]
    /// Those of `all` that start and finish within a second or two.
    static let quick: [RealApp] = [.wsgiref, .phpFPM, .events, .git]

    /// Starts its servers, which a caller stops.
    func start(in folder: URL, port: Int) throws -> [Servers.Running] {
        var running: [Servers.Running] = []
        do {
            for server in try self.servers(folder, port) {
                running.append(
                    try Servers.Running(
                        server.program,
                        server.arguments,
                        in: folder,
                        port: server.port,
                        environment: server.environment,
                        within: 60
                    )
                )
            }
        } catch {
            for server in running { server.stop() }
            throw error
        }
        return running
    }

    /// The Python interpreter in which `deploy/test.sh` installs apps if PyPI can be reached; nil if this one is missing.
    static func python(with module: String, in folder: String = "clients") -> String? {
        let path = Gateway.root.appending(path: ".build/\(folder)/bin/python").path
        guard let python = Servers.find([path]), let probe = try? Servers.run(python, ["-c", "import \(module)"]),
            probe.status == 0
        else { return nil }
        return python
    }

    /// A block of the guide on these apps, by its language: what users copy is what the tests run.
    static func guide(_ language: String, _ index: Int = 0) throws -> String {
        let blocks = try Documents.guide("HeaderApps").blocks(language)
        guard index < blocks.count else { throw BenchFailure("HeaderApps has no block \(index) of \(language)") }
        return blocks[index]
    }

    /// A program beside this file.
    static func script(_ name: String) -> String {
        Gateway.root.appending(path: "Tests/IntegrationTests/RealApps/Programs/\(name)").path
    }
}

/// A gateway in front of such an app, whose users sign in at a scripted OpenID provider.
struct RealAppBench {
    let app: RealApp
    let appPort: Int
    let provider: OpenIDProvider
    let gateway: Gateway

    static let ada = Self.user("1", "ada")
    static let grace = Self.user("2", "grace")
    static let mary = Self.user("3", "Máry ✓ 100%")
    static let nameless = OpenIDScript.User("user-4")

    private static func user(_ id: String, _ name: String) -> OpenIDScript.User {
        OpenIDScript.User("user-\(id)", claims: ["preferred_username": .string(name)])
    }

    /// Runs `body` with all of them; they are stopped afterwards.
    ///
    /// - Parameter identity: Further lines of `identity`.
    static func with(_ app: RealApp, identity: String = "", _ body: (RealAppBench) throws -> Void) throws {
        try app.requireInstalled()
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let port = try ServerPorts.take()
        let running = try app.start(in: folder, port: port)
        defer { for server in running { server.stop() } }
        let script = OpenIDScript()
        let provider = try OpenIDProvider(script)
        defer { provider.stop() }
        let settings = """
            public_url: \(Request.origin)
            listen: 127.0.0.1:0
            event_loops: 1
            admin: {listen: 127.0.0.1:0}
            upstream: http://127.0.0.1:\(port)
            provider:
              oidc:
                issuer: \(provider.issuer)
                client_id: gateway
                client_secret_file: client-secret
            drain: {delay: 0s, timeout: 100ms}

            """
        let files = ["client-secret": script.clients[0].secret ?? ""]
        try Gateway.with(settings + RealApp.guide("yaml") + identity, files: files) { gateway in
            #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
            try body(RealAppBench(app: app, appPort: port, provider: provider, gateway: gateway))
        }
    }

    /// Signs a user in with this browser, or with a new one.
    func signIn(_ user: OpenIDScript.User, _ browser: WebUser? = nil) throws -> WebUser {
        self.provider.endSession()
        self.provider.change { $0.user = user }
        var browser = browser ?? WebUser(self.gateway)
        let page = try browser.open(Request.origin + "/")
        guard browser.trail.contains(where: { $0.hasPrefix(self.provider.issuer) }),
            page.url.hasPrefix(Request.origin + "/")
        else { throw BenchFailure("no sign-in: \(browser.trail) \(page.answer.lines) \(page.answer.text)") }
        return browser
    }

    /// Asks the app who its user is, as a script on one of its pages does.
    func ask(_ browser: inout WebUser, _ fields: [String] = []) throws -> Answer {
        let own = ["Origin: \(Request.origin)", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty", "Accept: */*"]
        let (method, path, body) = self.app.question
        return try browser.send(method, Request.origin + (path ?? self.app.page), own + fields, body: body)
    }

    /// The app's user; nil: the app knows none.
    func user(_ browser: inout WebUser, _ fields: [String] = []) throws -> String? {
        self.app.user(String(decoding: try self.ask(&browser, fields).body, as: UTF8.self))
    }

    /// The user of a request that reaches the app without the gateway.
    func userWithoutGateway(_ fields: [String]) throws -> String? {
        let (method, path, body) = self.app.question
        let wire = try Wire(to: self.appPort)
        wire.send(Request.get(path ?? self.app.page, fields + ["Connection: close"], method: method, body: body))
        // The answer is one of HTTP/1.0, or the last of its connection.
        let answer = String(decoding: wire.receiveAll().bytes, as: UTF8.self)
        return self.app.user(answer.components(separatedBy: "\r\n\r\n").dropFirst().joined())
    }
}
