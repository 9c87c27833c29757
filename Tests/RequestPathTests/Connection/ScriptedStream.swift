import NIOCore
import Transport

/// The stream of a client or an app without a socket.
final class ScriptedStream: ClientByteStream {
    private var handler: (any StreamHandler)?
    /// The bytes that were flushed since they were last taken, and those behind them.
    private var flushed = ByteBuffer()
    private var queued = ByteBuffer()
    private(set) var isOpen = true
    private(set) var isPaused = false
    private(set) var isReset = false
    private(set) var hasOutputEnded = false
    var isWritable = true
    var hasUnreadBytes = false
    /// The bytes that the system does not take, and those that the peer has not acknowledged beside them.
    var heldBytes = 0
    var travellingBytes = 0

    var unsentBytes: Int { self.queued.readableBytes + self.heldBytes }
    var unacknowledgedBytes: Int { self.unsentBytes + self.travellingBytes }

    func start(_ handler: any StreamHandler) throws {
        self.handler = handler
    }

    func write(_ bytes: ByteBuffer) {
        self.queued.writeImmutableBuffer(bytes)
    }

    func writeAndFlush(_ bytes: ByteBuffer) {
        self.write(bytes)
        self.flush()
    }

    func flush() {
        self.flushed.writeBuffer(&self.queued)
    }

    func pause() { self.isPaused = true }
    func resume() { self.isPaused = false }

    func endOutput() {
        self.hasOutputEnded = true
        self.handler?.outputEnded()
    }

    func reset() {
        self.isReset = true
        self.close()
    }

    func close() {
        self.end(isClean: true)
    }

    /// Closes from the other side.
    func end(isClean: Bool = true) {
        guard self.isOpen else { return }
        self.isOpen = false
        self.handler.take()?.closed(isClean: isClean)
    }

    /// The peer has read what was queued.
    func takesBytes() {
        self.isWritable = true
        self.handler?.becameWritable()
    }

    /// The system takes everything that is queued.
    func takesAll() {
        self.heldBytes = 0
        self.handler?.allSent()
    }

    /// The peer sends nothing more. False: the stream has closed.
    func endInput() -> Bool {
        guard self.handler?.inputEnded() == true else {
            self.end()
            return false
        }
        return self.isOpen
    }

    /// Bytes arrive.
    func come(_ text: String) {
        self.come(Array(text.utf8))
    }

    func come(_ bytes: [UInt8]) {
        var buffer = ByteBuffer(bytes: bytes)
        self.handler?.received(&buffer)
    }

    /// The bytes that were sent since the last call.
    func sent() -> String {
        String(decoding: self.sentBytes(), as: UTF8.self)
    }

    func sentBytes() -> [UInt8] {
        defer { self.flushed.clear() }
        return Array(self.flushed.readableBytesView)
    }
}
