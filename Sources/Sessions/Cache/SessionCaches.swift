package import NIOCore
import Synchronization

/// The caches of all event loops. An end that this process causes is reported to all caches, and its reporter waits
/// until all have applied it.
///
/// The listener for ends of other gateways calls `doubt()` when it may miss ends, and `trust()` when it receives all of
/// them. During a doubt, caches ask the store before they use an entry. If the store cannot be reached, an entry
/// younger than `SessionCache.hardAge` is used.
package final class SessionCaches: Sendable {
    private struct Member: Sendable {
        let loop: any EventLoop
        let cache: NIOLoopBound<SessionCache>
    }

    private struct State: Sendable {
        var members: [Member] = []
        var followers: [@Sendable (Invalidation) -> Void] = []
        var confidence: Confidence
    }

    private let state: Mutex<State>
    private let sliceClock: @Sendable () -> NIODeadline

    /// - Parameters:
    ///   - isDoubting: True to begin with a doubt, until a listener receives the ends that other processes cause.
    ///   - sliceClock: The clock that measures slices of long work.
    package init(isDoubting: Bool = false, sliceClock: @escaping @Sendable () -> NIODeadline = { .now() }) {
        self.state = Mutex(State(confidence: isDoubting ? .doubting : .trusting))
        self.sliceClock = sliceClock
    }

    /// Returns the slices of `loop` for long work; `nil` for `loop` runs all work at once.
    func slices(on loop: (any EventLoop)?) -> Slices { Slices(on: loop, now: self.sliceClock) }

    /// Adds the cache of `loop`. Must be called on `loop`, before the cache is used.
    package func register(_ cache: SessionCache, on loop: any EventLoop) {
        let member = Member(loop: loop, cache: NIOLoopBound(cache, eventLoop: loop))
        let confidence = self.state.withLock { state in
            state.members.append(member)
            return state.confidence
        }
        cache.slices = self.slices(on: loop)
        cache.adopt(confidence)
    }

    /// Calls `follower` for every `.document`, and with `.all` if reports may have been missed. The calls come from any
    /// thread and must not block.
    package func followDocuments(_ follower: @escaping @Sendable (Invalidation) -> Void) {
        self.state.withLock { $0.followers.append(follower) }
    }

    private func notifyFollowers(of changes: [Invalidation]) {
        let documents = changes.filter {
            switch $0 {
            case .document, .all: true
            default: false
            }
        }
        guard !documents.isEmpty else { return }
        for follower in self.state.withLock({ $0.followers }) { documents.forEach(follower) }
    }

    /// True during a doubt.
    package var isDoubting: Bool { self.state.withLock { $0.confidence.isDoubting } }

    /// Begins a doubt, because ends may have been missed. The caller's loop applies it at once, other loops a moment
    /// later. May be called from any thread.
    package func doubt() { self.change(toDoubting: true) }

    /// Ends the doubt, because every end is reported here again. May be called from any thread.
    package func trust() { self.change(toDoubting: false) }

    private func change(toDoubting isDoubting: Bool) {
        let changed: State? = self.state.withLock { state in
            guard state.confidence.isDoubting != isDoubting else { return nil }
            state.confidence.change()
            return state
        }
        guard let changed else { return }
        if !isDoubting { self.notifyFollowers(of: [.all]) }
        for member in changed.members {
            if member.loop.inEventLoop {
                member.cache.value.adopt(changed.confidence)
            } else {
                member.loop.execute { member.cache.value.adopt(changed.confidence) }
            }
        }
    }

    /// Reports an end to every cache. The future succeeds when every loop has applied it, so that no loop uses the
    /// ended sessions. Fails with `StoreError.unavailable` if a loop cannot confirm. May be called from any thread.
    package func invalidate(_ ended: Invalidation, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.notifyFollowers(of: [ended])
        return self.forEach(on: loop) { $0.invalidate(ended) }.map { _ in }
    }

    /// Reports several ends to every cache, one by one. Loops that cannot confirm are shutting down and are ignored.
    package func end(_ ended: [Invalidation], on loop: any EventLoop) async {
        for end in ended { try? await self.invalidate(end, on: loop).get() }
    }

    /// Reports several ends to every cache at once. Returns without waiting for them. May be called from any thread.
    package func invalidate(_ ended: [Invalidation]) {
        self.notifyFollowers(of: ended)
        let endings = Endings(ended)
        for member in self.state.withLock({ $0.members }) {
            member.loop.execute { member.cache.value.invalidate(endings) }
        }
    }

    /// Returns the sum of all loops' counters, except that a doubt is counted once.
    package func counters(on loop: any EventLoop) -> EventLoopFuture<SessionCacheCounters> {
        self.forEach(on: loop) { $0.counters }.map { counters in
            counters.reduce(into: SessionCacheCounters()) { sum, one in
                sum.hits += one.hits
                sum.misses += one.misses
                sum.refreshes += one.refreshes
                sum.rereads += one.rereads
                sum.doubtedUses += one.doubtedUses
                // A doubt is the same on every loop.
                sum.doubts = max(sum.doubts, one.doubts)
                sum.evictions += one.evictions
                sum.entries += one.entries
            }
        }
    }

    /// Runs `step` for each cache on its loop. The caller's own loop runs it at once.
    private func forEach<Answer: Sendable>(
        on loop: any EventLoop,
        _ step: @escaping @Sendable (SessionCache) -> Answer
    ) -> EventLoopFuture<[Answer]> {
        var answers: [Answer] = []
        var others: [EventLoopFuture<Answer>] = []
        for member in self.state.withLock({ $0.members }) {
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
