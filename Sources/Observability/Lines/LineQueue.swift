/// A bounded queue of whole lines of one stream, in a ring buffer. Any thread may append without waiting for the
/// reader. A line that does not fit is dropped whole and counted.
package final class LineQueue: @unchecked Sendable {
    /// The streams of lines, with their names in `"stream"` and in `sallyport_log_dropped_total{stream}`.
    package enum Stream: String, Sendable, CaseIterable {
        case access, audit, log
    }

    package let stream: Stream
    /// The maximum number of bytes that may wait.
    package let capacity: Int
    private let doorbell: Doorbell
    /// The time that a line may wait for more lines; zero to write it at once.
    private let longestLinger: Duration

    // Guarded by the doorbell's monitor. The writer thread reads a chunk without holding it. The chunk remains in
    // `count` until the thread reports it as written, so it is not overwritten.
    private let ring: UnsafeMutableRawPointer
    private var head = 0
    private(set) var count = 0
    /// The total number of bytes ever added. A flush waits until all bytes before its call are written.
    private(set) var total: UInt64 = 0
    private var droppedLines: UInt64 = 0
    private var isClosed = false

    init(_ stream: Stream, capacity: Int, linger: Duration, doorbell: Doorbell) {
        self.stream = stream
        self.capacity = max(capacity, 4096)
        self.doorbell = doorbell
        self.longestLinger = linger
        self.ring = .allocate(byteCount: self.capacity, alignment: 64)
    }

    deinit {
        self.ring.deallocate()
    }

    /// Appends whole lines, as many as fit, in order. The rest is dropped.
    ///
    /// - Parameters:
    ///   - bytes: One or more lines, each ended by a line feed.
    ///   - spared: The number of free bytes that these lines leave for other lines.
    /// - Returns: The number of bytes appended: all, or the length of the lines that fit.
    @discardableResult
    package func append(_ bytes: UnsafeRawBufferPointer, sparing spared: Int = 0) -> Int {
        guard !bytes.isEmpty else { return 0 }
        let monitor = self.doorbell.monitor
        monitor.lock()
        let room = self.isClosed ? 0 : max(0, self.capacity - self.count - spared)
        let length = bytes.count <= room ? bytes.count : Self.wholeLines(in: bytes, room)
        if length > 0 { self.put(bytes, length) }
        if length < bytes.count {
            self.droppedLines &+= Self.lineCount(UnsafeRawBufferPointer(rebasing: bytes[length...]))
        }
        let rings = length > 0 && self.doorbell.mustRing(added: length, linger: self.linger)
        monitor.unlock()
        if rings { monitor.signal(.work) }
        return length
    }

    /// Appends one line, and returns false if it was dropped.
    @discardableResult
    package func append(line: [UInt8]) -> Bool {
        line.withUnsafeBytes { self.append($0) == $0.count }
    }

    /// The number of lines dropped since the start.
    package var dropped: UInt64 {
        self.doorbell.monitor.withLock { self.droppedLines }
    }

    // MARK: For the writer thread, with the lock held

    /// The time that the lines in this queue may wait for more. Events that strangers can cause get half of the queue,
    /// so writing starts at a quarter: no line is dropped while the thread waits.
    var linger: Duration { self.count < self.capacity / 4 ? self.longestLinger : .zero }

    /// Returns the next bytes to write, up to `limit`. They end with a line end if they contain a whole line.
    func next(limit: Int) -> UnsafeRawBufferPointer {
        let chunk = UnsafeRawBufferPointer(
            start: self.ring + self.head,
            count: min(self.count, self.capacity - self.head, limit)
        )
        let lines = Self.wholeLines(in: chunk, chunk.count)
        return lines > 0 ? UnsafeRawBufferPointer(rebasing: chunk[..<lines]) : chunk
    }

    /// Removes `count` bytes that the thread has written.
    func release(_ count: Int) {
        self.count -= count
        self.head = (self.head + count) % self.capacity
        // An empty queue starts again at the front, so that it uses few pages of memory.
        if self.count == 0 { self.head = 0 }
    }

    /// Rejects further lines and drops the waiting lines.
    func close() {
        self.isClosed = true
        var rest = 0
        while rest < self.count {
            let start = (self.head + rest) % self.capacity
            let part = UnsafeRawBufferPointer(
                start: self.ring + start,
                count: min(self.count - rest, self.capacity - start)
            )
            self.droppedLines &+= Self.lineCount(part)
            rest += part.count
        }
        self.release(self.count)
    }

    private func put(_ bytes: UnsafeRawBufferPointer, _ length: Int) {
        guard let base = bytes.baseAddress else { return }
        let tail = (self.head + self.count) % self.capacity
        let first = min(length, self.capacity - tail)
        (self.ring + tail).copyMemory(from: base, byteCount: first)
        if first < length {
            self.ring.copyMemory(from: base + first, byteCount: length - first)
        }
        self.count += length
        self.total &+= UInt64(length)
    }

    /// Returns the length of the lines that end within the first `limit` bytes.
    private static func wholeLines(in bytes: UnsafeRawBufferPointer, _ limit: Int) -> Int {
        var length = limit
        while length > 0 && bytes[length - 1] != 0x0A {
            length -= 1
        }
        return length
    }

    private static func lineCount(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        bytes.reduce(into: 0) { if $1 == 0x0A { $0 += 1 } }
    }
}

/// Wakes the writer thread if necessary. A wake-up costs the caller a system call.
final class Doorbell: @unchecked Sendable {
    enum Waiting {
        /// The thread writes, or pauses after a failure, and will look again without a signal.
        case not
        /// The thread sleeps until a line comes.
        case forWork
        /// A line has come, and the thread waits for more, at most for this time.
        case forMore(Duration)
    }

    let monitor = Monitor()
    /// The state of the writer thread. Guarded by the monitor, like `pending`.
    var waiting = Waiting.not
    /// The number of bytes in all queues.
    var pending = 0
    /// The number of pending bytes at which the thread no longer waits for more.
    let threshold: Int

    init(threshold: Int) {
        self.threshold = threshold
    }

    /// Counts `added` bytes as pending and returns whether the caller must signal `work`. Called with the lock held.
    func mustRing(added: Int, linger: Duration) -> Bool {
        self.pending += added
        switch self.waiting {
        case .not: return false
        case .forWork: break
        case .forMore(let longest) where linger < longest || self.pending >= self.threshold: break
        case .forMore: return false
        }
        self.waiting = .not
        return true
    }
}
