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
}
