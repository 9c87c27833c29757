/// A bounded queue of whole lines for one stream. Appending never waits for the reader. A line that does not fit is
/// dropped and counted.
package final class LineQueue: @unchecked Sendable {
    /// The streams of lines. The raw value is the member `stream` of lines and the label `stream` of metrics.
    package enum Stream: String, Sendable, CaseIterable {
        case access, audit, log
    }

    package let stream: Stream
    /// The maximum number of waiting bytes.
    package let capacity: Int
    private let doorbell: Doorbell
    /// How long a line may wait for more lines; zero to write it at once.
    private let longestLinger: Duration

    // Guarded by the doorbell's monitor. The writer thread reads a chunk of `ring` without the lock: the bytes are part
    // of `count` until `release`, and cannot be overwritten.
    private let ring: UnsafeMutableRawPointer
    private var head = 0
    private(set) var count = 0
    /// The number of bytes ever added. `LineWriter.flush` uses it to know what to wait for.
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

    /// Appends as many whole lines as fit, in order. Drops the rest.
    ///
    /// - Parameters:
    ///   - bytes: One or more lines, each ended by a line feed.
    ///   - spared: The number of bytes that must remain free.
    /// - Returns: The number of bytes appended.
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

    /// Appends one line. Returns false if it was dropped.
    @discardableResult
    package func append(line: [UInt8]) -> Bool {
        line.withUnsafeBytes { self.append($0) == $0.count }
    }

    /// The number of lines dropped since the start.
    package var dropped: UInt64 {
        self.doorbell.monitor.withLock { self.droppedLines }
    }

    // MARK: For the writer thread, with the lock held

    /// How long the lines may wait for more lines. Zero from a quarter of the capacity: rejections may use only half of
    /// the audit queue, and must not fill this half while the thread waits.
    var linger: Duration { self.count < self.capacity / 4 ? self.longestLinger : .zero }

    /// Returns the next bytes to write, up to `limit`: whole lines if possible, otherwise a part of a line.
    func next(limit: Int) -> UnsafeRawBufferPointer {
        let chunk = UnsafeRawBufferPointer(
            start: self.ring + self.head,
            count: min(self.count, self.capacity - self.head, limit)
        )
        let lines = Self.wholeLines(in: chunk, chunk.count)
        return lines > 0 ? UnsafeRawBufferPointer(rebasing: chunk[..<lines]) : chunk
    }

    /// Removes bytes that have been written.
    func release(_ count: Int) {
        self.count -= count
        self.head = (self.head + count) % self.capacity
        // Starting again at the front touches fewer pages of memory.
        if self.count == 0 { self.head = 0 }
    }

    /// Drops the waiting lines and all later lines.
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

    /// Returns the total length of the lines that end within the first `limit` bytes.
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

/// Wakes the writer thread only if necessary, because a wake-up costs the caller a system call.
final class Doorbell: @unchecked Sendable {
    enum Waiting {
        /// The thread is writing, or retries soon. It needs no signal.
        case not
        /// The thread sleeps until a line is appended.
        case forWork
        /// The thread has a line and waits up to this long for more lines.
        case forMore(Duration)
    }

    let monitor = Monitor()
    /// The state of the writer thread. Guarded by the monitor, as is `pending`.
    var waiting = Waiting.not
    /// The number of waiting bytes in all queues.
    var pending = 0
    /// The number of waiting bytes at which the thread writes at once.
    let threshold: Int

    init(threshold: Int) {
        self.threshold = threshold
    }

    /// Adds to `pending`, and returns whether the caller must signal `work`. The caller must hold the lock.
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
