import Foundation
import GatewayBench

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
}
