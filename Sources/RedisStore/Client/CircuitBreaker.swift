/// When a loop may try to reach Redis again: a value without clock or chance of its own.
///
/// Closed while a connection serves. The loss of the connection opens it: every command then fails at once, and after a
/// pause one probe (connect, handshake, `PING`) is let through. The pause doubles with each failure up to half a second,
/// so that Redis is back in use within a second of its return, and only an answered command, not a mere connect, makes
/// it short again: a server that takes connections but answers nothing would otherwise be probed without pause.
package struct CircuitBreaker: Sendable, Hashable {
    package enum State: Sendable, Hashable {
        /// Commands go through.
        case closed
        /// No probe before the pause is over.
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

    /// The pause is over (or there was none yet): whether a probe may start.
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

    /// The probe or the connection failed; returns the pause. `chance` is 0 to 1: gateways that lost Redis together
    /// must not come back together.
    package mutating func failed(chance: Double) -> Duration {
        self.state = .open
        self.failures = min(self.failures + 1, 16)
        let longest = min(Self.pauses.lowerBound * (1 << (self.failures - 1)), Self.pauses.upperBound)
        return longest / 2 + (longest / 2) * max(0, min(1, chance))
    }
}
