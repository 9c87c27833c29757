package import AddressIntelligence
package import NIOCore
import Sessions
import Settings
package import Vocabulary

/// One request and its answer: judged once, then passed on to an app or answered by the gateway. It knows its client as a
/// `ClientStream` and its app as an `AppStream`. A connection of HTTP/1 uses one object for all its requests.
///
/// ```
///   idle ─▶ judging ─▶ waiting ────────┐        a future: session, handoff, an endpoint's answer
///     ▲        │         │             ▼
///     │        ├─────────┴─▶ connecting ─▶ exchange ─▶ (tunnel)
///     │        └─▶ collecting ─▶ waiting    │         collecting: the body of an endpoint's request
///     │                           │         │
///     └────────── ending ◀────────┴─────────┘         ending: the last bytes of the answer are being written
/// ```
///
/// Everything here runs on the loop of its connection; nothing is shared.
package final class Exchange {
    enum Phase: Equatable {
        case idle, judging, waiting, collecting, connecting, exchange, tunnel, ending
    }

    let loop: PathLoop
    let peer: IPAddress
    let peerText: [UInt8]
    /// Pinned with the request: one that waits is not judged half by what a reload brought.
    var configuration: PathConfiguration
    /// Held from `attach` to `detach`.
    private(set) var stream: (any ClientStream)?

    var phase = Phase.idle
    package internal(set) var exchangeNumber: UInt64 = 0
    var facts = ExchangeFacts()
    /// The judged head while the request waits for a future, and the bytes it refers to.
    var waitingHead: RequestHead?
    var waitingBytes: ByteBuffer?
    /// The head towards the app while no connection to the app has it.
    var upstreamHead: PermittedHead?
    /// The app's side, from when the head was given to a connection.
    var upstream: (any AppStream)?
    /// The request's body.
    var body = BodyRelay(.none)
    /// The body of the app's answer.
    var answerBody = BodyRelay(.none)
    var collected: [UInt8] = []
    var endpoint: PendingEndpoint?

    /// - Parameter peer: The address of the client, or of the proxy in front.
    package init(loop: PathLoop, peer: IPAddress) {
        self.loop = loop
        self.configuration = loop.configuration
        self.peer = peer
        self.peerText = Array(peer.description.utf8)
    }

    // MARK: The client's stream

    /// Answers go to `stream` from now on.
    package func attach(_ stream: any ClientStream) {
        self.stream = stream
    }

    /// Lets go of the stream, which has ended.
    package func detach() {
        self.stream = nil
    }

    /// Judges a request and begins to answer it.
    ///
    /// - Parameters:
    ///   - head: The loop's head, parsed from the front of `buffer`, out of which it is taken.
    ///   - configuration: By which the request is judged.
    ///   - keepsAlive: The client may send another request after this one.
    package func begin(
        _ head: RequestHead,
        _ buffer: inout ByteBuffer,
        by configuration: PathConfiguration,
        keepsAlive: Bool
    ) {
        if self.configuration !== configuration { self.configuration = configuration }
        self.beginFacts(head.framing, keepsAlive: keepsAlive)
        self.facts.method = head.knownMethod
        self.facts.minorVersion = head.minorVersion
        self.facts.expectsContinue = head.expectsContinue
        self.facts.isWebSocket = head.isWebSocketUpgrade
        if self.loop.accessLog != nil { self.facts.keep(head, buffer) }
        let step = buffer.withUnsafeReadableBytes { bytes -> Step in
            guard let base = bytes.baseAddress else {
                return .answer(.problem(.requestMalformed, requestID: self.facts.requestID, closes: true))
            }
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

    /// Answers what cannot be read as a request; the client may send nothing more.
    ///
    /// - Parameter bytes: What was to be a head.
    package func refuse(_ reason: Reason, _ bytes: ByteBuffer, by configuration: PathConfiguration) {
        self.configuration = configuration
        self.beginFacts(.none, keepsAlive: false)
        if self.loop.accessLog != nil { self.facts.logBytes = ByteBuffer() }
        // Of a head that is only too large it can be told who sent it.
        if reason == .requestLineTooLong || reason == .requestFieldsTooLarge {
            self.facts.wantsPage = bytes.withUnsafeReadableBytes {
                Navigation.seemsToWantPage($0.bindMemory(to: UInt8.self))
            }
        }
        self.answer(
            .problem(
                reason,
                requestID: self.facts.requestID,
                // No host or path was looked at, so these are the methods that some route may take (RFC 9110 15.5.6).
                fields: reason == .requestMethod ? [("Allow", MethodSet.allow)] : [],
                closes: true
            )
        )
    }

    /// Answers a head that did not come to its end in time; the client may send nothing more.
    package func refuseLateHead(by configuration: PathConfiguration) {
        self.configuration = configuration
        self.beginFacts(.none, keepsAlive: false)
        if self.loop.accessLog != nil { self.facts.logBytes = ByteBuffer() }
        self.answer(.problem(.requestTimeout, requestID: self.facts.requestID, closes: true))
    }

    /// Starts the books of a new exchange.
    private func beginFacts(_ framing: BodyFraming, keepsAlive: Bool) {
        self.phase = .judging
        self.exchangeNumber &+= 1
        self.body = BodyRelay(framing)
        self.facts = ExchangeFacts()
        self.facts.requestFraming = framing
        self.facts.isOpen = true
        self.facts.startedAt = .now()
        self.facts.lastProgress = self.loop.now
        self.facts.requestID = self.loop.nextRequestID()
        self.facts.keepsAlive = keepsAlive
        self.loop.metrics.requestBegan()
    }

    // MARK: The request's body

    /// What is done with bytes of the body now.
    package var bodyDemand: BodyDemand {
        switch self.phase {
        case .exchange:
            if self.body.isDone { return .ended }
            // The head leaves at the end of this turn, and the body behind it.
            return self.upstream?.hasSent == true ? .now : .soon
        case .collecting:
            return .now
        case .idle, .judging, .waiting, .connecting, .tunnel, .ending:
            return .wait
        }
    }

    /// Takes bytes of the body from the front of `buffer`; those behind its end stay.
    package func takeBody(_ buffer: inout ByteBuffer) {
        if self.phase == .collecting { self.collectBody(&buffer) } else { self.forwardBody(&buffer) }
    }

    /// Has the stream hand over what it keeps of the body.
    func process() {
        self.stream?.passBody()
    }

    /// The client takes bytes again.
    package func clientTakesBytes() {
        self.facts.lastProgress = self.loop.now
        self.upstream?.resume()
    }

    // MARK: The end

    /// The exchange is over; what is left of the request is the stream's.
    func end(_ end: AnswerEnd) {
        self.phase = .idle
        self.stream?.answerEnded(end)
    }

    /// The client has gone, or its connection is of no more use.
    package func clientLeft() {
        self.phase = .idle
        self.exchangeNumber &+= 1
        self.endpoint?.clientLeft()
        self.dropUpstream()
        self.releaseUpstreamHead()
        self.releaseWaiting()
        if self.facts.isOpen {
            // The status that nginx logs for a client that closed before it was answered.
            if !self.facts.hasBegunAnswer { self.facts.status = 499 }
            self.conclude(.clientGone)
        }
    }

    /// Ends what is on its way to the app or from it.
    func dropUpstream() {
        self.upstream?.abandon()
        self.upstream = nil
    }

    /// The answer broke off: the client must not take what it has for the whole.
    func abort(_ reason: Reason) {
        self.facts.keepsAlive = false
        self.dropUpstream()
        self.releaseUpstreamHead()
        self.conclude(reason)
        self.phase = .idle
        self.exchangeNumber &+= 1
        self.stream?.abort()
    }

    /// Breaks an answer off that has begun; false: none has.
    package func breakOff(_ reason: Reason) -> Bool {
        guard self.phase == .exchange, self.facts.hasBegunAnswer else { return false }
        self.abort(reason)
        return true
    }

    /// Lets go of a head that no connection to the app has.
    func releaseUpstreamHead() {
        if let head = self.upstreamHead.take() { self.loop.giveBack(head.intoBuffer()) }
    }
}
