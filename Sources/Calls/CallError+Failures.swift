import Glibc
import NIOCore
import NIOHTTP1
import NIOSSL
import Transport
import Vocabulary

extension CallError {
    /// Describes a failure. For an unknown error, shows only its type: its text may contain secrets, or paths of the
    /// machine that built the gateway.
    ///
    /// - Parameters:
    ///   - proxy: The proxy to the host; `nil` for a direct connection.
    ///   - step: How far the call got.
    init(
        _ error: any Error,
        of host: String,
        through proxy: String? = nil,
        isUnsent: Bool,
        step: CallExchange.Step = .waiting
    ) {
        let (cause, detail) = Self.words(for: error, host, proxy, step)
        let status: Int? =
            switch error {
            case let error as AnswerTooLarge: error.status
            case let error as AnswerEncoded: error.status
            default: nil
            }
        self.init(isUnsent: isUnsent, detail: detail, cause: cause, status: status)
    }

    private static func words(
        for error: any Error,
        _ target: String,
        _ proxy: String?,
        _ step: CallExchange.Step
    ) -> (Cause, String) {
        // Before the TLS handshake, only the proxy has been contacted.
        let isAtProxy = step == .connecting || step == .tunnelling
        let host = proxy.flatMap { isAtProxy ? "the proxy \($0) on the way to \(target)" : nil } ?? target
        switch error {
        case let error as ProxyRefusal: return (.proxy, Self.refusal(error, proxy ?? "", target))
        case let error as ProviderTimeout: return (.time, Self.late(host, error.step))
        case ChannelError.connectTimeout: return (.time, Self.late(host, .connecting))
        case is UnknownHost: return (.name, "\(host) cannot be found: its name has no address")
        case let error as IOError where step == .connecting:
            return (.connection, "\(host) cannot be connected to: \(Self.system(error))")
        case let error as IOError: return (.connection, "the connection with \(host) failed: \(Self.system(error))")
        case let error as NIOSSLError: return Self.tls(error, host, step)
        // With TLS 1.3, a server rejects a client's certificate after the handshake.
        case let error as BoringSSLError: return Self.tls(reason: "\(error)", host)
        case is NIOSSLExtraError:
            return (.certificateName, "TLS with \(host) failed: its certificate is for another name")
        case let error as AnswerTooLarge: return (.size, "the answer of \(host) has more than \(error.limit) bytes")
        case let error as AnswerEncoded: return (.other, Self.encoded(error, host))
        case is AnswerCutShort, HTTPParserError.invalidEOFState:
            return (.other, "\(host) closed the connection before its answer was complete")
        case is HTTPParserError: return (.other, "the answer of \(host) is not HTTP/1.1")
        case is CallClientEnded: return (.other, "the gateway stops, and calls \(host) no more")
        case is CancellationError: return (.other, "the call was cancelled")
        default: return (.other, "the call of \(host) failed: \(type(of: error))")
        }
    }

    private static func late(_ host: String, _ step: CallExchange.Step) -> String {
        switch step {
        case .waiting: "\(host) is busy with other calls and had no time for this one"
        case .connecting: "\(host) could not be connected to in time"
        case .tunnelling: "\(host) did not answer in time"
        case .handshaking: "the TLS handshake with \(host) took too long"
        case .sent: "\(host) did not answer in time"
        }
    }

    private static func encoded(_ error: AnswerEncoded, _ host: String) -> String {
        let coding = error.coding.isPlain(upTo: 64) ? error.coding : "one that cannot be shown"
        return "the answer of \(host) is compressed (Content-Encoding: \(coding)), although the gateway asks for none"
    }

    private static func refusal(_ refusal: ProxyRefusal, _ proxy: String, _ host: String) -> String {
        switch refusal.status {
        case nil: "the proxy \(proxy) does not answer CONNECT for \(host) as an HTTP proxy does"
        case 407?: "the proxy \(proxy) lets nobody through to \(host) without the right user and password (status 407)"
        case let status?:
            "the proxy \(proxy) does not let the gateway through to \(host): it answers with status \(status)"
        }
    }

    private static func system(_ error: IOError) -> String { String(cString: strerror(error.errnoCode)) }

    private static func tls(
        _ error: NIOSSLError,
        _ host: String,
        _ step: CallExchange.Step
    ) -> (Cause, String) {
        if case .uncleanShutdown = error, step == .sent {
            return (.other, "\(host) closed the connection before its answer was complete")
        }
        guard case .handshakeFailed(let cause) = error else { return (.tls, "TLS with \(host) failed: \(error)") }
        return Self.tls(reason: "\(cause)", host)
    }

    /// - Parameter text: BoringSSL's message, e.g. `Error: 268435581 error:1000007d:SSL
    ///   routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED at ...`.
    private static func tls(reason text: String, _ host: String) -> (Cause, String) {
        if text.utf8.contains("CERTIFICATE_REQUIRED".utf8) {
            return (.tls, "TLS with \(host) failed: it asks for a certificate of the gateway, which has none for it")
        }
        if text.utf8.contains("CERTIFICATE_VERIFY_FAILED".utf8) {
            return (.certificate, "TLS with \(host) failed: its certificate is not trusted")
        }
        if text.utf8.contains("WRONG_VERSION_NUMBER".utf8) || text.utf8.contains("HTTP_REQUEST".utf8) {
            return (.notTLS, "TLS with \(host) failed: it answers without TLS")
        }
        let reason = text.utf8.firstRange(of: "OPENSSL_internal:".utf8).map {
            text[$0.upperBound...].prefix { $0 != " " }
        }
        return (.tls, "TLS with \(host) failed\(reason.map { ": \($0)" } ?? "")")
    }
}
