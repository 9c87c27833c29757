/// When a loop may try to reach Redis again. A value without a clock or random numbers of its own.
///
/// It is closed while a connection serves. A lost connection opens it: every command then fails at once, and after a
/// pause one probe (connect, handshake, `PING`) is let through. The pause doubles with each failure up to half a
/// second, so that Redis is used again within a second of its return. Only an answered command resets the pause, not a
/// connect alone: else a server that accepts connections but answers nothing would be probed without pause.
package struct CircuitBreaker: Sendable, Hashable {
    package enum State: Sendable, Hashable {
        /// Commands go through.
        case closed
        /// No probe until the pause is over.
        case open
        /// A probe is under way.
        case probing
    }

    /// The first pause and the longest.
    package static let pauses = Duration.milliseconds(20)...Duration.milliseconds(500)

    package private(set) var state = State.open
    /// Failures since a command was last answered.
    package private(set) var failures = 0

    package init() {}

    /// Whether a probe may start: the pause is over, or there has been none.
    package mutating func probe() -> Bool {
        guard self.state == .open else { return false }
        self.state = .probing
        return true
    }

    /// The probe's handshake succeeded.
    package mutating func connected() {
        if self.state == .probing { self.state = .closed }
    }

    /// A command was answered.
    package mutating func answered() {
        self.failures = 0
    }

    /// The probe or the connection failed; returns the pause. `chance` is random, from 0 to 1, so that gateways that
    /// lost Redis together do not come back together.
    package mutating func failed(chance: Double) -> Duration {
        self.state = .open
        self.failures = min(self.failures + 1, 16)
        let longest = min(Self.pauses.lowerBound * (1 << (self.failures - 1)), Self.pauses.upperBound)
        return longest / 2 + (longest / 2) * max(0, min(1, chance))
    }
}
