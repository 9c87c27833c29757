import Cryptography
import Vocabulary

/// The records of one shard of a memory store. All records of a lineage are in one shard, so that a step over a token,
/// its marker and the session that it creates is atomic under one lock. The caller does the locking.
struct MemoryRecords {
    enum Content {
        case session(Stored<Session>)
        /// A single-use or replaceable record.
        indirect case opaque(OpaqueRecord)

        var session: Stored<Session>? { if case .session(let stored) = self { stored } else { nil } }
        var opaque: OpaqueRecord? { if case .opaque(let record) = self { record } else { nil } }

        /// The subject and the epoch of the record. The record ends with the subject's sessions.
        var owner: RecordOwner? {
            switch self {
            case .session(let stored): RecordOwner(subject: stored.record.subject, epoch: stored.record.epoch)
            case .opaque(let record): record.terms.owner
            }
        }

        /// The time when the record expires, however often it is used.
        var expiresAt: UnixTime {
            switch self {
            case .session(let stored): stored.record.expiresAt
            case .opaque(let record): record.deadline
            }
        }

        /// The time when the record ends if it is not used again.
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
        /// The record's deadline in the queue. Entries with other times belong to this place's earlier records.
        var due: UnixTime
    }

    /// A marker or an ended lineage that is forgotten at a deadline.
    enum Due {
        case marker(RecordKey)
        case end(Lineage)
    }

    let limits: MemoryLimits
    private let subjects: SubjectDirectory
    /// The records, found by key, lineage and owner. Listed sessions are also found by email address.
    private var kept = PlaceTable<Kept>()
    private var deadlines = DeadlineQueue<Int32>()
    var markers: [RecordKey: (marker: Marker, until: UnixTime)] = [:]
    /// The lineages that have ended.
    private var ends: [Lineage: (until: UnixTime, holdsPlace: Bool)] = [:]
    private var otherDeadlines = DeadlineQueue<Due>()
    private var past = RecentValues<Digest256, Reason>(capacity: 2048)
    /// The sessions that have ended by time and have not been reported yet.
    private var lapses: [SessionLapse] = []

    init(limits: MemoryLimits, subjects: SubjectDirectory) {
        self.limits = limits
        self.subjects = subjects
    }

    // MARK: Sessions

    /// Returns the live session under `key`. A session that has ended is removed.
    mutating func session(_ key: RecordKey, at now: UnixTime) -> Stored<Session>? {
        guard let place = self.place(of: key), let stored = self.kept[place]?.content.session else { return nil }
        guard self.isLive(.session(stored), at: now) else {
            self.remove(deadIn: place)
            return nil
        }
        return stored
    }

    /// Returns the reason why there is no session under `key`; `nil` if the reason is not known.
    func absence(of key: RecordKey) -> Reason? {
        self.past[key.digest] ?? (self.hasEnded(key.lineage) ? .sessionRevoked : nil)
    }

    /// Returns the sessions that have ended by time since the last call.
    mutating func takeLapses() -> [SessionLapse] {
        guard !self.lapses.isEmpty else { return [] }
        defer { self.lapses = [] }
        return self.lapses
    }

    /// Writes a session under its subject's epoch. If its lineage has ended, nothing is written.
    mutating func insert(_ new: NewSession, at now: UnixTime) throws(StoreError) {
        guard !self.hasEnded(new.key.lineage) else { return }
        self.removeSession(new.key, for: nil)
        guard self.limits.sessions.take() else { throw .full }
        self.write(new, at: now)
    }

    /// Performs the atomic step of `SessionStore.replace`.
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
            // Added before the old record is removed, so that the subject is never without records.
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

    /// Removes the session and returns true if it was live.
    mutating func end(_ key: RecordKey, at now: UnixTime) -> Bool {
        let wasLive = self.session(key, at: now) != nil
        self.removeSession(key, for: .sessionRevoked)
        return wasLive
    }

    // MARK: Lineages and subjects

    func hasEnded(_ lineage: Lineage) -> Bool { self.ends[lineage] != nil }

    /// Removes every token and session of the lineage and remembers that the lineage has ended.
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

    /// Removes one record of the subject from an epoch before `epoch`, and returns the time when it would have expired.
    /// `nil` if there is no such record.
    mutating func removeOne(of subject: String, bornBefore epoch: UInt64) -> UnixTime? {
        let place = self.kept.first(subject.hashValue) { kept in
            guard let owner = kept.content.owner else { return false }
            return owner.epoch < epoch && owner.subject == subject
        }
        return place.flatMap { self.remove($0, for: .sessionRevoked)?.expiresAt }
    }

    /// Returns the keys of the wanted sessions that `hash` finds, and when each began. If there are more than `limit`,
    /// only `limit` are returned: the latest, unless places were reused.
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

    /// Returns at most `limit` sessions from the places below `end`, in descending order, looking at no more than
    /// `looks` places. Also returns the place where it stopped; 0 if no places are left.
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

    /// Returns the key of the session in a place chosen at random; `nil` if the place has no session.
    func anySession() -> RecordKey? {
        guard self.kept.end > 0, let kept = self.kept[Int32.random(in: 0..<self.kept.end)],
            kept.content.session?.record.isListed == true
        else { return nil }
        return kept.key
    }

    /// The number of places that have ever held a record.
    var places: Int { Int(self.kept.end) }

    // MARK: Expiry

    /// Removes expired records, looking at no more than `limit` deadlines. Returns false if nothing more is due.
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
                // The record was used after this deadline was set.
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

    /// Adds the deadline of a marker or an ended lineage.
    mutating func schedule(_ due: Due, due time: UnixTime) { self.otherDeadlines.push(due, due: time) }

    // MARK: Steps

    func newVersion() -> RecordVersion { RecordVersion(value: self.limits.newVersion()) }

    /// Returns the single-use or replaceable record under `key`.
    func opaque(_ key: RecordKey) -> OpaqueRecord? { self.place(of: key).flatMap { self.kept[$0]?.content.opaque } }

    /// Reports whether the record has neither expired nor idled out, and was written under its subject's current epoch.
    /// An ended lineage has no records.
    func isLive(_ content: Content, at now: UnixTime) -> Bool {
        now < content.deadline && self.isCurrent(content.owner)
    }

    func isCurrent(_ owner: RecordOwner?) -> Bool {
        guard let owner else { return true }
        return self.subjects.epoch(of: owner.subject) == owner.epoch
    }

    private func place(of key: RecordKey) -> Int32? { self.kept.first(key.hashValue) { $0.key == key } }

    /// Writes a session. The caller has taken its place in the limits, and its lineage has not ended.
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
        // Deadlines of records that were removed early are dropped if they outnumber the others.
        if self.deadlines.count > 2 * self.kept.count + 64 {
            let kept = self.kept
            self.deadlines.compact { place, due in kept[place]?.due == due }
        }
    }

    /// Removes the record under `key` without giving back its place in the limits.
    @discardableResult
    mutating func forget(_ key: RecordKey) -> Content? { self.place(of: key).flatMap { self.forget($0) } }

    private mutating func forget(_ place: Int32) -> Content? {
        guard let kept = self.kept.remove(place) else { return nil }
        if let owner = kept.content.owner { self.subjects.leave(owner) }
        return kept.content
    }

    /// Removes a record and gives back its place in the limits.
    ///
    /// - Parameter reason: The reason why a session ends; `nil` if another session replaces it.
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

    /// Removes a record that has ended by time, or with its subject's sessions.
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

    /// Removes a session that ends for `reason`. The reason is `nil` if another session replaces it.
    mutating func removeSession(_ key: RecordKey, for reason: Reason?) {
        if let place = self.place(of: key), self.kept[place]?.content.session != nil { self.remove(place, for: reason) }
    }

    /// Removes a single-use or replaceable record and gives back its place in the limits.
    mutating func removeRecord(_ key: RecordKey) {
        if let place = self.place(of: key), self.kept[place]?.content.opaque != nil { self.remove(place, for: nil) }
    }
}

extension Stored<Session> {
    /// The time when the session ends if it is not used again.
    fileprivate var idleEnd: UnixTime { (self.usedAt ?? self.record.issuedAt).advanced(by: self.record.idleLifetime) }
}
