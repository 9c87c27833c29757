extension UnixTime {
    /// The time as RFC 3339 in UTC with milliseconds, e.g. `2026-11-21T06:26:46.000Z`.
    ///
    /// Years outside 0 to 9999 cannot be written (RFC 3339 1) and are clamped.
    package var rfc3339: String {
        String(unsafeUninitializedCapacity: RFC3339.count) { buffer in
            var writer = RFC3339()
            if let base = buffer.baseAddress { writer.write(self, to: base) }
            return RFC3339.count
        }
    }

    /// The time as RFC 3339 in UTC, to the second, e.g. `2026-11-21T06:26:46Z`.
    package var rfc3339Seconds: String { self.rfc3339.prefix(19) + "Z" }
}

/// Writes RFC 3339 times in UTC with milliseconds, `2026-11-21T06:17:00.123Z`. It keeps the text up to the second,
/// because most lines of a log fall into the same second as the line before.
package struct RFC3339 {
    /// The length of every text.
    package static let count = 24

    private var second = Int64.min
    private var text = InlineArray<24, UInt8>(repeating: 0)

    package init() {}

    /// Writes the 24 bytes of `time` to `target`.
    ///
    /// Years outside 0 to 9999 cannot be written (RFC 3339 1) and are clamped.
    package mutating func write(_ time: UnixTime, to target: UnsafeMutablePointer<UInt8>) {
        let milliseconds = min(max(time.milliseconds, -62_167_219_200_000), 253_402_300_799_999)
        var second = milliseconds / 1000
        var rest = Int(milliseconds % 1000)
        if rest < 0 {
            rest += 1000
            second -= 1
        }
        if second != self.second { self.format(second) }
        self.text[20] = UInt8(truncatingIfNeeded: 48 + rest / 100)
        self.two(rest % 100, at: 21)
        for index in 0..<Self.count {
            target[index] = self.text[index]
        }
    }

    private mutating func format(_ second: Int64) {
        self.second = second
        let time = CivilTime(seconds: second)
        self.two(time.year / 100, at: 0)
        self.two(time.year % 100, at: 2)
        self.text[4] = UInt8(ascii: "-")
        self.two(time.month, at: 5)
        self.text[7] = UInt8(ascii: "-")
        self.two(time.day, at: 8)
        self.text[10] = UInt8(ascii: "T")
        self.two(time.hour, at: 11)
        self.text[13] = UInt8(ascii: ":")
        self.two(time.minute, at: 14)
        self.text[16] = UInt8(ascii: ":")
        self.two(time.second, at: 17)
        self.text[19] = UInt8(ascii: ".")
        self.text[23] = UInt8(ascii: "Z")
    }

    private mutating func two(_ value: Int, at index: Int) {
        self.text[index] = UInt8(truncatingIfNeeded: 48 + value / 10)
        self.text[index + 1] = UInt8(truncatingIfNeeded: 48 + value % 10)
    }
}
