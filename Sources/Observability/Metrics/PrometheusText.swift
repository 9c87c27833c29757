import Vocabulary

/// Writes families in Prometheus's text format 0.0.4 or in OpenMetrics: HELP and TYPE lines, then the series.
///
/// Both formats write histogram bounds alike (`1`, not `1.0`), so that switching formats does not change the series.
struct PrometheusText {
    private(set) var bytes: [UInt8] = []
    private let totals: SlotTotals
    private let form: MetricsForm
    /// The exemplars by slot. Empty unless the format is OpenMetrics.
    private let exemplars: [Int: Exemplar]

    init(totals: SlotTotals, as form: MetricsForm, exemplars: [Int: Exemplar]) {
        self.totals = totals
        self.form = form
        self.exemplars = form == .openMetrics ? exemplars : [:]
        self.bytes.reserveCapacity(65_536)
    }

    /// Ends the text. OpenMetrics requires an end marker.
    mutating func end() {
        if self.form == .openMetrics { self.write("# EOF\n") }
    }

    /// Returns a family's name in HELP and TYPE lines. OpenMetrics omits `_total` from the names of counters.
    private func name(of family: MetricFamily) -> String {
        self.form == .openMetrics && family.kind == .counter
            ? String(family.name.dropLast("_total".count)) : family.name
    }

    /// - Parameters:
    ///   - sets: The label values of the series to show; `nil` for all.
    ///   - whole: All series, if the family was registered with `read(all:)`.
    mutating func append(
        _ registered: MetricsState.Registered,
        only sets: [[String]]? = nil,
        _ whole: [(labels: [String], value: Double)]? = nil
    ) {
        let family = registered.family
        if let whole, whole.isEmpty { return }
        let shown = sets.map { sets in Set(sets.map { Self.labels(family.labels, $0) }) }
        let name = self.name(of: family)
        self.write("# HELP \(name) \(Self.escaped(family.help, quotes: self.form == .openMetrics))\n")
        self.write("# TYPE \(name) \(family.kind.rawValue)\n")
        for (labels, value) in whole ?? [] {
            self.line(family.name, Self.labels(family.labels, labels), Self.number(value))
        }
        for series in registered.series where shown?.contains(series.labels) != false {
            switch series.source {
            case .slot(let slot):
                let value = self.totals[Int(slot)]
                if family.hidesZero && value == 0 { continue }
                let text = family.kind == .gauge ? "\(Int64(bitPattern: value))" : "\(value)"
                self.line(family.name, series.labels, text)
            case .row(let slot, let columns):
                if family.hidesZero && self.totals.areZero(Int(slot)..<Int(slot) + columns.count) { continue }
                for (offset, column) in columns.enumerated() {
                    let value = self.totals[Int(slot) + offset]
                    if family.hidesZero && value == 0 { continue }
                    self.line(family.name, "\(series.labels),\(column)", "\(value)")
                }
            case .reading(let read):
                let value = read()
                if !value.isNaN { self.line(family.name, series.labels, Self.number(value)) }
            case .histogram(let id):
                let count = registered.buckets.count
                if family.hidesZero && self.totals.areZero(Int(id.slot)..<Int(id.slot) + count + 1) { continue }
                self.histogram(
                    family.name,
                    series.labels,
                    registered.buckets,
                    counts: (0...count).map { self.totals[Int(id.slot) + $0] },
                    firstSlot: Int(id.slot),
                    sum: Self.seconds(nanoseconds: self.totals[Int(id.slot) + count + 1])
                )
            case .histogramReading(let read):
                let (counts, seconds) = read()
                self.histogram(
                    family.name,
                    series.labels,
                    registered.buckets,
                    counts: counts.map { UInt64(max($0, 0)) },
                    sum: Self.number(seconds)
                )
            }
        }
    }

    /// - Parameters:
    ///   - counts: The number of values in each bucket, not cumulative. The last bucket is `+Inf`.
    ///   - firstSlot: The slot of the first bucket; `nil` if a function returned the histogram.
    private mutating func histogram(
        _ name: String,
        _ labels: String,
        _ buckets: [Double],
        counts: [UInt64],
        firstSlot: Int? = nil,
        sum: String
    ) {
        let separator = labels.isEmpty ? "" : ","
        let bounds = buckets.map(Self.number) + ["+Inf"]
        var total: UInt64 = 0
        for (place, (bound, count)) in zip(bounds, counts).enumerated() {
            total &+= count
            let exemplar = firstSlot.flatMap { self.exemplars[$0 + place] }.map(Self.text) ?? ""
            self.line("\(name)_bucket", "\(labels)\(separator)le=\"\(bound)\"", "\(total)\(exemplar)")
        }
        self.line("\(name)_sum", labels, sum)
        self.line("\(name)_count", labels, "\(total)")
    }

    /// Returns an exemplar as the text after its bucket's value (OpenMetrics 1.0).
    private static func text(_ exemplar: Exemplar) -> String {
        let value = Self.seconds(nanoseconds: UInt64(max(exemplar.nanoseconds, 0)))
        let time = Self.number(Double(exemplar.at.milliseconds) / 1000)
        return " # {trace_id=\"\(exemplar.trace)\"} \(value) \(time)"
    }

    private mutating func line(_ name: String, _ labels: String, _ value: String) {
        self.write(name)
        if !labels.isEmpty {
            self.write("{\(labels)}")
        }
        self.write(" \(value)\n")
    }

    private mutating func write(_ text: String) {
        self.bytes.append(contentsOf: text.utf8)
    }

    /// Returns the encoded labels without braces.
    static func labels(_ names: [String], _ values: [String]) -> String {
        zip(names, values).map { "\($0)=\"\(self.escaped($1, quotes: true))\"" }.joined(separator: ",")
    }

    /// Escapes `\` and line feed, and `"` if `quotes` is true.
    static func escaped(_ text: String, quotes: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Formats a value in a form that Go's `ParseFloat` reads. Whole numbers below 9e15 have no exponent.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if value == value.rounded(), abs(value) < 9e15 { return "\(Int64(value))" }
        return "\(value)"
    }

    /// Formats seconds exactly, without conversion to floating point.
    static func seconds(nanoseconds: UInt64) -> String {
        let (whole, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        if rest == 0 { return "\(whole)" }
        var digits = "\(rest)"
        digits = String(repeating: "0", count: 9 - digits.utf8.count) + digits
        while digits.utf8.last == 0x30 {
            digits.removeLast()
        }
        return "\(whole).\(digits)"
    }
}
