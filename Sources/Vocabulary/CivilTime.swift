/// A date and time of day in UTC, in the Gregorian calendar, with a resolution of one second.
package struct CivilTime: Sendable, Equatable {
    package let year: Int
    /// The month, from 1 to 12.
    package let month: Int
    /// The day of the month, from 1 to 31.
    package let day: Int
    package let hour: Int
    package let minute: Int
    package let second: Int
    /// The day of the week; 0 is Sunday.
    package let weekday: Int

    /// - Parameter seconds: The seconds since 1970-01-01T00:00:00Z.
    package init(seconds: Int64) {
        // From H. Hinnant's "chrono-compatible low-level date algorithms". Their years begin in March.
        let days = Self.floored(seconds, 86_400)
        let time = Int(seconds - days * 86_400)
        let shifted = days + 719_468
        let era = Self.floored(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        self.day = Int(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
        self.month = Int(shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9)
        self.year = Int(yearOfEra + era * 400) + (self.month <= 2 ? 1 : 0)
        self.hour = time / 3600
        self.minute = time / 60 % 60
        self.second = time % 60
        // 1970-01-01 was a Thursday.
        self.weekday = Int(days + 4 - Self.floored(days + 4, 7) * 7)
    }

    /// Returns the days from 1970-01-01 to a date, the inverse of `init(seconds:)`.
    static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = Self.floored(year, 400)
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// Returns the quotient rounded down.
    private static func floored(_ value: Int64, _ divisor: Int64) -> Int64 {
        value >= 0 ? value / divisor : (value - divisor + 1) / divisor
    }
}
