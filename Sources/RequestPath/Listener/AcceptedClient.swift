package import AddressIntelligence
package import NIOCore
package import Transport

/// An accepted client that is handed over to the loop of its connection. The deadline of its first request runs from
/// `acceptedAt`.
package struct AcceptedClient: Sendable {
    let peer: IPAddress
    /// The client's place in the connection limits. `nil` if the PROXY header must first name the client.
    let place: ConnectionGate.Place?
    let acceptedAt: NIODeadline
    let listener: ListenerProfile
    let gate: ConnectionGate

    /// Takes the reserved place for `peer`, unless `peer` will send a PROXY header. Returns `nil` and releases the
    /// place if the client is refused.
    ///
    /// - Parameters:
    ///   - role: The role of the listener.
    ///   - loop: The accepting loop, on which this is called.
    package init?(
        from peer: IPAddress,
        at time: NIODeadline,
        as role: ListenerRole,
        on loop: PathLoop,
        by gate: ConnectionGate
    ) {
        guard let listener = loop.configuration.listener(role) else {
            gate.release()
            return nil
        }
        var place: ConnectionGate.Place?
        switch listener.greeting(of: peer) {
        case .named:
            break
        case .own:
            place = gate.name(peer, now: time)
            if place == nil { return nil }
        case .refused:
            gate.release()
            loop.preambleEnded(.refused, from: peer)
            return nil
        }
        self.peer = peer
        self.place = place
        self.acceptedAt = time
        self.listener = listener
        self.gate = gate
    }

    /// Opens the connection. A `ClientOpening` comes first, unless the first bytes must be an HTTP/1 request. Called on
    /// the connection's loop.
    ///
    /// - Parameter stream: The client's stream, not started yet.
    package func open(_ stream: any ClientByteStream, on loop: PathLoop) {
        guard let named = self.place, !self.listener.hasPrelude else {
            return ClientOpening(self, on: loop, stream).open()
        }
        HTTP1Connection(
            loop: loop,
            stream: stream,
            place: named,
            acceptedAt: self.acceptedAt,
            service: self.listener.service
        ).open()
    }
}
