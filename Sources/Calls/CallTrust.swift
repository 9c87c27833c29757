import NIOSSL
import Synchronization

/// Which certificates are trusted in calls to a provider.
final class CallTrust: Sendable {
    private let configuration: TLSConfiguration
    private let made = Mutex<NIOSSLContext?>(nil)

    /// - Parameters:
    ///   - caFile: A PEM file of certificates to trust instead of the system's; it is read now.
    ///   - certificate: The PEM files of a certificate with its issuers, and of its key, for servers that ask for one.
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

    /// The context of the connections, if there was a call already.
    var context: NIOSSLContext? { self.made.withLock { $0 } }

    /// The same, made now if there is none. It reads the system's certificates, so it takes long; they are needed for calls
    /// with TLS only, and an image may have none.
    func makeContext() throws -> NIOSSLContext {
        try self.made.withLock { made in
            if let made { return made }
            let context = try NIOSSLContext(configuration: self.configuration)
            made = context
            return context
        }
    }
}
