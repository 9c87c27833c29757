import NIOSSL
import Synchronization

/// The TLS settings for calls to a provider: the trusted certificates, and the client certificate.
final class CallTrust: Sendable {
    private let configuration: TLSConfiguration
    private let made = Mutex<NIOSSLContext?>(nil)

    /// - Parameters:
    ///   - caFile: A PEM file with the certificates to trust instead of the system's. The file is read immediately.
    ///   - certificate: The PEM files of a client certificate with its issuers, and of its key.
    /// - Throws: An error of NIOSSL for a file that cannot be used.
    init(caFile: String?, certificate: (chain: String, key: String)? = nil) throws {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.applicationProtocols = ["http/1.1"]
        if let caFile { tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(caFile)) }
        if let certificate {
            tls.certificateChain = try NIOSSLCertificate.fromPEMFile(certificate.chain).map { .certificate($0) }
            tls.privateKey = .privateKey(try NIOSSLPrivateKey(file: certificate.key, format: .pem))
        }
        self.configuration = tls
    }

    /// The context of the connections; `nil` before the first call with TLS.
    var context: NIOSSLContext? { self.made.withLock { $0 } }

    /// Returns the context. The first call makes it and reads the system's certificates, which is slow and fails in a
    /// container image without certificates. Calls without TLS must not need the context.
    func makeContext() throws -> NIOSSLContext {
        try self.made.withLock { made in
            if let made { return made }
            let context = try NIOSSLContext(configuration: self.configuration)
            made = context
            return context
        }
    }
}
