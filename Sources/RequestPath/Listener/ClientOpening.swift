import AddressIntelligence
import NIOCore
import Settings
import Transport

/// A client's connection before its first request. The first bytes show who the client is and which protocol it uses.
/// Then an HTTP connection replaces the opening on the loop.
///
/// ```
///   preamble ─▶ hello ─▶ waiting ─▶ handshake ─▶ choice ─▶ HTTP1Connection, HTTP2Connection
///      │          └ TLS: the client's first message, the wait until the loop has time, and the handshake
///      └ a proxy names the client (PROXY protocol)
/// ```
/// At the connection limit, openings are closed like idle connections.
final class ClientOpening {
    enum Stage {
        case preamble, hello, waiting, handshake, choice
        /// The client gets an error and is disconnected.
        case refused
        /// The client's connection has replaced the opening, or the client's stream has closed.
        case over
    }

    /// The time within which a proxy must send its PROXY header. The standard requires at least 3 seconds, so that a
    /// lost segment can be sent again.
    static let preambleTime = TimeAmount.seconds(5)

    let client: AcceptedClient
    let loop: PathLoop
    /// The socket, later replaced by the TLS stream.
    var stream: any ClientByteStream
    let configuration: PathConfiguration
    var stage: Stage
    /// The deadline of the current stage.
    private(set) var deadline: NIODeadline
    /// The client's place in the connection limits. `nil` until the PROXY header has named the client.
    private(set) var place: ConnectionGate.Place?
    /// The PROXY header. `nil` if the peer has sent none, or one without a client (`LOCAL`).
    var preamble: ProxyPreamble?
    var facts: ClientFacts?
    /// The client's first TLS message and the certificate chosen for it.
    var greeting: (hello: ClientHello?, choice: ListenerTLS.Choice)?
    /// Received bytes, kept until more bytes arrive or the handshake begins.
    var input: ByteBuffer?
    var listIndex = -1

    init(_ client: AcceptedClient, on loop: PathLoop, _ stream: any ClientByteStream) {
        self.client = client
        self.loop = loop
        self.stream = stream
        self.configuration = loop.configuration
        self.place = client.place
        self.stage = client.place == nil ? .preamble : client.listener.tls == nil ? .choice : .hello
        self.deadline = client.acceptedAt + self.configuration.timeouts.header
        if self.stage == .preamble { self.deadline = min(self.deadline, client.acceptedAt + Self.preambleTime) }
    }

    /// Starts to read from the client.
    func open() {
        self.loop.add(self)
        if self.stage == .hello, !self.mayShakeHands {
            self.stream.close()
            return self.closed(isClean: true)
        }
        do {
            try self.stream.start(self)
        } catch {
            self.stream.close()
            self.closed(isClean: false)
        }
    }

    /// Goes through as many stages as the received bytes allow.
    private func use(_ buffer: inout ByteBuffer) {
        let isWaiting = self.stage == .waiting
        if self.stage == .preamble { self.readPreamble(&buffer) }
        if self.stage == .hello, let tls = self.client.listener.tls { self.readHello(&buffer, tls) }
        if self.stage == .choice { self.begin(&buffer) }
        guard self.stage != .over, self.stage != .refused, buffer.readableBytes > 0 else { return }
        // Copied, because the buffer belongs to the loop.
        self.input = ByteBuffer(bytes: buffer.readableBytesView)
        if self.stage == .waiting, !isWaiting { self.awaitTurn() }
    }

    // MARK: The preamble

    private func readPreamble(_ buffer: inout ByteBuffer) {
        switch buffer.withUnsafeReadableBytes({ ProxyPreamble.read($0) }) {
        case .incomplete: break
        case .malformed: self.refusePreamble(.malformed)
        case .complete(let preamble):
            buffer.moveReaderIndex(forwardBy: preamble.byteCount)
            self.take(preamble)
        }
    }

    private func take(_ preamble: ProxyPreamble) {
        var source: IPAddress?
        var result = ProxyResult.local
        if case .proxied(let client, _) = preamble.meaning {
            source = client.canBeClient ? client.address : nil
            result = source == nil ? .unnamed : preamble.version == 1 ? .v1 : .v2
        }
        self.loop.preambleEnded(result, from: self.client.peer)
        let address = source ?? self.client.peer
        // The gate releases the place if it refuses the client.
        guard let place = self.client.gate.name(address, isProxy: source == nil, now: self.loop.now) else {
            self.stage = .over
            self.leave()
            return self.stream.close()
        }
        self.place = place
        if result != .local { self.preamble = preamble }
        if self.client.listener.tls != nil {
            self.stage = .hello
            if !self.mayShakeHands { return self.closeNow() }
        } else {
            self.stage = .choice
            self.facts = self.preamble.map { ClientFacts(proxy: $0) }
        }
        self.deadline = self.client.acceptedAt + self.configuration.timeouts.header
    }

    private func refusePreamble(_ result: ProxyResult) {
        self.loop.preambleEnded(result, from: self.client.peer)
        self.closeNow()
    }

    // MARK: The connection

    /// Replaces the opening by the client's connection as soon as the client's protocol is known.
    func begin(_ buffer: inout ByteBuffer) {
        guard let place = self.place, let speaksHTTP2 = self.speaksHTTP2(buffer) else { return }
        self.stage = .over
        if speaksHTTP2 {
            return HTTP2Connection(
                loop: self.loop,
                stream: self.stream,
                place: place,
                acceptedAt: self.client.acceptedAt,
                isSecure: self.facts?.tls != nil,
                facts: self.facts
            ).open(with: &buffer, after: self)
        }
        HTTP1Connection(
            loop: self.loop,
            stream: self.stream,
            place: place,
            acceptedAt: self.client.acceptedAt,
            service: self.client.listener.service,
            facts: self.facts
        ).open(with: &buffer, after: self)
    }

    /// Returns whether the client uses HTTP/2. `nil` if the bytes so far may be the beginning of the HTTP/2 preface.
    private func speaksHTTP2(_ buffer: ByteBuffer) -> Bool? {
        if let tls = self.facts?.tls {
            // A client that has agreed on no protocol uses HTTP/1, if the listener allows HTTP/1.
            return tls.hasChosenHTTP2 || self.client.listener.settings?.protocols.contains(.http1) != true
        }
        guard let protocols = self.client.listener.settings?.protocols, protocols.contains(.plainHTTP2) else {
            return false
        }
        let preface = HTTP2Connection.preface
        let count = min(buffer.readableBytes, preface.utf8CodeUnitCount)
        let begins = buffer.withUnsafeReadableBytes { bytes in
            bytes.prefix(count).elementsEqual(UnsafeBufferPointer(start: preface.utf8Start, count: count))
        }
        if begins { return count == preface.utf8CodeUnitCount ? true : nil }
        // On a listener for HTTP/2 only, any other client is treated as an HTTP/2 client and gets GOAWAY.
        return !protocols.contains(.http1)
    }

    private func leave() {
        self.input = nil
        self.loop.remove(self)
    }
}

// MARK: The client's bytes

extension ClientOpening: StreamHandler {
    func received(_ buffer: inout ByteBuffer) {
        if self.stage == .refused { return }
        guard var input = self.input.take() else { return self.use(&buffer) }
        input.writeBuffer(&buffer)
        self.use(&input)
    }

    func becameWritable() {}

    func closed(isClean: Bool) {
        guard self.stage != .over else { return }
        if let place = self.place { place.giveBack() } else { self.client.gate.release() }
        self.stage = .over
        self.leave()
    }
}

// MARK: The loop's connection

extension ClientOpening: LoopConnection {
    var quietSince: NIODeadline? { self.client.acceptedAt }
    var unsentBytes: Int { self.stream.unsentBytes }
    var isBusy: Bool { self.loop.now - self.client.acceptedAt < HTTP1State.firstRequestGrace }

    func eachRequest(_ body: (any LoopRequest) -> Void) {}

    func sweep(_ now: NIODeadline) {
        if now >= self.deadline {
            switch self.stage {
            case .preamble: return self.refusePreamble(.late)
            case .hello, .waiting: self.loop.handshakeEnded(.late)
            case .handshake, .choice, .refused, .over: break
            }
            self.closeNow()
        } else if self.loop.closesIdle, !self.isBusy {
            self.closeNow()
        }
    }

    func closeNow() {
        self.stream.close()
    }
}
