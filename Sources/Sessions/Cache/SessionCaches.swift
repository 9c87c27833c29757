package import NIOCore
import Synchronization

/// The caches of all event loops. Ends are reported to all caches, and the reporter waits until each has applied them.
///
/// The listener for ends that other gateways cause reports here whether it receives them. From `doubt()` to `trust()`,
/// no loop uses what it knows without asking the store. An entry younger than `SessionCache.hardAge` is used only if
/// the store cannot be reached at all. An entry that was read before `trust()` stays doubted until it is read again.
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
    ///   - isDoubting: Whether everything is doubted until the first `trust()`: true if other processes also cause ends
    ///     and no listener receives them yet.
    ///   - sliceClock: The clock that measures slices of long work.
    package init(isDoubting: Bool = false, sliceClock: @escaping @Sendable () -> NIODeadline = { .now() }) {
        self.state = Mutex(State(confidence: isDoubting ? .doubting : .trusting))
        self.sliceClock = sliceClock
    }

    /// Returns the slices in which `loop` does long work; `loop` is `nil` if there is no event loop.
    func slices(on loop: (any EventLoop)?) -> Slices { Slices(on: loop, now: self.sliceClock) }

    /// Adds the cache of `loop`. Must be called on that loop, before the cache is used.
    package func register(_ cache: SessionCache, on loop: any EventLoop) {
        let member = Member(loop: loop, cache: NIOLoopBound(cache, eventLoop: loop))
        let confidence = self.state.withLock { state in
            state.members.append(member)
            return state.confidence
        }
        cache.slices = self.slices(on: loop)
        cache.adopt(confidence)
    }

    /// Calls `follower` for every `.document`, and with `.all` if changes of documents may have been missed. `follower`
    /// is called on any thread, and must not block.
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

    /// Whether a doubt has begun and not ended.
    package var isDoubting: Bool { self.state.withLock { $0.confidence.isDoubting } }

    /// Begins a doubt if none exists, because ends may have been missed. Returns at once. The caller's own loop
    /// doubts from now on; other loops do as soon as the change reaches them. May be called from any thread.
    package func doubt() { self.change(toDoubting: true) }

    /// Ends the doubt if there is one, because every end since some moment before this call is reported here. Returns
    /// at once. May be called from any thread.
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
    /// ended session any longer. Fails with `StoreError.unavailable` if a loop cannot confirm. Any thread may call
    /// this.
    package func invalidate(_ ended: Invalidation, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.notifyFollowers(of: [ended])
        return self.forEach(on: loop) { $0.invalidate(ended) }.map { _ in }
    }

    /// Reports several ends to every cache, one by one. A loop that cannot confirm is shutting down, and is ignored.
    package func end(_ ended: [Invalidation], on loop: any EventLoop) async {
        for end in ended { try? await self.invalidate(end, on: loop).get() }
    }

    /// Reports several ends to every cache, in one hop per loop, and returns at once. May be called from any thread.
    package func invalidate(_ ended: [Invalidation]) {
        self.notifyFollowers(of: ended)
        let endings = Endings(ended)
        for member in self.state.withLock({ $0.members }) {
            member.loop.execute { member.cache.value.invalidate(endings) }
        }
    }

    /// Returns the sum of all loops' counters. A doubt is counted once.
    package func counters(on loop: any EventLoop) -> EventLoopFuture<SessionCacheCounters> {
        self.forEach(on: loop) { $0.counters }.map { counters in
            counters.reduce(into: SessionCacheCounters()) { sum, one in
                sum.hits += one.hits
                sum.misses += one.misses
                sum.refreshes += one.refreshes
                sum.rereads += one.rereads
                sum.doubtedUses += one.doubtedUses
                // Every loop counts the same doubts.
                sum.doubts = max(sum.doubts, one.doubts)
                sum.evictions += one.evictions
                sum.entries += one.entries
            }
        }
    }

    /// Runs `step` for each cache on its loop, at once on the caller's own loop, so that a single loop never waits.
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
