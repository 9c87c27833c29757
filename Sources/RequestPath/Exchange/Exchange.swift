package import AddressIntelligence
import JOSE
package import NIOCore
import Sessions
import Settings
import Transport
package import Vocabulary

/// One request and its answer. The request is judged once, then forwarded to an app or answered by the gateway. The
/// client is a `ClientStream`, the app an `AppStream`. An HTTP/1 connection uses one object for all its requests.
///
/// ```
///   idle ─▶ judging ─▶ waiting ────────┐        waiting: for a session, a handoff, an endpoint's answer
///     ▲        │         │             ▼        expecting: the first bytes of a body with a declared length
///     │        ├─────────┴─▶ (expecting) ─▶ connecting ─▶ exchange ─▶ (tunnel)
///     │        │              ▲  │          │
///     │        │              │  ▼          │         queued: all streams to the app are in use
///     │        │             queued         │
///     │        └─▶ collecting ─▶ waiting    │         collecting: the body of an endpoint's request, or of a check
///     │                           │         │         that is judged when it is whole
///     └────────── ending ◀────────┴─────────┘         ending: until the system has taken the answer's last bytes
/// ```
///
/// Used only on the event loop of its connection.
package final class Exchange {
    enum Phase: Equatable {
        case idle, judging, waiting, collecting, expecting, connecting, queued, exchange, tunnel, ending
    }

    let loop: PathLoop
    // Parts of the loop, kept here because each use through the loop would count a reference.
    let metrics: PathMetrics
    let resolver: Pinned<SessionResolver>?
    let proofKeys: Pinned<DPoPKeyCache>?
    let namedHosts: Pinned<NamedHostCache>
    let tracer: Pinned<Tracer>?
    let peer: IPAddress
    let peerText: [UInt8]
    /// The service that the requests get: apps, checks, or redirects.
    let service: RequestService
    /// The facts about the client that were found when its connection was opened. `nil` if there are none.
    let client: ClientFacts?
    /// The configuration that applies until the request ends. A reload does not change how a waiting request is judged.
    var configuration: PathConfiguration
    /// The client's stream, from `attach` to `detach`.
    private(set) var stream: (any ClientStream)?
    /// True if the requests come over HTTP/2. The heads do not show this, because HTTP/2 heads are rewritten as HTTP/1.
    private(set) var isHTTP2 = false

    var phase = Phase.idle
    package internal(set) var exchangeNumber: UInt64 = 0
    package var holderPlace: Int32 = -1
    var facts = ExchangeFacts()
    var record = ExchangeRecord()
    /// The object of `record.trace`, kept for the connection's next request.
    var keptTrace: RequestTrace?
    /// The head while the request waits, and the bytes to which the head refers.
    var waitingHead: RequestHead?
    var waitingBytes: ByteBuffer?
    /// The head for the app, until a stream to the app takes it over.
    var upstreamHead: PermittedHead?
    /// The form of the check. `nil` if the request is not a check.
    var check: CheckForm?
    var checkResult = CheckResult.denied
    /// The app's side of the exchange. Set when the head is handed to a stream.
    package internal(set) var upstream: (any AppStream)?
    /// Rewrites an answer's references to the app as public ones. `nil` for answers that are not rewritten.
    var multistatus: MultistatusBody?
    /// The pace at which the client reads and sends. Measured while many requests are in flight at the app.
    var pace: ClientPace?
    /// The collected body of a request to an endpoint or of a check, up to `collectedLimit` bytes.
    var collected: [UInt8] = []
    var collectedLimit = 0
    var endpoint: PendingEndpoint?
    /// The number of endpoint calls that have not ended, including calls that nobody waits for any longer.
    var callCount = 0
    /// Set while the exchange is a tunnel.
    var tunnel: Tunnel?
    /// The host of the last request for a name under a wildcard host.
    var namedHost: HostEntry?

    /// - Parameters:
    ///   - peer: The address of the client, or of the proxy through which the client connects.
    ///   - service: The service that the requests get.
    ///   - client: The facts about the client that were found when its connection was opened. `nil` if there are none.
    package init(loop: PathLoop, peer: IPAddress, service: RequestService = .apps, client: ClientFacts? = nil) {
        self.service = service
        self.client = client
        self.loop = loop
        self.metrics = loop.metrics
        self.resolver = loop.sessions.map { Pinned($0.resolver) }
        self.proofKeys = loop.sessions.map { Pinned($0.proofKeys) }
        self.namedHosts = Pinned(loop.namedHosts)
        self.tracer = loop.tracer.map { Pinned($0) }
        self.configuration = loop.configuration
        self.peer = peer
        self.peerText = Array(peer.description.utf8)
    }

    // MARK: The client's stream

    /// Sends answers to `stream` from now on.
    package func attach(_ stream: any ClientStream) {
        self.stream = stream
        self.isHTTP2 = stream.isHTTP2
    }

    /// Releases the stream after its end.
    package func detach() {
        self.stream = nil
        if self.record.trace == nil, let trace = self.keptTrace.take() { self.tracer?.use { $0.giveBack(trace) } }
    }

    /// Judges a request and begins to answer it.
    ///
    /// - Parameters:
    ///   - head: The loop's head, parsed from the front of `buffer`. Its bytes are removed from the buffer.
    ///   - configuration: The loop's configuration, used to judge the request. Its routes refer to apps by their index
    ///     among the loop's pools.
    package func begin(_ head: RequestHead, _ buffer: inout ByteBuffer, by configuration: PathConfiguration) {
        if self.configuration !== configuration { self.configuration = configuration }
        self.beginFacts()
        self.facts.method = head.knownMethod
        self.facts.wantsHeadOnly = head.knownMethod == .head
        self.facts.hasBody = !head.framing.isEmpty
        self.facts.isRequestWhole = !self.facts.hasBody
        if case .length(let count) = head.framing { self.facts.hasSizedBody = count > 0 }
        switch self.service {
        case .apps:
            // The certificates on a trusted proxy's connection say nothing about the proxy's clients.
            if let client = self.client, !configuration.clientAddress.trusts(self.peer) {
                let hasExpired = client.hasExpired(at: self.loop.wallNow)
                self.record.judge.findings.certificate = hasExpired ? nil : client.certificate
                self.record.judge.findings.isMisdirected =
                    hasExpired || buffer.withUnsafeReadableBytes { !client.wasShown(head.authority, in: $0) }
            }
        case .checks:
            if !self.isBrowsers(head, buffer, by: configuration) { return self.beginCheck(&buffer, by: configuration) }
        case .redirects:
            guard self.isAskedForProof(head, buffer, by: configuration) else {
                return self.redirect(head, &buffer, by: configuration)
            }
            self.record.judge.findings.isPlainHTTP = true
        }
        self.facts.isWebSocket = head.isWebSocketUpgrade
        let step = self.judge(head, in: buffer, by: configuration)
        buffer.moveReaderIndex(forwardBy: head.byteCount)
        self.take(step)
    }

    /// Refuses bytes that are not a valid request, or a head that was not complete in time. No further request is read
    /// from the client.
    ///
    /// - Parameter bytes: The bytes where a head was expected.
    package func refuse(_ reason: Reason, _ bytes: ByteBuffer, by configuration: PathConfiguration) {
        self.configuration = configuration
        self.beginFacts()
        self.check = self.form(ofUnparsed: bytes, by: configuration)
        self.checkResult = .denied
        if bytes.withUnsafeReadableBytes({ ProxyPreamble.resembles($0) }) {
            self.loop.notify(.unexpected, of: self.peer)
        }
        self.record.judge.findings.envelope = bytes.withUnsafeReadableBytes {
            configuration.endpoints.envelope(ofUnparsed: $0.bindMemory(to: UInt8.self))
        }
        // A head that is only too large still shows whether a browser sent it.
        if reason == .requestLineTooLong || reason == .requestFieldsTooLarge {
            self.facts.wantsPage = bytes.withUnsafeReadableBytes {
                Navigation.seemsToWantPage($0.bindMemory(to: UInt8.self))
            }
        }
        self.answer(
            .problem(
                reason,
                requestID: self.record.requestID,
                // Host and path were not read, so these are the methods that any route may accept (RFC 9110 15.5.6).
                fields: reason == .requestMethod ? [("Allow", MethodSet.allow)] : [],
                closes: true
            )
        )
    }

    /// Resets the facts for a new exchange.
    private func beginFacts() {
        self.phase = .judging
        self.exchangeNumber &+= 1
        // In place, because an assignment would move each of the many facts.
        withUnsafeMutablePointer(to: &self.facts) { facts in
            facts.deinitialize(count: 1)
            facts.initialize(to: ExchangeFacts())
        }
        withUnsafeMutablePointer(to: &self.record) { record in
            record.deinitialize(count: 1)
            record.initialize(to: ExchangeRecord())
        }
        self.facts.isOpen = true
        self.record.startedAt = .now()
        // The loop's time is a little older. With it, the access line could precede earlier requests' events.
        if self.loop.accessLog != nil { self.record.log.startedAt = Clock.system.now() }
        self.facts.lastProgress = self.loop.now
        self.record.requestID = self.loop.nextRequestID()
        if let client = self.client {
            self.record.requestID.given = client.requestID(self.record.requestID.sequence)
        }
        self.metrics.requestBegan()
    }

    // MARK: The request's body

    /// The current treatment of received bytes of the request's body.
    package var bodyDemand: BodyDemand {
        switch self.phase {
        // The head is sent at the end of this turn, and the body after it.
        case .exchange: self.upstream?.hasSent == true ? .now : .soon
        case .collecting: .now
        case .idle, .judging, .waiting, .expecting, .connecting, .queued, .tunnel, .ending: .wait
        }
    }

    /// Consumes the next `count` bytes of `content` as part of the body. A call of `bodyCame` follows.
    package func takeBody(_ count: Int, of content: inout ByteBuffer) {
        self.record.bytesIn &+= count
        if self.phase == .collecting {
            content.withUnsafeReadableBytes { self.collected.append(contentsOf: $0[0..<count]) }
        } else if let upstream = self.upstream {
            return upstream.write(count, of: &content)
        }
        content.moveReaderIndex(forwardBy: count)
    }

    /// Called when bytes of the body have arrived and been consumed.
    package func bodyCame(_ progress: BodyProgress) {
        if progress == .end { self.facts.isRequestWhole = true }
        if self.phase == .collecting { self.bodyCollected(progress) } else { self.forwardBody(progress) }
    }

    /// Called instead of `bodyCame` when the body has ended with trailers.
    package func bodyEnded(with section: TrailerSection) {
        guard self.phase == .exchange else { return self.bodyCame(.end) }
        switch self.configuration.trailerRules.check(section, ofRequestOn: self.record.route) {
        case .passed(let trailers):
            self.facts.isRequestWhole = true
            self.forwardBody(.end, trailers)
        case .tooLarge:
            self.refuseBody(.requestFieldsTooLarge)
        case .refused:
            self.bodyCame(.malformed)
        }
    }

    /// Makes the client's stream pass on the body bytes that the stream has kept.
    func process() {
        self.stream?.passBody()
    }

    /// Called when the client accepts bytes again.
    package func clientTakesBytes() {
        self.facts.lastProgress = self.loop.now
        self.facts.clientOutput = OutputWatch()
        self.upstream?.resume()
    }

    // MARK: The end

    /// Called when the client has ended its output. The client may still read: only a failed send shows that it has
    /// gone. A complete request therefore gets its answer, within the usual deadlines. An event stream that has begun
    /// ends instead: it may be silent for long, and its readers only ever close the whole connection (HTML 9.2.3).
    ///
    /// - Returns: Whether the request can still have an answer.
    package func clientEnded() -> Bool {
        switch self.phase {
        case .judging, .waiting, .collecting, .expecting, .connecting, .queued:
            return self.facts.isRequestWhole
        case .exchange:
            return self.facts.isRequestWhole && !(self.facts.hasBegunAnswer && self.facts.isEventStream)
        case .tunnel:
            self.tunnelInputEnded()
            return true
        case .ending:
            return true
        case .idle:
            return false
        }
    }

    /// Called when the client has disconnected or its connection can no longer be used.
    package func clientLeft() {
        self.leaveQueue()
        self.phase = .idle
        self.exchangeNumber &+= 1
        self.endpoint?.clientLeft()
        if self.tunnel == nil { self.dropUpstream() } else { self.finishUpstream() }
        self.releaseUpstreamHead()
        self.releaseWaiting()
        if self.facts.isOpen {
            // The status that nginx logs for a client that closed before it was answered.
            if !self.facts.hasBegunAnswer { self.record.status = 499 }
            self.countLostBytes()
            self.conclude(self.facts.endReason ?? .clientGone)
        }
    }

    /// Ends the exchange with the app at once.
    func dropUpstream() {
        self.upstream?.abandon()
        self.upstream = nil
    }

    /// Ends the exchange with the app. The app still gets the bytes that were written for it.
    func finishUpstream() {
        self.upstream?.finish()
        self.upstream = nil
    }

    /// Ends the exchange and aborts the client's stream, so that the client sees that the answer is incomplete.
    func abort(_ reason: Reason) {
        self.dropUpstream()
        self.releaseUpstreamHead()
        self.countLostBytes()
        self.conclude(reason)
        self.phase = .idle
        self.exchangeNumber &+= 1
        self.stream?.abort()
    }

    /// Aborts and records a request whose stream has ended because of the client's error.
    ///
    /// - Parameters:
    ///   - head: The reason if the request has not begun.
    ///   - body: The reason if the request has begun.
    package func fail(head: Reason, body: Reason, by configuration: PathConfiguration) {
        let isBegun = self.phase != .idle
        if !isBegun {
            self.configuration = configuration
            self.beginFacts()
        }
        let reason = isBegun ? body : head
        self.leaveQueue()
        if !self.facts.hasBegunAnswer { self.record.status = reason.status }
        self.abort(reason)
    }

    /// Subtracts the bytes of the answer that the client did not receive.
    private func countLostBytes() {
        guard self.record.bytesOut > 0, let stream = self.stream else { return }
        self.record.bytesOut = max(0, self.record.bytesOut - stream.unacknowledgedBytes)
    }

    /// Ends the request at once, because the gateway stops.
    ///
    /// - Returns: Whether an answer had begun. If not, the caller must still close the connection.
    package func breakOff() -> Bool {
        let reason = self.facts.endReason ?? .gatewayDraining
        switch self.phase {
        case .exchange where self.facts.hasBegunAnswer, .ending:
            self.abort(reason)
        case .tunnel:
            self.leaveTunnel()
            if self.phase == .ending { self.abort(reason) }
        case .idle, .judging, .waiting, .collecting, .expecting, .connecting, .queued, .exchange:
            // The client gets no answer: the connection closes.
            self.leaveQueue()
            self.record.status = 503
            self.conclude(reason)
            return false
        }
        return true
    }

    /// Releases the head for the app if no stream to the app owns it.
    func releaseUpstreamHead() {
        if let head = self.upstreamHead.take() { self.loop.giveBack(head.intoBuffer()) }
    }
}
