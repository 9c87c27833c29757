/// Decides when a loop may connect to Redis again. The value has no clock and no random numbers of its own.
///
/// The breaker is closed while a connection is usable. A lost connection opens it: commands fail at once, and after a
/// pause one probe may connect. The pause doubles with each failure, from 20 ms to half a second. Only `answered`
/// resets the pause, because a server that accepts connections but answers nothing must not be probed without pause.
package struct CircuitBreaker: Sendable, Hashable {
    package enum State: Sendable, Hashable {
        /// Commands are sent.
        case closed
        /// No probe starts until the pause is over.
        case open
        /// A probe is running.
        case probing
    }

    /// The first and the longest pause.
    package static let pauses = Duration.milliseconds(20)...Duration.milliseconds(500)

    package private(set) var state = State.open
    /// The number of failures since a command was last answered.
    package private(set) var failures = 0

    package init() {}

    /// Starts a probe and returns true if the breaker is open. The caller waits for the pause first.
    package mutating func probe() -> Bool {
        guard self.state == .open else { return false }
        self.state = .probing
        return true
    }

    /// Records that the probe's handshake succeeded.
    package mutating func connected() {
        if self.state == .probing { self.state = .closed }
    }

    /// Records that a command was answered.
    package mutating func answered() {
        self.failures = 0
    }

    /// Records that the probe or the connection failed, and returns the pause. `chance` is a random number from 0 to 1.
    /// It spreads the probes of gateways that lost Redis together.
    package mutating func failed(chance: Double) -> Duration {
        self.state = .open
        self.failures = min(self.failures + 1, 16)
        let longest = min(Self.pauses.lowerBound * (1 << (self.failures - 1)), Self.pauses.upperBound)
        return longest / 2 + (longest / 2) * max(0, min(1, chance))
    }
}
