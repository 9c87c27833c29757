import Cryptography
import Vocabulary

/// The records of one shard of a memory store. A lineage is in one shard, so a token, its marker and the session that
/// it creates change in one step. The caller locks the shard.
struct MemoryRecords {
    enum Content {
        case session(Stored<Session>)
        /// A single-use or replaceable record.
        indirect case opaque(OpaqueRecord)

        var session: Stored<Session>? { if case .session(let stored) = self { stored } else { nil } }
        var opaque: OpaqueRecord? { if case .opaque(let record) = self { record } else { nil } }

        /// The subject and the epoch with which the record ends; `nil` if it has no subject.
        var owner: RecordOwner? {
            switch self {
            case .session(let stored): RecordOwner(subject: stored.record.subject, epoch: stored.record.epoch)
            case .opaque(let record): record.terms.owner
            }
        }

        /// The time when the record expires. Uses do not change it.
        var expiresAt: UnixTime {
            switch self {
            case .session(let stored): stored.record.expiresAt
            case .opaque(let record): record.deadline
            }
        }

        /// The time when the record ends if it is not used again: its expiry or idle end.
        var deadline: UnixTime {
            switch self {
            case .session(let stored): min(stored.record.expiresAt, stored.idleEnd)
            case .opaque(let record): record.deadline
            }
        }
    }

    private struct Kept {
        let key: RecordKey
        var content: Content
        /// The time of the record's entry in the queue. Entries with other times are outdated.
        var due: UnixTime
    }

    /// A marker or an ended lineage. Both are removed at a deadline.
    enum Due {
        case marker(RecordKey)
        case end(Lineage)
    }

    let limits: MemoryLimits
    private let subjects: SubjectDirectory
    /// The records, found by the hashes of key, lineage and subject, and of the email address if the session is listed.
    private var kept = PlaceTable<Kept>()
    private var deadlines = DeadlineQueue<Int32>()
    var markers: [RecordKey: (marker: Marker, until: UnixTime)] = [:]
    /// The ended lineages.
    private var ends: [Lineage: (until: UnixTime, holdsPlace: Bool)] = [:]
    private var otherDeadlines = DeadlineQueue<Due>()
    private var past = RecentValues<Digest256, Reason>(capacity: 2048)
    /// The sessions that have expired or idled out, until they are reported.
    private var lapses: [SessionLapse] = []

    init(limits: MemoryLimits, subjects: SubjectDirectory) {
        self.limits = limits
        self.subjects = subjects
    }

    // MARK: Sessions

    /// Returns the live session under `key`; otherwise `nil`. Removes a session that is no longer live.
    mutating func session(_ key: RecordKey, at now: UnixTime) -> Stored<Session>? {
        guard let place = self.place(of: key), let stored = self.kept[place]?.content.session else { return nil }
        guard self.isLive(.session(stored), at: now) else {
            self.remove(deadIn: place)
            return nil
        }
        return stored
    }

    /// Returns the reason why there is no session under `key`; `nil` if unknown.
    func absence(of key: RecordKey) -> Reason? {
        self.past[key.digest] ?? (self.hasEnded(key.lineage) ? .sessionRevoked : nil)
    }

    /// Returns the sessions that have expired or idled out since the last call.
    mutating func takeLapses() -> [SessionLapse] {
        guard !self.lapses.isEmpty else { return [] }
        defer { self.lapses = [] }
        return self.lapses
    }

    /// Writes a session under its subject's epoch. Writes nothing if the lineage has ended.
    mutating func insert(_ new: NewSession, at now: UnixTime) throws(StoreError) {
        guard !self.hasEnded(new.key.lineage) else { return }
        self.removeSession(new.key, for: nil)
        guard self.limits.sessions.take() else { throw .full }
        self.write(new, at: now)
    }

    /// The atomic step of `SessionStore.replace`.
    mutating func replace(
        _ key: RecordKey,
        judged: RecordVersion,
        with session: Session,
        at now: UnixTime
    ) -> Replacement {
        guard let standing = self.session(key, at: now), let place = self.place(of: key) else { return .absent }
        guard standing.version == judged else { return .changed }
        var session = session
        session.epoch = standing.record.epoch
        let stored = Stored(record: session, version: self.newVersion(), usedAt: standing.usedAt)
        if session.address == standing.record.address {
            self.kept.change(place) { $0.content = .session(stored) }
        } else {
            // The new record is added first, so that the subject always has a record and its epoch is not forgotten.
            self.keep(.session(stored), under: key)
            _ = self.forget(place)
        }
        return .done
    }

    func touch(_ key: RecordKey, at now: UnixTime) {
        guard let place = self.place(of: key), let content = self.kept[place]?.content,
            self.isLive(content, at: now)
        else { return }
        content.session?.noteUse(at: now)
    }

    /// Removes the session. Returns true if it was live.
    mutating func end(_ key: RecordKey, at now: UnixTime) -> Bool {
        let wasLive = self.session(key, at: now) != nil
        self.removeSession(key, for: .sessionRevoked)
        return wasLive
    }

    // MARK: Lineages and subjects

    func hasEnded(_ lineage: Lineage) -> Bool { self.ends[lineage] != nil }

    /// Removes all records of the lineage, and remembers that the lineage has ended.
    mutating func end(_ lineage: Lineage, at now: UnixTime) {
        var bornUntil = now
        while let place = self.kept.first(lineage.hashValue, where: { $0.key.lineage == lineage }) {
            if let removed = self.remove(place, for: .sessionRevoked) { bornUntil = max(bornUntil, removed.expiresAt) }
        }
        guard !self.hasEnded(lineage) else { return }
        let memory = self.limits.memoryOfEnd(at: now, bornUntil: bornUntil)
        self.ends[lineage] = memory
        self.schedule(.end(lineage), due: memory.until)
    }

    /// Removes one record of the subject with an epoch before `epoch`, and returns its expiry; `nil` if there is none.
    mutating func removeOne(of subject: String, bornBefore epoch: UInt64) -> UnixTime? {
        let place = self.kept.first(subject.hashValue) { kept in
            guard let owner = kept.content.owner else { return false }
            return owner.epoch < epoch && owner.subject == subject
        }
        return place.flatMap { self.remove($0, for: .sessionRevoked)?.expiresAt }
    }

    /// Returns up to `limit` listed sessions with this hash, and when they began. The latest are preferred, but reuse
    /// of places changes their order.
    func sessions(
        _ hash: Int,
        limit: Int,
        where isWanted: (Session) -> Bool
    ) -> [(key: RecordKey, began: UnixTime)] {
        var found: [(key: RecordKey, began: UnixTime)] = []
        // The latest sessions come first, except those in reused places.
        self.kept.forEach(hash) { _, kept in
            if let session = kept.content.session?.record, session.isListed, isWanted(session) {
                found.append((kept.key, session.issuedAt))
            }
            return found.count < limit
        }
        return found
    }

    /// Returns up to `limit` listed sessions in places below `end`, in descending order. Looks at up to `looks` places.
    /// Also returns the place at which it stopped; 0 if all places were seen.
    func sessions(below end: Int64, limit: Int, looks: Int32) -> (keys: [RecordKey], end: Int64) {
        var keys: [RecordKey] = []
        let first = Int32(clamping: min(end, Int64(self.kept.end)))
        var place = first
        while place > 0, first - place < looks, keys.count < limit {
            place -= 1
            guard let kept = self.kept[place], kept.content.session?.record.isListed == true else { continue }
            keys.append(kept.key)
        }
        return (keys, Int64(place))
    }

    /// Returns the key of the listed session in a random place; `nil` if the place has none.
    func anySession() -> RecordKey? {
        guard self.kept.end > 0, let kept = self.kept[Int32.random(in: 0..<self.kept.end)],
            kept.content.session?.record.isListed == true
        else { return nil }
        return kept.key
    }

    /// The number of places, empty or not.
    var places: Int { Int(self.kept.end) }

    // MARK: Expiry

    /// Removes expired records. Looks at up to `limit` deadlines. Returns true if more may be due.
    @discardableResult
    mutating func collect(at now: UnixTime, limit: Int) -> Bool {
        var left = limit
        while left > 0, let (place, due) = self.deadlines.popFirst(dueAt: now) {
            left -= 1
            guard let kept = self.kept[place], kept.due == due else { continue }
            let deadline = kept.content.deadline
            if deadline <= now {
                self.remove(deadIn: place)
            } else {
                // The record was used after this deadline was queued.
                self.kept.change(place) { $0.due = deadline }
                self.deadlines.push(place, due: deadline)
            }
        }
        while left > 0, let due = self.otherDeadlines.popDue(at: now) {
            left -= 1
            switch due {
            case .marker(let key):
                if self.markers.removeValue(forKey: key) != nil { self.limits.markers.giveBack() }
            case .end(let lineage):
                if let end = self.ends.removeValue(forKey: lineage), end.holdsPlace { self.limits.ends.giveBack() }
            }
        }
        return left == 0
    }

    /// Queues the deadline of a marker or an ended lineage.
    mutating func schedule(_ due: Due, due time: UnixTime) { self.otherDeadlines.push(due, due: time) }

    // MARK: Steps

    func newVersion() -> RecordVersion { RecordVersion(value: self.limits.newVersion()) }

    /// Returns the single-use or replaceable record under `key`, whether live or not; `nil` if there is none.
    func opaque(_ key: RecordKey) -> OpaqueRecord? { self.place(of: key).flatMap { self.kept[$0]?.content.opaque } }

    /// Reports whether the record has not expired or idled out, and has its subject's current epoch. Records of ended
    /// lineages are removed at once, so they are not checked here.
    func isLive(_ content: Content, at now: UnixTime) -> Bool {
        now < content.deadline && self.isCurrent(content.owner)
    }

    func isCurrent(_ owner: RecordOwner?) -> Bool {
        guard let owner else { return true }
        return self.subjects.epoch(of: owner.subject) == owner.epoch
    }

    private func place(of key: RecordKey) -> Int32? { self.kept.first(key.hashValue) { $0.key == key } }

    /// Writes a session. The caller has taken its place in the limits, and has checked that its lineage has not ended.
    mutating func write(_ new: NewSession, at now: UnixTime) {
        var session = new.session
        session.epoch = self.subjects.epoch(of: session.subject)
        self.keep(.session(Stored(record: session, version: self.newVersion(), usedAt: now)), under: new.key)
    }

    mutating func keep(_ content: Content, under key: RecordKey) {
        let deadline = content.deadline
        var hashes = [key.hashValue, key.lineage.hashValue]
        if let owner = content.owner {
            self.subjects.join(owner)
            hashes.append(owner.subject.hashValue)
        }
        if let session = content.session?.record, session.isListed, let address = session.address {
            hashes.append(address.hashValue)
        }
        let place = self.kept.add(Kept(key: key, content: content, due: deadline), hashes: hashes)
        self.deadlines.push(place, due: deadline)
        // Deadlines of removed records stay in the queue. They are dropped when they outnumber the others.
        if self.deadlines.count > 2 * self.kept.count + 64 {
            let kept = self.kept
            self.deadlines.compact { place, due in kept[place]?.due == due }
        }
    }

    /// Removes the record under `key`, but keeps its place in the limits.
    @discardableResult
    mutating func forget(_ key: RecordKey) -> Content? { self.place(of: key).flatMap { self.forget($0) } }

    private mutating func forget(_ place: Int32) -> Content? {
        guard let kept = self.kept.remove(place) else { return nil }
        if let owner = kept.content.owner { self.subjects.leave(owner) }
        return kept.content
    }

    /// Removes a record, and frees its place in the limits.
    ///
    /// - Parameter reason: The reason why a session ends; `nil` if a new session replaces it.
    @discardableResult
    private mutating func remove(_ place: Int32, for reason: Reason?) -> Content? {
        guard let kept = self.kept[place], let content = self.forget(place) else { return nil }
        switch content {
        case .session:
            if let reason { self.past.insert(reason, for: kept.key.digest) }
            self.limits.sessions.giveBack()
        case .opaque(let record):
            (record.attempt == nil ? self.limits.markers : self.limits.replaceables).giveBack()
        }
        return content
    }

    /// Removes a record that is no longer live.
    private mutating func remove(deadIn place: Int32) {
        guard let kept = self.kept[place] else { return }
        guard let stored = kept.content.session, self.isCurrent(kept.content.owner) else {
            self.remove(place, for: .sessionRevoked)
            return
        }
        let reason = stored.record.lapseReason(idleEnd: stored.idleEnd)
        self.lapses.append(SessionLapse(key: kept.key, session: stored.record, reason: reason))
        self.remove(place, for: reason)
    }

    /// Removes a session. `reason` is `nil` if a new session replaces it.
    mutating func removeSession(_ key: RecordKey, for reason: Reason?) {
        if let place = self.place(of: key), self.kept[place]?.content.session != nil { self.remove(place, for: reason) }
    }

    /// Removes a single-use or replaceable record, and frees its place in the limits.
    mutating func removeRecord(_ key: RecordKey) {
        if let place = self.place(of: key), self.kept[place]?.content.opaque != nil { self.remove(place, for: nil) }
    }
}

extension Stored<Session> {
    /// The time when the idle timeout ends the session.
    fileprivate var idleEnd: UnixTime { (self.usedAt ?? self.record.issuedAt).advanced(by: self.record.idleLifetime) }
}
