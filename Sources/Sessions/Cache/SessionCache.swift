package import Vocabulary

/// The counters of a loop's cache since it was made.
package struct SessionCacheCounters: Sendable, Hashable {
    /// Requests answered from the table, those of endpoints that show sessions too.
    package var hits = 0
    /// Requests that waited for a read.
    package var misses = 0
    /// Reads in the background for entries that were in use.
    package var refreshes = 0
    /// Reads repeated because something ended during them.
    package var rereads = 0
    /// Requests answered from a doubted entry because the store was unavailable.
    package var doubtedUses = 0
    /// Doubts begun, including the initial one if there was one.
    package var doubts = 0
    /// Entries evicted to make room.
    package var evictions = 0
    /// The number of entries now.
    package var entries = 0
}

/// The sessions that one event loop knows, found by the raw bytes of the token.
///
/// A lookup allocates nothing, takes no lock and computes no HMAC. The table is bounded (`SessionTable`). Entries whose
/// session ended are found by key, lineage and subject without a scan. They serve no more as soon as the end is applied;
/// when many end at once, they are told of it and removed in slices (`EndSweep`, `Slices`). Confined to its loop.
///
/// **Doubt.** While it is uncertain that ends are received (`SessionCaches.doubt`), an entry that was read before does
/// not serve by itself. Time is divided into turns: the beginning and the end of a doubt, and `.all`, each begin a new
/// one. An entry is trusted in the turn in which its read began, unless that turn is one of doubt. So an answer that a
/// change overtook makes no trusted entry, and a hit costs only one more comparison of integers.
package final class SessionCache {
    /// An entry that was not confirmed for this long never serves, whatever else fails.
    package static let hardAge = Duration.seconds(5)
    /// A use at this age starts a read in the background, so that an entry in use never reaches `hardAge`.
    package static let refreshAge = Duration.seconds(4)

    /// The wait after a failed read in the background before the next one.
    static let refreshPause = Duration.milliseconds(250)

    /// Called on the loop after something ended: the owner of open streams closes those that `Endings.ends`.
    package var onInvalidation: ((Endings) -> Void)?

    /// How the loop does long work; set by `SessionCaches.register`.
    package internal(set) var slices = Slices(on: nil)

    private let capacity: Int
    private var table: SessionTable
    /// The counters without those that the table keeps.
    var counts = SessionCacheCounters()
    private var confidence = Confidence.trusting
    /// Incremented by everything that makes what is known doubtful; never 0.
    private var turn: UInt64 = 1
    /// The turn of the entries that serve without a read; `.max`, which no entry has, while all entries are doubted.
    private var trustedTurn: UInt64 = 1
    private var readings = ReadingLog()
    private var sweepCount = 0
    /// The groups of ends that not every entry of former tables knows of yet.
    private var formerSweeps: ContiguousArray<EndSweep> = []

    /// An empty table with room for `capacity` sessions. With a capacity of 0, every request asks the store.
    package init(capacity: Int = 65_536) {
        self.capacity = capacity
        self.table = SessionTable(capacity: capacity)
    }

    /// What was counted since the cache was made, and the number of entries now.
    package var counters: SessionCacheCounters {
        var counters = self.counts
        counters.entries = self.table.count
        counters.evictions += self.table.evictions
        return counters
    }

    /// The entry for exactly these bytes, whether or not it may serve.
    package func entry(for token: UnsafeRawBufferPointer) -> CachedSession? {
        guard self.table.count > 0 else { return nil }
        let entry = self.table.entry(for: token, hash: SessionTable.hash(token))
        return entry?.state == .known ? entry : nil
    }

    /// The entry for exactly these bytes if it may serve: neither doubted, nor expired, nor unconfirmed for too long.
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

    /// Whether the entry is not doubted: since it was read, this loop has missed no end.
    func trusts(_ entry: CachedSession) -> Bool { entry.turn == self.trustedTurn }

    /// Begins or ends a doubt; a change older than the last known one is ignored. See `SessionCaches`.
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

    /// Applies an end: the entries that it concerns are removed, and no read under way brings them back.
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

    /// Whether the session of an entry, which this cache handed out before, has ended since.
    package func hasEnded(_ entry: CachedSession) -> Bool {
        self.table.tell(entry)
        for sweep in self.formerSweeps { sweep.tell(entry) }
        return entry.hasEnded
    }

    /// Drops every entry. What streams hold is as old, and is to be read again.
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

    /// Notes the beginning of a read, before it is sent to the store.
    func beginReading(_ key: RecordKey) -> Reading {
        self.readings.begin(key, turn: self.turn)
    }

    /// Notes that a read is over and found no session.
    func endReading(_ reading: Reading) { self.readings.end() }

    /// Notes that a read is over and found `session`. False when something ended meanwhile that the answer may not
    /// reflect yet. See `ReadingLog`.
    func endReading(_ reading: Reading, of session: Session, names: (String) -> [String]) -> Bool {
        defer { self.readings.end() }
        return self.readings.confirms(reading, of: session, names: names)
    }

    /// Keeps what `reading`, which began at `readAt`, found. If the entry in the table has the same version, it is
    /// confirmed and keeps its identity bytes; an entry of another version is replaced.
    ///
    /// - Parameters:
    ///   - successor: The token, if it is not the one with which the session began.
    ///   - verdict: The provider's verdict on a foreign token; nil for the gateway's own tokens.
    ///   - tokens: The provider's tokens of a session of this version.
    ///   - names: Gives the store's names of a subject; called only when an entry is made.
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

    /// Forgets the entries of foreign tokens.
    func removeForeign() { self.table.removeAll { $0.verdict != nil } }

    /// Forgets the entry for these bytes.
    func remove(token: Secret) {
        if let entry = token.bytes.withUnsafeBytes({ self.entry(for: $0) }) { self.table.remove(entry) }
    }
}

extension Invalidation {
    /// True when this ends the session of `entry`. `.all` ends none: it only makes known sessions doubtful.
    package func ends(_ entry: CachedSession) -> Bool {
        switch self {
        case .session(let ended): ended == entry.key
        case .lineage(let ended): ended == entry.key.lineage
        case .subject(let name): entry.isNamed(name)
        case .client: entry.isEnded(withClient: self)
        case .sessionRecord, .record, .document, .all: false
        }
    }

    /// True when the session's token is of a client that this ends.
    func endsClient(of session: Session) -> Bool {
        guard case .client(let id, let time) = self, session.holder == id else { return false }
        return time.map { session.issuedAt < $0 } ?? true
    }

    /// True when this ends the session of `entry` or changed its record.
    func concerns(_ entry: CachedSession) -> Bool {
        if case .sessionRecord(let changed) = self { changed == entry.key } else { self.ends(entry) }
    }
}
