import CLinux
import Glibc
package import NIOCore

/// A connected stream socket that passes received bytes to a handler and sends without blocking. Used on its loop only.
///
/// When the peer has ended its output and all its bytes have been read, the handler decides whether the socket closes
/// (`StreamHandler.inputEnded`). When an event reports a failed connection, everything received is read at once, even
/// while reading is paused, and the socket closes.
package final class StreamSocket: EventSource, ClientByteStream {
    /// The number of queued bytes above which the socket is not writable, until fewer than `lowMark` are queued.
    static let highMark = 65_536
    static let lowMark = 32_768
    /// The maximum number of reads of a socket before other sockets are read, for fairness among sockets.
    private static let readLimit = 4

    /// The loop. Not retained, because the socket's owner retains it.
    package unowned(unsafe) let loop: TransportLoop
    /// The descriptor; -1 once the socket has closed.
    private var descriptor: Int32
    /// True if the descriptor is registered with the loop. Before `start`, its events go to the `ConnectingSocket`.
    private var isWatched: Bool
    /// The handler, from `start` until the socket has closed.
    private var handler: (any StreamHandler)?
    private var output = WriteQueue()
    /// True while the write queue has room.
    package private(set) var isWritable = true
    /// True while reading is paused until `resume`.
    package private(set) var isPaused = false
    /// True if the socket may have unread input.
    private var hasInput = false
    private var isReadDue = false
    private var inputEnd = InputEnd.open
    /// True while the system accepts no more bytes. An event follows once it accepts bytes again.
    private var isFull = false
    private var outputEnd = OutputEnd.open
    /// True once `close(behind:)` has begun. `endOutput` does nothing from now on.
    private var isClosing = false

    /// The number of written bytes that the peer had not acknowledged when the connection failed.
    private var lostBytes = 0

    private enum OutputEnd { case open, due, ended }
    /// The states of the input. `due` means that the peer has sent the end, but bytes before it may be unread.
    private enum InputEnd { case open, due, ended }

    /// - Parameter descriptor: A non-blocking socket, which this object owns from now on.
    package init(_ descriptor: Int32, on loop: TransportLoop) {
        self.descriptor = descriptor
        self.loop = loop
        self.isWatched = false
    }

    /// - Parameter descriptor: The descriptor of a `ConnectingSocket`, registered with the loop and handed over.
    init(connected descriptor: Int32, on loop: TransportLoop) {
        self.descriptor = descriptor
        self.loop = loop
        self.isWatched = true
    }

    deinit {
        if self.isOpen { self.closeDescriptor() }
    }

    /// Begins to read. Replaces the handler if the socket reads already, even during a call to the handler.
    ///
    /// - Throws: `IOError` if the system has no memory for the socket's events.
    package func start(_ handler: any StreamHandler) throws {
        guard self.handler == nil else {
            self.handler = handler
            return
        }
        let events = Events.input | Events.output | Events.peerClosed | Events.once
        if self.isWatched {
            self.loop.handOver(self.descriptor, to: self, events: events)
        } else {
            try self.loop.add(self, self.descriptor, events: events)
            self.isWatched = true
        }
        self.handler = handler
    }

    package var isOpen: Bool { self.descriptor >= 0 }

    // MARK: Events

    override func ready(_ events: UInt32, on loop: TransportLoop) {
        if events & Events.end != 0 {
            if events & Events.failure != 0 { self.lostBytes = self.unacknowledgedBytes }
            return self.readToEnd(loop)
        }
        if events & Events.output != 0, self.isFull {
            self.isFull = false
            self.sendQueued()
            if self.output.isEmpty { self.handler?.allSent() }
        }
        if events & Events.peerClosed != 0, self.inputEnd == .open { self.inputEnd = .due }
        if events & (Events.input | Events.peerClosed) != 0 {
            if self.isPaused { self.hasInput = true } else { self.read(loop) }
        }
    }

    /// Continues reading input that an earlier read left.
    func readOn(_ loop: TransportLoop) {
        self.isReadDue = false
        if self.hasInput, !self.isPaused { self.read(loop) }
    }

    /// Reads until the socket is empty, because only then the next input causes an event. A pause or `readLimit` ends
    /// reading early.
    ///
    /// - Parameter loop: `self.loop`, as a parameter so that it is not retained at each use.
    private func read(_ loop: TransportLoop) {
        guard self.isOpen, self.inputEnd != .ended else { return }
        self.hasInput = false
        var buffer = loop.lendReadBuffer()
        var count = 0
        reading: while true {
            switch self.receive(&buffer) {
            case .bytes(let isAll):
                // If the end was reported before, no further event follows, so reading continues until the end.
                if isAll && self.inputEnd == .open || !self.isOpen { break reading }
                count += 1
                if self.isPaused || count == Self.readLimit {
                    self.hasInput = true
                    if !self.isPaused { self.readSoon() }
                    break reading
                }
            case .nothing:
                break reading
            case .end:
                self.endInput()
                break reading
            case .failed:
                self.close(isClean: false)
                break reading
            }
        }
        loop.giveBack(buffer)
    }

    private func endInput() {
        self.inputEnd = .ended
        if self.handler?.inputEnded() != true { self.close(isClean: true) }
    }

    /// Reads everything that the peer sent before the connection ended, and closes.
    private func readToEnd(_ loop: TransportLoop) {
        var buffer = loop.lendReadBuffer()
        while self.isOpen {
            switch self.receive(&buffer) {
            case .bytes: break
            case .end: self.close(isClean: true)
            case .nothing, .failed: self.close(isClean: false)
            }
        }
        loop.giveBack(buffer)
    }

    private enum Received {
        /// Bytes have been read. `isAll` is true if no more bytes were available.
        case bytes(isAll: Bool)
        case nothing
        case end
        case failed
    }

    /// Reads once, and passes the bytes to the handler.
    @inline(__always)
    private func receive(_ buffer: inout ByteBuffer) -> Received {
        buffer.clear()
        let room = buffer.writableBytes
        var count = 0
        repeat {
            count = buffer.withUnsafeMutableWritableBytes { recv(self.descriptor, $0.baseAddress, room, 0) }
        } while count < 0 && errno == EINTR
        if count > 0 {
            buffer.moveWriterIndex(forwardBy: count)
            self.handler?.received(&buffer)
            return .bytes(isAll: count < room)
        }
        if count == 0 { return .end }
        return errno == EAGAIN ? .nothing : .failed
    }

    override func loopEnds() {
        self.close(isClean: true)
    }

    // MARK: Back-pressure

    /// Stops reading until `resume`.
    @inline(__always)
    package func pause() {
        self.isPaused = true
    }

    /// Continues reading after this call (`TransportLoop.readSoon`).
    package func resume() {
        guard self.isPaused else { return }
        self.isPaused = false
        if self.hasInput { self.readSoon() }
    }

    private func readSoon() {
        guard !self.isReadDue else { return }
        self.isReadDue = true
        self.loop.readSoon(self)
    }

    /// True if unread bytes have arrived. Costs a system call.
    package var hasUnreadBytes: Bool {
        var byte: UInt8 = 0
        return recv(self.descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) > 0
    }

    /// True if nothing unread has arrived, not even the end of the stream. Costs a system call.
    package var isQuiet: Bool {
        var byte: UInt8 = 0
        return recv(self.descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) < 0 && errno == EAGAIN
    }

    // MARK: Sending

    /// The number of queued bytes that the system has not accepted.
    package var unsentBytes: Int { self.output.byteCount }

    package var unacknowledgedBytes: Int {
        guard self.isOpen else { return self.lostBytes }
        // `TIOCOUTQ` is `SIOCOUTQ` of tcp(7).
        var count: Int32 = 0
        let isKnown = ioctl(self.descriptor, UInt(TIOCOUTQ), &count) == 0
        return self.output.byteCount + (isKnown ? Int(count) : 0)
    }

    /// Queues bytes until `flush`.
    @inline(__always)
    package func write(_ bytes: ByteBuffer) {
        guard self.isOpen, self.outputEnd == .open else { return }
        self.output.append(bytes)
        if self.output.byteCount > Self.highMark { self.isWritable = false }
    }

    /// Sends everything that is queued.
    package func flush() {
        guard self.isOpen, !self.output.isEmpty else { return }
        self.output.flush()
        if !self.isFull { self.sendQueued() }
    }

    /// Queues bytes and sends everything that is queued.
    package func writeAndFlush(_ bytes: ByteBuffer) {
        guard self.isOpen, self.outputEnd == .open else { return }
        guard self.output.isEmpty else {
            self.write(bytes)
            return self.flush()
        }
        let size = bytes.readableBytes
        guard size > 0 else { return }
        let count = bytes.withUnsafeReadableBytes {
            send(self.descriptor, $0.baseAddress, size, Int32(MSG_NOSIGNAL))
        }
        if count == size { return }
        if count < 0, errno != EAGAIN, errno != EINTR { return self.sendingFailed() }
        self.isFull = true
        var rest = bytes
        rest.moveReaderIndex(forwardBy: max(count, 0))
        self.output.appendRest(rest)
        self.output.flush()
        if self.output.byteCount > Self.highMark { self.isWritable = false }
        if count < 0, errno == EINTR {
            self.isFull = false
            self.sendQueued()
        }
    }

    private func sendQueued() {
        switch self.output.send(to: self.descriptor) {
        case .sent: break
        case .full: self.isFull = true
        case .failed: return self.sendingFailed()
        }
        if self.outputEnd == .due, self.output.isEmpty { self.shutDownOutput() }
        if !self.isWritable, self.output.byteCount < Self.lowMark {
            self.isWritable = true
            self.handler?.becameWritable()
        }
    }

    /// Closes. Unless reading is paused, first reads what the peer sent before the failure.
    private func sendingFailed() {
        self.lostBytes = self.unacknowledgedBytes
        if !self.isPaused { self.readToEnd(self.loop) }
        self.close(isClean: false)
    }

    // MARK: Closing

    /// Sends the end of the stream after everything that is queued. Reading continues.
    package func endOutput() {
        guard self.isOpen, self.outputEnd == .open, !self.isClosing else { return }
        self.outputEnd = .due
        self.output.flush()
        if self.output.isEmpty { self.shutDownOutput() }
    }

    private func shutDownOutput() {
        self.outputEnd = .ended
        shutdown(self.descriptor, Int32(SHUT_WR))
        self.handler?.outputEnded()
    }

    /// Closes at once. Bytes that the system has not accepted are lost.
    package func close() {
        self.close(isClean: true)
    }

    /// Calls `writeLastBytes`, for example to send TLS's `close_notify`, and closes. During the call, `endOutput` does
    /// nothing.
    package func close(behind writeLastBytes: () -> Void) {
        guard self.isOpen else { return }
        self.isClosing = true
        writeLastBytes()
        self.close(isClean: true)
    }

    /// Closes with RST, so that the peer cannot mistake a partial answer for a complete one.
    package func reset() {
        guard self.isOpen else { return }
        System.resetOnClose(self.descriptor)
        self.close(isClean: true)
    }

    /// Acknowledges received bytes at once. Otherwise the system may delay the acknowledgement by 40 ms, while a client
    /// with Nagle's algorithm (RFC 896) sends no further short message.
    package func acknowledge() {
        guard self.isOpen else { return }
        var on: Int32 = 1
        setsockopt(self.descriptor, Int32(IPPROTO_TCP), TCP_QUICKACK, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    private func close(isClean: Bool) {
        guard self.isOpen else { return }
        self.closeDescriptor()
        self.hasInput = false
        self.output.removeAll()
        guard let handler = self.handler.take() else { return }
        self.loop.remove(self)
        handler.closed(isClean: isClean)
    }

    private func closeDescriptor() {
        if self.isWatched { self.loop.close(self.descriptor) } else { Glibc.close(self.descriptor) }
        self.descriptor = -1
    }
}
