import Foundation
import GatewayBench
import Testing

/// Apache with mod_auth_openidc in front of one page, as a resource server (`AuthType oauth20`). Its answers name the user
/// in `X-User`.
struct ApacheBench {
    private static let modules = "/usr/lib/apache2/modules"
    private let program: String
    let folder: URL
    let port: Int

    /// nil, with a note, if it is not installed.
    init(in folder: URL) throws {
        guard let program = Servers.find(["/usr/sbin/apache2"]),
            FileManager.default.fileExists(atPath: Self.modules + "/mod_auth_openidc.so")
        else {
            try Servers.missing("apache2 with libapache2-mod-auth-openidc")
        }
        self.program = program
        self.folder = folder
        self.port = try ServerPorts.take()
    }

    /// Starts it.
    ///
    /// - Parameters:
    ///   - directives: How it judges tokens.
    ///   - requirements: The claims that the page requires.
    func start(_ directives: [String], requiring requirements: [String]) throws -> Servers.Running {
        let root = self.folder.appending(path: "root")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        try "the page".write(to: root.appending(path: "index.html"), atomically: true, encoding: .utf8)
        let loaded = [
            "mpm_event", "authn_core", "authz_core", "authz_user", "headers", "dir", "auth_openidc",
        ].map { "LoadModule \($0)_module \(Self.modules)/mod_\($0).so" }
        let file = self.folder.appending(path: "apache.conf")
        let text = """
            ServerRoot \(self.folder.path)
            ServerName \(Request.host)
            Listen 127.0.0.1:\(self.port)
            PidFile \(self.folder.path)/apache.pid
            ErrorLog \(self.folder.path)/error.log
            \(loaded.joined(separator: "\n"))
            DocumentRoot \(root.path)
            DirectoryIndex index.html
            OIDCOAuthRemoteUserClaim sub
            OIDCCryptoPassphrase none
            Header always set X-User "expr=%{REMOTE_USER}"
            \(directives.joined(separator: "\n"))
            <Location />
            AuthType oauth20
            <RequireAll>
            \(requirements.map { "Require claim \($0)" }.joined(separator: "\n"))
            </RequireAll>
            </Location>

            """
        try text.write(to: file, atomically: true, encoding: .utf8)
        return try Servers.Running(self.program, ["-X", "-f", file.path], in: self.folder, port: self.port)
    }
}
