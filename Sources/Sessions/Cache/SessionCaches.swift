package import NIOCore
import Synchronization

/// The caches of all event loops: whoever ends something tells all of them and waits for all of them.
package final class SessionCaches: Sendable {
    private struct Member: Sendable {
        let loop: any EventLoop
        let cache: NIOLoopBound<SessionCache>
    }

    private let members = Mutex<[Member]>([])

    package init() {}

    /// Adds the cache of `loop`; to be called on that loop, before the cache is used.
    package func register(_ cache: SessionCache, on loop: any EventLoop) {
        let member = Member(loop: loop, cache: NIOLoopBound(cache, eventLoop: loop))
        self.members.withLock { $0.append(member) }
    }

    /// Tells every cache what ended. The future succeeds when every loop has applied it and so none serves it any more;
    /// it fails with `StoreError.unavailable` when a loop cannot confirm. May be called from anywhere.
    package func invalidate(_ ended: Invalidation, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.forEach(on: loop) { $0.invalidate(ended) }.map { _ in }
    }

    /// The counters of all loops added up.
    package func counters(on loop: any EventLoop) -> EventLoopFuture<SessionCacheCounters> {
        self.forEach(on: loop) { $0.counters }.map { counters in
            counters.reduce(into: SessionCacheCounters()) { sum, one in
                sum.hits += one.hits
                sum.misses += one.misses
                sum.refreshes += one.refreshes
                sum.rereads += one.rereads
                sum.evictions += one.evictions
                sum.entries += one.entries
            }
        }
    }

    /// Runs `step` for each cache on its loop: at once where that is the caller's, so that a single loop never waits.
    private func forEach<Answer: Sendable>(
        on loop: any EventLoop,
        _ step: @escaping @Sendable (SessionCache) -> Answer
    ) -> EventLoopFuture<[Answer]> {
        var answers: [Answer] = []
        var others: [EventLoopFuture<Answer>] = []
        for member in self.members.withLock({ $0 }) {
            if member.loop.inEventLoop {
                answers.append(step(member.cache.value))
            } else {
                others.append(member.loop.submit { step(member.cache.value) })
            }
        }
        guard !others.isEmpty else { return loop.makeSucceededFuture(answers) }
        return EventLoopFuture.whenAllSucceed(others, on: loop)
            .map { [answers] in answers + $0 }
            .flatMapErrorThrowing { _ in throw StoreError.unavailable }
    }
}
