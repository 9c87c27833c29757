/// The pauses between retries of a batch. Each is about twice as long as the previous one, up to a maximum, so that an
/// absent or overloaded collector can recover. No pause is shorter than the collector asks for.
package struct ExportPauses: Sendable {
    private static let longest = Duration.seconds(10)

    private var next = Duration.seconds(1)

    package init() {}

    /// Returns the pause before the next retry.
    ///
    /// - Parameters:
    ///   - asked: The pause that the collector asks for (`Retry-After`); `nil` if it asks for no pause.
    ///   - chance: A factor from 0.8 to 1.2, so that gateways do not retry all at once.
    package mutating func take(asked: Duration?, chance: Double = .random(in: 0.8...1.2)) -> Duration {
        defer { self.next = min(self.next * 2, Self.longest) }
        return max(asked ?? .zero, self.next * chance)
    }
}

/// A pause that a collector asks for (`Retry-After`). It also delays later batches if it outlasts the retries of a
/// batch.
package struct ExportRest: Sendable {
    /// The maximum, whatever a collector asks for: the header may have a wrong unit, or a date by a wrong clock.
    private static let longest = Duration.seconds(600)

    private var end: ContinuousClock.Instant?

    package init() {}

    /// Begins a pause.
    package mutating func begin(_ asked: Duration, at now: ContinuousClock.Instant) {
        guard asked > .zero else { return }
        self.end = now + min(asked, Self.longest)
    }

    /// Returns whether the pause is in effect at `now`. Until it ends, nothing may be sent.
    package func isOn(at now: ContinuousClock.Instant) -> Bool {
        self.end.map { now < $0 } ?? false
    }
}
