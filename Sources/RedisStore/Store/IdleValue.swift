import Sessions
import Vocabulary

/// The value of an idle key: `<deadline> <idle lifetime>`, both in milliseconds. The deadline is a time of
/// `StoreClock`. The value is plain text, because the touch script updates it.
struct IdleValue {
    let deadline: UnixTime
    private let milliseconds: Int64

    init(now: UnixTime, idleLifetime: Duration) {
        self.milliseconds = min(max(idleLifetime, .zero), RedisStore.longestLife).wholeMilliseconds
        self.deadline = UnixTime(milliseconds: now.milliseconds + self.milliseconds)
    }

    var idleLifetime: Duration { .milliseconds(self.milliseconds) }

    /// The time of the use that last moved the deadline.
    var usedAt: UnixTime { UnixTime(milliseconds: self.deadline.milliseconds - self.milliseconds) }

    init(bytes: [UInt8]) throws(StoreError) {
        guard let blank = bytes.firstIndex(of: 0x20), let deadline = Self.number(bytes[..<blank]),
            let lifetime = Self.number(bytes[(blank + 1)...])
        else { throw .unavailable }
        self.deadline = UnixTime(milliseconds: deadline)
        self.milliseconds = lifetime
    }

    /// Parses digit by digit for speed, because every read of a session needs it.
    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        guard (1...18).contains(digits.count) else { return nil }
        var number: Int64 = 0
        for digit in digits {
            guard (0x30...0x39).contains(digit) else { return nil }
            number = number * 10 + Int64(digit - 0x30)
        }
        return number
    }

    var bytes: [UInt8] {
        Array("\(self.deadline.milliseconds) \(self.milliseconds)".utf8)
    }
}
