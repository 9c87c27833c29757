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

    /// The time as RFC 3339 in UTC, without fractions of a second, e.g. `2026-11-21T06:26:46Z`.
    package var rfc3339Seconds: String { self.rfc3339.prefix(19) + "Z" }
}

extension UnixTime {
    /// Reads a date and time of RFC 3339 5.6, to the millisecond; `nil` if the text has another form.
    package init?(rfc3339 text: String) {
        let bytes = Array(text.utf8)
        guard (20...40).contains(bytes.count) else { return nil }
        for (place, byte) in [(4, "-"), (7, "-"), (13, ":"), (16, ":")] as [(Int, Unicode.Scalar)] {
            guard bytes[place] == UInt8(ascii: byte) else { return nil }
        }
        guard bytes[10] | 0x20 == UInt8(ascii: "t"), let year = Self.number(bytes[0..<4]),
            let month = Self.number(bytes[5..<7]), (1...12).contains(month), let day = Self.number(bytes[8..<10]),
            (1...31).contains(day), let hour = Self.number(bytes[11..<13]), hour < 24,
            let minute = Self.number(bytes[14..<16]), minute < 60, let second = Self.number(bytes[17..<19]),
            // 60 is a leap second.
            second <= 60
        else { return nil }
        var place = 19
        var fraction: Int64 = 0
        if bytes[place] == UInt8(ascii: ".") {
            let digits = bytes[(place + 1)...].prefix { (0x30...0x39).contains($0) }
            guard (1...9).contains(digits.count) else { return nil }
            for index in 0..<3 {
                fraction = fraction * 10 + (index < digits.count ? Int64(digits[digits.startIndex + index]) - 0x30 : 0)
            }
            place += 1 + digits.count
        }
        guard let offset = Self.offset(bytes[place...]) else { return nil }
        let seconds =
            CivilTime.days(year: year, month: month, day: day) * 86_400 + (hour * 3600 + minute * 60 + second) - offset
        self.init(milliseconds: seconds * 1000 + fraction)
    }

    /// Returns the offset from UTC in seconds, for `Z` or a text such as `+01:00`; `nil` for any other text.
    private static func offset(_ bytes: ArraySlice<UInt8>) -> Int64? {
        guard let sign = bytes.first else { return nil }
        let rest = Array(bytes.dropFirst())
        if sign | 0x20 == UInt8(ascii: "z") { return rest.isEmpty ? 0 : nil }
        guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"), rest.count == 5, rest[2] == UInt8(ascii: ":"),
            let hours = Self.number(rest[0..<2]), hours < 24, let minutes = Self.number(rest[3..<5]), minutes < 60
        else { return nil }
        return (sign == UInt8(ascii: "-") ? -1 : 1) * (hours * 3600 + minutes * 60)
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        guard digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int64($1) - 0x30 }
    }
}

/// Writes RFC 3339 times in UTC with milliseconds, e.g. `2026-11-21T06:17:00.123Z`. Reuses the text of the last second:
/// consecutive log lines mostly share it.
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
        withUnsafeBytes(of: self.text) {
            UnsafeMutableRawBufferPointer(start: target, count: Self.count).copyMemory(from: $0)
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
