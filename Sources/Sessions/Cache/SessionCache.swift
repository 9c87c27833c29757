package import Vocabulary

/// The counters of a loop's cache since it was made.
package struct SessionCacheCounters: Sendable, Hashable {
    /// Requests answered from the table.
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
/// A lookup allocates nothing, takes no lock and computes no HMAC. Tokens are hashed by the standard library's keyed
/// hash, which is seeded for each process, so a client cannot choose tokens that share a bucket; they are compared in
/// full. The table is bounded; when it is full, a clock hand evicts an entry that was not used since the hand last
/// passed. Entries whose session ended are found by key, lineage and subject without a scan. Confined to its loop.
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

    /// How many entries the hand passes in search of an unused one before it evicts the one it has reached.
    private static let handReach = 32

    package internal(set) var counters = SessionCacheCounters()

    /// Called on the loop after something ended: the owner of open streams closes those that `Endings.ends`.
    package var onInvalidation: ((Endings) -> Void)?

    private let capacity: Int
    private var buckets: ContiguousArray<Int32>
    private var slots: ContiguousArray<CachedSession?> = []
    private var freeSlots: ContiguousArray<Int32> = []
    private var hand = 0
    private var confidence = Confidence.trusting
    /// Incremented by everything that makes what is known doubtful; never 0.
    private var turn: UInt64 = 1
    /// The turn of the entries that serve without a read; 0, which no entry has, while all entries are doubted.
    private var trustedTurn: UInt64 = 1
    private var byKey: [RecordKey: Int32] = [:]
    /// The slots by the lineage's tag.
    private var byLineage: [String: SlotSet] = [:]
    /// The slots by each of the subject's names.
    private var bySubject: [String: SlotSet] = [:]
    private var readings = ReadingLog()

    /// An empty table with room for `capacity` sessions. With a capacity of 0, every request asks the store.
    package init(capacity: Int = 65_536) {
        self.capacity = max(0, min(capacity, 1 << 24))
        var buckets = 1
        while buckets < self.capacity { buckets *= 2 }
        self.buckets = ContiguousArray(repeating: -1, count: buckets)
    }

    /// The entry for exactly these bytes, whether or not it may serve.
    package func entry(for token: UnsafeRawBufferPointer) -> CachedSession? {
        guard self.counters.entries > 0 else { return nil }
        return self.entry(for: token, hash: Self.hash(token))
    }

    private func entry(for token: UnsafeRawBufferPointer, hash: Int) -> CachedSession? {
        var slot = self.buckets[hash & (self.buckets.count - 1)]
        while slot >= 0, let entry = self.slots[Int(slot)] {
            if entry.hash == hash && entry.matches(token) { return entry }
            slot = entry.next
        }
        return nil
    }

    /// The entry for exactly these bytes if it may serve: neither doubted, nor expired, nor unconfirmed for too long.
    package func lookup(_ token: UnsafeRawBufferPointer, now: UnixTime) -> CachedSession? {
        guard let entry = self.entry(for: token), entry.turn == self.trustedTurn, entry.mayServe(at: now) else {
            return nil
        }
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
        self.counters.doubts = confidence.doubts
        self.beginTurn()
    }

    private func beginTurn() {
        self.turn += 1
        self.trustedTurn = self.isDoubting ? 0 : self.turn
    }

    /// Applies an end: the entries that it concerns are removed, and no read under way brings them back.
    package func invalidate(_ ended: Invalidation) {
        self.invalidate(Endings([ended]))
    }

    /// Applies several ends.
    package func invalidate(_ ended: Endings) {
        self.readings.note(ended)
        for invalidation in ended.invalidations { self.apply(invalidation) }
        self.onInvalidation?(ended)
    }

    private func apply(_ ended: Invalidation) {
        switch ended {
        case .session(let key):
            if let slot = self.byKey[key] { self.remove(slot) }
        case .sessionRecord(let key):
            guard let slot = self.byKey[key] else { break }
            // A stream may hold the entry: it is to read its session again.
            self.slots[Int(slot)]?.doubt()
            self.remove(slot)
        case .lineage(let lineage):
            for slot in self.byLineage[lineage.tag]?.slots ?? [] { self.remove(slot) }
        case .subject(let name):
            for slot in self.bySubject[name]?.slots ?? [] { self.remove(slot) }
        case .record, .document:
            break
        case .all:
            // What streams hold is as old as the entries that are dropped here.
            self.beginTurn()
            for slot in self.slots.indices { self.remove(Int32(slot)) }
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
    ///   - verdict: The provider's verdict on a foreign token; nil for the gateway's own tokens.
    ///   - tokens: The provider's tokens of a session of this version.
    ///   - names: Gives the store's names of a subject; called only when an entry is made.
    func insert(
        token: Secret,
        stored: Stored<Session>,
        reading: Reading,
        readAt: UnixTime,
        verdict: ForeignVerdict? = nil,
        tokens: KnownTokens = .notNeeded,
        names: (String) -> [String]
    ) -> CachedSession {
        let hash = token.bytes.withUnsafeBytes { Self.hash($0) }
        let old = token.bytes.withUnsafeBytes { self.entry(for: $0, hash: hash) }
        if let old, old.version == stored.version {
            old.confirm(readAt: readAt, turn: reading.turn, verdict: verdict)
            old.noteUse(at: stored.usedAt)
            old.isReferenced = true
            return old
        }
        let entry = CachedSession(
            token: token,
            hash: hash,
            key: reading.key,
            stored: stored,
            subjectNames: names(stored.record.subject),
            readAt: readAt,
            turn: reading.turn,
            verdict: verdict,
            tokens: tokens
        )
        if let old {
            entry.touchAt = max(entry.touchAt, old.touchAt)
            self.remove(old.slot)
        }
        if self.capacity > 0 { self.place(entry, now: readAt) }
        return entry
    }

    /// Forgets the entries of foreign tokens.
    func removeForeign() {
        for slot in self.slots.indices where self.slots[slot]?.verdict != nil { self.remove(Int32(slot)) }
    }

    /// Forgets the entry for these bytes.
    func remove(token: Secret) {
        if let entry = token.bytes.withUnsafeBytes({ self.entry(for: $0) }) { self.remove(entry.slot) }
    }

    // MARK: The table

    /// How many bytes at the end of a token are hashed: the gateway's own tokens as a whole, of a JSON Web Token a part of
    /// the signature. Only valid tokens have entries, so a client cannot choose tokens that share a bucket.
    private static let hashedLength = 64

    private static func hash(_ token: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: token.suffix(Self.hashedLength)))
        return hasher.finalize()
    }

    private func place(_ entry: CachedSession, now: UnixTime) {
        if self.freeSlots.isEmpty && self.slots.count == self.capacity { self.evict(now: now) }
        if let free = self.freeSlots.popLast() {
            entry.slot = free
            self.slots[Int(free)] = entry
        } else {
            entry.slot = Int32(self.slots.count)
            self.slots.append(entry)
        }
        let bucket = entry.hash & (self.buckets.count - 1)
        entry.next = self.buckets[bucket]
        self.buckets[bucket] = entry.slot
        self.byKey[entry.key] = entry.slot
        self.byLineage.insert(entry.slot, under: entry.key.lineage.tag)
        for name in entry.subjectNames { self.bySubject.insert(entry.slot, under: name) }
        self.counters.entries += 1
    }

    private func remove(_ slot: Int32) {
        guard let entry = self.slots[Int(slot)] else { return }
        self.unchain(entry)
        self.slots[Int(slot)] = nil
        self.freeSlots.append(slot)
        self.byKey[entry.key] = nil
        self.byLineage.remove(slot, under: entry.key.lineage.tag)
        for name in entry.subjectNames { self.bySubject.remove(slot, under: name) }
        self.counters.entries -= 1
    }

    private func unchain(_ entry: CachedSession) {
        let bucket = entry.hash & (self.buckets.count - 1)
        guard self.buckets[bucket] != entry.slot else {
            self.buckets[bucket] = entry.next
            return
        }
        var slot = self.buckets[bucket]
        while slot >= 0, let before = self.slots[Int(slot)] {
            if before.next == entry.slot {
                before.next = entry.next
                return
            }
            slot = before.next
        }
    }

    /// Frees one slot of a full table: the first in the hand's reach that cannot serve or was not used since the hand
    /// last passed, else the last that the hand reached.
    private func evict(now: UnixTime) {
        var victim = Int32(self.hand)
        for _ in 0..<Self.handReach {
            victim = Int32(self.hand)
            self.hand = (self.hand + 1) % self.slots.count
            guard let entry = self.slots[Int(victim)], entry.mayServe(at: now), entry.isReferenced else { break }
            entry.isReferenced = false
        }
        self.remove(victim)
        self.counters.evictions += 1
    }
}

extension Invalidation {
    /// True when this ends the session of `entry`. `.all` ends none: it only makes known sessions doubtful.
    package func ends(_ entry: CachedSession) -> Bool {
        switch self {
        case .session(let ended): ended == entry.key
        case .lineage(let ended): ended == entry.key.lineage
        case .subject(let name): entry.subjectNames.contains(name)
        case .sessionRecord, .record, .document, .all: false
        }
    }
}
