package import NIOCore
import Synchronization
package import Vocabulary

/// Uses what documents of the store say, and is told by a `DocumentFollower` when to read them.
package protocol DocumentReader: AnyObject, Sendable {
    var follower: DocumentFollower { get }

    /// Whether this reads the document with that name.
    func reads(_ name: DocumentName) -> Bool

    /// Reads the documents and uses them. It is never called twice at once, and not on an event loop: it may take long.
    ///
    /// - Returns: false if they could not be read, so that they are read again soon.
    func readDocuments() async -> Bool
}

extension DocumentReader {
    /// Reads from now on.
    package func start(following caches: SessionCaches) { self.follower.start(self, following: caches) }

    /// Reads no more. Returns when nothing uses the store and the loops any longer.
    package func stop() async { await self.follower.stop() }

    /// Reads. Returns when what was read is in use, or could not be read.
    package func refresh() async { await self.follower.refresh(self) }

    /// Reads in the background.
    package func refreshSoon() { self.follower.refreshSoon(self) }
}

/// Decides when documents are read: at once when the store reports a change, every minute in case it did not, and more
/// often while they cannot be read.
package final class DocumentFollower: Sendable {
    private struct State: Sendable {
        /// Whether the last read has succeeded.
        var isRead = false
        var reading: Task<Void, Never>?
        /// The documents may have changed since the read under way began: read again.
        var isDirty = false
        var timer: RepeatedTask?
        var isStopped = false
        /// How many intervals have passed since the timer last caused a read.
        var idleIntervals = 0
        var sealsSeenAt: UnixTime?
    }

    private static let period = Duration.seconds(60)
    private static let sealPause = Duration.seconds(86_400)

    private let loops: any EventLoopGroup
    private let interval: Duration
    private let state = Mutex(State())

    /// - Parameter interval: How long after a failure the documents are read again.
    package init(loops: any EventLoopGroup, interval: Duration) {
        self.loops = loops
        self.interval = interval
    }

    /// Lets `reader` read now and from now on.
    package func start(_ reader: any DocumentReader, following caches: SessionCaches) {
        caches.followDocuments { [weak self, weak reader] change in
            guard let self, let reader else { return }
            switch change {
            case .document(let name): if reader.reads(name) { _ = self.reading(by: reader) }
            case .all: _ = self.reading(by: reader)
            default: break
            }
        }
        let interval = TimeAmount(self.interval)
        let timer = self.loops.next().scheduleRepeatedTask(initialDelay: interval, delay: interval) {
            [weak self, weak reader] _ in
            guard let self, let reader, self.isDue() else { return }
            _ = self.reading(by: reader)
        }
        self.state.withLock { $0.timer = timer }
        _ = self.reading(by: reader)
    }

    private func isDue() -> Bool {
        self.state.withLock { state in
            state.idleIntervals += 1
            guard !state.isRead || self.interval * state.idleIntervals >= Self.period else { return false }
            state.idleIntervals = 0
            return true
        }
    }

    /// Lets nothing be read any more. Returns when nothing uses the store and the loops any longer.
    package func stop() async {
        let (timer, reading) = self.state.withLock { state in
            state.isStopped = true
            return (state.timer, state.reading)
        }
        timer?.cancel()
        await reading?.value
    }

    /// Lets `reader` read, and returns when it has, or could not.
    package func refresh(_ reader: any DocumentReader) async { await self.reading(by: reader).value }

    /// Lets `reader` read in the background.
    package func refreshSoon(_ reader: any DocumentReader) { _ = self.reading(by: reader) }

    /// The read that is under way, which is followed by another one, or a new one.
    private func reading(by reader: any DocumentReader) -> Task<Void, Never> {
        self.state.withLock { state in
            state.isDirty = true
            if let reading = state.reading { return reading }
            let reading = Task.detached { await self.readUntilClean(reader) }
            state.reading = reading
            return reading
        }
    }

    private func readUntilClean(_ reader: any DocumentReader) async {
        while self.state.withLock({ state in
            guard state.isDirty, !state.isStopped else {
                state.reading = nil
                return false
            }
            state.isDirty = false
            return true
        }) {
            let isRead = await reader.readDocuments()
            self.state.withLock { $0.isRead = isRead }
        }
    }

    /// Whether documents that are sealed under an older secret may be sealed again. While a new secret is rolled out,
    /// the gateways disagree about which one is current; the pause keeps them from sealing documents in turns.
    package func maySeal(_ now: UnixTime) -> Bool {
        self.state.withLock { state in state.sealsSeenAt.map { now.since($0) >= Self.sealPause } ?? true }
    }

    /// Begins the pause of `maySeal`: every document is sealed under the current secret of this process.
    package func noteSealed(_ now: UnixTime) {
        self.state.withLock { $0.sealsSeenAt = now }
    }
}
