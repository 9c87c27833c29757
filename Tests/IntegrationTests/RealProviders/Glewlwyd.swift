import Foundation
import GatewayBench

/// Debian's glewlwyd. Its pages are programs for browsers, so this does what they do: it calls glewlwyd's own interface.
struct Glewlwyd: RealProvider {
    static let program = Servers.find(["/usr/bin/glewlwyd"])

    let process: RealProcess
    var issuer: String { "\(self.origin)/api/oidc" }
    private var origin: String { "http://127.0.0.1:\(self.process.port)" }

    init(for origin: String, callback: String, life: Int) throws {
        self.process = try RealProcess(Self.program ?? "") { _, folder in
            ["--config-file=\(folder.path)/glewlwyd.conf"]
        }
        try self.tool("make")
        try self.process.start()
        try self.tool("setup", origin, callback, Self.secret, "\(life)")
    }

    func grant(_ user: inout WebUser, at page: WebUser.Arrival, as who: RealUser) throws -> String {
        if let location = try self.proceed(&user, at: page) { return location }
        let fields = ["Content-Type: application/json", "Accept: application/json"]
        let body = #"{"username":"\#(who.login)","password":"\#(who.password)"}"#
        let answer = try user.send("POST", "\(self.origin)/api/auth", fields, body: body)
        guard answer.status == 200, let location = try self.proceed(&user, at: page) else {
            throw BenchFailure("no sign-in: \(answer.status) \(page.url)")
        }
        return location
    }

    func confirmSignOut(_ user: inout WebUser, at page: WebUser.Arrival) throws -> WebUser.Arrival {
        guard let session = Self.query("sid", of: page.url), let next = Self.query("callback_url", of: page.url) else {
            throw BenchFailure("no sign-out page: \(page.url)")
        }
        for path in ["oidc/session/\(session)", "auth"] {
            let answer = try user.send("DELETE", "\(self.origin)/api/\(path)", ["Accept: application/json"])
            guard answer.status == 200 else { throw BenchFailure("\(path): \(answer.status) \(answer.text)") }
        }
        return try user.open(next)
    }

    func asksForPassword(_ user: inout WebUser, at page: WebUser.Arrival) throws -> Bool {
        try self.proceed(&user, at: page) == nil
    }

    func rotateKeys() throws { try self.tool("rotate") }

    func endTokens() throws { try self.tool("end") }

    /// Chooses to go on as the user who is signed in; nil if there is none.
    private func proceed(_ user: inout WebUser, at page: WebUser.Arrival) throws -> String? {
        guard let next = Self.query("callback_url", of: page.url) else { throw BenchFailure("no page: \(page.url)") }
        let location = try user.send("GET", next + "&g_continue").value("location")
        return location.flatMap { $0.hasPrefix(self.origin) ? nil : $0 }
    }

    private static func query(_ name: String, of url: String) -> String? {
        let items = URLComponents(string: url.replacing("+", with: "%20"))?.queryItems
        return items?.first { $0.name == name }?.value
    }

    private func tool(_ action: String, _ arguments: String...) throws {
        let script = RealProcess.script("glewlwyd-provider.py")
        let all = [script, action, "\(self.process.port)", self.process.folder.path] + arguments
        let run = try Servers.run("/usr/bin/python3", all)
        guard run.status == 0 else { throw BenchFailure("\(action): \(run.output)") }
    }
}
