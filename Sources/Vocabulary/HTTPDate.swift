/// The date format `IMF-fixdate` (RFC 9110 5.6.7).
package enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Returns `time` as the value of `Date`.
    package static func text(_ time: UnixTime) -> String {
        let civil = CivilTime(seconds: time.seconds)
        func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return """
            \(self.days[civil.weekday]), \(two(civil.day)) \(self.months[civil.month - 1]) \(civil.year) \
            \(two(civil.hour)):\(two(civil.minute)):\(two(civil.second)) GMT
            """
    }

    /// Returns the time of a date; `nil` if `text` does not have this form.
    package static func time(_ text: String) -> UnixTime? {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 6, let month = self.months.firstIndex(where: { $0 == words[2] }),
            let day = Int64(words[1]), let year = Int64(words[3]), (0...9999).contains(year)
        else { return nil }
        let clock = words[4].split(separator: ":").compactMap { Int64($0) }
        guard clock.count == 3, (0...31).contains(day), clock.allSatisfy({ (0...60).contains($0) }) else { return nil }
        let days = CivilTime.days(year: year, month: Int64(month) + 1, day: day)
        let time = UnixTime(seconds: days * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2])
        // Writing the time again also validates the day of the week and the length of the month.
        return self.text(time) == text ? time : nil
    }
}
