import Foundation
import GatewayBench

#if canImport(Glibc)
import Glibc
#endif

/// Authorities and certificates for one test, made with `openssl`, in a folder that is removed with this object.
final class EdgeCertificates: Sendable {
    private let folder: URL

    init() throws {
        self.folder = FileManager.default.temporaryDirectory.appending(path: "edge-\(UUID())")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: self.folder)
    }

    func path(_ name: String) -> String { self.folder.appending(path: name).path }

    private static let p256 = ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]

    /// An authority, `NAME.pem` and `NAME.key`; signed by itself, or by another one.
    @discardableResult
    func authority(_ name: String = "ca", by issuer: String? = nil, faketime: String? = nil) throws -> String {
        try self.make(
            name,
            by: issuer,
            ["-subj", "/CN=authority \(name)", "-addext", "keyUsage=critical,keyCertSign"],
            key: Self.p256,
            faketime: faketime
        )
        return self.path("\(name).pem")
    }

    /// A certificate for names, `NAME.pem` and `NAME.key`.
    ///
    /// - Parameter names: As openssl writes alternative names, e.g. `DNS:localhost`.
    func certificate(
        _ name: String,
        for names: String,
        by issuer: String? = "ca",
        key: [String] = EdgeCertificates.p256,
        more: [String] = [],
        faketime: String? = nil
    ) throws {
        try self.make(
            name,
            by: issuer,
            [
                "-subj", "/CN=\(name)", "-addext", "subjectAltName=\(names)", "-addext",
                "basicConstraints=critical,CA:FALSE",
            ]
                + more,
            key: key,
            faketime: faketime
        )
    }

    private func make(
        _ name: String,
        by issuer: String?,
        _ arguments: [String],
        key: [String],
        faketime: String? = nil
    ) throws {
        let signing = issuer.map { ["-CA", self.path("\($0).pem"), "-CAkey", self.path("\($0).key")] } ?? []
        let words =
            ["/usr/bin/openssl", "req", "-x509", "-nodes", "-days", "30", "-newkey"] + key + signing + arguments
            + ["-keyout", self.path("\(name).key"), "-out", self.path("\(name).pem")]
        let command = (faketime.map { ["/usr/bin/faketime", "-f", $0] } ?? []) + words
        let (status, output) = try Servers.run(command[0], Array(command.dropFirst()))
        guard status == 0 else { throw BenchFailure("openssl: \(output)") }
        try self.mode(0o600, of: "\(name).key")
    }

    func mode(_ mode: Int, of name: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: self.path(name))
    }

    /// Moves files into a folder and leaves links in their place, which go by the link `data` to the folder, as in volumes of
    /// Kubernetes.
    func link(_ names: [String], in folder: String) throws {
        let files = FileManager.default
        try files.createDirectory(atPath: self.path(folder), withIntermediateDirectories: false)
        for name in names {
            try files.moveItem(atPath: self.path(name), toPath: self.path("\(folder)/\(name)"))
            try files.createSymbolicLink(atPath: self.path(name), withDestinationPath: "data/\(name)")
        }
        try files.createSymbolicLink(atPath: self.path("data"), withDestinationPath: folder)
    }

    /// Lets the links to `own.pem` and `own.key` lead to the pair `NAME.pem` and `NAME.key`, in one step.
    func relink(_ name: String) throws {
        let files = FileManager.default
        try files.createDirectory(atPath: self.path(name), withIntermediateDirectories: false)
        for kind in ["pem", "key"] {
            try files.moveItem(atPath: self.path("\(name).\(kind)"), toPath: self.path("\(name)/own.\(kind)"))
        }
        try files.createSymbolicLink(atPath: self.path("data.new"), withDestinationPath: name)
        guard rename(self.path("data.new"), self.path("data")) == 0 else { throw BenchFailure("rename") }
    }

    func text(_ name: String) throws -> String { try String(contentsOfFile: self.path(name), encoding: .utf8) }

    func write(_ text: String, to name: String) throws {
        try text.write(toFile: self.path(name), atomically: true, encoding: .utf8)
        if name.hasSuffix(".key") { try self.mode(0o600, of: name) }
    }
}
