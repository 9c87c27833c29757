import Cryptography
import NIOSSL
import Settings
import Vocabulary

/// A TLS file that cannot be used for connections to an app.
package struct UpstreamTLSError: Error, CustomStringConvertible {
    package let description: String
}

/// TLS to apps with NIOSSL. Verification cannot be switched off (CVE-2026-31923).
enum UpstreamTLS {
    /// Where systems keep the authorities that are trusted without `ca_file`.
    private static let systemAuthorities = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"]

    /// Returns all files that the context depends on.
    static func files(_ settings: UpstreamSettings) -> [String] {
        guard settings.isHTTPS else { return [] }
        let own = [settings.certificateFile, settings.keyFile].compactMap(\.self)
        return (settings.caFile.map { [$0] } ?? self.systemAuthorities) + own
    }

    /// Returns the digests of all files that the context depends on. `nil` for a file that cannot be read.
    static func digests(_ settings: UpstreamSettings) -> [Digest256?] {
        self.files(settings).map(self.digest)
    }

    private static func digest(_ path: String) -> Digest256? {
        SettingsFiles.bytes(ofFile: path, atMost: .max).map { SHA256.digest($0) }
    }

    static func context(_ settings: UpstreamSettings) throws(UpstreamTLSError) -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        var subject = ""
        do {
            if let file = settings.caFile {
                subject = ".ca_file: \(file) cannot be used"
                configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(file))
            }
            if let file = settings.certificateFile {
                subject = ".certificate_file: \(file) cannot be used"
                configuration.certificateChain = try NIOSSLCertificate.fromPEMFile(file).map { .certificate($0) }
            }
            if let file = settings.keyFile {
                subject = ".key_file: \(file) cannot be used"
                configuration.privateKey = .privateKey(try NIOSSLPrivateKey(file: file, format: .pem))
            }
            subject = ": TLS cannot be set up"
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw UpstreamTLSError(description: "upstreams.\(settings.name)\(subject): \(error)")
        }
    }
}
