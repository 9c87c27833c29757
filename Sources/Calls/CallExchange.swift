import NIOCore
import NIOHTTP1
import NIOSSL
import Sessions
import Settings
import Vocabulary

/// A server of a provider, its TLS context and its proxy. Calls share a connection only if all three are equal.
struct CallServer: Hashable {
    let host: String
    let port: Int
    /// The TLS context; `nil` for plain HTTP.
    let tls: NIOSSLContext?
    /// The proxy on the way; `nil` for a direct connection.
    let proxy: OutgoingProxy?

    init(_ url: EndpointURL, tls: NIOSSLContext?, proxies: OutgoingProxies = OutgoingProxies()) {
        // An IPv6 address loses its brackets.
        self.host = url.host.hasPrefix("[") ? String(url.host.dropFirst().dropLast()) : url.host
        self.port = url.port ?? (url.isHTTPS ? 443 : 80)
        self.tls = tls
        self.proxy = proxies.proxy(forHost: self.host, port: self.port, isHTTPS: url.isHTTPS)
    }

    /// Whether the host is an IP address.
    var isAddress: Bool { (try? SocketAddress(ipAddress: self.host, port: self.port)) != nil }

    /// The target of a connection: the server, or the proxy.
    var peer: (host: String, port: Int) { self.proxy.map { ($0.host, $0.port) } ?? (self.host, self.port) }

    /// The address of the peer; `nil` if its host is a name.
    var peerAddress: SocketAddress? { try? SocketAddress(ipAddress: self.peer.host, port: self.peer.port) }

    /// Whether calls go through a tunnel that the proxy opens. Without TLS, each request is sent to the proxy itself.
    var isTunnelled: Bool { self.proxy != nil && self.tls != nil }

    static func == (left: Self, right: Self) -> Bool {
        left.host == right.host && left.port == right.port && left.tls === right.tls && left.proxy == right.proxy
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(self.host)
        hasher.combine(self.port)
        hasher.combine(self.tls.map(ObjectIdentifier.init))
    }
}

/// One request to a provider and its answer. Used on the loop of the connections only.
final class CallExchange: @unchecked Sendable {
    enum Step: Sendable {
        /// All connections are in use.
        case waiting
        case connecting
        /// The proxy has been asked for a tunnel to the server.
        case tunnelling
        case handshaking
        /// The server may have received the request.
        case sent
    }

    let server: CallServer
    let head: HTTPRequestHead
    let body: ByteBuffer
    let deadline: NIODeadline
    private(set) var step = Step.waiting
    /// Whether the call may use an idle connection, and be retried on a new one if the idle connection ends.
    private(set) var takesKeptConnection: Bool
    /// The connection that was opened for the call, or that sends it.
    weak var connection: CallConnection?
    /// The caller who needs the answer.
    let caller: ProviderCaller
    /// Whether the limit of the server includes this call (`WaitingCalls`).
    var isSeated = false

    private let bodyLimit: Int
    /// The host for messages.
    private let host: String
    private let promise: EventLoopPromise<CallAnswer>
    private var timer: Scheduled<Void>?
    private var answerHead: HTTPResponseHead?
    private var answerBody = ByteBuffer()
    private(set) var isOver = false
    /// Whether the server may have received the request, at the first attempt or at the retry.
    private var wasSent = false
    /// Called once, when the call is over.
    private var whenOver: (() -> Void)?

    init(_ call: OutgoingCall, to server: CallServer, _ url: EndpointURL, on loop: any EventLoop) {
        self.server = server
        self.host = url.host
        self.deadline = .now() + .nanoseconds(call.timeLimit.wholeMilliseconds * 1_000_000)
        self.bodyLimit = call.bodyLimit
        self.body = call.longBody ?? ByteBuffer(bytes: call.body)
        self.takesKeptConnection = call.isRepeatable
        self.caller = call.caller ?? .endpoint(call.isShared ? nil : ProviderCaller.endpointClient)
        self.promise = loop.makePromise()
        var headers = HTTPHeaders(call.fields.map { ($0.name, $0.value) })
        headers.replaceOrAdd(name: "Host", value: url.authority)
        // Without this field, any coding is acceptable (RFC 9110 12.5.3). The gateway cannot decode any coding.
        headers.replaceOrAdd(name: "Accept-Encoding", value: "identity")
        // Some providers reject requests without this field.
        if !headers.contains(name: "User-Agent") { headers.add(name: "User-Agent", value: "sallyport") }
        headers.remove(name: "Transfer-Encoding")
        headers.remove(name: "Content-Length")
        if self.body.readableBytes > 0 || ["POST", "PUT", "PATCH"].contains(call.method) {
            headers.add(name: "Content-Length", value: String(self.body.readableBytes))
        }
        var target = url.target
        if let proxy = server.proxy, !server.isTunnelled {
            // A proxy requires the absolute form (RFC 9112 3.2.2).
            target = url.origin + url.target
            if let value = proxy.authorization { headers.add(name: "Proxy-Authorization", value: value) }
        }
        self.head = HTTPRequestHead(
            version: .http1_1,
            method: HTTPMethod(rawValue: call.method),
            uri: target,
            headers: headers
        )
    }

    /// The answer. Its only error is `CallError`, unless the loop ends.
    var answer: EventLoopFuture<CallAnswer> { self.promise.futureResult }

    /// Starts the time limit. Calls `whenOver` once, when the call is over.
    func start(_ whenOver: @escaping () -> Void) {
        self.whenOver = whenOver
        self.timer = self.promise.futureResult.eventLoop.scheduleTask(deadline: self.deadline) {
            self.fail(ProviderTimeout(step: self.step))
        }
    }

    func advance(to step: Step) {
        self.step = step
        if step == .sent { self.wasSent = true }
    }

    /// Prepares the retry on a new connection, within the remaining time.
    func startAgain() {
        self.takesKeptConnection = false
        self.connection = nil
        self.step = .waiting
    }

    /// Fails the call. Ignored if the call is over.
    func fail(_ error: any Error) {
        guard self.end() else { return }
        let failure = CallError(
            error,
            of: self.host,
            through: self.server.proxy?.name,
            isUnsent: !self.wasSent,
            step: self.step
        )
        self.promise.fail(failure)
        self.connection?.giveUp()
    }

    // MARK: The answer

    func received(_ head: HTTPResponseHead) {
        self.answerHead = head
    }

    func received(_ part: ByteBuffer) {
        guard self.answerBody.readableBytes + part.readableBytes <= self.bodyLimit else {
            return self.fail(AnswerTooLarge(limit: self.bodyLimit))
        }
        self.answerBody.writeImmutableBuffer(part)
    }

    /// Ends the call with its complete answer.
    ///
    /// - Returns: Whether the connection can be used again.
    func complete() -> Bool {
        // Status 407 comes from the proxy itself.
        if self.answerHead?.status == .proxyAuthenticationRequired, self.server.proxy != nil, !self.server.isTunnelled {
            self.fail(ProxyRefusal(status: 407))
            return false
        }
        if let coding = self.answerCoding {
            self.fail(AnswerEncoded(coding: coding))
            return false
        }
        guard let head = self.answerHead, self.end() else { return false }
        self.skipByteOrderMark()
        self.promise.succeed(
            CallAnswer(
                status: Int(head.status.code),
                fields: head.headers.map { ($0.name.lowercased(), $0.value) },
                body: Array(self.answerBody.readableBytesView)
            )
        )
        // After 101 the connection speaks another protocol.
        return head.isKeepAlive && head.status != .switchingProtocols
    }

    /// The coding that makes a 200 answer unreadable (RFC 9110 8.4); `nil` for any other status. Also `nil` if the body
    /// is valid UTF-8, because some servers name a coding, even an invalid one, without applying it.
    private var answerCoding: String? {
        guard let head = self.answerHead, head.status == .ok,
            let coding = head.headers.first(name: "content-encoding"),
            String(validating: self.answerBody.readableBytesView, as: UTF8.self) == nil
        else { return nil }
        return coding
    }

    /// Skips a byte order mark. A JSON parser "MAY ignore the presence of a byte order mark" (RFC 8259 8.1).
    private func skipByteOrderMark() {
        if self.answerBody.readableBytesView.starts(with: [0xEF, 0xBB, 0xBF]) {
            self.answerBody.moveReaderIndex(forwardBy: 3)
        }
    }

    private func end() -> Bool {
        guard !self.isOver else { return false }
        self.isOver = true
        self.timer?.cancel()
        self.whenOver.take()?()
        return true
    }
}

/// An error for a call that has reached its time limit.
struct ProviderTimeout: Error {
    let step: CallExchange.Step
}

/// An error for a connection that the server closed or broke before the answer was complete.
struct AnswerCutShort: Error {}

/// An error for an answer with more bytes than its call allows.
struct AnswerTooLarge: Error {
    let limit: Int
}

/// An error for an answer with a content coding, although the request accepts no coding.
struct AnswerEncoded: Error {
    /// The value of `Content-Encoding`.
    let coding: String
}

/// An error for calls after the shutdown of the client.
struct CallClientEnded: Error {}
