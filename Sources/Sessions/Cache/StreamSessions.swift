package import NIOCore
package import Vocabulary

/// Reads the sessions of open streams again (WebSockets, event streams, responses in progress). Used only on its loop.
///
/// A stream outlives its cache entry. Streams learn of ends as caches do, but not of missed ends or idle timeouts. So
/// the owner of the streams calls `check` for each of them, and closes those whose session is gone. A session is read:
///
/// - after a doubt or `.all`, because ends may have been missed;
/// - after a change of its record, and at its expiry;
/// - during a doubt, every `SessionCache.hardAge`;
/// - otherwise once a minute, or after a tenth of a shorter idle lifetime, to find idle timeouts.
///
/// Many reads are spread over half a second. After a failed read, no session is read for a second. After `patience`,
/// the streams of an unreadable session must be closed, because another gateway may have ended the session.
package final class StreamSessions {
    /// The time over which the reads of all sessions are spread.
    private static let spread = TimeAmount.milliseconds(500)
    /// The time between two groups of reads.
    private static let step = TimeAmount.milliseconds(20)
    /// The pause after a failed read.
    private static let pause = TimeAmount.seconds(1)

    /// The time for which a stream stays open while its session cannot be read.
    package static let patience = Duration.seconds(30)

    /// Called on the loop with the key of a session that has ended.
    package var onGone: ((RecordKey) -> Void)?
    /// Called on the loop with the key of a session that has been unreadable for `patience`, after each failed read.
    package var onUnreadable: ((RecordKey) -> Void)?

    private let loop: any EventLoop
    private let resolver: SessionResolver
    private let clock: Clock
    private var queue = CircularBuffer<CachedSession>()
    /// The entries that are queued or being read.
    private var pending: Set<ObjectIdentifier> = []
    /// The number of entries read at once, so that the longest queue so far takes `spread`. Reset when the queue is
    /// empty.
    private var groupSize = 0
    private var isScheduled = false
    private var restsUntil = NIODeadline.uptimeNanoseconds(0)

    package init(loop: any EventLoop, resolver: SessionResolver, clock: Clock) {
        self.loop = loop
        self.resolver = resolver
        self.clock = clock
    }

    /// Reads the session of an open stream if that is due. Must be called about four times a second for every stream.
    /// Streams of one entry share a read.
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
            // If another read is due by now, the next check starts it.
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
