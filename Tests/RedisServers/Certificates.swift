import Foundation

/// An authority with a server's and a client's certificate, made for one test.
package final class Certificates: Sendable {
    private let directory: URL

    /// Paths of PEM files.
    package var authority: String { self.path("ca.pem") }
    package var server: String { self.path("server.pem") }
    package var serverKey: String { self.path("server.key") }
    package var client: String { self.path("client.pem") }
    package var clientKey: String { self.path("client.key") }

    /// The name that the server's certificate is for; it is for no address.
    package static let serverName = "redis.example"

    /// Makes them with `openssl`; they lie in a directory that goes with this object.
    package init() throws {
        self.directory = FileManager.default.temporaryDirectory
            .appending(path: "redis-tls-\(UInt64.random(in: 0...UInt64.max))")
        try FileManager.default.createDirectory(at: self.directory, withIntermediateDirectories: true)
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        try Self.openssl(
            ["req", "-x509", "-subj", "/CN=authority of one test", "-keyout", self.path("ca.key")] + key
                + ["-out", self.authority]
        )
        for (name, subject) in [("server", Self.serverName), ("client", "gateway.example")] {
            try Self.openssl(
                ["req", "-x509", "-CA", self.authority, "-CAkey", self.path("ca.key"), "-subj", "/CN=\(subject)"] + key
                    + ["-addext", "subjectAltName=DNS:\(subject)", "-addext", "basicConstraints=critical,CA:FALSE"]
                    + ["-keyout", self.path("\(name).key"), "-out", self.path("\(name).pem")]
            )
        }
    }

    deinit {
        try? FileManager.default.removeItem(at: self.directory)
    }

    private func path(_ name: String) -> String { self.directory.appending(path: name).path }

    private static func openssl(_ arguments: [String]) throws {
        let (status, output) = try Program.run("/usr/bin/openssl", arguments)
        guard status == 0 else { throw ServerFailure("openssl: \(output)") }
    }
}
