import Glibc

/// The thread that writes all log lines to a file descriptor. It may block on a slow reader; requests never do.
///
/// Several streams share the descriptor. The thread changes streams only at line ends. A failed write (full disk,
/// closed pipe) is counted and retried from where it stopped. Meanwhile, full queues drop whole lines.
package final class LineWriter: @unchecked Sendable {
    /// The thread could not be started.
    package struct StartError: Error, CustomStringConvertible {
        /// The system's error number.
        package let code: Int32
        package var description: String { "cannot start the log thread: error \(self.code)" }
    }

    /// The maximum number of bytes in one `write`, equal to the default capacity of a pipe.
    private static let chunk = 65_536

    private let descriptor: Int32
    private let accessLinger: Duration
    private let auditLinger: Duration
    private let doorbell = Doorbell(threshold: chunk / 2)
    // Guarded by the doorbell's monitor.
    private var queues: [LineQueue] = []
    private var turn = 0
    private var isMidLine = false
    /// The number of bytes that must be written before the thread may wait for more lines again.
    private var batch = 0
    private var flushes = 0
    private var isStopping = false
    private var errors: UInt64 = 0

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - descriptor: The target, blocking or not. The caller closes it.
    ///   - accessLinger: How long access lines may wait for more lines, so that a busy gateway rarely wakes the thread.
    ///   - auditLinger: How long audit events may wait. Waiting events are lost if the process is killed.
    package init(
        descriptor: Int32,
        accessLinger: Duration = .milliseconds(20),
        auditLinger: Duration = .milliseconds(2)
    ) throws(StartError) {
        self.descriptor = descriptor
        self.accessLinger = accessLinger
        self.auditLinger = auditLinger
        try self.start()
    }

    /// Makes a queue for `stream`. The capacity is in bytes.
    package func queue(_ stream: LineQueue.Stream, capacity: Int) -> LineQueue {
        let linger: Duration =
            switch stream {
            case .access: self.accessLinger
            case .audit: self.auditLinger
            case .log: .zero
            }
        let queue = LineQueue(stream, capacity: capacity, linger: linger, doorbell: self.doorbell)
        self.doorbell.monitor.withLock { self.queues.append(queue) }
        return queue
    }

    /// The number of failed writes since the start. Failed writes are retried until the writer is stopped.
    package var writeErrors: UInt64 {
        self.doorbell.monitor.withLock { self.errors }
    }

    /// Waits until all lines appended so far are written. Blocks the calling thread: do not call it on an event loop.
    ///
    /// - Returns: False if the reader did not accept the lines within `timeout`.
    @discardableResult
    package func flush(timeout: Duration) -> Bool {
        let deadline = Deadline(in: timeout)
        let monitor = self.doorbell.monitor
        return monitor.withLock {
            let marks = self.queues.map { ($0, $0.total) }
            self.flushes += 1
            defer { self.flushes -= 1 }
            monitor.broadcast(.work)
            while marks.contains(where: { $0.total &- UInt64($0.count) < $1 }) {
                if !monitor.wait(for: .progress, until: deadline) {
                    return marks.allSatisfy { $0.total &- UInt64($0.count) >= $1 }
                }
            }
            return true
        }
    }

    /// Flushes, then ends the thread. Lines that were not written, and later lines, are dropped and counted.
    ///
    /// - Returns: False if the flush timed out. The thread may still be writing: the caller must keep the descriptor
    ///   open.
    @discardableResult
    package func stop(timeout: Duration) -> Bool {
        let isFlushed = self.flush(timeout: timeout)
        let monitor = self.doorbell.monitor
        monitor.withLock {
            self.isStopping = true
            monitor.broadcast(.work)
        }
        return isFlushed
    }

    /// Registers the counters of dropped lines and failed writes in `registry`.
    package func register(in registry: MetricsRegistry) {
        registry.read(MetricNames.logWriteErrors) { Double(self.writeErrors) }
        for stream in LineQueue.Stream.allCases {
            registry.read(MetricNames.logDropped, stream.rawValue) {
                let queues = self.doorbell.monitor.withLock { self.queues }
                return queues.reduce(0) { $1.stream == stream ? $0 + Double($1.dropped) : $0 }
            }
        }
    }

    // MARK: The thread

    private func start() throws(StartError) {
        let code = OutputThread.start { self.run() }
        guard code == 0 else { throw StartError(code: code) }
    }

    private func run() {
        while let (queue, chunk) = self.next() {
            var written = 0
            var failures = 0
            while written < chunk.count {
                let count = Glibc.write(self.descriptor, chunk.baseAddress.map { $0 + written }, chunk.count - written)
                if count > 0 {
                    failures = 0
                    written += count
                    self.wrote(count, of: queue, isLineEnd: chunk[written - 1] == 0x0A)
                } else if !self.mayRetry(errno, &failures) {
                    return self.close()
                }
            }
        }
        self.close()
    }

    /// Returns the next chunk to write. Waits for lines; returns `nil` once stopped with nothing left.
    private func next() -> (LineQueue, UnsafeRawBufferPointer)? {
        let monitor = self.doorbell.monitor
        monitor.lock()
        defer { monitor.unlock() }
        var lingerEnd: Deadline?
        while true {
            self.doorbell.waiting = .not
            if self.doorbell.pending == 0 {
                if self.isStopping { return nil }
                lingerEnd = nil
                self.doorbell.waiting = .forWork
                monitor.wait(for: .work)
                continue
            }
            if let linger = self.linger {
                let end = min(lingerEnd ?? Deadline(in: linger), Deadline(in: linger))
                lingerEnd = end
                self.doorbell.waiting = .forMore(linger)
                if monitor.wait(for: .work, until: end) { continue }
                self.doorbell.waiting = .not
            }
            if self.batch == 0 { self.batch = self.doorbell.pending }
            if !self.isMidLine || self.queues[self.turn].count == 0 {
                self.turn = (self.turn + 1) % self.queues.count
                while self.queues[self.turn].count == 0 {
                    self.turn = (self.turn + 1) % self.queues.count
                }
            }
            let queue = self.queues[self.turn]
            return (queue, queue.next(limit: Self.chunk))
        }
    }

    /// How long all waiting lines may still wait; `nil` if some must be written now.
    private var linger: Duration? {
        guard !self.isStopping, self.flushes == 0, self.batch == 0, !self.isMidLine else { return nil }
        guard self.doorbell.pending < self.doorbell.threshold else { return nil }
        let shortest = self.queues.lazy.filter { $0.count > 0 }.map(\.linger).min()
        return shortest == .zero ? nil : shortest
    }

    private func wrote(_ count: Int, of queue: LineQueue, isLineEnd: Bool) {
        let monitor = self.doorbell.monitor
        monitor.withLock {
            queue.release(count)
            self.doorbell.pending -= count
            self.batch = max(0, self.batch - count)
            self.isMidLine = !isLineEnd
            if self.flushes > 0 { monitor.broadcast(.progress) }
        }
    }

    /// Waits before a retry, as the error requires. Returns false if the writer was stopped.
    private func mayRetry(_ code: Int32, _ failures: inout Int) -> Bool {
        let monitor = self.doorbell.monitor
        switch code {
        case EINTR:
            return true
        case EAGAIN:
            // The descriptor is non-blocking and its reader is slow. The wait is short, so that a stop is noticed.
            var poll = pollfd(fd: self.descriptor, events: Int16(POLLOUT), revents: 0)
            _ = Glibc.poll(&poll, 1, 250)
            return monitor.withLock { !self.isStopping }
        default:
            failures += 1
            let pause = Duration.milliseconds(min(10 << min(failures - 1, 7), 1000))
            return monitor.withLock {
                self.errors &+= 1
                if !self.isStopping { _ = monitor.wait(for: .work, until: Deadline(in: pause)) }
                return !self.isStopping
            }
        }
    }

    private func close() {
        let monitor = self.doorbell.monitor
        monitor.withLock {
            self.queues.forEach { $0.close() }
            self.doorbell.pending = 0
            monitor.broadcast(.progress)
        }
    }
}
