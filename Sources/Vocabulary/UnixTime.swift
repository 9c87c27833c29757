import Glibc

/// A point in wall-clock time, in milliseconds since 1970-01-01T00:00:00Z.
///
/// Input may contain any number as a time. A time that does not fit is clamped to the first or last time.
package struct UnixTime: Sendable, Hashable, Comparable {
    /// Milliseconds since the epoch.
    package var milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    package init(seconds: Int64) {
        self.milliseconds = seconds.multipliedWithinBounds(by: 1000)
    }

    /// Whole seconds since the epoch, rounded towards zero.
    package var seconds: Int64 { self.milliseconds / 1000 }

    package static func < (left: UnixTime, right: UnixTime) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// Returns this time moved by `duration`, rounded to milliseconds.
    package func advanced(by duration: Duration) -> UnixTime {
        UnixTime(milliseconds: self.milliseconds.addingWithinBounds(duration.wholeMilliseconds))
    }

    /// Returns the time that has passed since `earlier`; negative if `earlier` is later.
    package func since(_ earlier: UnixTime) -> Duration {
        .milliseconds(self.milliseconds.subtractingWithinBounds(earlier.milliseconds))
    }
}

extension Duration {
    /// The duration in milliseconds, rounded towards zero.
    package var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = self.components
        return seconds.multipliedWithinBounds(by: 1000).addingWithinBounds(attoseconds / 1_000_000_000_000_000)
    }
}

/// Arithmetic on numbers from input. A result that does not fit is clamped to the nearest bound.
extension Int64 {
    /// Returns the sum, clamped to the bounds of `Int64`.
    package func addingWithinBounds(_ other: Int64) -> Int64 {
        let (sum, exceeds) = self.addingReportingOverflow(other)
        return exceeds ? (other < 0 ? .min : .max) : sum
    }

    /// Returns the difference, clamped to the bounds of `Int64`.
    package func subtractingWithinBounds(_ other: Int64) -> Int64 {
        let (difference, exceeds) = self.subtractingReportingOverflow(other)
        return exceeds ? (other < 0 ? .max : .min) : difference
    }

    /// Returns the product, clamped to the bounds of `Int64`.
    package func multipliedWithinBounds(by other: Int64) -> Int64 {
        let (product, exceeds) = self.multipliedReportingOverflow(by: other)
        return exceeds ? ((self < 0) == (other < 0) ? .max : .min) : product
    }
}

/// The source of time: the system's clock, or a controlled time in tests.
package struct Clock: Sendable {
    private let read: @Sendable () -> UnixTime

    package init(_ read: @escaping @Sendable () -> UnixTime) {
        self.read = read
    }

    /// Returns the current time.
    package func now() -> UnixTime { self.read() }

    /// The system's wall clock, which NTP or an operator may set. Use it for times that people read.
    package static let system = Clock { UnixTime(milliseconds: Self.milliseconds(CLOCK_REALTIME)) }

    /// Returns a clock for lifetimes. It starts at the system's time, cannot be set, and runs while the machine sleeps.
    package static func steady() -> Clock {
        let start = Self.milliseconds(CLOCK_REALTIME) - Self.milliseconds(CLOCK_BOOTTIME)
        return Clock { UnixTime(milliseconds: start + Self.milliseconds(CLOCK_BOOTTIME)) }
    }

    private static func milliseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
