package import NIOCore
import Synchronization
package import Vocabulary

/// The default store: in the memory of one process, with a limited size, and lost when the process ends.
///
/// Records are divided into shards by lineage. Each shard has one lock, which is held only for a few operations in
/// memory. If the store is full, sign-in and minting fail with `.full`. Live records and markers are never evicted:
/// without its marker, a used token could be used again. Each write removes a few expired records. `sweep()` removes
/// the rest.
package final class MemoryStore: RecordStore {
    final class Shard: Sendable {
        let records: Mutex<MemoryRecords>

        init(limits: MemoryLimits, subjects: SubjectDirectory) {
            self.records = Mutex(MemoryRecords(limits: limits, subjects: subjects))
        }
    }

    private static let shardCount = 16
    /// The number of expired records that each write removes. More than one, so that removal keeps up with writing.
    private static let collectedPerWrite = 4
    /// The number of expired records removed under one lock of a shard, so that no event loop waits long for the lock.
    private static let collectedPerHold = 64

    let shards: [Shard]
    private let subjects: SubjectDirectory
    let limits: MemoryLimits
    let onces: OnceTable
    let documents = Mutex(MemoryDocuments())
    let clock: Clock
    let caches: SessionCaches
    /// The epoch of `OnceMemory`. Random, because a new process has forgotten all ids.
    let epoch = UInt64.random(in: 1 ... .max)
    let begunAt: UnixTime
    /// The time until which an unknown token may be from the previous process.
    private let recallsUntil: UnixTime
    private let lapsed: LapseReceiver

    /// Creates a store that reports ends to `caches`.
    ///
    /// - Parameters:
    ///   - maxSessions: The maximum number of sessions, and of replaceable records.
    ///   - maxMarkers: The maximum number of single-use records and markers together, of presented ids, and of ends
    ///     that hold a place.
    ///   - longestSession: The longest lifetime of a session. A token may be from the previous process for this time.
    ///   - lapsed: Called with each session that has expired or idled out, within one interval of `sweep`.
    package init(
        maxSessions: Int,
        maxMarkers: Int,
        clock: Clock,
        caches: SessionCaches,
        longestSession: Duration = .zero,
        lapsed: @escaping LapseReceiver = { _ in }
    ) {
        let limits = MemoryLimits(maxSessions: maxSessions, maxMarkers: maxMarkers)
        let subjects = SubjectDirectory(shards: Self.shardCount, limits: limits)
        self.shards = (0..<Self.shardCount).map { _ in Shard(limits: limits, subjects: subjects) }
        self.subjects = subjects
        self.limits = limits
        self.onces = OnceTable(shards: Self.shardCount, places: limits.onces)
        self.clock = clock
        self.caches = caches
        self.begunAt = clock.now()
        self.recallsUntil = self.begunAt.advanced(by: longestSession)
        self.lapsed = lapsed
    }

    /// The number of sessions, including expired ones that have not been removed yet.
    package var sessionCount: Int { self.limits.sessions.count }

    /// The number of single-use records and markers, including expired ones that have not been removed yet.
    package var markerCount: Int { self.limits.markers.count }

    /// The maximum number of sessions.
    package var sessionLimit: Int { self.limits.sessions.limit }

    /// The maximum number of single-use records and markers.
    package var markerLimit: Int { self.limits.markers.limit }

    /// Removes all expired records. Some expired ids and ends of subjects may remain until the next call. Should run
    /// every minute, not on an event loop.
    package func sweep() {
        while self.collect() {}
    }

    package func session(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Stored<Session>?> {
        let now = self.clock.now()
        return loop.makeSucceededFuture(self.shard(of: key.lineage).records.withLock { $0.session(key, at: now) })
    }

    package func session(_ key: RecordKey, on loop: any EventLoop, _ receiver: @escaping SessionReceiver) {
        let now = self.clock.now()
        let (stored, reason, lapses) = self.shard(of: key.lineage).records.withLock { records in
            let stored = records.session(key, at: now)
            return (stored, stored == nil ? records.absence(of: key) : nil, records.takeLapses())
        }
        lapses.forEach(self.lapsed)
        if let stored { return receiver(.success(.live(stored))) }
        // A token that was never issued looks like a token of the previous process.
        receiver(.success(.absent(reason ?? (now < self.recallsUntil ? .sessionForgotten : .sessionUnknown))))
    }

    package func create(_ session: NewSession, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.answer(on: loop) {
            try self.write(in: session.key.lineage) { (records, now) throws(StoreError) in
                try records.insert(session, at: now)
            }
        }
    }

    package func replace(
        _ key: RecordKey,
        judged: RecordVersion,
        with session: Session,
        on loop: any EventLoop
    ) -> EventLoopFuture<Replacement> {
        let now = self.clock.now()
        let answer = self.shard(of: key.lineage).records.withLock {
            $0.replace(key, judged: judged, with: session, at: now)
        }
        return self.caches.invalidate(.sessionRecord(key), on: loop).map { answer }
    }

    package func touch(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void> {
        let now = self.clock.now()
        self.shard(of: key.lineage).records.withLock { $0.touch(key, at: now) }
        return loop.makeSucceededVoidFuture()
    }

    package func end(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Bool> {
        let now = self.clock.now()
        let wasThere = self.shard(of: key.lineage).records.withLock { $0.end(key, at: now) }
        // Caches are notified in any case, because they may use a session seconds longer than the store.
        return self.caches.invalidate(.session(key), on: loop).map { wasThere }
    }

    package func end(_ lineage: Lineage, on loop: any EventLoop) -> EventLoopFuture<Void> {
        let now = self.clock.now()
        self.shard(of: lineage).records.withLock { $0.end(lineage, at: now) }
        return self.caches.invalidate(.lineage(lineage), on: loop)
    }

    package func names(of subject: String) -> [String] { [subject] }

    package func end(subject: String, on loop: any EventLoop) -> EventLoopFuture<Void> {
        // The new epoch ends the sessions. Their records are removed afterwards.
        let epoch = self.subjects.end(subject, at: self.clock.now())
        let ended = self.caches.invalidate(.subject(subject), on: loop)
        self.makeRoom(after: subject, epoch, on: loop)
        return ended
    }

    /// Removes the records of a subject with epochs before `epoch`.
    private func makeRoom(after subject: String, _ epoch: UInt64, on loop: any EventLoop) {
        var (shards, bornUntil) = (self.shards[...], self.clock.now())
        self.caches.slices(on: loop.inEventLoop ? loop : nil).run {
            guard let shard = shards.first else { return false }
            if let end = shard.records.withLock({ $0.removeOne(of: subject, bornBefore: epoch) }) {
                bornUntil = max(bornUntil, end)
            } else {
                shards.removeFirst()
            }
            if shards.isEmpty { self.subjects.remember(subject, epoch, until: bornUntil) }
            return !shards.isEmpty
        }
    }

    package func eventualEpoch(of subject: String, on loop: any EventLoop) -> Eventual<UInt64> {
        .success(self.subjects.epoch(of: subject))
    }

    package func now(on loop: any EventLoop) -> EventLoopFuture<UnixTime> {
        loop.makeSucceededFuture(self.clock.now())
    }

    // MARK: Steps

    func shard(of lineage: Lineage) -> Shard {
        // `Hasher` is seeded per process, so clients cannot choose lineages of one shard.
        self.shards[Int(UInt(bitPattern: lineage.hashValue) % UInt(self.shards.count))]
    }

    /// Performs one write in the lineage's shard. If the store is full, expired records are removed and the write is
    /// retried.
    func write<Answer: Sendable>(
        in lineage: Lineage,
        _ step: (inout MemoryRecords, UnixTime) throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        let shard = self.shard(of: lineage)
        let now = self.clock.now()
        do {
            return try shard.records.withLock { (records) throws(StoreError) in
                records.collect(at: now, limit: Self.collectedPerWrite)
                return try step(&records, now)
            }
        } catch .full {
            self.collect()
            return try shard.records.withLock { (records) throws(StoreError) in try step(&records, now) }
        }
    }

    /// Removes up to `collectedPerHold` expired records of each shard. Returns true if more may be due.
    @discardableResult
    func collect() -> Bool {
        let now = self.clock.now()
        var hasMore = false
        for shard in self.shards {
            let (isDue, lapses) = shard.records.withLock { records in
                (records.collect(at: now, limit: Self.collectedPerHold), records.takeLapses())
            }
            lapses.forEach(self.lapsed)
            hasMore = hasMore || isDue
        }
        self.subjects.collect(at: now, limit: Self.collectedPerHold)
        self.onces.collect(at: now, limit: Self.collectedPerHold)
        return hasMore
    }

    func answer<Answer: Sendable>(
        on loop: any EventLoop,
        _ step: () throws -> Answer
    ) -> EventLoopFuture<Answer> {
        Eventual.now(Result(catching: step)).future(on: loop)
    }
}
