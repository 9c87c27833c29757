import Synchronization
package import Vocabulary

/// The one clock of all gateways that share a Redis: that of its primary, told without asking.
///
/// What lies in Redis holds absolute times, which one gateway writes and another judges, and it goes when Redis's own
/// clock says so. So nothing of it is stamped or judged by the clock of a gateway's machine: time passes here as a steady
/// clock of this process has it, set by what the primary says of its own. Setting the machine's clock changes nothing.
///
/// It goes back only when the primary's does, or when a failover brings a primary that is behind. That makes no used token
/// good again: its marker goes by the same clock.
package final class StoreClock: Sendable {
    /// What differs by less is left alone, so that time does not jump to and fro with how long answers take. It is well
    /// below `RedisStore.margin`: no key goes while any gateway still takes its record for live.
    static let tolerance = Duration.seconds(1)

    private let local: Clock
    /// What `local` is behind by, in milliseconds.
    private let offset = Atomic<Int64>(0)

    /// - Parameter local: Goes by until a primary has told the time. It should be steady.
    package init(local: Clock) {
        self.local = local
    }

    /// This clock, as whoever asks for the time takes it.
    package var clock: Clock { Clock { self.now } }

    /// The time now.
    package var now: UnixTime {
        UnixTime(milliseconds: self.local.now().milliseconds &+ self.offset.load(ordering: .relaxed))
    }

    /// Takes what the primary's clock showed at some moment of a question that took so long and ends now.
    ///
    /// - Parameter roundTrip: An answer that was long on its way (as to a process that was stopped) tells nothing.
    package func set(by time: UnixTime, roundTrip: Duration) {
        guard roundTrip <= Self.tolerance else { return }
        let shownAt = self.local.now().advanced(by: .zero - roundTrip / 2)
        let offset = time.milliseconds - shownAt.milliseconds
        let difference = offset - self.offset.load(ordering: .relaxed)
        guard abs(difference) > Self.tolerance.wholeMilliseconds else { return }
        self.offset.store(offset, ordering: .relaxed)
    }
}
