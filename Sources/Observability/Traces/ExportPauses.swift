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
