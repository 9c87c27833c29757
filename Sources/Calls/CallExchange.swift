import NIOCore
import NIOHTTP1
import NIOSSL
import Sessions
import Settings
import Vocabulary

/// A provider's server, with TLS context and proxy. Calls to equal servers share connections.
struct CallServer: Hashable {
    let host: String
    let port: Int
    /// The TLS context; `nil` for http.
    let tls: NIOSSLContext?
    /// The proxy; `nil` for a direct connection.
    let proxy: OutgoingProxy?

    init(_ url: EndpointURL, tls: NIOSSLContext?, proxies: OutgoingProxies = OutgoingProxies()) {
        // An IPv6 address in a URL is in brackets.
        self.host = url.host.hasPrefix("[") ? String(url.host.dropFirst().dropLast()) : url.host
        self.port = url.port ?? (url.isHTTPS ? 443 : 80)
        self.tls = tls
        self.proxy = proxies.proxy(forHost: self.host, port: self.port, isHTTPS: url.isHTTPS)
    }

    /// True if the host is an IP address.
    var isAddress: Bool { (try? SocketAddress(ipAddress: self.host, port: self.port)) != nil }

    /// The host and port to connect to: the proxy's or the server's.
    var peer: (host: String, port: Int) { self.proxy.map { ($0.host, $0.port) } ?? (self.host, self.port) }

    /// The address to connect to; `nil` if it must be resolved.
    var peerAddress: SocketAddress? { try? SocketAddress(ipAddress: self.peer.host, port: self.peer.port) }

    /// True if calls go through a tunnel. Calls without TLS are sent to the proxy itself.
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

/// A call in progress: one request and its answer. Confined to the loop of the connections.
final class CallExchange: @unchecked Sendable {
    enum Step: Sendable {
        /// The call waits for a connection.
        case waiting
        case connecting
        /// The proxy was asked for a tunnel.
        case tunnelling
        case handshaking
        /// The server may have received the request.
        case sent
    }

    let server: CallServer
    let head: HTTPRequestHead
    let body: ByteBuffer
    /// When the call fails. Moves once if `OutgoingCall.hasTimeForAnswer` is true.
    private(set) var deadline: NIODeadline
    private(set) var step = Step.waiting
    /// True if the call may use an idle connection, and be retried on a new connection.
    private(set) var takesKeptConnection: Bool
    /// The connection that is opened for the call or sends it.
    weak var connection: CallConnection?
    /// Who needs the answer.
    let caller: ProviderCaller
    /// True while the call counts against the limit for its server (`WaitingCalls`).
    var isSeated = false

    private let timeLimit: TimeAmount
    private let hasTimeForAnswer: Bool
    private let bodyLimit: Int
    /// The host in messages.
    private let host: String
    private let promise: EventLoopPromise<CallAnswer>
    private var timer: Scheduled<Void>?
    private var answerHead: HTTPResponseHead?
    private var answerBody = ByteBuffer()
    private(set) var isOver = false
    /// True if the server may have received the request in any attempt.
    private var wasSent = false
    /// Called once when the call is over.
    private var whenOver: (() -> Void)?

    init(_ call: OutgoingCall, to server: CallServer, _ url: EndpointURL, on loop: any EventLoop) {
        self.server = server
        self.host = url.host
        self.timeLimit = .milliseconds(call.timeLimit.wholeMilliseconds)
        self.hasTimeForAnswer = call.hasTimeForAnswer
        self.deadline = .now() + self.timeLimit
        self.bodyLimit = call.bodyLimit
        self.body = call.longBody ?? ByteBuffer(bytes: call.body)
        self.takesKeptConnection = call.isRepeatable
        self.caller = call.caller ?? .endpoint(call.isShared ? nil : ProviderCaller.endpointClient)
        self.promise = loop.makePromise()
        var headers = HTTPHeaders(call.fields.map { ($0.name, $0.value) })
        headers.replaceOrAdd(name: "Host", value: url.authority)
        // Without this header, servers may use any coding (RFC 9110 12.5.3). The gateway decodes none.
        headers.replaceOrAdd(name: "Accept-Encoding", value: "identity")
        // Some providers reject requests without this header.
        if !headers.contains(name: "User-Agent") { headers.add(name: "User-Agent", value: "sallyport") }
        headers.remove(name: "Transfer-Encoding")
        headers.remove(name: "Content-Length")
        if self.body.readableBytes > 0 || ["POST", "PUT", "PATCH"].contains(call.method) {
            headers.add(name: "Content-Length", value: String(self.body.readableBytes))
        }
        var target = url.target
        if let proxy = server.proxy, !server.isTunnelled {
            // Requests to a proxy need the absolute form (RFC 9112 3.2.2).
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

    /// The answer. Fails with `CallError`, or with another error if the loop ends.
    var answer: EventLoopFuture<CallAnswer> { self.promise.futureResult }

    /// Starts the timer for the deadline. `whenOver` is called once, when the call is over.
    func start(_ whenOver: @escaping () -> Void) {
        self.whenOver = whenOver
        self.startTimer()
    }

    private func startTimer() {
        self.timer?.cancel()
        self.timer = self.promise.futureResult.eventLoop.scheduleTask(deadline: self.deadline) {
            self.fail(ProviderTimeout(step: self.step))
        }
    }

    func advance(to step: Step) {
        self.step = step
        guard step == .sent else { return }
        if self.hasTimeForAnswer, !self.wasSent, !self.isOver {
            self.deadline = .now() + self.timeLimit
            self.startTimer()
        }
        self.wasSent = true
    }

    /// Prepares the retry on a new connection. The deadline stays the same.
    func startAgain() {
        self.takesKeptConnection = false
        self.connection = nil
        self.step = .waiting
    }

    /// Fails the call. Does nothing if the call is over.
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
            return self.fail(AnswerTooLarge(limit: self.bodyLimit, status: self.answerStatus))
        }
        self.answerBody.writeImmutableBuffer(part)
    }

    private var answerStatus: Int? { self.answerHead.map { Int($0.status.code) } }

    /// Completes the call.
    ///
    /// - Returns: True if the connection can be used again.
    func complete() -> Bool {
        // The proxy itself answers with 407.
        if self.answerHead?.status == .proxyAuthenticationRequired, self.server.proxy != nil, !self.server.isTunnelled {
            self.fail(ProxyRefusal(status: 407))
            return false
        }
        if let coding = self.answerCoding {
            self.fail(AnswerEncoded(coding: coding, status: self.answerStatus))
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
        // After 101, the connection uses another protocol.
        return head.isKeepAlive && head.status != .switchingProtocols
    }

    /// The content coding that makes a 200 answer unreadable (RFC 9110 8.4). `nil` if the body is valid UTF-8: some
    /// servers name a coding without applying it.
    private var answerCoding: String? {
        guard let head = self.answerHead, head.status == .ok,
            let coding = head.headers.first(name: "content-encoding"),
            String(validating: self.answerBody.readableBytesView, as: UTF8.self) == nil
        else { return nil }
        return coding
    }

    /// Skips a byte order mark, as JSON parsers may do (RFC 8259 8.1).
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

/// The call has reached its deadline.
struct ProviderTimeout: Error {
    let step: CallExchange.Step
}

/// The connection ended before the answer was complete.
struct AnswerCutShort: Error {}

/// The answer has more bytes than the call allows.
struct AnswerTooLarge: Error {
    let limit: Int
    let status: Int?
}

/// The answer has a content coding, but the request accepts none.
struct AnswerEncoded: Error {
    /// The value of `Content-Encoding`.
    let coding: String
    let status: Int?
}

/// The client was shut down.
struct CallClientEnded: Error {}
