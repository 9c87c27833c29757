import AddressIntelligence
import Handoff
package import NIOCore
import Observability
import Sessions
import Settings
import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

/// One client connection: reads requests in order, has each judged once, and passes the exchange on or answers it.
///
/// ```
///   idle ─▶ head ─▶ waiting ───────────┐        a future: session, handoff, an endpoint's answer
///     ▲       │        │               ▼
///     │       ├────────┴─▶ connecting ─▶ exchange ─▶ (tunnel)
///     │       └─▶ collecting ─▶ waiting    │          collecting: the body of an endpoint's request
///     │                           │        │
///     └────────── draining ◀──────┴────────┘          draining: what is left of a body after our answer
///                     └─▶ lingering ─▶ closed          lingering: our answer must arrive before the connection goes
/// ```
///
/// Everything here runs on the connection's loop; nothing is shared.
package final class DownstreamConnection: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    enum Phase: Equatable {
        case idle, head, waiting, collecting, connecting, exchange, draining, lingering, tunnel, closed
    }

    let loop: PathLoop
    let gate: ConnectionGate
    package internal(set) var context: ChannelHandlerContext?
    /// The place in the loop's list of connections.
    var listIndex = -1
    var phase = Phase.idle
    /// Bytes that were read and not yet used.
    var input: ByteBuffer?
    /// How much of `input` the head parser has seen without finding the head's end.
    private var seenCount = 0
    /// When the phase ends by itself.
    var deadline = NIODeadline.distantFuture
    private var isPaused = false
    private var hasPendingRead = false

    // The connection.
    let peer: IPAddress
    let peerText: [UInt8]
    /// When the gate is told next that somebody is signed in at `peer`.
    var nextNote = NIODeadline.uptimeNanoseconds(0)
    private(set) var requestCount = 0

    /// Pinned with the route: a request that waits is not judged half by what a reload brought.
    private(set) var configuration: PathConfiguration

    // The request; valid from `head` to `answerEnded`.
    package internal(set) var exchangeNumber: UInt64 = 0
    var facts = ExchangeFacts()
    var permit: Permit?
    /// The judged head while the exchange waits for a future, and the bytes it refers to.
    var waitingHead: RequestHead?
    var waitingBytes: ByteBuffer?
    /// The head towards the app, kept until the first byte of the answer for one retry.
    var upstreamHead: ByteBuffer?
    var upstream: UpstreamConnection?
    var body = BodyRelay(.none)
    var collected: [UInt8] = []
    var endpoint: PendingEndpoint?
    var frames: WebSocketFrames { self.upstream?.frames ?? WebSocketFrames() }

    init(loop: PathLoop, gate: ConnectionGate, peer: IPAddress) {
        self.loop = loop
        self.gate = gate
        self.configuration = loop.configuration
        self.peer = peer
        self.peerText = Array(peer.description.utf8)
    }

    // MARK: Channel events

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    package func channelActive(context: ChannelHandlerContext) {
        self.loop.add(self)
        // To the nanosecond: it tells whether the connection was let in before the house became crowded.
        self.deadline = .now() + self.configuration.timeouts.header
    }

    package func channelInactive(context: ChannelHandlerContext) {
        guard self.phase != .closed else { return }
        let wasBusy = self.phase != .idle && self.phase != .head
        self.phase = .closed
        self.loop.remove(self)
        self.exchangeNumber &+= 1
        self.endpoint?.clientLeft()
        self.upstream?.abandon()
        self.upstream = nil
        self.releaseWaiting()
        self.input = nil
        if wasBusy, self.facts.isOpen {
            // nginx's word for it: nobody was there to be answered.
            if !self.facts.hasBegunAnswer { self.facts.status = 499 }
            self.conclude(.clientGone)
        }
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = self.unwrapInboundIn(data)
        if self.phase == .tunnel { return self.tunnelToUpstream(buffer) }
        if self.phase == .lingering || self.phase == .closed { return }
        if var input = self.input {
            self.input = nil
            // What was used stays in front of what is appended, for as long as the client pipelines.
            if input.readerIndex > 4096, input.readerIndex >= input.readableBytes { input.discardReadBytes() }
            input.writeBuffer(&buffer)
            self.input = input
        } else {
            self.input = buffer
        }
        self.process()
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            self.facts.lastProgress = self.loop.now
            self.upstream?.resume()
        }
    }

    // MARK: Back-pressure

    package func read(context: ChannelHandlerContext) {
        if self.isPaused { self.hasPendingRead = true } else { context.read() }
    }

    func pauseReading() {
        self.isPaused = true
    }

    func resumeReading() {
        guard self.isPaused else { return }
        self.isPaused = false
        if self.hasPendingRead {
            self.hasPendingRead = false
            self.context?.read()
        }
    }

    // MARK: Input

    /// Uses as much of the input as the phase allows; one pass of the loop per request, so pipelined ones need no stack.
    func process() {
        while var buffer = self.input, buffer.readableBytes > 0 {
            self.input = nil
            switch self.phase {
            case .idle, .head:
                let isWhole = self.readHead(&buffer)
                if self.phase != .closed, self.phase != .lingering, buffer.readableBytes > 0 { self.input = buffer }
                if !isWhole { return }
            case .exchange where !self.body.isDone:
                guard self.upstream?.hasSent == true else {
                    // The head leaves at the end of this turn, and the body behind it.
                    self.input = buffer
                    return
                }
                self.forwardBody(&buffer)
                if buffer.readableBytes > 0, self.phase != .closed, self.phase != .lingering { self.input = buffer }
                if self.isPaused { return }
            case .collecting:
                self.collectBody(&buffer)
                if buffer.readableBytes > 0, self.phase != .closed, self.phase != .lingering { self.input = buffer }
            case .draining:
                self.drainBody(&buffer)
                if buffer.readableBytes > 0, self.phase != .closed, self.phase != .lingering { self.input = buffer }
            case .waiting, .connecting, .exchange:
                // Pipelined requests wait; a client that sends without end is not read any further.
                self.input = buffer
                if buffer.readableBytes >= 65_536 || self.phase != .exchange { self.pauseReading() }
                return
            case .lingering, .tunnel, .closed:
                return
            }
        }
    }

    /// Parses a head from the front of `buffer`; false when it is not whole yet.
    private func readHead(_ buffer: inout ByteBuffer) -> Bool {
        if self.configuration !== self.loop.configuration { self.configuration = self.loop.configuration }
        let configuration = self.configuration
        if self.phase == .idle {
            self.phase = .head
            self.seenCount = 0
            self.deadline = self.loop.now + configuration.timeouts.header
        } else if self.seenCount > 0, self.seenCount < buffer.readableBytes {
            // Nothing can have been completed without another LF: an attacker's byte at a time is not parsed each time.
            let seen = self.seenCount
            let hasLineFeed = buffer.withUnsafeReadableBytes { bytes in
                bytes.baseAddress.map { memchr($0 + seen, 0x0A, bytes.count - seen) != nil } ?? false
            }
            if !hasLineFeed, buffer.readableBytes < configuration.limits.requestLine {
                self.seenCount = buffer.readableBytes
                return false
            }
        }
        let head = self.loop.requestHead
        let result = buffer.withUnsafeReadableBytes { bytes -> ParseResult in
            guard let base = bytes.baseAddress else { return .incomplete }
            return configuration.requestParser.parse(base.assumingMemoryBound(to: UInt8.self), bytes.count, into: head)
        }
        switch result {
        case .incomplete:
            self.seenCount = buffer.readableBytes
            self.letGoOfRoom(&buffer)
            return false
        case .refused(let refusal):
            self.beginFacts(keepsAlive: false)
            // Of a head that is only too large it can be told who sent it.
            if refusal == .requestLineTooLong || refusal == .requestFieldsTooLarge {
                self.facts.wantsPage = buffer.withUnsafeReadableBytes {
                    Navigation.seemsToWantPage($0.bindMemory(to: UInt8.self))
                }
            }
            self.answer(
                .problem(
                    refusal,
                    requestID: self.facts.requestID,
                    // No host or path was looked at, so these are the methods that some route may take (RFC 9110 15.5.6).
                    fields: refusal == .requestMethod ? [("Allow", MethodSet.allow)] : [],
                    closes: true
                )
            )
            return true
        case .complete:
            self.beginRequest(head, &buffer)
            return true
        }
    }

    /// The most memory that an unfinished head keeps before it has grown so far itself.
    static let unfinishedHeadRoom = 16_384

    /// A head may stand in a large buffer behind other requests, and NIO keeps several buffers for a client that has sent
    /// a large body. A client that takes its time with a head keeps neither.
    private func letGoOfRoom(_ buffer: inout ByteBuffer) {
        if buffer.storageCapacity > max(4096, 2 * buffer.readableBytes) {
            buffer = ByteBuffer(bytes: buffer.readableBytesView)
        }
        guard self.requestCount > 0, let options = self.context?.channel.syncOptions else { return }
        // NIO lets go of what is more than it may read into at once.
        guard let count = try? options.getOption(.maxMessagesPerRead), count > 1 else { return }
        try? options.setOption(.maxMessagesPerRead, value: 1)
        try? options.setOption(.maxMessagesPerRead, value: count)
    }

    /// Starts the books of a new exchange.
    func beginFacts(keepsAlive: Bool) {
        self.exchangeNumber &+= 1
        self.requestCount += 1
        self.deadline = .distantFuture
        self.facts = ExchangeFacts()
        self.facts.isOpen = true
        self.facts.startedAt = .now()
        self.facts.lastProgress = self.loop.now
        self.facts.requestID = self.loop.nextRequestID()
        self.facts.keepsAlive =
            keepsAlive && self.requestCount < self.loop.configuration.limits.requestsPerConnection
            && !self.loop.isDraining
        self.loop.metrics.requestBegan()
    }

    private func beginRequest(_ head: RequestHead, _ buffer: inout ByteBuffer) {
        self.beginFacts(keepsAlive: head.keepsAlive)
        self.facts.method = head.knownMethod
        self.facts.minorVersion = head.minorVersion
        self.facts.expectsContinue = head.expectsContinue
        self.facts.isWebSocket = head.isWebSocketUpgrade
        self.facts.requestFraming = head.framing
        self.body = BodyRelay(head.framing)
        if self.loop.accessLog != nil { self.facts.keep(head, buffer) }
        let step = buffer.withUnsafeReadableBytes { bytes -> Step in
            guard let base = bytes.baseAddress else { return .answer(.problem(400, .requestMalformed, closes: true)) }
            self.facts.wantsPage = Navigation.wantsPage(head, base.assumingMemoryBound(to: UInt8.self))
            return self.judge(head, base.assumingMemoryBound(to: UInt8.self))
        }
        if step.waits {
            // The head outlives this event: it is taken along with its bytes, and the loop uses another.
            self.waitingHead = self.loop.takeRequestHead()
            self.waitingBytes = buffer
        }
        buffer.moveReaderIndex(forwardBy: head.byteCount)
        self.take(step)
    }

    func releaseWaiting() {
        if let head = self.waitingHead {
            self.loop.giveBack(head)
            self.waitingHead = nil
        }
        self.waitingBytes = nil
    }

    /// Waits for a future of this loop; the answer to a request that is over is nobody's.
    func await<Value>(
        _ future: EventLoopFuture<Value>,
        _ then: @escaping (DownstreamConnection, Result<Value, any Error>) -> Void
    ) {
        let exchange = self.beginWaiting()
        future.assumeIsolated().whenComplete { if self.isWaiting(in: exchange) { then(self, $0) } }
    }

    /// From now on the request waits, in the exchange that is returned.
    func beginWaiting() -> UInt64 {
        self.phase = .waiting
        return self.exchangeNumber
    }

    /// Whether the same request still waits.
    func isWaiting(in exchange: UInt64) -> Bool { self.exchangeNumber == exchange && self.phase == .waiting }
}

/// What is known of the exchange under way, for its end, its log line and its deadlines.
struct ExchangeFacts {
    /// The request's judge, with what it found.
    var judge = RequestJudge(requestID: RequestID(seed: 0, sequence: 0))
    var isOpen = false
    var startedAt = NIODeadline.uptimeNanoseconds(0)
    var lastProgress = NIODeadline.uptimeNanoseconds(0)
    var method = KnownMethod.other
    var minorVersion = 1
    var keepsAlive = false
    var expectsContinue = false
    var isWebSocket = false
    /// A person looks at the answer: a refusal is a page.
    var wantsPage = false
    var requestFraming = BodyFraming.none
    /// The app's pool under the configuration that chose the route, whatever a reload does meanwhile.
    var pool: UpstreamPool?
    /// The session ended while the request was under way.
    var hasSessionEnded = false
    var sessionSource = SessionSource.none
    var status = 0
    var reason: Reason?
    /// Bytes that waited for the client when deadlines were looked at last.
    var waitingBytes = 0
    var answerFraming = OutgoingFraming.asIs
    var hasBegunAnswer = false
    /// It was passed on, or would have been if the app could be reached.
    var isForwarded = false
    var isEventStream = false
    /// The app's connection has served before, or could have.
    var upstreamReused = false
    /// When the head was sent to the app, and how long it took to the answer's; only while an access log is written.
    var sentAt: NIODeadline?
    var upstreamTime: TimeAmount?
    var responseDeadline = NIODeadline.distantFuture
    var bytesOut = 0
    /// The head's bytes, only while an access log is written.
    var logBytes: ByteBuffer?
    var logMethod = Slice.empty
    var logPath = Slice.empty
    var logAuthority = Slice.empty
    var logUserAgent: Slice?
    var logReferer: Slice?

    mutating func keep(_ head: RequestHead, _ buffer: ByteBuffer) {
        self.logBytes = buffer
        self.logMethod = head.method
        self.logPath = head.path
        self.logAuthority = head.authority
        self.logUserAgent = head.line(.userAgent).map { head.fields[$0].value }
        self.logReferer = head.line(.referer).map { head.fields[$0].value }
    }
}

/// Where a session was found.
enum SessionSource: String, CaseIterable {
    case none, l1, store
}
