/// Writes families in Prometheus' text format 0.0.4: one HELP and one TYPE line for each family, then its series. Every
/// line ends with `\n`.
struct PrometheusText {
    private(set) var bytes: [UInt8] = []
    private let totals: SlotTotals

    init(totals: SlotTotals) {
        self.totals = totals
        self.bytes.reserveCapacity(65_536)
    }

    mutating func append(_ registered: MetricsState.Registered) {
        let family = registered.family
        self.write("# HELP \(family.name) \(Self.escaped(family.help, quotes: false))\n")
        self.write("# TYPE \(family.name) \(family.kind.rawValue)\n")
        for series in registered.series where !series.isHidden {
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

    /// - Parameter counts: How many values fell under each bound, and above the last.
    private mutating func histogram(
        _ name: String,
        _ labels: String,
        _ buckets: [Double],
        counts: [UInt64],
        sum: String
    ) {
        let separator = labels.isEmpty ? "" : ","
        let bounds = buckets.map(Self.number) + ["+Inf"]
        var total: UInt64 = 0
        for (bound, count) in zip(bounds, counts) {
            total &+= count
            self.line("\(name)_bucket", "\(labels)\(separator)le=\"\(bound)\"", "\(total)")
        }
        self.line("\(name)_sum", labels, sum)
        self.line("\(name)_count", labels, "\(total)")
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

    /// A label set as it is written, without braces.
    static func labels(_ names: [String], _ values: [String]) -> String {
        zip(names, values).map { "\($0)=\"\(self.escaped($1, quotes: true))\"" }.joined(separator: ",")
    }

    /// Escapes `\`, line feed and, in label values, `"`, as the format requires.
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

    /// A value as Go's `ParseFloat` reads it. Whole numbers have no exponent.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if value == value.rounded(), abs(value) < 9e15 { return "\(Int64(value))" }
        return "\(value)"
    }

    /// Exact seconds, without conversion to a float.
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
