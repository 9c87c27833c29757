import AsyncHTTPClient
import NIOCore
import NIOPosix
import NIOSSL

#if canImport(Glibc)
import Glibc
#endif

extension ProviderCallError {
    /// What failed on the way to a host. Errors are not printed as they are: some contain values of fields, or paths of the
    /// machine that built the gateway.
    init(_ error: any Error, of host: String, isUnsent: Bool) {
        let (cause, detail) = Self.words(for: error, host)
        self.init(isUnsent: isUnsent, detail: detail, cause: cause)
    }

    private static func words(for error: any Error, _ host: String) -> (Cause, String) {
        switch error {
        case let error as HTTPClientError:
            switch error {
            case .connectTimeout, .getConnectionFromPoolTimeout: (.time, "\(host) could not be connected to in time")
            case .tlsHandshakeTimeout: (.time, "the TLS handshake with \(host) took too long")
            case .deadlineExceeded: (.time, "\(host) did not answer in time")
            case .remoteConnectionClosed: (.other, "\(host) closed the connection before its answer was complete")
            default: (.other, "\(host): \(error.shortDescription)")
            }
        case let error as AnswerTooLarge: (.size, "the answer of \(host) has more than \(error.limit) bytes")
        case let error as NIOConnectionError: Self.connecting(error, host)
        case let error as NIOSSLError: Self.tls(error, host)
        case is NIOSSLExtraError: (.certificateName, "TLS with \(host) failed: its certificate is for another name")
        case let error as IOError: (.connection, "the connection with \(host) failed: \(Self.system(error))")
        case is CancellationError: (.other, "the call was cancelled")
        default: (.other, "the call of \(host) failed: \(type(of: error))")
        }
    }

    private static func connecting(_ error: NIOConnectionError, _ host: String) -> (Cause, String) {
        guard let attempt = error.connectionErrors.last?.error else {
            return (.name, "\(host) cannot be found: its name has no address")
        }
        let reason = (attempt as? IOError).map(Self.system) ?? "it does not answer"
        return (.connection, "\(host) cannot be connected to: \(reason)")
    }

    private static func system(_ error: IOError) -> String { String(cString: strerror(error.errnoCode)) }

    private static func tls(_ error: NIOSSLError, _ host: String) -> (Cause, String) {
        guard case .handshakeFailed(let cause) = error else { return (.tls, "TLS with \(host) failed: \(error)") }
        // BoringSSL's text: `Error: 268435581 error:1000007d:SSL routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED at ...`
        let text = "\(cause)"
        if text.contains("CERTIFICATE_VERIFY_FAILED") {
            return (.certificate, "TLS with \(host) failed: its certificate is not trusted")
        }
        if text.contains("WRONG_VERSION_NUMBER") || text.contains("HTTP_REQUEST") {
            return (.notTLS, "TLS with \(host) failed: it answers without TLS")
        }
        let reason = text.split(separator: "OPENSSL_internal:").dropFirst().first?.prefix { $0 != " " }
        return (.tls, "TLS with \(host) failed\(reason.map { ": \($0)" } ?? "")")
    }
}
