import Foundation
import GatewayBench

/// A provider made with idpyoidc, the library of the OpenID Foundation's certification suite for clients.
struct IDPyOIDC: RealProvider {
    /// The Python interpreter that has it.
    static let python: String? = {
        guard let python = OryClient.python, let probe = try? Servers.run(python, ["-c", "import idpyoidc"]),
            probe.status == 0
        else { return nil }
        return python
    }()

    let process: RealProcess
    var issuer: String { "http://127.0.0.1:\(self.process.port)" }

    init(for origin: String, callback: String, life: Int) throws {
        self.process = try RealProcess(Self.python ?? "") { port, folder in
            [RealProcess.script("idpyoidc-provider.py"), "\(port)", folder.path, "\(life)"]
        }
        let clients = """
            {"gateway": {
              "client_secret": "\(Self.secret)",
              "redirect_uris": [["\(origin)\(callback)", {}]],
              "post_logout_redirect_uri": [["\(origin)/.sallyport/signed-out", {}]],
              "backchannel_logout_uri": "\(origin)/.sallyport/backchannel-logout",
              "backchannel_logout_session_required": true,
              "response_types": ["code"],
              "grant_types_supported": ["authorization_code", "refresh_token"],
              "token_endpoint_auth_method": "client_secret_basic",
              "allowed_scopes": ["openid", "profile", "email", "offline_access"],
              "id_token_signed_response_alg": "RS256"
            }}
            """
        let file = self.process.folder.appending(path: "clients.json")
        try clients.write(to: file, atomically: true, encoding: .utf8)
        try self.process.start()
    }

    func grant(_ user: inout WebUser, at page: WebUser.Arrival, as who: RealUser) throws -> String {
        let fields = ["username": who.login, "password": who.password]
        guard let answer = try self.submit(&user, page, fields), let location = answer.value("location") else {
            throw BenchFailure("no sign-in page: \(page.url) \(page.answer.text)")
        }
        return location
    }

    func confirmSignOut(_ user: inout WebUser, at page: WebUser.Arrival) throws -> WebUser.Arrival {
        guard let answer = try self.submit(&user, page, ["logout": "yes"]) else {
            throw BenchFailure("no sign-out page: \(page.url) \(page.answer.text)")
        }
        return try user.follow(answer, from: self.issuer)
    }

    func asksForPassword(_ user: inout WebUser, at page: WebUser.Arrival) -> Bool {
        page.answer.text.contains("name=password")
    }

    func rotateKeys() throws { try self.control("rotate") }

    func endTokens() throws { try self.control("disable") }

    private func control(_ action: String) throws {
        let request = "POST /control/\(action) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n"
        let answer = try Wire(to: self.process.port).request(request)
        guard answer.status == 200 else { throw BenchFailure("\(action): \(answer.status) \(answer.text)") }
    }

    /// Posts the form of a page; nil if there is none.
    private func submit(
        _ user: inout WebUser,
        _ page: WebUser.Arrival,
        _ fields: [String: String]
    ) throws -> Answer? {
        guard let action = page.answer.text.firstMatch(of: /action="?([^" >]+)/),
            let hidden = page.answer.text.firstMatch(of: /type=hidden name=(\w+) value="?([^" >]+)/)
        else { return nil }
        let all = fields.merging([String(hidden.1): String(hidden.2)]) { $1 }
        return try user.send(
            "POST",
            self.issuer + action.1,
            ["Origin: \(self.issuer)", "Content-Type: application/x-www-form-urlencoded"],
            body: all.map { "\($0.key)=\($0.value)" }.joined(separator: "&")
        )
    }
}
