import Glibc
import NIOCore

/// Converts times of the monotonic clock to wall-clock times for spans.
@usableFromInline
package struct SpanClock {
    /// The wall-clock time at 0 of the monotonic clock, in nanoseconds since 1970.
    @usableFromInline let origin: UInt64

    /// Reads both clocks.
    package init() {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let now = UInt64(clamping: time.tv_sec) &* 1_000_000_000 &+ UInt64(clamping: time.tv_nsec)
        self.origin = now &- NIODeadline.now().uptimeNanoseconds
    }

    /// Returns a time in nanoseconds since 1970.
    ///
    /// - Parameter uptime: A time of the monotonic clock in nanoseconds.
    @inlinable @inline(__always)
    package func time(_ uptime: UInt64) -> UInt64 { self.origin &+ uptime }
}
