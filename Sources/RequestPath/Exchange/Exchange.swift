package import AddressIntelligence
import JOSE
package import NIOCore
import Sessions
import Settings
import Transport
package import Vocabulary

/// One request and its answer. The request is judged once, then forwarded to an app or answered by the gateway.
/// An HTTP/1 connection reuses one object for all its requests.
///
/// ```
///   idle ─▶ judging ─▶ waiting ────────┐        waiting: for a session, a handoff, a proof, an endpoint's answer
///     ▲        │         │             ▼        expecting: the first bytes of a body with a declared length
///     │        ├─────────┴─▶ (expecting) ─▶ connecting ─▶ exchange ─▶ (tunnel)
///     │        │              ▲  │          │
///     │        │              │  ▼          │         queued: all streams to the app are in use
///     │        │             queued         │
///     │        └─▶ collecting ─▶ waiting    │         collecting: the body of an endpoint's request
///     │                           │         │         or of a check (forward auth)
///     └────────── ending ◀────────┴─────────┘         ending: until the system has accepted the whole answer
/// ```
///
/// Used only on the event loop of its connection.
package final class Exchange {
    enum Phase: Equatable {
        case idle, judging, waiting, collecting, expecting, connecting, queued, exchange, tunnel, ending
    }

    let loop: PathLoop
    // Parts of the loop. Access through `loop` would retain them at each use.
    let metrics: PathMetrics
    let resolver: Pinned<SessionResolver>?
    let proofKeys: Pinned<DPoPKeyCache>?
    let namedHosts: Pinned<NamedHostCache>
    let tracer: Pinned<Tracer>?
    let peer: IPAddress
    let peerText: [UInt8]
    /// How requests are handled: forwarded to apps, answered as checks, or redirected.
    let service: RequestService
    /// What is known about the client from the opening of its connection. `nil` if nothing.
    let client: ClientFacts?
    /// The configuration that applies until the request ends, even after a reload.
    var configuration: PathConfiguration
    /// The client's stream, from `attach` to `detach`.
    private(set) var stream: (any ClientStream)?
    /// True if the requests come over HTTP/2. Their heads are rewritten as HTTP/1 and do not show this.
    private(set) var isHTTP2 = false

    var phase = Phase.idle
    package internal(set) var exchangeNumber: UInt64 = 0
    package var holderPlace: Int32 = -1
    var facts = ExchangeFacts()
    var record = ExchangeRecord()
    /// The object of `record.trace`, reused for the connection's next request.
    var keptTrace: RequestTrace?
    /// The head of a request that waits, and the bytes to which it refers.
    var waitingHead: RequestHead?
    var waitingBytes: ByteBuffer?
    /// The head for the app, until a stream to the app takes it.
    var upstreamHead: PermittedHead?
    /// The form of the check. `nil` if the request is not a check (forward auth).
    var check: CheckForm?
    var checkResult = CheckResult.denied
    /// The app's side of the exchange. `nil` while no stream to the app carries the exchange.
    package internal(set) var upstream: (any AppStream)?
    /// Replaces references to the app in an answer with public ones. `nil` for other answers.
    var multistatus: MultistatusBody?
    /// The answer that caused the retry, and its server, until another answer begins. Valid while `facts.isRepeated`.
    var kept: (answer: KeptAnswer, server: UpstreamServer?)?
    /// How fast the client reads and sends. Measured while the app has many requests in flight.
    var pace: ClientPace?
    /// The collected body of an endpoint's request or of a check, at most `collectedLimit` bytes.
    var collected: [UInt8] = []
    var collectedLimit = 0
    var endpoint: PendingEndpoint?
    /// The number of running endpoint calls, including calls whose clients have left.
    var callCount = 0
    /// The tunnel's state. `nil` unless the exchange is a tunnel.
    var tunnel: Tunnel?
    /// The host of the last request under a wildcard host.
    var namedHost: HostEntry?

    /// - Parameters:
    ///   - peer: The address of the client, or of a proxy in front of the client.
    ///   - service: How requests are handled.
    ///   - client: What is known about the client from the opening of its connection. `nil` if nothing.
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
    ///   - head: The loop's head, parsed from the front of `buffer`. Its bytes are removed from `buffer`.
    ///   - configuration: The loop's current configuration.
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
            // A trusted proxy's TLS connection says nothing about the proxy's clients.
            if let client = self.client, !configuration.clientAddress.trusts(self.peer) {
                let hasExpired = client.hasExpired(at: self.loop.wallNow)
                self.record.judge.findings.certificate = hasExpired ? nil : client.certificate
                self.record.judge.findings.isMisdirected =
                    hasExpired || buffer.withUnsafeReadableBytes { !client.certificateCovers(head.authority, in: $0) }
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

    /// Refuses bytes that are not a valid head, or a head that is late. No further request is read.
    ///
    /// - Parameter bytes: The bytes received instead of a head.
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
        // A head that is only too large still shows whether a browser wants a page.
        if reason == .requestLineTooLong || reason == .requestFieldsTooLarge {
            self.facts.wantsPage = bytes.withUnsafeReadableBytes {
                Navigation.seemsToWantPage($0.bindMemory(to: UInt8.self))
            }
        }
        self.answer(
            .problem(
                reason,
                requestID: self.record.requestID,
                // The route is unknown, so the answer lists all methods that any route may accept (RFC 9110 15.5.6).
                fields: reason == .requestMethod ? [("Allow", MethodSet.allow)] : [],
                closes: true
            )
        )
    }

    /// Resets the facts for a new exchange.
    private func beginFacts() {
        self.phase = .judging
        self.exchangeNumber &+= 1
        // Initializes in place, because an assignment would move the large values.
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
        // The loop's cached time is a little older and could precede the events of earlier requests.
        if self.loop.accessLog != nil { self.record.log.startedAt = Clock.system.now() }
        self.facts.lastProgress = self.loop.now
        self.record.requestID = self.loop.nextRequestID()
        if let client = self.client {
            self.record.requestID.given = client.requestID(self.record.requestID.sequence)
        }
        self.metrics.requestBegan()
    }

    // MARK: The request's body

    /// What to do now with received bytes of the request's body.
    package var bodyDemand: BodyDemand {
        switch self.phase {
        // The head is sent at the end of this turn. The body must follow it.
        case .exchange: self.upstream?.hasSent == true ? .now : .soon
        case .collecting: .now
        case .idle, .judging, .waiting, .expecting, .connecting, .queued, .tunnel, .ending: .wait
        }
    }

    /// Consumes the next `count` bytes of `content` as part of the body. `bodyCame` must follow.
    package func takeBody(_ count: Int, of content: inout ByteBuffer) {
        self.record.bytesIn &+= count
        if self.phase == .collecting {
            content.withUnsafeReadableBytes { self.collected.append(contentsOf: $0[0..<count]) }
        } else if let upstream = self.upstream {
            return upstream.write(count, of: &content)
        }
        content.moveReaderIndex(forwardBy: count)
    }

    /// Handles the bytes of the body that `takeBody` has consumed.
    package func bodyCame(_ progress: BodyProgress) {
        if progress == .end { self.facts.isRequestWhole = true }
        if self.phase == .collecting { self.bodyCollected(progress) } else { self.forwardBody(progress) }
    }

    /// Handles the end of a body with trailers. Called instead of `bodyCame`.
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

    /// Asks the client's stream for the body's bytes that it has kept.
    func process() {
        self.stream?.passBody()
    }

    /// Continues an answer when the client accepts bytes again.
    package func clientTakesBytes() {
        self.facts.lastProgress = self.loop.now
        self.facts.clientOutput = OutputWatch()
        self.upstream?.resume()
    }

    // MARK: The end

    /// Called when the client has ended its stream. A complete request gets its answer, because the client may still
    /// read. A begun event stream ends, because its readers always close both directions (HTML 9.2.3).
    ///
    /// - Returns: True if the request can still get an answer.
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

    /// Called when the client has disconnected or its connection has failed.
    package func clientLeft() {
        self.leaveQueue()
        self.phase = .idle
        self.exchangeNumber &+= 1
        self.endpoint?.clientLeft()
        if self.tunnel == nil { self.dropUpstream() } else { self.finishUpstream() }
        self.releaseUpstreamHead()
        self.releaseWaiting()
        if self.facts.isOpen {
            // nginx also logs this status for a client that left before the answer.
            if !self.facts.hasBegunAnswer { self.record.status = 499 }
            self.countLostBytes()
            self.conclude(self.facts.endReason ?? .clientGone)
        }
    }

    /// Ends the app's side of the exchange at once.
    func dropUpstream() {
        self.upstream?.abandon()
        self.upstream = nil
    }

    /// Ends the app's side of the exchange after the app has received the bytes written so far.
    func finishUpstream() {
        self.upstream?.finish()
        self.upstream = nil
    }

    /// Ends the exchange and aborts the client's stream, so that the client notices the incomplete answer.
    func abort(_ reason: Reason) {
        self.dropUpstream()
        self.releaseUpstreamHead()
        self.countLostBytes()
        self.conclude(reason)
        self.phase = .idle
        self.exchangeNumber &+= 1
        self.stream?.abort()
    }

    /// Aborts and records a request after a protocol error of the client on its stream.
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

    /// Subtracts the bytes that the client did not receive.
    private func countLostBytes() {
        guard self.record.bytesOut > 0, let stream = self.stream else { return }
        self.record.bytesOut = max(0, self.record.bytesOut - stream.unacknowledgedBytes)
    }

    /// Ends the request at once, because the gateway stops.
    ///
    /// - Returns: True if an answer had begun and was aborted. If false, the caller must close the connection.
    package func breakOff() -> Bool {
        let reason = self.facts.endReason ?? .gatewayDraining
        switch self.phase {
        case .exchange where self.facts.hasBegunAnswer, .ending:
            self.abort(reason)
        case .tunnel:
            self.leaveTunnel()
            if self.phase == .ending { self.abort(reason) }
        case .idle, .judging, .waiting, .collecting, .expecting, .connecting, .queued, .exchange:
            // The client gets no answer, because the connection closes.
            self.leaveQueue()
            self.record.status = 503
            self.conclude(reason)
            return false
        }
        return true
    }

    /// Releases the head for the app unless a stream owns it.
    func releaseUpstreamHead() {
        if let head = self.upstreamHead.take() { self.loop.giveBack(head.intoBuffer()) }
    }
}
