package import NIOCore
package import Vocabulary

/// Rereads the sessions behind open streams (WebSockets, event streams, responses in progress).
///
/// A stream outlives the cache entry that permitted it. Streams hear of ended sessions as the cache does. They do not
/// hear of an end that the gateway missed, or of an idle timeout. So the owner of the streams passes the entry of each
/// stream to `check` regularly, and is called back for sessions that are gone. A session is read again:
///
/// - if a doubt ended, or `.all` was reported, since the last read: ends may have been missed;
/// - if its record changed, and at its expiry;
/// - during a doubt, each time that `SessionCache.hardAge` has passed;
/// - otherwise once a minute, or after a tenth of its idle lifetime if that is shorter: this finds idle timeouts.
///
/// Many reads are spread over half a second. If a read fails, the next group of reads waits for a second. If a session
/// could not be read for `patience`, its streams must be closed, because it may have been ended by a gateway that can
/// reach the store. Confined to its loop.
package final class StreamSessions {
    /// The time over which a loop spreads its reads if all of its sessions must be read at once.
    private static let spread = TimeAmount.milliseconds(500)
    /// The time between two groups of reads.
    private static let step = TimeAmount.milliseconds(20)
    /// The pause after the store failed to answer.
    private static let pause = TimeAmount.seconds(1)

    /// The time for which a stream may stay open after the first failed read of its session.
    package static let patience = Duration.seconds(30)

    /// Called on the loop with the key of a session that is gone.
    package var onGone: ((RecordKey) -> Void)?
    /// Called on the loop, at each failed read, with the key of a session that was unreadable for `patience`.
    package var onUnreadable: ((RecordKey) -> Void)?

    private let loop: any EventLoop
    private let resolver: SessionResolver
    private let clock: Clock
    private var queue = CircularBuffer<CachedSession>()
    /// The entries that are queued or being read.
    private var pending: Set<ObjectIdentifier> = []
    /// The number of entries read at once: the queue's peak length since it was last empty, divided by the steps in
    /// `spread`.
    private var groupSize = 0
    private var isScheduled = false
    private var restsUntil = NIODeadline.uptimeNanoseconds(0)

    package init(loop: any EventLoop, resolver: SessionResolver, clock: Clock) {
        self.loop = loop
        self.resolver = resolver
        self.clock = clock
    }

    /// Schedules a read of the session of an open stream if one is due. Must be called for every stream about four
    /// times a second; several streams of one session cost one read.
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
        if now >= entry.session.expiresAt { return true }
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
            // If another read is due, for example because a doubt began meanwhile, the next check finds it.
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
