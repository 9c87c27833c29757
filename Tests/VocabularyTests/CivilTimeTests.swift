import Foundation
import Testing
import Vocabulary

@Suite("Dates")
struct CivilTimeTests {
    @Test("Every day of eight centuries has the date that Foundation computes")
    func calendar() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        // From 1600-01-01, in steps of a prime number of seconds.
        var seconds: Int64 = -11_676_096_000
        while seconds < 13_569_465_600 {
            let date = Date(timeIntervalSince1970: Double(seconds))
            let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second, .weekday], from: date)
            let time = CivilTime(seconds: seconds)
            try #require(
                time.year == parts.year && time.month == parts.month && time.day == parts.day
                    && time.hour == parts.hour && time.minute == parts.minute && time.second == parts.second
                    && time.weekday + 1 == parts.weekday
            )
            seconds += 8_640_013
        }
    }

    @Test(
        "RFC 3339 with milliseconds",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_399_123, "2000-02-28T23:59:59.123Z"), (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_795_242_406_007, "2026-11-21T06:26:46.007Z"), (Int64.min, "0000-01-01T00:00:00.000Z"),
            (Int64.max, "9999-12-31T23:59:59.999Z"),
        ]
    )
    func rfc3339(milliseconds: Int64, text: String) {
        let time = UnixTime(milliseconds: milliseconds)
        #expect(time.rfc3339 == text)
        #expect(time.rfc3339Seconds == text.prefix(19) + "Z")
    }

    @Test(
        "RFC 3339 is read with every fraction and offset, and nothing else is",
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2026-11-21T06:26:46.007Z", 1_795_242_406_007),
            ("2026-11-21T06:26:46.007999999Z", 1_795_242_406_007), ("2026-11-21T06:26:46.1Z", 1_795_242_406_100),
            ("2026-11-21t07:26:46+01:00", 1_795_242_406_000), ("2026-11-21T05:56:46-00:30", 1_795_242_406_000),
            ("2000-02-29T00:00:00z", 951_782_400_000), ("0000-01-01T00:00:00Z", -62_167_219_200_000),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999), ("1969-12-31T23:59:59.999Z", -1),
            ("", nil), ("2026-11-21", nil), ("2026-11-21T06:26:46", nil), ("2026-11-21 06:26:46Z", nil),
            ("2026-13-21T06:26:46Z", nil), ("2026-11-00T06:26:46Z", nil), ("2026-11-21T24:26:46Z", nil),
            ("2026-11-21T06:60:46Z", nil), ("2026-11-21T06:26:46.Z", nil), ("2026-11-21T06:26:46.0123456789Z", nil),
            ("2026-11-21T06:26:46Zx", nil), ("2026-11-21T06:26:46+0100", nil), ("2026-11-21T06:26:46+24:00", nil),
            ("-026-11-21T06:26:46Z", nil), ("2026-1\u{661}-21T06:26:46Z", nil),
        ] as [(String, Int64?)]
    )
    func reading(text: String, milliseconds: Int64?) {
        #expect(UnixTime(rfc3339: text)?.milliseconds == milliseconds)
        if let time = UnixTime(rfc3339: text) { #expect(UnixTime(rfc3339: time.rfc3339) == time) }
    }
}
