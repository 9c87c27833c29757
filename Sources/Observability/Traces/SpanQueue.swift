import Synchronization

/// The spans that wait for the exporter, in recycled buffers. A loop exchanges a full buffer for an empty one and never
/// waits: spans that do not fit are dropped and counted.
package final class SpanQueue: Sendable {
    /// Why spans did not reach the collector. The raw value is the label `reason` of `sallyport_spans_dropped_total`.
    package enum Loss: String, Sendable, CaseIterable {
        /// The exporter could not keep up, or has ended.
        case queueFull = "queue_full"
        /// The collector rejected the spans permanently.
        case refused
        /// The collector did not accept the spans in time, or before the gateway stopped.
        case failed
    }

    private struct State {
        var waiting: [SpanBuffer] = []
        /// The number of spans in `waiting`.
        var spans = 0
        /// Empty buffers.
        var spare: [SpanBuffer] = []
        /// The buffer for spans that are written outside of event loops.
        var single = SpanBuffer(capacity: 4096)
        var losses: [Loss: UInt64] = [:]
        var sent: UInt64 = 0
        var isClosed = false
        /// True once the exporter was notified, until it calls `next`.
        var isRung = false
    }

    /// The maximum number of bytes to send at once. A single larger buffer is sent alone.
    private static let longestBatch = 1 << 20

    /// The maximum number of waiting spans.
    private let capacity: Int
    /// The maximum number of spans to send at once. A single buffer with more spans is sent alone.
    package let batch: Int
    /// A loop passes its buffer on at this number of spans or bytes.
    let handover: (spans: Int, bytes: Int)
    private let state = Mutex(State())
    private let ring: @Sendable () -> Void

    /// - Parameters:
    ///   - capacity: The maximum number of waiting spans.
    ///   - batch: The maximum number of spans to send at once.
    ///   - ring: Called on any thread when a batch is ready. It must not block.
    package init(capacity: Int, batch: Int, ring: @escaping @Sendable () -> Void) {
        self.capacity = capacity
        self.batch = min(batch, capacity)
        self.handover = (max(1, min(128, self.batch / 4)), 65_536)
        self.ring = ring
    }

    /// Queues the spans in a buffer.
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

    /// Writes one span. Callable on any thread.
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

    /// Returns the next spans to send, up to the maximum numbers of spans and bytes; empty if none wait.
    ///
    /// - Parameter onlyFull: True to return spans only if a whole batch waits.
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

    /// Recycles the buffers that `next` returned, and counts their spans.
    ///
    /// - Parameters:
    ///   - lost: The number of spans that were lost. The others were sent.
    ///   - loss: Why they were lost.
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
            state.spare.append(contentsOf: buffers.prefix(max(0, self.maxSpare - state.spare.count)))
        }
    }

    /// The maximum number of empty buffers to keep: enough for one batch that is being sent and one that is being
    /// written.
    private var maxSpare: Int { max(4, 2 * self.batch / self.handover.spans) }

    /// Rejects further spans. Waiting spans are counted as lost.
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

    /// The number of empty buffers.
    package var spare: Int { self.state.withLock { $0.spare.count } }

    /// The number of waiting spans, without those in the loops' buffers.
    package var waiting: Int { self.state.withLock { $0.spans + $0.single.spans } }

    /// Registers the metrics of sent and lost spans.
    package func register(in registry: MetricsRegistry) {
        registry.read(MetricNames.spansSent) { Double(self.state.withLock { $0.sent }) }
        for loss in Loss.allCases {
            registry.read(MetricNames.spansDropped, loss.rawValue) {
                Double(self.state.withLock { $0.losses[loss, default: 0] })
            }
        }
    }
}

/// Buffers the spans of one event loop until there are enough to pass on.
///
/// Confined to its loop, and deliberately not `Sendable`.
@usableFromInline
package final class TraceLog {
    private let queue: SpanQueue
    /// The buffer to write spans to. Call `ended` after each span.
    @usableFromInline package private(set) var buffer: SpanBuffer
    /// The last reading of the clocks. `clock(at:)` reads them again after a second.
    @usableFromInline private(set) var clock = SpanClock()
    /// When to read the clocks again, by the monotonic clock in nanoseconds.
    @usableFromInline private(set) var clockEnd: UInt64 = 0
    /// The nanoseconds between readings of the clocks. Their difference only changes if the wall clock is set.
    private static let clockPeriod: UInt64 = 1_000_000_000
    /// The state of the generator of span ids. It repeats after 2^64 ids.
    @usableFromInline var state = UInt64.random(in: .min ... .max)
    /// The buffer is passed on at this number of spans or bytes.
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

    /// Passes the buffer on if it is full. Call this after writing a span to `buffer`.
    @inlinable @inline(__always)
    package func ended() {
        if self.buffer.spans >= self.handover.spans || self.buffer.count >= self.handover.bytes {
            self.flushIfNeeded()
        }
    }

    /// Returns the clock for spans that end at `now`.
    ///
    /// - Parameter now: The time of the monotonic clock in nanoseconds.
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

    /// Passes the spans on, if there are any.
    @usableFromInline @inline(never)
    package func flushIfNeeded() {
        if self.buffer.spans > 0 { self.buffer = self.queue.exchange(self.buffer) }
    }

    /// Returns a new span id. Its complement is not 0 either: `Tracer` uses it as a second id.
    @inlinable @inline(__always)
    package func nextSpan() -> UInt64 {
        repeat {
            self.state &+= 0x9E37_79B9_7F4A_7C15
            let id = Self.mixed(self.state)
            if id != 0, id != .max { return id }
        } while true
    }

    /// Scrambles a number (the finalizer of SplitMix64). Different numbers have different results.
    @inlinable @inline(__always)
    package static func mixed(_ number: UInt64) -> UInt64 {
        var mixed = number
        mixed = (mixed ^ mixed &>> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed &>> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed &>> 31
    }
}
