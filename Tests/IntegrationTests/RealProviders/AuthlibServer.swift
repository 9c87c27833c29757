import Foundation
import GatewayBench
import Vocabulary

/// A server of plain OAuth 2.0, without discovery and id_token: PyPI's Authlib with Django.
struct AuthlibServer {
    /// The Python interpreter that has both.
    static let python: String? = {
        guard let python = OryClient.python,
            let probe = try? Servers.run(python, ["-c", "import authlib.integrations.django_oauth2"]), probe.status == 0
        else { return nil }
        return python
    }()

    let process: RealProcess
    var origin: String { "http://127.0.0.1:\(self.process.port)" }

    /// Prepares it with a gateway as client, to which it sends browsers at `redirectURI`, and starts it.
    init(redirectURI: String) throws {
        self.process = try RealProcess(Self.python ?? "") { port, folder in
            [RealProcess.script("authlib-provider.py"), "\(port)", folder.path, redirectURI, IDPyOIDC.secret]
        }
        try self.process.start()
    }

    /// Does at a page what `who` does to sign in and to agree. Returns the URL of the gateway's callback, which is not loaded.
    func grant(_ user: inout WebUser, at page: WebUser.Arrival, as who: RealUser) throws -> String {
        var page = page
        if page.answer.text.contains("name=\"password\"") {
            let answer = try self.submit(&user, page, [("username", who.login), ("password", who.password)])
            page = try user.follow(answer, from: self.origin)
        }
        let answer = try self.submit(&user, page, [("confirm", "yes")])
        guard let location = answer.value("location") else { throw BenchFailure("no consent: \(answer.text)") }
        return location
    }

    /// Makes its users inactive, whose tokens do not count any more.
    func disableUsers() throws {
        let request = "POST /disable HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n"
        let answer = try Wire(to: self.process.port).request(request)
        guard answer.status == 200 else { throw BenchFailure("no end: \(answer.status) \(answer.text)") }
    }

    /// Posts the form of a page with what it hides.
    private func submit(
        _ user: inout WebUser,
        _ page: WebUser.Arrival,
        _ fields: [(String, String)]
    ) throws -> Answer {
        let text = page.answer.text
        guard let proof = text.firstMatch(of: /name="csrfmiddlewaretoken" value="([^"]+)"/) else {
            throw BenchFailure("no form: \(page.url) \(text)")
        }
        var hidden = [("csrfmiddlewaretoken", String(proof.1))]
        if let next = text.firstMatch(of: /name=next value="([^"]*)"/) {
            hidden.append(("next", String(next.1).replacing("&amp;", with: "&")))
        }
        return try user.send(
            "POST",
            page.url,
            ["Origin: \(self.origin)", "Content-Type: application/x-www-form-urlencoded"],
            body: FormText.encoded(hidden + fields)
        )
    }
}
