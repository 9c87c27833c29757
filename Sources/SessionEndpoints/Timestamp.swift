import Glibc
internal import Vocabulary

extension UnixTime {
    /// The time as RFC 3339 in UTC with milliseconds, e.g. `2026-11-21T06:26:46.000Z`.
    var rfc3339: String {
        let milliseconds = (self.milliseconds % 1000 + 1000) % 1000
        var seconds = time_t((self.milliseconds - milliseconds) / 1000)
        var civil = tm()
        gmtime_r(&seconds, &civil)
        func padded(_ number: Int, _ width: Int = 2) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
        }
        let month = "\(padded(Int(civil.tm_year) + 1900, 4))-\(padded(Int(civil.tm_mon) + 1))"
        let time = "\(padded(Int(civil.tm_hour))):\(padded(Int(civil.tm_min))):\(padded(Int(civil.tm_sec)))"
        return "\(month)-\(padded(Int(civil.tm_mday)))T\(time).\(padded(Int(milliseconds), 3))Z"
    }
}
