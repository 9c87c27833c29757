import Foundation
import GatewayBench
import OpenIDBench
import TestSupport
import Testing
import Vocabulary

/// A web app that takes its user from `X-Remote-User`, set up as the guide HeaderApps says.
struct RealApp: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Ends the test if it is not installed.
    let requireInstalled: @Sendable () throws -> Void
    /// Writes its files to the folder and returns the program and the arguments that serve on the port.
    let command: @Sendable (_ folder: URL, _ port: Int) throws -> (program: String, arguments: [String])
    /// A request whose answer tells who the app's user is.
    var question = (method: "GET", body: String?.none)
    /// The user's name in the body of that answer; nil: the app knows no user.
    let user: @Sendable (String) -> String?

    static let all: [RealApp] = [.radicale, .django, .php]

    /// The Python interpreter in which `deploy/test.sh` installs apps if PyPI can be reached; nil if this one is missing.
    static func python(with module: String) -> String? {
        guard let python = OryClient.python, let probe = try? Servers.run(python, ["-c", "import \(module)"]),
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
        let (program, arguments) = try app.command(folder, port)
        let running = try Servers.Running(program, arguments, in: folder, port: port, within: 60)
        defer { running.stop() }
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
        let (method, body) = self.app.question
        return try browser.send(method, Request.origin + "/", own + fields, body: body)
    }

    /// The app's user; nil: the app knows none.
    func user(_ browser: inout WebUser, _ fields: [String] = []) throws -> String? {
        self.app.user(String(decoding: try self.ask(&browser, fields).body, as: UTF8.self))
    }

    /// The user of a request that reaches the app without the gateway.
    func userWithoutGateway(_ fields: [String]) throws -> String? {
        let (method, body) = self.app.question
        let wire = try Wire(to: self.appPort)
        wire.send(Request.get("/", fields + ["Connection: close"], method: method, body: body))
        // The answer is one of HTTP/1.0, or the last of its connection.
        let answer = String(decoding: wire.receiveAll().bytes, as: UTF8.self)
        return self.app.user(answer.components(separatedBy: "\r\n\r\n").dropFirst().joined())
    }
}
