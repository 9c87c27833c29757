import AddressIntelligence
import NIOCore
import Transport

#if canImport(Glibc)
import Glibc
#endif

/// A client between `accept`, where a place was reserved for it, and its connection: it is named, and moves to the loop of
/// the connection. However long that takes, the deadline of its first request counts from when it was accepted.
struct ClientOpening: Sendable {
    private let descriptor: Int32
    private let place: ConnectionGate.Place
    private let acceptedAt: NIODeadline

    /// Names the client of a reserved place; nil if it is refused, and its socket is closed.
    ///
    /// - Parameter descriptor: The client's socket, which belongs to the opening now.
    init?(_ descriptor: Int32, from address: IPAddress, at time: NIODeadline, by gate: ConnectionGate) {
        guard let place = gate.name(address, now: time) else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        self.place = place
        self.acceptedAt = time
    }

    /// Opens the client's connection. Called on its loop.
    ///
    /// - Parameter takesChecks: Whether the client is a proxy that asks about requests of its own clients.
    func open(on place: PathLoops.Place, takesChecks: Bool) {
        HTTP1Connection(
            loop: place.loop,
            stream: StreamSocket(self.descriptor, on: place.transport),
            place: self.place,
            acceptedAt: self.acceptedAt,
            takesChecks: takesChecks
        ).open()
    }
}
