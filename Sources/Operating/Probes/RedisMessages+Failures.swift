import Glibc
import NIOCore
import NIOSSL
import RedisStore
import Transport
import Vocabulary

extension RedisMessages {
    /// Explains why a connection failed, and what to do.
    static func failure(_ error: any Error, of configuration: RedisConfiguration) -> String {
        switch error {
        case let error as IOError: Self.system(error)
        case ChannelError.connectTimeout: Self.noAnswer
        case let error as UnknownHost:
            "its name cannot be resolved: is \(error.host) right, and does this machine's DNS know it?"
        case is SocketAddressError: "its address cannot be used"
        case let error as NIOSSLError: Self.tls(error, configuration)
        case is NIOSSLExtraError:
            "its certificate has another name: connect by that name, or write server_name= into the URL"
        case let error as BoringSSLError: Self.tls(.handshakeFailed(error), configuration)
        case RedisError.server(let refusal): Self.refusal(refusal)
        case RedisError.unanswered(let cause), RedisError.notSent(let cause): Self.lost(cause, configuration)
        default: "it cannot be used: \(type(of: error))"
        }
    }

    /// A question that a failure leaves open.
    enum Doubt {
        /// Why the server's certificate is not trusted.
        case certificate
        /// Whether the server speaks another protocol than the URL says.
        case `protocol`
    }

    /// Returns the question that a second probe of the server should answer; `nil` if the failure says enough.
    static func doubt(_ error: any Error) -> Doubt? {
        switch error {
        case let error as NIOSSLError:
            guard case .handshakeFailed(let cause) = error else { return .protocol }
            return Self.doubt(inHandshake: cause)
        case let error as BoringSSLError: return Self.doubt(inHandshake: error)
        case let error as IOError: return [ECONNRESET, EPIPE].contains(error.errnoCode) ? .protocol : nil
        case RedisError.unanswered: return .protocol
        default: return nil
        }
    }

    private static func doubt(inHandshake cause: BoringSSLError) -> Doubt? {
        let words = "\(cause)".uppercased()
        if words.utf8.contains("CERTIFICATE_VERIFY_FAILED".utf8) { return .certificate }
        return words.utf8.contains("ALERT".utf8) ? nil : .protocol
    }

    private static let noAnswer =
        "it does not answer: is the address right, and does a firewall drop what is sent to it?"

    private static let hangsUp =
        "it closes the connection without an answer: is it Redis, or a load balancer without a server behind it?"

    private static func system(_ error: IOError) -> String {
        switch error.errnoCode {
        case ECONNREFUSED: "nothing listens there: is Redis running, and are host and port right?"
        case ETIMEDOUT: Self.noAnswer
        case EHOSTUNREACH, ENETUNREACH: "there is no network route to it: is the address right?"
        case ENOENT: "the socket does not exist: is Redis running with this unixsocket?"
        case EACCES, EPERM: "this user may not open the socket: see unixsocketperm and the directory's rights"
        case ECONNRESET, EPIPE: Self.hangsUp
        default: String(cString: strerror(error.errnoCode))
        }
    }

    private static func tls(_ error: NIOSSLError, _ configuration: RedisConfiguration) -> String {
        guard case .handshakeFailed(let cause) = error else {
            if case .uncleanShutdown = error { return Self.hangsUp }
            return "TLS fails: \(error)"
        }
        // The description of BoringSSL's error contains no data of the gateway.
        let words = "\(cause)".uppercased()
        if words.utf8.contains("CERTIFICATE_VERIFY_FAILED".utf8) {
            return "its certificate is not signed by an authority that is trusted here, or is not valid today"
        }
        if words.utf8.contains("WRONG_VERSION_NUMBER".utf8) || words.utf8.contains("HTTP_REQUEST".utf8) {
            return "it does not speak TLS there: write redis:// into the URL, or use its tls-port"
        }
        if words.utf8.contains("PROTOCOL_VERSION".utf8) || words.utf8.contains("UNSUPPORTED_PROTOCOL".utf8) {
            return "it speaks neither TLS 1.2 nor 1.3: see its tls-protocols"
        }
        guard configuration.tls?.certificateFile != nil else {
            let isWanted = words.utf8.contains("CERTIFICATE".utf8) || words.utf8.contains("HANDSHAKE_FAILURE".utf8)
            return isWanted
                ? "it requires a client certificate: write cert= and key= into the URL"
                : "the TLS handshake fails: \(cause)"
        }
        if words.utf8.contains("CERTIFICATE_EXPIRED".utf8) { return "the gateway's certificate (cert=) has expired" }
        if words.utf8.contains("CERTIFICATE".utf8) || words.utf8.contains("UNKNOWN_CA".utf8)
            || words.utf8.contains("HANDSHAKE_FAILURE".utf8)
        {
            return "it does not trust the gateway's certificate (cert=): "
                + "its tls-ca-cert-file must contain the authority that signed it"
        }
        return "the TLS handshake fails: \(cause)"
    }

    private static func lost(_ cause: RedisError.Cause, _ configuration: RedisConfiguration) -> String {
        switch cause {
        case .closed where configuration.tls?.certificateFile == nil && configuration.tls != nil:
            "it closed the connection at once: does it require a client certificate (cert= and key=)?"
        case .closed: Self.hangsUp
        case .protocolError: "the server there is not Redis: are host and port right?"
        case .timedOut where configuration.tls != nil:
            "it accepts connections but does not answer: it is stopped, or does not speak TLS there"
        case .timedOut: "it accepts connections but does not answer: is it stopped, or not Redis?"
        default: Self.cause(cause)
        }
    }
}
