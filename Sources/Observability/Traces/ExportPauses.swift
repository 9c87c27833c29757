/// The pauses between the attempts to send a batch. Each is about twice as long as the one before, up to a longest one, so
/// that a collector that is away or has too much to do is not kept from coming back; and none is shorter than it asks for.
package struct ExportPauses: Sendable {
    private static let longest = Duration.seconds(10)

    private var next = Duration.seconds(1)

    package init() {}

    /// The pause before the next attempt.
    ///
    /// - Parameters:
    ///   - asked: What the collector asks for (`Retry-After`); nil: nothing.
    ///   - chance: From 0.8 to 1.2, so that gateways do not come back all at once.
    package mutating func take(asked: Duration?, chance: Double = .random(in: 0.8...1.2)) -> Duration {
        defer { self.next = min(self.next * 2, Self.longest) }
        return max(asked ?? .zero, self.next * chance)
    }
}

/// A time for which a collector wants to be left alone (`Retry-After`), longer than a batch waits: the next batches wait, too.
package struct ExportRest: Sendable {
    /// Whatever a collector asks for: it may have meant seconds of another unit, or a date by a wrong clock.
    private static let longest = Duration.seconds(600)

    private var end: ContinuousClock.Instant?

    package init() {}

    /// Begins a rest.
    package mutating func begin(_ asked: Duration, at now: ContinuousClock.Instant) {
        guard asked > .zero else { return }
        self.end = now + min(asked, Self.longest)
    }

    /// Whether nothing is to be sent.
    package func isOn(at now: ContinuousClock.Instant) -> Bool {
        self.end.map { now < $0 } ?? false
    }
}
