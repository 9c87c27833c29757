package import NIOCore
package import Vocabulary

/// Asks again for the sessions behind open streams (WebSockets, event streams, answers that are still on their way).
///
/// A stream was permitted by an entry that it then outlives. That a session was ended is told to the streams as it is told
/// to the cache, but not what was missed, nor that a session was not used for too long. So whoever keeps streams has
/// `check` look at each now and then, and is told of sessions that are gone. A session is asked for again
///
/// - when a doubt ended, or `.all` was told, since it was read: ends may have been missed;
/// - while the doubt lasts, each time that `SessionCache.hardAge` has passed;
/// - otherwise once a minute, or a tenth of its idle lifetime if that is shorter: this finds what has idled out.
///
/// Many are asked for over half a second rather than at once. A store that cannot answer is left alone for a second, and
/// then asked again. When a session could not be read for `patience`, its streams are to close: it may have ended where the
/// store can be reached. Confined to its loop.
package final class StreamSessions {
    /// The time over which all the sessions of a loop are asked for, when all are doubted at once.
    private static let spread = TimeAmount.milliseconds(500)
    /// The time between two groups.
    private static let step = TimeAmount.milliseconds(20)
    /// How long a store that could not answer is left alone.
    private static let pause = TimeAmount.seconds(1)

    /// How long a stream outlives the first read of its session that failed.
    package static let patience = Duration.seconds(30)

    /// Called on the loop with the key of a session that is gone.
    package var onGone: ((RecordKey) -> Void)?
    /// Called on the loop with the key of a session that could not be read for `patience`, and again until its streams are
    /// closed.
    package var onUnreadable: ((RecordKey) -> Void)?

    private let loop: any EventLoop
    private let resolver: SessionResolver
    private let clock: Clock
    private var queue = CircularBuffer<CachedSession>()
    /// What is in the queue or being asked for.
    private var pending: Set<ObjectIdentifier> = []
    /// How many are asked for at once: the longest that the queue has been since it was empty, over the steps.
    private var groupSize = 0
    private var isScheduled = false
    private var restsUntil = NIODeadline.uptimeNanoseconds(0)

    package init(loop: any EventLoop, resolver: SessionResolver, clock: Clock) {
        self.loop = loop
        self.resolver = resolver
        self.clock = clock
    }

    /// Sees to it that the session of an open stream is asked for again if it is time to. To be called for every stream
    /// about four times a second; many streams of one session cost one read.
    package func check(_ entry: CachedSession, now: UnixTime) {
        self.loop.assertInEventLoop()
        guard self.isDue(entry, now: now), self.pending.insert(ObjectIdentifier(entry)).inserted else { return }
        self.queue.append(entry)
        let steps = Int(Self.spread.nanoseconds / Self.step.nanoseconds)
        self.groupSize = max(self.groupSize, (self.queue.count + steps - 1) / steps)
        self.schedule(in: .zero)
    }

    private func isDue(_ entry: CachedSession, now: UnixTime) -> Bool {
        let cache = self.resolver.cache
        if cache.trusts(entry) {
            return now >= entry.readAt.advanced(by: max(SessionCache.hardAge, entry.touchInterval))
        }
        return !cache.isDoubting || now >= entry.readAt.advanced(by: SessionCache.hardAge)
    }

    private func schedule(in delay: TimeAmount) {
        guard !self.isScheduled else { return }
        self.isScheduled = true
        let streams = NIOLoopBound(self, eventLoop: self.loop)
        self.loop.scheduleTask(deadline: max(self.loop.now + delay, self.restsUntil)) { streams.value.askGroup() }
    }

    private func askGroup() {
        self.isScheduled = false
        var left = self.groupSize
        while left > 0, let entry = self.queue.popFirst() {
            left -= 1
            self.ask(entry)
        }
        if self.queue.isEmpty { self.groupSize = 0 } else { self.schedule(in: Self.step) }
    }

    private func ask(_ entry: CachedSession) {
        self.resolver.confirm(entry, now: self.clock.now()).assumeIsolated().whenComplete { result in
            // What is still due, be it that a doubt came meanwhile, is found by the next check.
            self.pending.remove(ObjectIdentifier(entry))
            switch result {
            case .success(true): break
            case .success(false): self.onGone?(entry.key)
            case .failure:
                self.restsUntil = self.loop.now + Self.pause
                let now = self.clock.now()
                let since = entry.unreadSince ?? now
                entry.unreadSince = since
                if now.since(since) >= Self.patience { self.onUnreadable?(entry.key) }
            }
        }
    }
}
