/// The pauses between retries of a batch. Each is about twice as long as the one before, up to ten seconds. A longer
/// `Retry-After` of the collector takes precedence.
package struct ExportPauses: Sendable {
    private static let longest = Duration.seconds(10)

    private var next = Duration.seconds(1)

    package init() {}

    /// Returns the pause before the next retry.
    ///
    /// - Parameters:
    ///   - asked: The collector's `Retry-After`; `nil` if the collector sends none.
    ///   - chance: A factor from 0.8 to 1.2. It prevents gateways from retrying at the same time.
    package mutating func take(asked: Duration?, chance: Double = .random(in: 0.8...1.2)) -> Duration {
        defer { self.next = min(self.next * 2, Self.longest) }
        return max(asked ?? .zero, self.next * chance)
    }
}

/// A pause that the collector asked for (`Retry-After`). It also delays later batches.
package struct ExportRest: Sendable {
    /// The maximum pause. A collector may use a wrong unit or a wrong clock.
    private static let longest = Duration.seconds(600)

    private var end: ContinuousClock.Instant?

    package init() {}

    /// Begins a pause of `asked`, up to ten minutes.
    package mutating func begin(_ asked: Duration, at now: ContinuousClock.Instant) {
        guard asked > .zero else { return }
        self.end = now + min(asked, Self.longest)
    }

    /// Returns whether sending must still pause.
    package func isOn(at now: ContinuousClock.Instant) -> Bool {
        self.end.map { now < $0 } ?? false
    }
}
