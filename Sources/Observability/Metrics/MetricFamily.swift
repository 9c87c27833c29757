/// A metric: its kind, name, help text and label names.
package struct MetricFamily: Sendable, Hashable {
    /// The kinds of metrics (Prometheus text format 0.0.4).
    package enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    package let kind: Kind
    package let name: String
    package let help: String
    /// The label names. Label values are given in this order.
    package let labels: [String]
    /// True if series with the value 0 are not shown. Used for families with many possible label combinations.
    package let hidesZero: Bool

    /// - Parameter series: The name and, in braces, the label names: `sallyport_log_dropped_total{stream}`.
    private init(_ kind: Kind, _ series: String, _ help: String, _ hidesZero: Bool) {
        let parts = series.split(separator: "{", omittingEmptySubsequences: false)
        self.kind = kind
        self.name = String(parts[0])
        self.help = help
        self.labels = parts.dropFirst().flatMap { $0.dropLast().split(separator: ",").map(String.init) }
        self.hidesZero = hidesZero
    }

    /// Makes a counter with this name and these labels (`name{label,label}`), and its help text.
    package static func counter(_ series: String, _ help: String, hidesZero: Bool = false) -> MetricFamily {
        MetricFamily(.counter, series, help, hidesZero)
    }

    /// Makes a gauge with this name and these labels (`name{label,label}`), and its help text.
    package static func gauge(_ series: String, _ help: String, hidesZero: Bool = false) -> MetricFamily {
        MetricFamily(.gauge, series, help, hidesZero)
    }

    /// Makes a histogram with this name and these labels (`name{label,label}`), and its help text.
    package static func histogram(_ series: String, _ help: String, hidesZero: Bool = false) -> MetricFamily {
        MetricFamily(.histogram, series, help, hidesZero)
    }

    /// True if the names follow the conventions of `promtool check metrics`: lower snake case, `_total` on counters
    /// only, base units on histograms, and no suffix reserved for histograms.
    package var isValid: Bool {
        guard Self.isSnakeCase(self.name), !self.help.isEmpty else { return false }
        guard !["_bucket", "_count", "_sum"].contains(where: self.name.hasSuffix) else { return false }
        guard self.name.hasSuffix("_total") == (self.kind == .counter) else { return false }
        guard self.kind != .histogram || self.name.hasSuffix("_seconds") else { return false }
        guard Set(self.labels).count == self.labels.count else { return false }
        return self.labels.allSatisfy { Self.isSnakeCase($0) && !$0.hasPrefix("__") && $0 != "le" && $0 != "quantile" }
    }

    private static func isSnakeCase(_ text: String) -> Bool {
        guard let first = text.utf8.first, first == 0x5F || (0x61...0x7A).contains(first) else { return false }
        return text.utf8.allSatisfy { $0 == 0x5F || (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) }
    }
}

/// The slot of a counter. Valid only for the `MetricsRegistry` that returned it.
@usableFromInline
package struct CounterID: Sendable, Hashable {
    @usableFromInline package let slot: Int32

    @inlinable package init(slot: Int) { self.slot = Int32(slot) }
}

/// The counters of a family with two or more labels: a row for each value of the first label, a column for each
/// combination of the others.
@usableFromInline
package struct CounterTable: Sendable {
    /// The slot of the first counter in each row.
    @usableFromInline package let rows: [Int32]

    init(rows: [Int32]) { self.rows = rows }

    @inlinable @inline(__always)
    package subscript(row: Int, column: Int) -> CounterID { CounterID(slot: Int(self.rows[row]) &+ column) }
}

/// The slot of a gauge. Valid only for the `MetricsRegistry` that returned it.
@usableFromInline
package struct GaugeID: Sendable, Hashable {
    @usableFromInline package let slot: Int32

    init(slot: Int) { self.slot = Int32(slot) }
}

/// The slots of a histogram: one for each bucket including the last (`+Inf`), and one for the sum.
@usableFromInline
package struct HistogramID: Sendable, Hashable {
    @usableFromInline package let slot: Int32
    /// The index of its first bound among the bounds of all histograms.
    @usableFromInline package let bound: Int32
    @usableFromInline package let boundCount: Int32

    init(slot: Int, bound: Int, boundCount: Int) {
        self.slot = Int32(slot)
        self.bound = Int32(bound)
        self.boundCount = Int32(boundCount)
    }
}
