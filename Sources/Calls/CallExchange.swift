import NIOCore
import NIOHTTP1
import NIOSSL
import Sessions
import Settings
import Vocabulary

/// A server of a provider, and how it is trusted: what a connection can be used for.
struct CallServer: Hashable {
    let host: String
    let port: Int
    /// nil: without TLS.
    let tls: NIOSSLContext?
    /// nil: it is connected to directly.
    let proxy: OutgoingProxy?

    init(_ url: EndpointURL, tls: NIOSSLContext?, proxies: OutgoingProxies = OutgoingProxies()) {
        // Without the brackets of an IPv6 address.
        self.host = url.host.hasPrefix("[") ? String(url.host.dropFirst().dropLast()) : url.host
        self.port = url.port ?? (url.isHTTPS ? 443 : 80)
        self.tls = tls
        self.proxy = proxies.proxy(forHost: self.host, port: self.port, isHTTPS: url.isHTTPS)
    }

    /// Whether the host is an address and no name.
    var isAddress: Bool { (try? SocketAddress(ipAddress: self.host, port: self.port)) != nil }

    /// What a connection is opened to: the server, or the proxy.
    var peer: (host: String, port: Int) { self.proxy.map { ($0.host, $0.port) } ?? (self.host, self.port) }

    /// The address of the peer; nil: its host is a name.
    var peerAddress: SocketAddress? { try? SocketAddress(ipAddress: self.peer.host, port: self.peer.port) }

    /// Whether a tunnel through the proxy is opened first. Without TLS the proxy itself gets each request.
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

/// One request to a provider and its answer. Used on the loop of the connections.
final class CallExchange: @unchecked Sendable {
    enum Step: Sendable {
        /// All connections are in use.
        case waiting
        case connecting
        /// The proxy is asked for a way to the server.
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
    /// Whether it may be sent on a connection that has served another call, and again on a new one if that ends.
    private(set) var takesKeptConnection: Bool
    /// The connection that was opened for it, or that it is sent on.
    weak var connection: CallConnection?
    /// Who needs it.
    let caller: ProviderCaller
    /// Whether it counts among the calls of the server that are under way (`WaitingCalls`).
    var isSeated = false

    private let bodyLimit: Int
    /// The host as it is named to people.
    private let host: String
    private let promise: EventLoopPromise<CallAnswer>
    private var timer: Scheduled<Void>?
    private var answerHead: HTTPResponseHead?
    private var answerBody = ByteBuffer()
    private(set) var isOver = false
    /// Whether the server may have received the request, now or the time before.
    private var wasSent = false
    /// Called once, when it is over.
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
        // Without it any coding is acceptable (RFC 9110 12.5.3), and none is read.
        headers.replaceOrAdd(name: "Accept-Encoding", value: "identity")
        // Some providers refuse requests without it.
        if !headers.contains(name: "User-Agent") { headers.add(name: "User-Agent", value: "sallyport") }
        headers.remove(name: "Transfer-Encoding")
        headers.remove(name: "Content-Length")
        if self.body.readableBytes > 0 || ["POST", "PUT", "PATCH"].contains(call.method) {
            headers.add(name: "Content-Length", value: String(self.body.readableBytes))
        }
        var target = url.target
        if let proxy = server.proxy, !server.isTunnelled {
            // RFC 9112 3.2.2
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

    /// Never fails with another error than `CallError`, unless the loop ends.
    var answer: EventLoopFuture<CallAnswer> { self.promise.futureResult }

    /// Begins to count the time.
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

    /// Forgets the connection on which the request was sent: it is sent on a new one, in what is left of its time.
    func startAgain() {
        self.takesKeptConnection = false
        self.connection = nil
        self.step = .waiting
    }

    /// Ignored if the exchange is over.
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

    /// The answer is complete.
    ///
    /// - Returns: Whether the connection can be used again.
    func complete() -> Bool {
        // Only a proxy asks for its own password.
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

    /// The coding of a good answer (RFC 9110 8.4) that makes it unreadable; nil: none. Some servers name one, or what is
    /// none, and do not apply it. Other answers are judged by their status.
    private var answerCoding: String? {
        guard let head = self.answerHead, head.status == .ok,
            let coding = head.headers.first(name: "content-encoding"),
            String(validating: self.answerBody.readableBytesView, as: UTF8.self) == nil
        else { return nil }
        return coding
    }

    /// A reader of JSON "MAY ignore the presence of a byte order mark rather than treating it as an error" (RFC 8259 8.1).
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

/// A call has reached its time limit.
struct ProviderTimeout: Error {
    let step: CallExchange.Step
}

/// The server has closed the connection, or broken it, before the answer was complete.
struct AnswerCutShort: Error {}

/// An answer has more bytes than its call allows.
struct AnswerTooLarge: Error {
    let limit: Int
}

/// An answer is compressed, although its request accepts no coding.
struct AnswerEncoded: Error {
    /// `Content-Encoding`, as the server writes it.
    let coding: String
}

/// The client has shut down.
struct CallClientEnded: Error {}
