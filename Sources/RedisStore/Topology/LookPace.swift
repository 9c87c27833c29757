package import NIOCore

/// When to look for the primaries: at once when a command cannot be served, but one round at a time, and with pauses
/// that grow while rounds find nothing new. It has no clock and no timers; times are those of a loop.
package struct LookPace: Sendable, Hashable {
    /// The result of a round.
    package enum Outcome: Sendable, Hashable {
        /// A changed topology.
        case new
        /// The topology that was known.
        case same
        /// No usable topology.
        case nothing
    }

    /// The first and the longest pause between two rounds while something is wrong.
    package static let pauses = Duration.milliseconds(50)...Duration.milliseconds(500)

    /// The pause while all is well.
    private let interval: Duration
    private var isLooking = false
    /// A round was asked for since the last one began.
    private var isWanted = false
    /// The current round was asked for.
    private var wasWanted = false
    /// Rounds in a row that were asked for or failed, and found nothing new.
    private var vainRounds = 0
    private var lastEnd: NIODeadline?
    private var due = NIODeadline.distantFuture

    /// - Parameter interval: How often to look without a cause.
    package init(interval: Duration) {
        self.interval = interval
    }

    /// Asks for a round; returns when it is to begin, nil when one is scheduled already.
    ///
    /// - Parameters:
    ///   - isNews: The caller knows of a change, so the pauses are short again.
    ///   - chance: Random, from 0 to 1, so that gateways that lost Redis together do not ask together.
    package mutating func want(isNews: Bool = false, at now: NIODeadline, chance: Double) -> NIODeadline? {
        if isNews { self.vainRounds = 0 }
        self.isWanted = true
        guard !self.isLooking else { return nil }
        let due = max(now, self.lastEnd.map { $0 + self.pause(chance) } ?? now)
        guard due < self.due else { return nil }
        self.due = due
        return due
    }

    /// The scheduled round begins; false when one is running.
    package mutating func begin() -> Bool {
        guard !self.isLooking else { return false }
        self.isLooking = true
        self.wasWanted = self.isWanted
        self.isWanted = false
        self.due = .distantFuture
        return true
    }

    /// The round is over; returns when the next one is to begin.
    package mutating func end(_ outcome: Outcome, at now: NIODeadline, chance: Double) -> NIODeadline {
        self.isLooking = false
        self.lastEnd = now
        switch outcome {
        case .new: self.vainRounds = 0
        case .same: self.vainRounds = self.wasWanted ? self.vainRounds + 1 : 0
        case .nothing: self.vainRounds += 1
        }
        let isSoon = outcome == .nothing || self.isWanted
        self.due = now + (isSoon ? self.pause(chance) : TimeAmount(self.interval))
        return self.due
    }

    private func pause(_ chance: Double) -> TimeAmount {
        let longest = min(Self.pauses.lowerBound * (1 << min(self.vainRounds, 8)), Self.pauses.upperBound)
        return TimeAmount(longest / 2 + (longest / 2) * max(0, min(1, chance)))
    }
}
