import Synchronization
package import Vocabulary

/// A clock that a test moves.
package final class MovableClock: Sendable {
    private let time: Mutex<UnixTime>

    /// A clock that stands still at `start`.
    package init(startingAt start: UnixTime = UnixTime(seconds: 1_800_000_000)) {
        self.time = Mutex(start)
    }

    /// The clock as the code under test reads it.
    package var clock: Clock { Clock { self.now } }

    /// The current time of this clock.
    package var now: UnixTime { self.time.withLock { $0 } }

    /// Moves it forward, or back by a negative duration.
    package func advance(by duration: Duration) {
        self.time.withLock { $0 = $0.advanced(by: duration) }
    }
}
