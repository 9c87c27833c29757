import NIOCore

#if canImport(Glibc)
import Glibc
#endif

/// Converts times of the monotonic clock into times of spans.
@usableFromInline
package struct SpanClock {
    /// The nanoseconds since 1970 at time 0 of the monotonic clock.
    @usableFromInline let origin: UInt64

    /// Reads the clocks.
    package init() {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let now = UInt64(clamping: time.tv_sec) &* 1_000_000_000 &+ UInt64(clamping: time.tv_nsec)
        self.origin = now &- NIODeadline.now().uptimeNanoseconds
    }

    /// Returns the nanoseconds since 1970.
    ///
    /// - Parameter uptime: The nanoseconds of the monotonic clock.
    @inlinable @inline(__always)
    package func time(_ uptime: UInt64) -> UInt64 { self.origin &+ uptime }
}
