package import NIOCore

/// Decides when to look for the primaries: at once if a command cannot be served, but one round at a time, and with
/// pauses that grow while rounds find nothing new. The value has no clock and no timers.
package struct LookPace: Sendable, Hashable {
    /// The result of a round.
    package enum Outcome: Sendable, Hashable {
        /// A changed topology.
        case new
        /// The topology that was already known.
        case same
        /// No usable topology.
        case nothing
    }

    /// The first and the longest pause between two rounds while something is wrong.
    package static let pauses = Duration.milliseconds(50)...Duration.milliseconds(500)

    /// The pause while all is well.
    private let interval: Duration
    private var isLooking = false
    /// True if a round has been requested since the last round began.
    private var isWanted = false
    /// True if the current round was requested.
    private var wasWanted = false
    /// The number of consecutive rounds that were requested or failed, and found nothing new.
    private var vainRounds = 0
    private var lastEnd: NIODeadline?
    private var due = NIODeadline.distantFuture

    /// - Parameter interval: The interval between rounds that nothing triggers.
    package init(interval: Duration) {
        self.interval = interval
    }

    /// Requests a round and returns the time when it must begin; `nil` if a round is running or scheduled by then.
    ///
    /// - Parameters:
    ///   - isNews: True if the caller knows of a change, so that the pauses are short again.
    ///   - chance: A random number from 0 to 1, so that gateways that lost Redis together do not all ask at once.
    package mutating func want(isNews: Bool = false, at now: NIODeadline, chance: Double) -> NIODeadline? {
        if isNews { self.vainRounds = 0 }
        self.isWanted = true
        guard !self.isLooking else { return nil }
        let due = max(now, self.lastEnd.map { $0 + self.pause(chance) } ?? now)
        guard due < self.due else { return nil }
        self.due = due
        return due
    }

    /// Begins the scheduled round. Returns false if another round is running.
    package mutating func begin() -> Bool {
        guard !self.isLooking else { return false }
        self.isLooking = true
        self.wasWanted = self.isWanted
        self.isWanted = false
        self.due = .distantFuture
        return true
    }

    /// Ends the round and returns the time when the next round must begin.
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
