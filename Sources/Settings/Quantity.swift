/// Durations and sizes as operators write them: a whole number and one unit.
enum Quantity {
    /// The units of durations, in ascending order because `text(_:)` uses the last unit that divides a duration.
    private static let durationUnits: [(name: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]
    private static let sizeUnits: [(name: String, bytes: Int)] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)]

    /// Reads a duration such as `250ms`, `30s`, `5m`, `12h` or `7d`.
    static func duration(_ text: String) throws(SyntaxFault) -> Duration {
        guard let number = Self.leadingNumber(of: text) else {
            throw SyntaxFault("write a whole number and a unit: 250ms, 30s, 5m, 12h or 7d")
        }
        guard !number.rest.isEmpty else {
            throw SyntaxFault("add the unit: \(number.value)s for seconds, \(number.value)m for minutes")
        }
        guard let unit = Self.durationUnits.first(where: { $0.name == number.rest }) else {
            throw SyntaxFault("use exactly one of the units ms, s, m, h, d: 90m, not 1h30m")
        }
        let (milliseconds, overflows) = number.value.multipliedReportingOverflow(by: unit.milliseconds)
        // A century is more than any setting needs, and far below the limits of Duration and UnixTime.
        guard !overflows, milliseconds <= 36_500 * 86_400_000 else { throw SyntaxFault("write a shorter time") }
        return .milliseconds(milliseconds)
    }

    /// Reads a size in bytes, such as `4096`, `8KiB`, `1MiB` or `2GiB`.
    static func size(_ text: String) throws(SyntaxFault) -> Int {
        guard let number = Self.leadingNumber(of: text) else {
            throw SyntaxFault("write a whole number of bytes, or one with a unit: 8KiB, 1MiB, 2GiB")
        }
        if number.rest.isEmpty { return Int(number.value) }
        guard let unit = Self.sizeUnits.first(where: { $0.name == number.rest }) else {
            throw SyntaxFault("use no unit for bytes, or one of KiB, MiB, GiB (powers of 1024)")
        }
        let (bytes, overflows) = Int(number.value).multipliedReportingOverflow(by: unit.bytes)
        guard !overflows else { throw SyntaxFault("write a smaller size") }
        return bytes
    }

    /// Reads a decimal number without sign or leading zeros.
    static func integer(_ text: String) throws(SyntaxFault) -> Int {
        guard let number = Self.leadingNumber(of: text), number.rest.isEmpty else {
            throw SyntaxFault("write a whole number in decimal digits")
        }
        return Int(number.value)
    }

    /// Returns the shortest exact form of `duration`.
    static func text(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        if milliseconds == 0 { return "0s" }
        let unit = Self.durationUnits.last { milliseconds % $0.milliseconds == 0 }
        guard let unit else { return "\(milliseconds)ms" }
        return "\(milliseconds / unit.milliseconds)\(unit.name)"
    }

    /// Returns the shortest exact form of a size of `bytes`.
    static func text(bytes: Int) -> String {
        guard bytes > 0, let unit = Self.sizeUnits.last(where: { bytes % $0.bytes == 0 }) else { return "\(bytes)" }
        return "\(bytes / unit.bytes)\(unit.name)"
    }

    /// Splits a text into a number (up to 15 digits, no leading zeros) and the rest; `nil` if it begins with no number.
    private static func leadingNumber(of text: String) -> (value: Int64, rest: String)? {
        let digits = text.utf8.prefix { (0x30...0x39).contains($0) }
        guard (1...15).contains(digits.count), digits.count == 1 || digits.first != 0x30 else { return nil }
        let value = digits.reduce(into: Int64(0)) { $0 = $0 * 10 + Int64($1 - 0x30) }
        return (value, String(text.utf8.dropFirst(digits.count)) ?? "?")
    }
}

/// Advice on how to correct a text that is not valid for its key.
struct SyntaxFault: Error {
    /// The place of an error in a text with a grammar, such as the condition of a rule.
    struct Place {
        /// The number of Unicode scalars before the error.
        let offset: Int
        let found: String
        let allowed: String
    }

    let fix: String
    let place: Place?

    init(_ fix: String, at place: Place? = nil) {
        self.fix = fix
        self.place = place
    }
}
