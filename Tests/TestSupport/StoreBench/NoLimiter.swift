package import NIOCore
package import Sessions

/// Has room for everything.
package struct NoLimiter: RateLimiter {
    package init() {}

    package func allow(_ buckets: [RateBucket], cost: Int, on loop: any EventLoop) -> EventLoopFuture<RateDecision> {
        loop.makeSucceededFuture(.allowed)
    }

    package func giveBack(_ buckets: [RateBucket], cost: Int, on loop: any EventLoop) -> EventLoopFuture<Void> {
        loop.makeSucceededVoidFuture()
    }

    package func forgive(_ bucket: RateBucket, on loop: any EventLoop) -> EventLoopFuture<Void> {
        loop.makeSucceededVoidFuture()
    }

    package func drainTime(of bucket: RateBucket, on loop: any EventLoop) -> EventLoopFuture<Duration> {
        loop.makeSucceededFuture(.zero)
    }
}
