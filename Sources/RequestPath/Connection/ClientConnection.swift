import NIOCore
package import Transport

/// A client's connection, whichever HTTP it speaks: how it begins.
package protocol ClientConnection: LoopConnection, StreamHandler {
    var loop: PathLoop { get }

    /// Begins to read from the client. The connection is in the loop's list.
    func start()
}

extension ClientConnection {
    /// Begins to read from the client.
    package func open() {
        self.loop.add(self)
        self.start()
    }

    /// Takes the place of the client's opening, and uses what that has read and not used.
    func open(with bytes: inout ByteBuffer, after opening: any LoopConnection) {
        self.loop.replace(opening, by: self)
        self.start()
        if bytes.readableBytes > 0 { self.received(&bytes) }
    }

    /// Has the client's bytes handed over. If its socket cannot be used, the connection ends.
    func read(from stream: any ClientByteStream) {
        do {
            try stream.start(self)
        } catch {
            stream.close()
            self.closed(isClean: false)
        }
    }
}

/// Tells the gate that a signed-in user sends requests on a connection: seldom, because each time is counted for all loops.
struct SessionNotes {
    private static let period = TimeAmount.minutes(5)

    private var next = NIODeadline.uptimeNanoseconds(0)

    @inline(__always)
    mutating func note(_ place: ConnectionGate.Place, now: NIODeadline) {
        guard now >= self.next else { return }
        self.next = now + Self.period
        place.noteSession(now: now)
    }
}
