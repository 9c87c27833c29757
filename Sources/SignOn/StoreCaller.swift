package import NIOCore
package import Sessions
package import Vocabulary

/// What asks a store and is `async`.
protocol StoreCaller: Sendable {
    associatedtype Store: Sendable

    var store: Store { get }
    /// The loops on which the store is called.
    var loops: any EventLoopGroup { get }
}

extension StoreCaller {
    /// Calls the store on one of its loops.
    func ask<Answer: Sendable>(
        _ question: @escaping @Sendable (Store, any EventLoop) -> EventLoopFuture<Answer>
    ) async throws(NotDone) -> Answer {
        do {
            return try await self.loops.ask(self.store, question)
        } catch {
            throw NotDone(asking: error)
        }
    }
}

/// Counts tries at limits.
package struct TryCounter: StoreCaller {
    let store: any RateLimiter
    let loops: any EventLoopGroup

    /// - Parameter store: The limiter, which is called on these loops.
    package init(store: any RateLimiter, loops: any EventLoopGroup) {
        self.store = store
        self.loops = loops
    }

    /// Counts a try in all of the buckets.
    ///
    /// - Throws: `reason`, where one of them has no room.
    package func count(_ tries: [RateBucket], or reason: Reason) async throws(NotDone) {
        let decision = try await self.ask { limiter, loop in limiter.allow(tries, cost: 1, on: loop) }
        if case .throttled(let wait) = decision { throw NotDone(reason, retryAfter: wait) }
    }

    /// Takes back a try that could not be served. If this fails, it stays counted.
    package func giveBack(_ tries: [RateBucket]) async {
        try? await self.ask { limiter, loop in limiter.giveBack(tries, cost: 1, on: loop) }
    }
}
