package import NIOCore

/// When to look for the primaries: at once when somebody is not served, but one round at a time, and with pauses between
/// rounds that grow while they bring nothing new. Without clock and timers; times are those of a loop.
package struct LookPace: Sendable, Hashable {
    /// What a round brought.
    package enum Outcome: Sendable, Hashable {
        /// Another topology than before.
        case new
        /// The topology that was known.
        case same
        /// None that can be used.
        case nothing
    }

    /// The first and the longest pause between two rounds while something is wrong.
    package static let pauses = Duration.milliseconds(50)...Duration.milliseconds(500)

    /// The pause while all is well.
    private let interval: Duration
    private var isLooking = false
    /// Somebody asked for a round since the last one began.
    private var isWanted = false
    /// The round under way was asked for.
    private var wasWanted = false
    /// Rounds in a row that were asked for, or failed, and brought nothing new.
    private var vainRounds = 0
    private var lastEnd: NIODeadline?
    private var due = NIODeadline.distantFuture

    /// - Parameter interval: How often to look unasked.
    package init(interval: Duration) {
        self.interval = interval
    }

    /// A round is wanted; returns when it is to begin, nil when that is arranged already.
    ///
    /// - Parameters:
    ///   - isNews: Somebody knows that there is something new: the pauses are short again.
    ///   - chance: 0 to 1, at random: gateways that lost Redis together must not ask together.
    package mutating func want(isNews: Bool = false, at now: NIODeadline, chance: Double) -> NIODeadline? {
        if isNews { self.vainRounds = 0 }
        self.isWanted = true
        guard !self.isLooking else { return nil }
        let due = max(now, self.lastEnd.map { $0 + self.pause(chance) } ?? now)
        guard due < self.due else { return nil }
        self.due = due
        return due
    }

    /// The round that was due begins; false when one is under way.
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
