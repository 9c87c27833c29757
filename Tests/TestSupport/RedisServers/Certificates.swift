import Foundation
import GatewayBench

/// An authority with a server's and a client's certificate, made for one test.
package final class Certificates: Sendable {
    private let directory: URL

    /// Paths of PEM files.
    package var authority: String { self.path("ca.pem") }
    package var server: String { self.path("server.pem") }
    package var serverKey: String { self.path("server.key") }
    package var client: String { self.path("client.pem") }
    package var clientKey: String { self.path("client.key") }

    /// The name in the server's certificate, which has no address.
    package static let serverName = "redis.example"

    /// Makes them with `openssl`, in a directory that is removed with this object.
    ///
    /// - Parameter environment: Variables for `openssl`, e.g. for libfaketime. Certificates are valid for two days.
    package init(environment: [String: String] = [:]) throws {
        self.directory = FileManager.default.temporaryDirectory
            .appending(path: "redis-tls-\(UInt64.random(in: 0...UInt64.max))")
        try FileManager.default.createDirectory(at: self.directory, withIntermediateDirectories: true)
        try Self.openssl(
            ["req", "-x509", "-subj", "/CN=authority of one test", "-keyout", self.path("ca.key")] + Self.key
                + ["-out", self.authority],
            environment
        )
        try self.issue("server", to: Self.serverName, environment: environment)
        try self.issue("client", to: "gateway.example", environment: environment)
    }

    private static let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]

    /// Makes another certificate of this authority; returns the paths of it and of its key.
    @discardableResult
    package func issue(
        _ name: String,
        to subject: String,
        environment: [String: String] = [:]
    ) throws -> (certificate: String, key: String) {
        let paths = (certificate: self.path("\(name).pem"), key: self.path("\(name).key"))
        try Self.openssl(
            ["req", "-x509", "-CA", self.authority, "-CAkey", self.path("ca.key"), "-subj", "/CN=\(subject)"] + Self.key
                + ["-addext", "subjectAltName=DNS:\(subject)", "-addext", "basicConstraints=critical,CA:FALSE"]
                + ["-keyout", paths.key, "-out", paths.certificate],
            environment
        )
        return paths
    }

    deinit {
        try? FileManager.default.removeItem(at: self.directory)
    }

    private func path(_ name: String) -> String { self.directory.appending(path: name).path }

    private static func openssl(_ arguments: [String], _ environment: [String: String]) throws {
        let (status, output) = try Servers.run("/usr/bin/openssl", arguments, environment: environment)
        guard status == 0 else { throw BenchFailure("openssl: \(output)") }
    }
}
