import NIOSSL
import Synchronization

/// The TLS settings for calls to a provider: trusted authorities and the client certificate.
final class CallTrust: Sendable {
    private let configuration: TLSConfiguration
    private let made = Mutex<NIOSSLContext?>(nil)

    /// - Parameters:
    ///   - caFile: A PEM file with authorities to trust instead of the system's. Read at once.
    ///   - certificate: The PEM files of a client certificate with its issuers, and of its key.
    /// - Throws: An error of NIOSSL if a file cannot be used.
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

    /// The TLS context; `nil` before the first call with TLS.
    var context: NIOSSLContext? { self.made.withLock { $0 } }

    /// Returns the TLS context. Unless there is a `caFile`, the first call reads the system's certificates. That is
    /// slow, and fails in an image without certificates, so calls without TLS must not need the context.
    func makeContext() throws -> NIOSSLContext {
        try self.made.withLock { made in
            if let made { return made }
            let context = try NIOSSLContext(configuration: self.configuration)
            made = context
            return context
        }
    }
}
