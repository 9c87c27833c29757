package import Vocabulary

/// The counters of a loop's cache since it was made.
package struct SessionCacheCounters: Sendable, Hashable {
    /// Requests answered from the table, including those of endpoints that show sessions.
    package var hits = 0
    /// Requests that waited for a read.
    package var misses = 0
    /// Background reads for entries in use.
    package var refreshes = 0
    /// Reads repeated because something ended during them.
    package var rereads = 0
    /// Requests answered from a doubted entry because the store was unavailable.
    package var doubtedUses = 0
    /// Doubts that have begun, including an initial one.
    package var doubts = 0
    /// Entries evicted to make room.
    package var evictions = 0
    /// The number of entries now.
    package var entries = 0
}

/// The sessions that one event loop knows, found by the raw bytes of the token.
///
/// A lookup allocates nothing, takes no lock and computes no HMAC. The table is bounded (`SessionTable`). Entries whose
/// session ended are found by key, lineage and subject without a scan, and are unusable as soon as the end is applied.
/// If many end at once, they are marked and removed in slices (`EndSweep`, `Slices`). Confined to its loop.
///
/// **Doubt.** While it is uncertain that ends are received (`SessionCaches.doubt`), an entry that was read earlier is
/// not used without a new read. Time is divided into turns. The beginning and the end of a doubt, and `.all`, each
/// begin a turn. An entry is trusted in the turn in which its read began, unless that turn is one of doubt. An answer
/// that a change overtook thus makes no trusted entry, and a hit only needs one more comparison of integers.
package final class SessionCache {
    /// The age from which an unconfirmed entry is never used, whatever else fails.
    package static let hardAge = Duration.seconds(5)
    /// The age at which a use starts a background read, so that an entry in use never reaches `hardAge`.
    package static let refreshAge = Duration.seconds(4)

    /// The pause after a failed background read before the next one.
    static let refreshPause = Duration.milliseconds(250)

    /// Called on the loop after something ended. The owner of open streams closes those that ended (`Endings.ends`).
    package var onInvalidation: ((Endings) -> Void)?

    /// The slices in which the loop does long work; set by `SessionCaches.register`.
    package internal(set) var slices = Slices(on: nil)

    private let capacity: Int
    private var table: SessionTable
    /// The counters, without those that the table keeps.
    var counts = SessionCacheCounters()
    private var confidence = Confidence.trusting
    /// The current turn, incremented by everything that makes the entries doubtful. Never 0.
    private var turn: UInt64 = 1
    /// The turn of the entries that are used without a read. `.max` while all are doubted: no entry has this turn.
    private var trustedTurn: UInt64 = 1
    private var readings = ReadingLog()
    private var sweepCount = 0
    /// The sweeps that have not yet reached every entry of a replaced table.
    private var formerSweeps: ContiguousArray<EndSweep> = []

    /// Creates an empty cache for up to `capacity` sessions. With a capacity of 0, every request asks the store.
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

    /// Returns the entry for exactly these bytes, even if it may not be used without a read.
    package func entry(for token: UnsafeRawBufferPointer) -> CachedSession? {
        guard self.table.count > 0 else { return nil }
        let entry = self.table.entry(for: token, hash: SessionTable.hash(token))
        return entry?.state == .known ? entry : nil
    }

    /// Returns the entry for exactly these bytes if it is not doubted, expired, or unconfirmed for too long.
    package func lookup(_ token: UnsafeRawBufferPointer, now: UnixTime) -> CachedSession? {
        guard self.table.count > 0,
            let entry = self.table.entry(for: token, hash: SessionTable.hash(token)), entry.turn == self.trustedTurn,
            entry.mayServe(at: now)
        else { return nil }
        entry.isReferenced = true
        return entry
    }

    /// Whether every entry is doubted now, however recently it was read.
    package var isDoubting: Bool { self.confidence.isDoubting }

    /// Reports whether the entry is trusted: this loop has missed no end since the entry was read.
    func trusts(_ entry: CachedSession) -> Bool { entry.turn == self.trustedTurn }

    /// Begins or ends a doubt. A change that is older than the last known one is ignored. See `SessionCaches`.
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

    /// Applies an end: removes the entries that it concerns, and keeps current reads from bringing them back.
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

    /// Reports whether the session of an entry that this cache handed out has ended since.
    package func hasEnded(_ entry: CachedSession) -> Bool {
        self.table.mark(entry)
        for sweep in self.formerSweeps { sweep.mark(entry) }
        return entry.hasEnded
    }

    /// Drops every entry. Entries that streams hold have to be read again, too.
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

    /// Records the beginning of a read, before it is sent to the store.
    func beginReading(_ key: RecordKey) -> Reading {
        self.readings.begin(key, turn: self.turn)
    }

    /// Records the end of a read that found no session.
    func endReading(_ reading: Reading) { self.readings.end() }

    /// Records the end of a read that found `session`. Returns false if something ended meanwhile that the answer may
    /// not reflect yet. See `ReadingLog`.
    func endReading(_ reading: Reading, of session: Session, names: (String) -> [String]) -> Bool {
        defer { self.readings.end() }
        return self.readings.confirms(reading, of: session, names: names)
    }

    /// Keeps the result of `reading`, which began at `readAt`. If the entry in the table has this version, it is
    /// confirmed and keeps its identity bytes; an entry of another version is replaced.
    ///
    /// - Parameters:
    ///   - successor: The token, if it replaced an earlier one. `nil` if it is the session's first token.
    ///   - verdict: The provider's verdict on a foreign token; `nil` for a token of the gateway.
    ///   - tokens: The provider's tokens for this version of the session.
    ///   - names: Returns the store's names of a subject; called only if an entry is made.
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
    /// Reports whether the invalidation ends the session of `entry`. `.all` only makes known sessions doubtful.
    package func ends(_ entry: CachedSession) -> Bool {
        switch self {
        case .session(let ended): ended == entry.key
        case .lineage(let ended): ended == entry.key.lineage
        case .subject(let name): entry.isNamed(name)
        case .client: entry.isEnded(withClient: self)
        case .sessionRecord, .record, .document, .all: false
        }
    }

    /// Reports whether the invalidation is the end of the client that has the session's token.
    func endsClient(of session: Session) -> Bool {
        guard case .client(let id, let time) = self, session.holder == id else { return false }
        return time.map { session.issuedAt < $0 } ?? true
    }

    /// Reports whether the invalidation ends the session of `entry` or reports a change of its record.
    func concerns(_ entry: CachedSession) -> Bool {
        if case .sessionRecord(let changed) = self { changed == entry.key } else { self.ends(entry) }
    }
}
