import Cryptography
import NIOCore
import Settings
import Transport
import Vocabulary

/// Performs the TLS handshake.
extension ClientOpening {
    /// The maximum number of bytes from a client before its handshake has ended, if no client certificate is requested.
    private static let maxBytes = 32_768
    private static let maxBytesWithCertificate = 65_536

    /// Reads the client's first message. Refuses the client if the message is not TLS, or if no certificate or no
    /// protocol fits.
    func readHello(_ buffer: inout ByteBuffer, _ tls: ListenerTLS) {
        switch buffer.withUnsafeReadableBytes({ ClientHello.read($0) }) {
        case .incomplete: break
        case .plainHTTP: self.refuseForeign(buffer, as: .plainHTTP, with: Self.sentence)
        case .foreign: self.refuseForeign(buffer, as: .foreign)
        case .complete(let hello):
            guard let choice = tls.choice(for: hello, now: self.loop.wallNow) else {
                return tls.awaitsCertificate
                    ? self.refuseHandshake(.noCertificate, with: Self.alert(.internalError))
                    : self.refuseHandshake(.unknownName, with: Self.alert(.unrecognizedName))
            }
            guard tls.protocolChoice(for: hello) != nil else {
                return self.refuseHandshake(.noProtocol, with: Self.alert(.noApplicationProtocol))
            }
            self.greeting = (hello, choice)
            self.stage = .waiting
        }
    }

    /// Counts a handshake for the client's address. False if the address has begun too many handshakes.
    var mayShakeHands: Bool {
        guard let place = self.place else { return false }
        if place.beginsHandshake(now: self.loop.now) { return true }
        self.loop.handshakeEnded(.limited)
        return false
    }

    /// Asks the loop to begin the handshake. Reading pauses if the loop has no time in this turn.
    func awaitTurn() {
        if !self.loop.begin(self) { self.stream.pause() }
    }

    /// Begins the handshake with the bytes that have been read.
    func shakeHands() {
        guard self.stage == .waiting, let greeting = self.greeting, let socket = self.stream as? StreamSocket,
            var bytes = self.input.take()
        else { return }
        let asks = self.client.listener.tls.map { $0.clientCertificates != .none } ?? false
        let stream = TLSClientStream(
            socket,
            greeting.choice.context,
            room: asks ? Self.maxBytesWithCertificate : Self.maxBytes,
            self
        )
        self.stage = .handshake
        self.stream = stream
        do {
            try stream.shakeHands(&bytes)
        } catch {
            self.handshakeFailed(byClientCertificate: false)
            socket.close()
            self.closed(isClean: false)
        }
    }

    /// Refuses a client that does not begin with TLS.
    private func refuseForeign(_ buffer: ByteBuffer, as result: HandshakeResult, with sentence: ByteBuffer? = nil) {
        guard buffer.withUnsafeReadableBytes({ ProxyPreamble.resembles($0) }) else {
            return self.refuseHandshake(result, with: sentence)
        }
        self.loop.notify(.unexpected, of: self.client.peer)
        self.refuseHandshake(.foreign)
    }

    /// Refuses a client before the TLS handshake.
    private func refuseHandshake(_ result: HandshakeResult, with bytes: ByteBuffer? = nil) {
        self.loop.handshakeEnded(result)
        if let bytes { self.stream.writeAndFlush(bytes) }
        self.stage = .refused
        // Closing at once could make the client lose the answer.
        self.input = nil
        self.stream.endOutput()
    }

    /// TLS alerts that the gateway sends before the TLS library has started (RFC 8446 6.2).
    private enum Alert: UInt8 {
        case internalError = 80
        case unrecognizedName = 112
        case noApplicationProtocol = 120
    }

    /// Returns a fatal alert in a TLS 1.2 record.
    private static func alert(_ alert: Alert) -> ByteBuffer {
        ByteBuffer(bytes: [21, 3, 3, 0, 2, 2, alert.rawValue])
    }

    /// The answer to an HTTP request without TLS, for people who write http instead of https.
    private static let sentence: ByteBuffer = {
        let text = "This port speaks TLS: write https:// in place of http://.\n"
        return ByteBuffer(
            string: "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: \(text.utf8.count)\r\n"
                + "Cache-Control: no-store\r\nConnection: close\r\n\r\n\(text)"
        )
    }()
}

extension ClientOpening: AwaitedHandshake {}

extension ClientOpening {
    /// Called when the handshake has succeeded. The stream can send from now on.
    func handshakeEnded(_ agreement: TLSAgreement) {
        guard self.stage == .handshake, let greeting = self.greeting else { return }
        var certificate: ClientCertificate?
        if let der = agreement.clientCertificate {
            // In a resumed session, the certificate was verified earlier and may have expired since.
            guard let read = ClientCertificate(der: der), read.notAfter > self.loop.wallNow else {
                self.loop.handshakeEnded(.clientCertificate)
                return self.stream.close()
            }
            certificate = read
        }
        self.loop.handshakeEnded(agreement.flight.isResumed ? .resumed : .ok)
        // On a listener for any name, any certificate may be shown for any requested host.
        let acceptsAnyHostName = self.client.listener.settings?.acceptsAnyHostName == true
        self.facts = ClientFacts(
            proxy: self.preamble,
            tls: TLSFacts(
                agreement,
                serverName: greeting.hello?.serverName,
                shown: acceptsAnyHostName ? nil : greeting.choice.facts,
                certificate
            )
        )
        self.stage = .choice
        var none = ByteBuffer()
        self.begin(&none)
        // Otherwise, nothing would acknowledge the client's last handshake message: the library sends tickets with
        // later bytes.
        if agreement.flight.isTLS13 || agreement.flight.isResumed {
            (self.stream as? TLSClientStream)?.acknowledge(on: self.loop)
        }
    }

    /// Called when the handshake has failed. The stream closes.
    ///
    /// - Parameter byClientCertificate: True if the client's certificate is the reason.
    func handshakeFailed(byClientCertificate: Bool) {
        guard self.stage == .handshake else { return }
        self.loop.handshakeEnded(
            byClientCertificate ? .clientCertificate : self.loop.now >= self.deadline ? .late : .failed
        )
    }
}
