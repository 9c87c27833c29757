import NIOCore
package import Transport

/// A client's connection of any HTTP version.
package protocol ClientConnection: LoopConnection, StreamHandler {
    var loop: PathLoop { get }

    /// Starts to read from the client. The loop must already list the connection.
    func start()
}

extension ClientConnection {
    /// Adds the connection to the loop and starts to read from the client.
    package func open() {
        self.loop.add(self)
        self.start()
    }

    /// Takes over the client's socket from `opening` and handles the bytes that are already read.
    func open(with bytes: inout ByteBuffer, after opening: any LoopConnection) {
        self.loop.replace(opening, by: self)
        self.start()
        if bytes.readableBytes > 0 { self.received(&bytes) }
    }

    /// Starts to receive the client's bytes. Closes the connection if the socket cannot be used.
    func read(from stream: any ClientByteStream) {
        do {
            try stream.start(self)
        } catch {
            stream.close()
            self.closed(isClean: false)
        }
    }
}

/// Reports to the gate that a signed-in user uses the connection, at most once in `period`.
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
