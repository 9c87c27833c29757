package import AddressIntelligence
package import NIOCore
package import Transport

/// A client that was accepted, on its way to the loop of its connection. However long that takes, the deadline of its first
/// request counts from when it was accepted.
package struct AcceptedClient: Sendable {
    let peer: IPAddress
    /// nil: the peer will name the client, whose place is reserved.
    let place: ConnectionGate.Place?
    let acceptedAt: NIODeadline
    let listener: ListenerProfile
    let gate: ConnectionGate

    /// Names the client of a reserved place, unless the peer will. nil: it is refused, and its place is given back.
    ///
    /// - Parameters:
    ///   - role: That of the listener.
    ///   - loop: The loop that accepts, on which this is called.
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

    /// Opens the client's connection, at once if it begins with HTTP/1. Called on its loop.
    ///
    /// - Parameter stream: The client's, which has not been started.
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
