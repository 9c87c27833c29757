internal import Vocabulary

/// Writes RFC 3339 times in UTC with milliseconds, `2026-11-21T06:17:00.123Z`. It keeps the text up to the second,
/// because most lines of a loop share it.
struct Timestamp {
    /// The length of every text.
    static let count = 24

    private var second = Int64.min
    private var text = InlineArray<24, UInt8>(repeating: 0)

    /// Writes the 24 bytes of `time` to `target`.
    ///
    /// Years outside 0 to 9999 cannot be written (RFC 3339 5.6) and are clamped.
    mutating func write(_ time: UnixTime, to target: UnsafeMutablePointer<UInt8>) {
        let milliseconds = min(max(time.milliseconds, -62_167_219_200_000), 253_402_300_799_999)
        var second = milliseconds / 1000
        var rest = milliseconds % 1000
        if rest < 0 {
            rest += 1000
            second -= 1
        }
        if second != self.second { self.format(second) }
        self.text[20] = UInt8(truncatingIfNeeded: 48 + rest / 100)
        self.text[21] = UInt8(truncatingIfNeeded: 48 + rest / 10 % 10)
        self.text[22] = UInt8(truncatingIfNeeded: 48 + rest % 10)
        for index in 0..<Self.count {
            target[index] = self.text[index]
        }
    }

    private mutating func format(_ second: Int64) {
        self.second = second
        // Days to a civil date as in H. Hinnant's "chrono-compatible low-level date algorithms". Years begin in March,
        // so that the leap day comes last.
        let days = second >= 0 ? second / 86_400 : (second - 86_399) / 86_400
        let time = second - days * 86_400
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * month + 2) / 5 + 1
        let civilMonth = month < 10 ? month + 3 : month - 9
        let year = yearOfEra + era * 400 + (civilMonth <= 2 ? 1 : 0)
        self.two(year / 100, at: 0)
        self.two(year % 100, at: 2)
        self.text[4] = UInt8(ascii: "-")
        self.two(civilMonth, at: 5)
        self.text[7] = UInt8(ascii: "-")
        self.two(day, at: 8)
        self.text[10] = UInt8(ascii: "T")
        self.two(time / 3600, at: 11)
        self.text[13] = UInt8(ascii: ":")
        self.two(time / 60 % 60, at: 14)
        self.text[16] = UInt8(ascii: ":")
        self.two(time % 60, at: 17)
        self.text[19] = UInt8(ascii: ".")
        self.text[23] = UInt8(ascii: "Z")
    }

    private mutating func two(_ value: Int64, at index: Int) {
        self.text[index] = UInt8(truncatingIfNeeded: 48 + value / 10)
        self.text[index + 1] = UInt8(truncatingIfNeeded: 48 + value % 10)
    }
}
