package import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

/// `IMF-fixdate` (RFC 9110 5.6.7).
package enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// `time` as it stands in `Date`.
    package static func text(_ time: UnixTime) -> String {
        var seconds = time_t(time.seconds)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func two(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return """
            \(self.days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(self.months[Int(parts.tm_mon)]) \
            \(parts.tm_year + 1900) \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT
            """
    }
}
