package import NIOCore
import Synchronization
package import Vocabulary

/// Uses documents of the store. Its `DocumentFollower` decides when they are read.
package protocol DocumentReader: AnyObject, Sendable {
    var follower: DocumentFollower { get }

    /// Reports whether this reader uses the document with this name.
    func reads(_ name: DocumentName) -> Bool

    /// Reads the documents and applies them. Calls never overlap. They are not made on an event loop, because they may
    /// take long.
    ///
    /// - Returns: False if the documents could not be read. They are then read again after the follower's `interval`.
    func readDocuments() async -> Bool
}

extension DocumentReader {
    /// Begins to read, now and after every change.
    package func start(following caches: SessionCaches) { self.follower.start(self, following: caches) }

    /// Ends all reading. Returns when the reader no longer uses the store or the loops.
    package func stop() async { await self.follower.stop() }

    /// Reads the documents. Returns when they are applied or could not be read.
    package func refresh() async { await self.follower.refresh(self) }

    /// Reads the documents in the background.
    package func refreshSoon() { self.follower.refreshSoon(self) }
}

/// Decides when documents are read: when the store reports a change, every minute in case a report was lost, and after
/// `interval` if they could not be read.
package final class DocumentFollower: Sendable {
    private struct State: Sendable {
        /// True if the last read succeeded.
        var isRead = false
        var reading: Task<Void, Never>?
        /// True if the documents may have changed since the current read began.
        var isDirty = false
        var timer: RepeatedTask?
        var isStopped = false
        /// The number of `interval`s since the timer last started a read.
        var idleIntervals = 0
        var sealsSeenAt: UnixTime?
    }

    private static let period = Duration.seconds(60)
    private static let sealPause = Duration.seconds(86_400)

    private let loops: any EventLoopGroup
    private let interval: Duration
    private let state = Mutex(State())

    /// - Parameter interval: The time between a failed read and the next one.
    package init(loops: any EventLoopGroup, interval: Duration) {
        self.loops = loops
        self.interval = interval
    }

    /// Calls `reader.readDocuments()`, now and after every change.
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

    /// Ends all reading. Returns when no read uses the store or the loops any longer.
    package func stop() async {
        let (timer, reading) = self.state.withLock { state in
            state.isStopped = true
            return (state.timer, state.reading)
        }
        timer?.cancel()
        await reading?.value
    }

    /// Calls `reader.readDocuments()`. Returns when the call is over.
    package func refresh(_ reader: any DocumentReader) async { await self.reading(by: reader).value }

    /// Calls `reader.readDocuments()` in the background.
    package func refreshSoon(_ reader: any DocumentReader) { _ = self.reading(by: reader) }

    /// Starts a read and returns it. A read under way is returned instead, and reads once more.
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

    /// Reports whether documents sealed under an older secret may be sealed again. During the rollout of a new secret,
    /// gateways have different current secrets. A pause of a day keeps them from replacing each other's seals.
    package func maySeal(_ now: UnixTime) -> Bool {
        self.state.withLock { state in state.sealsSeenAt.map { now.since($0) >= Self.sealPause } ?? true }
    }

    /// Starts the pause of `maySeal`, because every document is now sealed under this process's current secret.
    package func noteSealed(_ now: UnixTime) {
        self.state.withLock { $0.sealsSeenAt = now }
    }
}
