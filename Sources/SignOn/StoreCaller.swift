package import NIOCore
package import Sessions
package import Vocabulary

/// A type that makes asynchronous requests to a store.
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

/// The store of a deployment's records, with the keys for their tokens, the event loops, and the clock.
package struct RecordAccess: Sendable {
    package let store: any RecordStore
    /// Makes and reads the tokens that name records.
    package let authority: TokenAuthority
    /// The loops on which the store is called.
    package let loops: any EventLoopGroup
    /// The clock for the times in records.
    package let clock: Clock
    /// Notifies clients of ended sessions. `nil` if clients are never notified.
    let notifier: (any ClientNotifier)?
    /// The users who may not sign in.
    package let blocks: UserBlocks
    let unclaimed = UnclaimedSessions()

    package init(
        store: any RecordStore,
        authority: TokenAuthority,
        loops: any EventLoopGroup,
        clock: Clock,
        notifier: (any ClientNotifier)? = nil
    ) {
        self.store = store
        self.authority = authority
        self.loops = loops
        self.clock = clock
        self.notifier = notifier
        self.blocks = UserBlocks(store: store, loops: loops, clock: clock)
    }
}

/// A type that works on the records of a deployment.
protocol RecordCaller: StoreCaller where Store == any RecordStore {
    var records: RecordAccess { get }
}

extension RecordCaller {
    var store: any RecordStore { self.records.store }
    var authority: TokenAuthority { self.records.authority }
    var loops: any EventLoopGroup { self.records.loops }
    var clock: Clock { self.records.clock }
}

/// Counts tries against rate limits.
package struct TryCounter: StoreCaller {
    let store: any RateLimiter
    let loops: any EventLoopGroup

    /// - Parameter store: The rate limiter. It is called on `loops`.
    package init(store: any RateLimiter, loops: any EventLoopGroup) {
        self.store = store
        self.loops = loops
    }

    /// Counts a try in all buckets.
    ///
    /// - Throws: `reason` if a rate limit is exceeded; an outage of the limiter.
    package func count(_ tries: [RateBucket], or reason: Reason) async throws(NotDone) {
        let decision = try await self.ask { limiter, loop in limiter.allow(tries, cost: 1, on: loop) }
        if case .throttled(let wait) = decision { throw NotDone(reason, retryAfter: wait) }
    }

    /// Counts a try in all buckets and runs `work` in parallel. `work` may also run for a rejected try, so it must be
    /// harmless. If `work` fails, the try is not counted.
    ///
    /// - Throws: `reason` if a rate limit is exceeded; the error of `work`; an outage of the limiter.
    func count<Answer: Sendable>(
        _ tries: [RateBucket],
        or reason: Reason,
        beside work: @escaping @Sendable (any EventLoop) -> EventLoopFuture<Answer>
    ) async throws(NotDone) -> Answer {
        typealias Both = (decision: RateDecision, done: Result<Answer, any Error>?)
        let both = try await self.ask { limiter, loop -> EventLoopFuture<Both> in
            let counted = limiter.allow(tries, cost: 1, on: loop)
            var isRefused = false
            // Runs at once if the limiter answers without the store.
            counted.assumeIsolated().whenComplete { if (try? $0.get()) != .allowed { isRefused = true } }
            guard !isRefused else { return counted.map { ($0, nil) } }
            let done = work(loop).map { Result<Answer, any Error>.success($0) }.flatMapErrorThrowing { .failure($0) }
            return counted.and(done).map { ($0, $1) }
        }
        if case .throttled(let wait) = both.decision { throw NotDone(reason, retryAfter: wait) }
        switch both.done {
        case .success(let answer)?: return answer
        case .failure(let error)?:
            await self.giveBack(tries)
            throw NotDone(asking: error)
        case nil: throw NotDone(.storeUnavailable)
        }
    }

    /// Gives back a try that was counted but could not be served. If the limiter fails, the try stays counted.
    package func giveBack(_ tries: [RateBucket]) async {
        try? await self.ask { limiter, loop in limiter.giveBack(tries, cost: 1, on: loop) }
    }
}
