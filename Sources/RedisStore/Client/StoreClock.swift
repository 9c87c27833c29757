import Synchronization
package import Vocabulary

/// The clock of all gateways that share a Redis. It follows the primary's clock, as `INFO` reports it.
///
/// Records contain absolute times that one gateway writes and others read, so the clock of a gateway's machine is not
/// used for them once the primary has reported its time (since Redis 6.2). Time advances by a monotonic clock of this
/// process, which the primary's reports correct.
///
/// The clock can go back, for example after a failover to a primary with a clock that is behind. A used token does not
/// become valid again, because its marker expires by the primary's clock, too.
package final class StoreClock: Sendable {
    /// Reports that differ by at most this time are ignored, so that the clock does not jump with the latency of
    /// answers. Well below `RedisStore.margin`, so that no key expires while a gateway still accepts its record.
    static let tolerance = Duration.seconds(1)

    private let local: Clock
    /// The milliseconds by which `local` is behind.
    private let offset = Atomic<Int64>(0)
    private let hasBeenSet = Atomic<Bool>(false)

    /// - Parameter local: The clock by which time advances; should be monotonic. Uncorrected until a primary reports.
    package init(local: Clock) {
        self.local = local
    }

    /// The store's clock as a `Clock`, for other code.
    package var clock: Clock { Clock { self.now } }

    /// True once a primary has reported its time.
    package var isKnown: Bool { self.hasBeenSet.load(ordering: .acquiring) }

    /// The current time.
    package var now: UnixTime {
        UnixTime(milliseconds: self.local.now().milliseconds &+ self.offset.load(ordering: .relaxed))
    }

    /// Sets the clock to a time that the primary has just reported, if the clock differs by more than `tolerance`.
    ///
    /// - Parameter roundTrip: The time from the question to the report. If it is longer than `tolerance` (as when the
    ///   process was stopped), the reported time is too uncertain and is ignored.
    /// - Returns: True if the clock was set. Times that were read before are wrong.
    @discardableResult
    package func set(by time: UnixTime, roundTrip: Duration) -> Bool {
        guard roundTrip <= Self.tolerance else { return false }
        let shownAt = self.local.now().advanced(by: .zero - roundTrip / 2)
        let offset = time.milliseconds - shownAt.milliseconds
        let difference = offset - self.offset.load(ordering: .relaxed)
        defer { self.hasBeenSet.store(true, ordering: .releasing) }
        guard abs(difference) > Self.tolerance.wholeMilliseconds else { return false }
        self.offset.store(offset, ordering: .relaxed)
        return true
    }
}
