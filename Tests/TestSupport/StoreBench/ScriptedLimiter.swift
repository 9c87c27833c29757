package import NIOCore
package import Sessions

/// Answers each try as the test says, and remembers none.
package struct ScriptedLimiter: RateLimiter {
    private let answer: @Sendable (any EventLoop) -> EventLoopFuture<RateDecision>

    /// - Parameter answer: Called for each try, on any thread.
    package init(_ answer: @escaping @Sendable (any EventLoop) -> EventLoopFuture<RateDecision>) {
        self.answer = answer
    }

    /// Has room for everything.
    package static let open = ScriptedLimiter { $0.makeSucceededFuture(.allowed) }
    /// Cannot be reached.
    package static let away = ScriptedLimiter { $0.makeFailedFuture(StoreError.unavailable) }

    package func allow(_ buckets: [RateBucket], cost: Int, on loop: any EventLoop) -> EventLoopFuture<RateDecision> {
        self.answer(loop)
    }

    package func giveBack(_ buckets: [RateBucket], cost: Int, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.answer(loop).map { _ in }
    }

    package func forgive(_ bucket: RateBucket, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.answer(loop).map { _ in }
    }

    package func drainTime(of bucket: RateBucket, on loop: any EventLoop) -> EventLoopFuture<Duration> {
        self.answer(loop).map { _ in .zero }
    }
}
