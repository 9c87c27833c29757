import NIOCore

/// The state of a `MetricsRegistry`: the families with their series, and the values that are not in a loop's shard.
struct MetricsState {
    /// Where the values of a series come from.
    enum Source {
        case slot(Int32)
        /// A row of counters in consecutive slots, with the encoded labels of each column.
        case row(Int32, columns: [String])
        case histogram(HistogramID)
        case reading(MetricsRegistry.Reading)
        case histogramReading(MetricsRegistry.HistogramReading)
    }

    struct Series {
        /// The encoded labels without braces, e.g. `route="app",code_class="2xx"`. For a row, only its first label.
        let labels: String
        var source: Source
    }

    struct Registered {
        let family: MetricFamily
        /// The bounds in seconds.
        let buckets: [Double]
        /// The index of its first bound in `bounds`.
        let bound: Int
        var series: [Series] = []
        var index: [String: Int] = [:]
    }

    private(set) var families: [String: Registered] = [:]
    /// By family name, the function that returns the label values to show. Other families show all series.
    var shown: [String: @Sendable () -> [[String]]] = [:]
    /// By family name, the function that reads all series at each scrape.
    private(set) var whole: [String: MetricsRegistry.FamilyReading] = [:]
    /// The bounds of all histograms in nanoseconds.
    private(set) var bounds: [Int64] = []
    private(set) var slotCount = 0
    /// The values that are not in a loop's shard, by slot.
    var values: [Int: UInt64] = [:]
    var shards: [(loop: any EventLoop, shard: NIOLoopBound<MetricsShard>)] = []

    /// Returns the source of a series. If the series is new, `make` creates its source.
    mutating func insert(
        _ family: MetricFamily,
        _ values: [String],
        buckets: [Double],
        make: (inout MetricsState, Registered) -> Source
    ) -> Source {
        precondition(values.count == family.labels.count, "\(family.name) has \(family.labels.count) labels")
        var registered = self.takeOut(family, buckets: buckets)
        defer { self.families[family.name] = registered }
        let labels = PrometheusText.labels(family.labels, values)
        if let index = registered.index[labels] { return registered.series[index].source }
        let source = make(&self, registered)
        registered.index[labels] = registered.series.count
        registered.series.append(Series(labels: labels, source: source))
        return source
    }

    /// Returns the first slot of each row. Allocates slots for new rows.
    ///
    /// - Parameters:
    ///   - rows: Values of the first label.
    ///   - columns: Values of the other labels. They must be equal in every call for the family.
    mutating func insert(_ family: MetricFamily, rows: [String], columns: [[String]]) -> [Int32] {
        var registered = self.takeOut(family, buckets: [])
        defer { self.families[family.name] = registered }
        let others = Array(family.labels.dropFirst())
        precondition(columns.allSatisfy { $0.count == others.count }, "\(family.name) has \(others.count + 1) labels")
        let texts = columns.map { PrometheusText.labels(others, $0) }
        var slots: [Int32] = []
        slots.reserveCapacity(rows.count)
        for row in rows {
            let labels = PrometheusText.labels([family.labels[0]], [row])
            if let index = registered.index[labels] {
                guard case .row(let slot, let known) = registered.series[index].source, known.count == texts.count
                else { preconditionFailure("\(family.name) has other columns") }
                slots.append(slot)
            } else {
                let slot = Int32(self.allocate(texts.count))
                registered.index[labels] = registered.series.count
                registered.series.append(Series(labels: labels, source: .row(slot, columns: texts)))
                slots.append(slot)
            }
        }
        return slots
    }

    /// Removes a family, or makes a new one. The caller changes it and puts it back. While it is outside of the
    /// dictionary, changing it does not copy its arrays.
    private mutating func takeOut(_ family: MetricFamily, buckets: [Double]) -> Registered {
        if let known = self.families.removeValue(forKey: family.name) {
            precondition(known.family.kind == family.kind, "\(family.name) is a \(known.family.kind.rawValue)")
            precondition(known.family.labels == family.labels, "\(family.name) has other labels")
            return known
        }
        precondition(family.isValid, "\(family.name): not a proper metric name")
        let registered = Registered(family: family, buckets: buckets, bound: self.bounds.count)
        self.bounds.append(contentsOf: buckets.map { Int64(($0 * 1e9).rounded()) })
        return registered
    }

    mutating func replace(_ family: MetricFamily, _ values: [String], _ source: Source) {
        guard let index = self.families[family.name]?.index[PrometheusText.labels(family.labels, values)] else {
            return
        }
        self.families[family.name]?.series[index].source = source
    }

    /// Registers a function that reads all series of a family at each scrape.
    mutating func read(_ family: MetricFamily, from read: @escaping MetricsRegistry.FamilyReading) {
        self.families[family.name] = self.takeOut(family, buckets: [])
        self.whole[family.name] = read
    }

    /// Adds `count` slots and returns the index of the first.
    mutating func allocate(_ count: Int) -> Int {
        defer { self.slotCount += count }
        return self.slotCount
    }
}
