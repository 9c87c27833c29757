import Synchronization
package import Vocabulary

/// Counts tries by the generic cell rate algorithm: a burst, then one each interval. In process and bounded.
///
/// A bucket is one number, the time at which it will be empty again; a bucket whose time has passed is forgotten.
package final class AttemptLimiter: Sendable {
    private struct State {
        var emptyAt: [[UInt8]: UnixTime] = [:]
        var sweptAt: UnixTime?
    }

    private let state = Mutex(State())
    private let interval: Duration
    private let burst: Int
    private let capacity: Int
    private let clock: Clock

    /// - Parameters:
    ///   - burst: Tries that are allowed at once.
    ///   - interval: The time after which one more is allowed.
    ///   - capacity: The most buckets; beyond it all new ones share one, so filling the table opens no gap.
    package init(burst: Int, interval: Duration, capacity: Int = 65_536, clock: Clock) {
        precondition(burst > 0 && interval > .zero && capacity > 0, "nothing could ever be allowed")
        self.burst = burst
        self.interval = interval
        self.capacity = capacity
        self.clock = clock
    }

    /// Counts a try; nil: it is allowed. Otherwise the time until the next one is, and the try was not counted.
    package func count(_ bucket: [UInt8]) -> Duration? {
        let now = self.clock.now()
        return self.state.withLock { state in
            let bucket = self.place(bucket, in: &state, now: now)
            let emptyAt = max(state.emptyAt[bucket] ?? now, now)
            let excess = emptyAt.advanced(by: self.interval).since(now) - self.interval * self.burst
            guard excess <= .zero else { return excess }
            state.emptyAt[bucket] = emptyAt.advanced(by: self.interval)
            return nil
        }
    }

    /// Forgets the tries of a bucket: the last one succeeded.
    package func forget(_ bucket: [UInt8]) {
        _ = self.state.withLock { $0.emptyAt.removeValue(forKey: bucket) }
    }

    /// The bucket itself, or the shared one when the table is full of live ones. A sweep costs the table once and is
    /// made at most once an interval.
    private func place(_ bucket: [UInt8], in state: inout State, now: UnixTime) -> [UInt8] {
        if state.emptyAt[bucket] != nil || state.emptyAt.count < self.capacity { return bucket }
        if state.sweptAt.map({ now.since($0) >= self.interval }) ?? true {
            state.sweptAt = now
            state.emptyAt = state.emptyAt.filter { $0.value > now }
        }
        return state.emptyAt.count < self.capacity ? bucket : []
    }
}
