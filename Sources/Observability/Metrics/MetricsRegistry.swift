package import NIOCore
import Synchronization
import Vocabulary

/// The gateway's metrics. Families and label sets are registered when the configuration is loaded, each loop counts in
/// its own `MetricsShard`, and a scrape adds up the shards.
///
/// Registering a family and labels again returns the existing id, so a reload may register everything again.
package final class MetricsRegistry: Sendable {
    /// A value that is read at scrape time. The function runs off the event loops and may read files. A NaN means that
    /// the series has no value now and is left out.
    package typealias Reading = @Sendable () -> Double

    /// The label values and the values of all current series of a family.
    package typealias FamilyReading = @Sendable () -> [(labels: [String], value: Double)]

    /// A histogram that other code maintains: the number of values under each bound and above the last (not
    /// cumulative), and their sum in seconds.
    package typealias HistogramReading = @Sendable () -> (counts: [Int], seconds: Double)

    private let state = Mutex(MetricsState())

    package init() {}

    // MARK: Registration

    /// Returns the counter of `family` with these label values, in the order of the family's label names.
    package func counter(_ family: MetricFamily, _ values: String...) -> CounterID {
        CounterID(slot: Int(self.register(family, .counter, values)))
    }

    /// Returns counters of `family` with each of `rows` as the first label and each of `columns` as the other labels. A
    /// family with a `CounterTable` is registered only with this function, and always with equal columns.
    package func counters(_ family: MetricFamily, rows: [String], columns: [[String]]) -> CounterTable {
        precondition(family.kind == .counter, "\(family.name) is a \(family.kind.rawValue)")
        return CounterTable(rows: self.state.withLock { $0.insert(family, rows: rows, columns: columns) })
    }

    /// Returns the gauge of `family` with these label values. It shows the sum over all loops.
    package func gauge(_ family: MetricFamily, _ values: String...) -> GaugeID {
        GaugeID(slot: Int(self.register(family, .gauge, values)))
    }

    /// Returns the histogram of `family` with these label values.
    ///
    /// - Parameter buckets: Upper bounds in seconds, ascending. The first registration of a family determines them.
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

    /// Registers a counter or gauge whose value `read` returns at each scrape. Registering it again replaces `read`.
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

    /// Registers a histogram that `read` returns at each scrape, with its bounds in seconds, ascending. Registering it
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

    /// Shows only the series of `family` whose label values `sets` returns at each scrape. Series that a reload removed
    /// are hidden. They continue with their old values if another reload brings them back.
    package func show(_ family: MetricFamily, only sets: @escaping @Sendable () -> [[String]]) {
        self.state.withLock { $0.shown[family.name] = sets }
    }

    // MARK: Counting off the loops

    /// Adds to a counter from any thread.
    package func increment(_ id: CounterID, by amount: UInt64 = 1) {
        self.state.withLock { $0.values[Int(id.slot), default: 0] &+= amount }
    }

    /// Counts a rule's result from any thread. Rules are judged rarely enough to look up the counter each time.
    package func countRule(_ rule: String, _ result: String) {
        self.increment(self.counter(MetricNames.ruleResults, rule, result))
    }

    /// Counts a sign-in at a provider from any thread. Sign-ins are rare enough to look up the counter each time.
    package func countSignIn(at provider: String, _ result: String) {
        self.increment(self.counter(MetricNames.providerSignIns, provider, result))
    }

    /// Records a duration from any thread; a negative duration becomes 0.
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

    /// Makes the shard of the calling loop. Each loop has one, and the registry retains it.
    ///
    /// - Precondition: Called on `loop`.
    package func makeShard(on loop: any EventLoop) -> MetricsShard {
        let shard = MetricsShard(registry: self)
        let bound = NIOLoopBound(shard, eventLoop: loop)
        self.state.withLock { $0.shards.append((loop, bound)) }
        return shard
    }

    /// Returns all metrics.
    ///
    /// Asks each loop in turn for its counts; the text is made off the loops. The loops must be running. NIO never runs
    /// a task of a loop that was shut down, and totals without that loop's counts would look like reset counters.
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
    ///   - totals: The counts of the loops.
    ///   - exemplars: The latest exemplars of the loops.
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

    /// The number of slots, and all bounds in nanoseconds, for a shard that grows.
    var layout: (slotCount: Int, bounds: [Int64]) {
        self.state.withLock { ($0.slotCount, $0.bounds) }
    }
}
