package import NIOCore

/// Runs long work on an event loop in slices of half a millisecond, so that the loop serves its connections in between.
package struct Slices: Sendable {
    private static let length = TimeAmount.microseconds(500)
    /// The pause in which the loop serves its connections. A task without delay would run before them.
    private static let pause = TimeAmount.microseconds(500)

    private let loop: (any EventLoop)?
    private let now: @Sendable () -> NIODeadline

    /// - Parameters:
    ///   - loop: The loop; `nil` to run all work at once.
    ///   - now: The clock that measures the slices.
    package init(on loop: (any EventLoop)?, now: @escaping @Sendable () -> NIODeadline = { .now() }) {
        self.loop = loop
        self.now = now
    }

    /// Calls `step` until it returns false. The first slice runs at once. Must be called on the loop.
    package func run(_ step: @escaping () -> Bool) {
        guard step() else { return }
        let end = self.now() + Self.length
        repeat { guard step() else { return } } while self.loop == nil || self.now() < end
        self.loop?.assumeIsolated().scheduleTask(in: Self.pause) { self.run(step) }
    }
}
