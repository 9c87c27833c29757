package import NIOCore
import Synchronization
import Vocabulary

/// The gateway's metrics. Most families and label values are registered when the configuration is loaded, others at
/// their first use. Each event loop counts in its own `MetricsShard`, and a scrape adds up all shards.
///
/// Registering a family and label values again returns the existing id.
package final class MetricsRegistry: Sendable {
    /// Reads a value at scrape time, off the event loops. It may read files. A series whose value is NaN is left out.
    package typealias Reading = @Sendable () -> Double

    /// Reads all series of a family at scrape time: their label values and values.
    package typealias FamilyReading = @Sendable () -> [(labels: [String], value: Double)]

    /// Reads a histogram at scrape time: the number of values in each bucket (not cumulative), and their sum in
    /// seconds.
    package typealias HistogramReading = @Sendable () -> (counts: [Int], seconds: Double)

    private let state = Mutex(MetricsState())

    package init() {}

    // MARK: Registration

    /// Returns the counter of `family` with these label values.
    package func counter(_ family: MetricFamily, _ values: String...) -> CounterID {
        CounterID(slot: Int(self.register(family, .counter, values)))
    }

    /// Returns a table of counters: `rows` are values of the first label, `columns` of the other labels. A family must
    /// be registered always with equal columns, and not with `counter`.
    package func counters(_ family: MetricFamily, rows: [String], columns: [[String]]) -> CounterTable {
        precondition(family.kind == .counter, "\(family.name) is a \(family.kind.rawValue)")
        return CounterTable(rows: self.state.withLock { $0.insert(family, rows: rows, columns: columns) })
    }

    /// Returns the gauge of `family` with these label values. A scrape shows the sum over all loops.
    package func gauge(_ family: MetricFamily, _ values: String...) -> GaugeID {
        GaugeID(slot: Int(self.register(family, .gauge, values)))
    }

    /// Returns the histogram of `family` with these label values.
    ///
    /// - Parameter buckets: The upper bounds in seconds, ascending. The family's first registration determines them.
    package func histogram(
        _ family: MetricFamily,
        _ values: String...,
        buckets: [Double] = MetricNames.durationBuckets
    ) -> HistogramID {
        precondition(family.kind == .histogram, "\(family.name) is not a histogram")
        precondition(!buckets.isEmpty && zip(buckets, buckets.dropFirst()).allSatisfy { $0 < $1 }, "bounds must ascend")
        return self.state.withLock { state in
            let source = state.insert(family, values, buckets: buckets) { state, registered in
                let count = registered.buckets.count
                let slot = state.allocate(count + 2)
                return .histogram(HistogramID(slot: slot, bound: registered.bound, boundCount: count))
            }
            guard case .histogram(let id) = source else { preconditionFailure("\(family.name) is not a histogram") }
            return id
        }
    }

    /// Registers a counter or gauge that `read` returns at each scrape. Registering it again replaces `read`.
    package func read(_ family: MetricFamily, _ values: String..., from read: @escaping Reading) {
        precondition(family.kind != .histogram, "a histogram needs read with bounds")
        self.state.withLock { state in
            let source = state.insert(family, values, buckets: []) { _, _ in .reading(read) }
            guard case .reading = source else {
                preconditionFailure("\(family.name) is counted by slots, not by a function")
            }
            state.replace(family, values, .reading(read))
        }
    }

    /// Registers a family of counters or gauges. `read` returns all its series at each scrape.
    package func read(all family: MetricFamily, from read: @escaping FamilyReading) {
        precondition(family.kind != .histogram, "a histogram needs read with bounds")
        self.state.withLock { $0.read(family, from: read) }
    }

    /// Registers a histogram that `read` returns at each scrape. The bounds are in seconds, ascending. Registering it
    /// again replaces `read`.
    package func read(
        _ family: MetricFamily,
        _ values: String...,
        buckets: [Double],
        from read: @escaping HistogramReading
    ) {
        precondition(family.kind == .histogram, "\(family.name) is not a histogram")
        self.state.withLock { state in
            _ = state.insert(family, values, buckets: buckets) { _, _ in .histogramReading(read) }
            state.replace(family, values, .histogramReading(read))
        }
    }

    private func register(_ family: MetricFamily, _ kind: MetricFamily.Kind, _ values: [String]) -> Int32 {
        precondition(family.kind == kind, "\(family.name) is a \(family.kind.rawValue)")
        return self.state.withLock { state in
            let source = state.insert(family, values, buckets: []) { state, _ in .slot(Int32(state.allocate(1))) }
            guard case .slot(let slot) = source else {
                preconditionFailure("\(family.name) is given by a function, not counted by slots")
            }
            return slot
        }
    }

    /// Restricts `family` to the series whose label values `sets` returns at each scrape. Used to hide series that a
    /// reload removed. Their counts continue if they return.
    package func show(_ family: MetricFamily, only sets: @escaping @Sendable () -> [[String]]) {
        self.state.withLock { $0.shown[family.name] = sets }
    }

    // MARK: Counting off the loops

    /// Adds to a counter from any thread.
    package func increment(_ id: CounterID, by amount: UInt64 = 1) {
        self.state.withLock { $0.values[Int(id.slot), default: 0] &+= amount }
    }

    /// Counts a rule's result from any thread. Looks up the counter each time, because this is rare.
    package func countRule(_ rule: String, _ result: String) {
        self.increment(self.counter(MetricNames.ruleResults, rule, result))
    }

    /// Counts a sign-in at a provider from any thread. Looks up the counter each time, because this is rare.
    package func countSignIn(at provider: String, _ result: String) {
        self.increment(self.counter(MetricNames.providerSignIns, provider, result))
    }

    /// Records a duration from any thread. A negative duration is recorded as 0.
    package func observe(_ id: HistogramID, nanoseconds: Int64) {
        let value = max(nanoseconds, 0)
        self.state.withLock { state in
            let bounds = state.bounds[Int(id.bound)..<Int(id.bound + id.boundCount)]
            let bucket = bounds.count { value > $0 }
            state.values[Int(id.slot) + bucket, default: 0] &+= 1
            state.values[Int(id.slot) + bounds.count + 1, default: 0] &+= UInt64(value)
        }
    }

    // MARK: Shards and scrapes

    /// Makes the shard of an event loop. The registry retains it. Call this once for each loop.
    ///
    /// - Precondition: Called on `loop`.
    package func makeShard(on loop: any EventLoop) -> MetricsShard {
        let shard = MetricsShard(registry: self)
        let bound = NIOLoopBound(shard, eventLoop: loop)
        self.state.withLock { $0.shards.append((loop, bound)) }
        return shard
    }

    /// Returns all metrics as text.
    ///
    /// Reads the counts on each loop in turn, and makes the text off the loops. All loops must be running: a task of a
    /// stopped loop never runs. Leaving out a loop would look like a counter reset.
    ///
    /// - Throws: The error of a loop that shuts down meanwhile.
    package func render(as form: MetricsForm = .text) async throws -> [UInt8] {
        let shards = self.state.withLock { $0.shards }
        var totals: [Int: UInt64] = [:]
        var exemplars: [Int: Exemplar] = [:]
        for (loop, shard) in shards {
            let (counted, traced) = try await loop.submit {
                let counted = shard.value.counted()
                return (counted, shard.value.exemplars(in: counted))
            }.get()
            for (slot, value) in counted { totals[slot, default: 0] &+= value }
            if form == .openMetrics { exemplars.merge(traced) { $0.at < $1.at ? $1 : $0 } }
        }
        let (counted, traced) = (totals, exemplars)
        return await offLoop { self.text(adding: counted, as: form, traced) }
    }

    /// - Parameters:
    ///   - totals: The counts of all loops, by slot.
    ///   - exemplars: The latest exemplars of all loops, by slot.
    private func text(adding totals: [Int: UInt64], as form: MetricsForm, _ exemplars: [Int: Exemplar]) -> [UInt8] {
        let (families, others, shown, whole) = self.state.withLock {
            (Array($0.families.values), $0.values, $0.shown, $0.whole)
        }
        let all = SlotTotals(totals.merging(others) { $0 &+ $1 })
        var text = PrometheusText(totals: all, as: form, exemplars: exemplars)
        for registered in families.sorted(by: { $0.family.name < $1.family.name }) {
            let name = registered.family.name
            text.append(registered, only: shown[name]?(), whole[name]?())
        }
        text.end()
        return text.bytes
    }

    /// The number of slots and the bounds of all histograms in nanoseconds.
    var layout: (slotCount: Int, bounds: [Int64]) {
        self.state.withLock { ($0.slotCount, $0.bounds) }
    }
}
