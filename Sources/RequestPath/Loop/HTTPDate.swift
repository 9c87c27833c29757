package import Vocabulary

/// `IMF-fixdate` (RFC 9110 5.6.7).
package enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// `time` as the value of `Date`.
    package static func text(_ time: UnixTime) -> String {
        let civil = CivilTime(seconds: time.seconds)
        func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return """
            \(self.days[civil.weekday]), \(two(civil.day)) \(self.months[civil.month - 1]) \(civil.year) \
            \(two(civil.hour)):\(two(civil.minute)):\(two(civil.second)) GMT
            """
    }
}
