import NIOCore
package import Transport

/// A client's connection, of any HTTP version, as seen by the code that opens it.
package protocol ClientConnection: LoopConnection, StreamHandler {
    var loop: PathLoop { get }

    /// Starts to read from the client. The connection is already in the loop's list.
    func start()
}

extension ClientConnection {
    /// Adds the connection to the loop and starts to read from the client.
    package func open() {
        self.loop.add(self)
        self.start()
    }

    /// Replaces the client's opening and uses the bytes that the opening has read but not used.
    func open(with bytes: inout ByteBuffer, after opening: any LoopConnection) {
        self.loop.replace(opening, by: self)
        self.start()
        if bytes.readableBytes > 0 { self.received(&bytes) }
    }

    /// Starts to receive the client's bytes. If the client's socket cannot be used, the connection ends.
    func read(from stream: any ClientByteStream) {
        do {
            try stream.start(self)
        } catch {
            stream.close()
            self.closed(isClean: false)
        }
    }
}

/// Notes at the gate that a signed-in user uses the connection, at most once in `period`: all loops share the gate.
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
