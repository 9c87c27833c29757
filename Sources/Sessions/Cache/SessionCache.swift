package import Vocabulary

/// The counters of one loop's cache.
package struct SessionCacheCounters: Sendable, Hashable {
    /// Requests served from the table, including requests to endpoints that show sessions.
    package var hits = 0
    /// Requests that waited for a read of the store or a provider.
    package var misses = 0
    /// Background reads of entries in use.
    package var refreshes = 0
    /// Reads repeated because an end or change arrived meanwhile.
    package var rereads = 0
    /// Requests served from an entry in doubt, because the store was unavailable.
    package var doubtedUses = 0
    /// Doubts that have begun, including an initial one.
    package var doubts = 0
    /// Entries removed to make room.
    package var evictions = 0
    /// The number of entries now.
    package var entries = 0
}

/// The sessions that one event loop knows, found by the raw bytes of the token. Used only on this loop.
///
/// A lookup allocates nothing, takes no lock and computes no HMAC. An end finds its entries by key, lineage, subject or
/// client, without a scan. No ended entry is used from the moment when the end is applied. The entries of many ends are
/// removed in slices (`EndSweep`, `Slices`).
///
/// **Doubt.** While ends may be missed (`SessionCaches.doubt`), the store is asked before each use of an entry. Each
/// beginning and end of a doubt, and each `.all`, increments the number `turn`. An entry is trusted while its read's
/// turn is the current turn and no doubt exists. So a hit only compares two integers.
package final class SessionCache {
    /// The age from which an entry is never used without a new read.
    package static let hardAge = Duration.seconds(5)
    /// The age from which a use starts a background read, so that an entry in steady use usually does not reach
    /// `hardAge`.
    package static let refreshAge = Duration.seconds(4)

    /// The minimum time between two background reads of an entry.
    static let refreshPause = Duration.milliseconds(250)

    /// Called on the loop with each group of ends. The owner of the open streams closes those that ended.
    package var onInvalidation: ((Endings) -> Void)?

    /// Runs long work of the loop in slices. Set by `SessionCaches.register`.
    package internal(set) var slices = Slices(on: nil)

    private let capacity: Int
    private var table: SessionTable
    /// The counters, except those of the table.
    var counts = SessionCacheCounters()
    private var confidence = Confidence.trusting
    /// The current turn, at least 1. Each change that makes entries doubtful increments it.
    private var turn: UInt64 = 1
    /// The turn of entries that are used without a read. During a doubt, `.max`, which no entry has.
    private var trustedTurn: UInt64 = 1
    private var readings = ReadingLog()
    private var sweepCount = 0
    /// The sweeps of tables that were replaced and are still being released.
    private var formerSweeps: ContiguousArray<EndSweep> = []

    /// Creates an empty cache for up to `capacity` sessions (`store.cached_sessions`). With 0, every request asks the
    /// store.
    package init(capacity: Int = 65_536) {
        self.capacity = capacity
        self.table = SessionTable(capacity: capacity)
    }

    /// The counters since the cache was made, and the number of entries now.
    package var counters: SessionCacheCounters {
        var counters = self.counts
        counters.entries = self.table.count
        counters.evictions += self.table.evictions
        return counters
    }

    /// Returns the entry for exactly these bytes, even if it is too old or in doubt.
    package func entry(for token: UnsafeRawBufferPointer) -> CachedSession? {
        guard self.table.count > 0 else { return nil }
        let entry = self.table.entry(for: token, hash: SessionTable.hash(token))
        return entry?.state == .known ? entry : nil
    }

    /// Returns the entry for exactly these bytes if it may be used without a read.
    package func lookup(_ token: UnsafeRawBufferPointer, now: UnixTime) -> CachedSession? {
        guard self.table.count > 0,
            let entry = self.table.entry(for: token, hash: SessionTable.hash(token)), entry.turn == self.trustedTurn,
            entry.mayServe(at: now)
        else { return nil }
        entry.isReferenced = true
        return entry
    }

    /// True if ends may be missed, so that no entry is used without a read.
    package var isDoubting: Bool { self.confidence.isDoubting }

    /// Reports whether no end can have been missed since the entry was read.
    func trusts(_ entry: CachedSession) -> Bool { entry.turn == self.trustedTurn }

    /// Begins or ends a doubt. An older change than the last one is ignored.
    func adopt(_ confidence: Confidence) {
        guard confidence > self.confidence else { return }
        self.confidence = confidence
        self.counts.doubts = confidence.doubts
        self.beginTurn()
    }

    private func beginTurn() {
        self.turn += 1
        self.trustedTurn = self.isDoubting ? .max : self.turn
    }

    /// Applies an end to all entries, and to the reads that are under way.
    package func invalidate(_ ended: Invalidation) {
        self.invalidate(Endings([ended]))
    }

    /// Applies several ends.
    package func invalidate(_ ended: Endings) {
        self.readings.note(ended)
        let sweep = EndSweep(ended, number: self.sweepCount)
        self.sweepCount += 1
        self.table.begin(sweep)
        self.slices.run { self.table.advance(sweep) }
        if ended.includesAll { self.forgetAll() }
        self.onInvalidation?(ended)
    }

    /// Reports whether the session of an entry has ended since this cache returned the entry.
    package func hasEnded(_ entry: CachedSession) -> Bool {
        self.table.mark(entry)
        for sweep in self.formerSweeps { sweep.mark(entry) }
        return entry.hasEnded
    }

    /// Drops every entry. Streams then read their sessions again.
    private func forgetAll() {
        self.beginTurn()
        self.counts.evictions += self.table.evictions
        var former = SessionTable(capacity: self.capacity)
        swap(&former, &self.table)
        let sweeps = former.sweeps
        self.formerSweeps += sweeps
        self.slices.run {
            if former.releaseSome() { return true }
            self.formerSweeps.removeAll { over in sweeps.contains { $0 === over } }
            return false
        }
    }

    // MARK: For the resolver

    /// Records the beginning of a read. Must be called before the store is asked.
    func beginReading(_ key: RecordKey) -> Reading {
        self.readings.begin(key, turn: self.turn)
    }

    /// Records the end of a read that found no session.
    func endReading(_ reading: Reading) { self.readings.end() }

    /// Records the end of a read that found `session`. Returns false if an end or change arrived meanwhile that
    /// concerns the session. The caller must then read again.
    func endReading(_ reading: Reading, of session: Session, names: (String) -> [String]) -> Bool {
        defer { self.readings.end() }
        return self.readings.confirms(reading, of: session, names: names)
    }

    /// Stores the answer of `reading`, which began at `readAt`. An entry of the same version is confirmed and keeps its
    /// identity bytes. An entry of another version is replaced.
    ///
    /// - Parameters:
    ///   - successor: The token if it is a successor token; `nil` for the session's first token.
    ///   - verdict: The provider's verdict on a foreign token; `nil` for a token of the gateway.
    ///   - tokens: The provider's tokens for this version of the session.
    ///   - names: Returns the store's names of a subject. Called only if a new entry is made.
    func insert(
        token: Secret,
        stored: Stored<Session>,
        successor: PresentedToken? = nil,
        reading: Reading,
        readAt: UnixTime,
        verdict: ForeignVerdict? = nil,
        tokens: KnownTokens = .notNeeded,
        names: (String) -> [String]
    ) -> CachedSession {
        let hash = token.bytes.withUnsafeBytes { SessionTable.hash($0) }
        let old = token.bytes.withUnsafeBytes { self.table.entry(for: $0, hash: hash) }
        if let old, old.state == .known, old.version == stored.version {
            old.noteUse(at: stored.usedAt)
            old.confirm(readAt: readAt, turn: reading.turn, verdict: verdict)
            old.isReferenced = true
            return old
        }
        let entry = CachedSession(
            token: token,
            hash: hash,
            key: reading.key,
            stored: stored,
            successor: successor,
            subjectNames: names(stored.record.subject),
            readAt: readAt,
            turn: reading.turn,
            sweepsBefore: self.sweepCount,
            verdict: verdict,
            tokens: tokens
        )
        if let old {
            entry.touchAt = max(entry.touchAt, old.touchAt)
            self.table.remove(old)
        }
        self.table.add(entry, now: readAt)
        return entry
    }

    /// Removes the entries of foreign tokens.
    func removeForeign() { self.table.removeAll { $0.verdict != nil } }

    /// Removes the entry for these bytes.
    func remove(token: Secret) {
        if let entry = token.bytes.withUnsafeBytes({ self.entry(for: $0) }) { self.table.remove(entry) }
    }
}

extension Invalidation {
    /// Reports whether the invalidation ends the session of `entry`. `.all` ends no session.
    package func ends(_ entry: CachedSession) -> Bool {
        switch self {
        case .session(let ended): ended == entry.key
        case .lineage(let ended): ended == entry.key.lineage
        case .subject(let name): entry.isNamed(name)
        case .client: entry.isEnded(withClient: self)
        case .sessionRecord, .record, .document, .all: false
        }
    }

    /// Reports whether the invalidation ends the client that holds the session's token.
    func endsClient(of session: Session) -> Bool {
        guard case .client(let id, let time) = self, session.holder == id else { return false }
        return time.map { session.issuedAt < $0 } ?? true
    }

    /// Reports whether the invalidation ends the session of `entry` or changes its record.
    func concerns(_ entry: CachedSession) -> Bool {
        if case .sessionRecord(let changed) = self { changed == entry.key } else { self.ends(entry) }
    }
}
