import Synchronization

/// The spans that wait for the exporter, in buffers that are recycled: a loop exchanges a full buffer for an empty one.
/// No loop waits for the exporter: spans that do not fit are dropped and counted.
package final class SpanQueue: Sendable {
    /// The reasons why spans did not reach the collector: the values of `sallyport_spans_dropped_total{reason}`.
    package enum Loss: String, Sendable, CaseIterable {
        /// More spans came than the exporter could send.
        case queueFull = "queue_full"
        /// The collector rejected the spans permanently.
        case refused
        /// The collector did not answer in time, or could not accept the spans for too long.
        case failed
    }

    private struct State {
        var waiting: [SpanBuffer] = []
        /// The number of spans in `waiting`.
        var spans = 0
        /// Empty buffers.
        var spare: [SpanBuffer] = []
        /// The buffer for spans that tasks write, not loops.
        var single = SpanBuffer(capacity: 4096)
        var losses: [Loss: UInt64] = [:]
        var sent: UInt64 = 0
        var isClosed = false
        /// True if the exporter has been notified of a batch.
        var isRung = false
    }

    /// The maximum number of bytes sent at once. A single buffer with long texts of clients may exceed this limit.
    private static let longestBatch = 1 << 20

    /// The maximum number of waiting spans.
    private let capacity: Int
    /// The maximum number of spans sent at once, unless one buffer has more.
    package let batch: Int
    /// The number of spans or bytes at which a buffer is passed on.
    let handover: (spans: Int, bytes: Int)
    private let state = Mutex(State())
    private let ring: @Sendable () -> Void

    /// - Parameters:
    ///   - capacity: The maximum number of waiting spans.
    ///   - batch: The maximum number of spans that are sent at once.
    ///   - ring: Called on any thread when a batch is ready. It must not wait.
    package init(capacity: Int, batch: Int, ring: @escaping @Sendable () -> Void) {
        self.capacity = capacity
        self.batch = min(batch, capacity)
        self.handover = (max(1, min(128, self.batch / 4)), 65_536)
        self.ring = ring
    }

    /// Takes a buffer with spans.
    ///
    /// - Returns: An empty buffer, possibly `buffer` itself.
    package func exchange(_ buffer: SpanBuffer) -> SpanBuffer {
        guard buffer.spans > 0 else { return buffer }
        let (empty, rings) = self.state.withLock { state -> (SpanBuffer, Bool) in
            self.take(buffer, &state)
        }
        if rings { self.ring() }
        return empty
    }

    /// Writes one span, on any thread.
    package func write(_ write: (SpanBuffer) -> Void) {
        let rings = self.state.withLock { state -> Bool in
            write(state.single)
            guard state.single.spans >= self.handover.spans else { return false }
            let (empty, rings) = self.take(state.single, &state)
            state.single = empty
            return rings
        }
        if rings { self.ring() }
    }

    private func take(_ buffer: SpanBuffer, _ state: inout State) -> (empty: SpanBuffer, rings: Bool) {
        guard !state.isClosed, state.spans + buffer.spans <= self.capacity else {
            state.losses[.queueFull, default: 0] += UInt64(buffer.spans)
            buffer.removeAll()
            return (buffer, false)
        }
        state.waiting.append(buffer)
        state.spans += buffer.spans
        let rings = state.spans >= self.batch && !state.isRung
        if rings { state.isRung = true }
        return (state.spare.popLast() ?? SpanBuffer(capacity: self.handover.bytes + 4096), rings)
    }

    // MARK: For the exporter

    /// Returns the next spans to send, at most about a batch or a mebibyte; empty if no spans wait.
    ///
    /// - Parameter onlyFull: True to return nothing unless a whole batch waits.
    package func next(onlyFull: Bool = false) -> [SpanBuffer] {
        self.state.withLock { state in
            if !onlyFull, state.single.spans > 0 {
                let (empty, _) = self.take(state.single, &state)
                state.single = empty
            }
            state.isRung = false
            guard !onlyFull || state.spans >= self.batch else { return [] }
            var (count, spans, bytes) = (0, 0, 0)
            for buffer in state.waiting {
                guard
                    count == 0
                        || spans + buffer.spans <= self.batch && bytes + buffer.bytes.count <= Self.longestBatch
                else { break }
                spans += buffer.spans
                bytes += buffer.bytes.count
                count += 1
            }
            let taken = Array(state.waiting.prefix(count))
            state.waiting.removeFirst(count)
            state.spans -= spans
            return taken
        }
    }

    /// Takes back the buffers that `next` returned.
    ///
    /// - Parameters:
    ///   - lost: The number of spans in the buffers that were lost. The rest was sent.
    ///   - loss: The reason.
    package func giveBack(_ buffers: [SpanBuffer], lost: Int = 0, _ loss: Loss = .failed) {
        var spans = 0
        for buffer in buffers {
            spans += buffer.spans
            buffer.removeAll()
        }
        let lost = min(max(lost, 0), spans)
        self.state.withLock { state in
            state.losses[loss, default: 0] += UInt64(lost)
            state.sent += UInt64(spans - lost)
            state.spare.append(contentsOf: buffers.prefix(max(0, self.mostSpare - state.spare.count)))
        }
    }

    /// The maximum number of empty buffers that are kept: enough for a batch that is being sent and a batch that is
    /// being written. Only a burst leaves more buffers, and a large queue is rarely full.
    private var mostSpare: Int { max(4, 2 * self.batch / self.handover.spans) }

    /// Rejects further spans. Waiting spans are lost.
    package func close() {
        self.state.withLock { state in
            state.isClosed = true
            state.losses[.failed, default: 0] += UInt64(state.spans + state.single.spans)
            state.waiting = []
            state.spare = []
            state.spans = 0
            state.single.removeAll()
        }
    }

    /// Returns the number of spans that were lost for this reason.
    package func lost(_ loss: Loss) -> UInt64 { self.state.withLock { $0.losses[loss, default: 0] } }

    /// The number of empty buffers that are kept.
    package var spare: Int { self.state.withLock { $0.spare.count } }

    /// The number of waiting spans, without spans in the loops' buffers.
    package var waiting: Int { self.state.withLock { $0.spans + $0.single.spans } }

    /// Registers the counters of sent and lost spans.
    package func register(in registry: MetricsRegistry) {
        registry.read(MetricNames.spansSent) { Double(self.state.withLock { $0.sent }) }
        for loss in Loss.allCases {
            registry.read(MetricNames.spansDropped, loss.rawValue) {
                Double(self.state.withLock { $0.losses[loss, default: 0] })
            }
        }
    }
}

/// The spans of one event loop, buffered until there are enough to pass on.
///
/// Confined to its loop; not `Sendable` on purpose.
@usableFromInline
package final class TraceLog {
    private let queue: SpanQueue
    /// The buffer for spans. `ended` must be called after each span.
    @usableFromInline package private(set) var buffer: SpanBuffer
    /// The clocks as they were at most a second ago.
    @usableFromInline private(set) var clock = SpanClock()
    /// The time at which the clocks are read next, by the monotonic clock.
    @usableFromInline private(set) var clockEnd: UInt64 = 0
    /// The interval between readings of the clocks, in nanoseconds. Only setting a clock changes their offset.
    private static let clockPeriod: UInt64 = 1_000_000_000
    /// The state of the generator of span ids. Ids do not repeat before the state repeats.
    @usableFromInline var state = UInt64.random(in: .min ... .max)
    /// The number of spans or bytes at which the buffer is passed on.
    @usableFromInline let handover: (spans: Int, bytes: Int)

    package init(queue: SpanQueue) {
        self.queue = queue
        self.handover = queue.handover
        self.buffer = SpanBuffer(capacity: queue.handover.bytes + 4096)
    }

    /// Writes one span.
    package func write(_ write: (SpanBuffer) -> Void) {
        write(self.buffer)
        self.ended()
    }

    /// Passes the buffer on if it is full. Called after spans were written to the buffer.
    @inlinable @inline(__always)
    package func ended() {
        if self.buffer.spans >= self.handover.spans || self.buffer.count >= self.handover.bytes {
            self.flushIfNeeded()
        }
    }

    /// Returns the clock for spans that end now.
    ///
    /// - Parameter now: The nanoseconds of the monotonic clock.
    @inlinable @inline(__always)
    package func clock(at now: UInt64) -> SpanClock {
        if now >= self.clockEnd { self.readClock(at: now) }
        return self.clock
    }

    @usableFromInline @inline(never)
    func readClock(at now: UInt64) {
        self.clock = SpanClock()
        self.clockEnd = now &+ Self.clockPeriod
    }

    /// Passes the spans on.
    @usableFromInline @inline(never)
    package func flushIfNeeded() {
        if self.buffer.spans > 0 { self.buffer = self.queue.exchange(self.buffer) }
    }

    /// Returns a new id of a span. Its complement is also a valid id.
    @inlinable @inline(__always)
    package func nextSpan() -> UInt64 {
        repeat {
            self.state &+= 0x9E37_79B9_7F4A_7C15
            let id = Self.mixed(self.state)
            if id != 0, id != .max { return id }
        } while true
    }

    /// Maps each number to a different number with random-looking bits (the mixer of SplitMix64).
    @inlinable @inline(__always)
    package static func mixed(_ number: UInt64) -> UInt64 {
        var mixed = number
        mixed = (mixed ^ mixed &>> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed &>> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed &>> 31
    }
}
