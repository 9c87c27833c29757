internal import Vocabulary

/// The records of one shard of a memory store. All records of a lineage are in one shard, so that a step over a token,
/// its marker and the session that it creates is atomic under one lock. A value without locking of its own.
struct MemoryRecords {
    struct SessionRecord {
        var stored: Stored<Session>
        /// Updated by `touch`; the idle deadline counts from here.
        var lastUsed: UnixTime

        var deadline: UnixTime {
            let session = self.stored.record
            return min(session.expiresAt, self.lastUsed.advanced(by: session.idleLifetime))
        }
    }

    /// A family with records in this shard, or the note that a family ended.
    struct Family {
        var members: Set<RecordKey> = []
        var bornUntil: UnixTime
        var ended: (until: UnixTime, holdsPlace: Bool)?

        mutating func join(_ key: RecordKey, until expiry: UnixTime) {
            self.members.insert(key)
            self.bornUntil = max(self.bornUntil, expiry)
        }
    }

    /// What expires at a deadline.
    enum Due {
        case session(RecordKey)
        case record(RecordKey)
        case marker(RecordKey)
        case end(Lineage)
    }

    let limits: MemoryLimits
    let subjects: SubjectDirectory
    private(set) var sessions: [RecordKey: SessionRecord] = [:]
    /// Single-use and replaceable records.
    var records: [RecordKey: OpaqueRecord] = [:]
    var markers: [RecordKey: (marker: Marker, until: UnixTime)] = [:]
    private(set) var families: [Lineage: Family] = [:]
    private var deadlines = DeadlineQueue<Due>()
    private var past = PastSessions()
    /// Sessions that have ended by time and were not reported yet.
    private var lapses: [SessionLapse] = []

    init(limits: MemoryLimits, subjects: SubjectDirectory) {
        self.limits = limits
        self.subjects = subjects
    }

    // MARK: Sessions

    /// The live session under `key`; a dead one is removed.
    mutating func session(_ key: RecordKey, at now: UnixTime) -> Stored<Session>? {
        guard let record = self.sessions[key] else { return nil }
        guard self.isLive(record, at: now) else {
            self.remove(dead: key)
            return nil
        }
        return Stored(record: record.stored.record, version: record.stored.version, usedAt: record.lastUsed)
    }

    /// Why there is no session under `key`; nil if nothing is known of one.
    func absence(of key: RecordKey) -> Reason? {
        self.past.reason(of: key) ?? (self.families[key.lineage]?.ended == nil ? nil : .sessionRevoked)
    }

    /// The sessions that have ended by time since this was last called.
    mutating func takeLapses() -> [SessionLapse] {
        guard !self.lapses.isEmpty else { return [] }
        defer { self.lapses = [] }
        return self.lapses
    }

    /// Writes a session under its subject's epoch. If its lineage has ended, nothing is kept.
    mutating func insert(_ new: NewSession, at now: UnixTime) throws(StoreError) {
        guard self.families[new.key.lineage]?.ended == nil else { return }
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
        guard let standing = self.session(key, at: now) else { return .absent }
        guard standing.version == judged else { return .changed }
        var session = session
        session.epoch = standing.record.epoch
        self.sessions[key]?.stored = Stored(record: session, version: RecordVersion(value: self.limits.newVersion()))
        return .done
    }

    mutating func touch(_ key: RecordKey, at now: UnixTime) {
        guard let record = self.sessions[key], self.isLive(record, at: now) else { return }
        self.sessions[key]?.lastUsed = max(record.lastUsed, now)
    }

    /// Removes the session; true when it existed and was alive.
    mutating func end(_ key: RecordKey, at now: UnixTime) -> Bool {
        let wasLive = self.session(key, at: now) != nil
        self.removeSession(key, for: .sessionRevoked)
        return wasLive
    }

    // MARK: Families and subjects

    /// Removes every token and session of the family and remembers that it ended.
    mutating func end(_ lineage: Lineage, at now: UnixTime) {
        var family = self.families[lineage] ?? Family(bornUntil: now)
        for key in family.members {
            self.removeSession(key, for: .sessionRevoked)
            self.removeRecord(key)
        }
        guard family.ended == nil else { return }
        let memory = self.limits.memoryOfEnd(at: now, bornUntil: family.bornUntil)
        family.members = []
        family.ended = memory
        self.families[lineage] = family
        self.schedule(.end(lineage), due: memory.until)
    }

    /// Removes the record if it was written before `epoch` of its subject.
    mutating func remove(_ key: RecordKey, bornBefore epoch: UInt64) {
        if let record = self.sessions[key], record.stored.record.epoch < epoch {
            self.removeSession(key, for: .sessionRevoked)
        }
        if let owner = self.records[key]?.terms.owner, owner.epoch < epoch { self.removeRecord(key) }
    }

    // MARK: Expiry

    /// Removes what has expired, looking at no more than `limit` deadlines; false when nothing more is due.
    @discardableResult
    mutating func collect(at now: UnixTime, limit: Int) -> Bool {
        var left = limit
        while left > 0, let due = self.deadlines.popDue(at: now) {
            left -= 1
            switch due {
            case .session(let key):
                guard let deadline = self.sessions[key]?.deadline else { continue }
                if deadline <= now {
                    self.remove(dead: key)
                } else {
                    // It was used after this deadline was set.
                    self.deadlines.push(due, due: deadline)
                }
            case .record(let key):
                // A record that replaced it has its own entry in the queue.
                if let record = self.records[key], record.deadline <= now { self.removeRecord(key) }
            case .marker(let key):
                if self.markers.removeValue(forKey: key) != nil { self.limits.markers.giveBack() }
            case .end(let lineage):
                guard let ended = self.families[lineage]?.ended else { continue }
                self.families[lineage] = nil
                if ended.holdsPlace { self.limits.ends.giveBack() }
            }
        }
        return left == 0
    }

    /// Adds a deadline. Deadlines of records that were removed early are dropped when they outnumber the others.
    mutating func schedule(_ due: Due, due time: UnixTime) {
        self.deadlines.push(due, due: time)
        let records = self.sessions.count + self.records.count + self.markers.count + self.families.count
        guard self.deadlines.count > 2 * records + 64 else { return }
        let (sessions, others, markers, families) = (self.sessions, self.records, self.markers, self.families)
        self.deadlines.compact { due in
            switch due {
            case .session(let key): sessions[key] != nil
            case .record(let key): others[key] != nil
            case .marker(let key): markers[key] != nil
            case .end(let lineage): families[lineage]?.ended != nil
            }
        }
    }

    // MARK: Steps

    /// A session is dead when it expired, idled out, or was written before its subject's current epoch. (An ended
    /// family has no records.)
    private func isLive(_ record: SessionRecord, at now: UnixTime) -> Bool {
        let session = record.stored.record
        return now < record.deadline && self.subjects.epoch(of: session.subject) == session.epoch
    }

    /// Writes a session whose place has been taken and whose family has not ended.
    mutating func write(_ new: NewSession, at now: UnixTime) {
        var session = new.session
        session.epoch = self.subjects.join(session.subject, new.key, until: session.expiresAt)
        let record = SessionRecord(
            stored: Stored(record: session, version: RecordVersion(value: self.limits.newVersion())),
            lastUsed: now
        )
        self.sessions[new.key] = record
        self.joinFamily(new.key, until: session.expiresAt)
        self.schedule(.session(new.key), due: record.deadline)
    }

    /// Removes a session that has ended by time, or with its subject's sessions.
    private mutating func remove(dead key: RecordKey) {
        guard let record = self.sessions[key] else { return }
        let session = record.stored.record
        guard self.subjects.epoch(of: session.subject) == session.epoch else {
            return self.removeSession(key, for: .sessionRevoked)
        }
        let reason = session.lapseReason(idleEnd: record.lastUsed.advanced(by: session.idleLifetime))
        self.lapses.append(SessionLapse(key: key, session: session, reason: reason))
        self.removeSession(key, for: reason)
    }

    /// - Parameter reason: Why it ends; nil: another session takes its place.
    private mutating func removeSession(_ key: RecordKey, for reason: Reason?) {
        guard let record = self.sessions.removeValue(forKey: key) else { return }
        if let reason { self.past.note(key, reason) }
        self.limits.sessions.giveBack()
        self.subjects.leave(record.stored.record.subject, key)
        self.leaveFamily(key)
    }

    mutating func joinFamily(_ key: RecordKey, until expiry: UnixTime) {
        self.families[key.lineage, default: Family(bornUntil: expiry)].join(key, until: expiry)
    }

    mutating func leaveFamily(_ key: RecordKey) {
        self.families[key.lineage]?.members.remove(key)
        if let family = self.families[key.lineage], family.members.isEmpty, family.ended == nil {
            self.families[key.lineage] = nil
        }
    }
}
