import Vocabulary

/// A single-use or replaceable record, whose bytes the store does not interpret.
struct OpaqueRecord {
    let bytes: [UInt8]
    let terms: RecordTerms
    let deadline: UnixTime
    let version: RecordVersion
    /// The attempt that wrote a replaceable record; `nil` for a single-use record.
    let attempt: AttemptID?
}

/// An encoded record that is not stored yet.
struct OpaqueDraft {
    let key: RecordKey
    let bytes: [UInt8]
    let terms: RecordTerms
    let deadline: UnixTime
    let attempt: AttemptID?
}

/// The records that a use of a single-use record creates.
struct Offspring {
    var sessions: [NewSession] = []
    var records: [OpaqueDraft] = []
}

extension MemoryRecords {
    // MARK: Single-use records

    /// Stores a record, unless its lineage or owner has ended.
    mutating func insert(_ draft: OpaqueDraft) throws(StoreError) {
        guard self.mayLive(draft) else { return }
        self.removeRecord(draft.key)
        guard self.limits.markers.take() else { throw .full }
        self.write(draft)
    }

    func marker(_ key: RecordKey, at now: UnixTime) -> Marker? {
        guard let standing = self.markers[key], now < standing.until else { return nil }
        return standing.marker
    }

    func record(_ key: RecordKey, at now: UnixTime) -> OpaqueRecord? {
        guard let record = self.opaque(key), self.isLive(.opaque(record), at: now) else { return nil }
        return record
    }

    /// The atomic step of `SingleUseStore.consume`.
    mutating func consume(
        _ key: RecordKey,
        judged: RecordVersion,
        marker: Marker,
        creating: Offspring,
        at now: UnixTime
    ) throws(StoreError) -> Consumption {
        if let standing = self.marker(key, at: now) {
            // An equal marker is from the same attempt, whose answer was lost.
            return standing == marker ? .done : .spent(standing)
        }
        guard let record = self.record(key, at: now), record.version == judged else { return .changed }
        if !creating.sessions.isEmpty || !creating.records.isEmpty {
            if let parent = record.terms.parent, self.session(parent, at: now) == nil { return .changed }
            try self.takePlaces(for: creating)
            for new in creating.sessions {
                self.removeSession(new.key, for: nil)
                self.write(new, at: now)
            }
            for draft in creating.records {
                self.removeRecord(draft.key)
                self.write(draft)
            }
        }
        // The marker takes over the record's place in the limits.
        self.forget(key)
        let until = now.advanced(by: SingleUse.markerLife)
        self.markers[key] = (marker, until)
        self.schedule(.marker(key), due: until)
        return .done
    }

    /// Takes places for all of the records, or for none.
    private func takePlaces(for creating: Offspring) throws(StoreError) {
        let singleUses = creating.records.count { $0.attempt == nil }
        let needs = [
            (self.limits.sessions, creating.sessions.count),
            (self.limits.markers, singleUses),
            (self.limits.replaceables, creating.records.count - singleUses),
        ]
        for (index, (places, count)) in needs.enumerated() where !places.take(count) {
            for (taken, count) in needs[..<index] { taken.giveBack(count) }
            throw .full
        }
    }

    // MARK: Replaceable records

    /// The atomic step of `ReplaceableStore.replace`.
    mutating func replace(
        judged: RecordVersion?,
        with draft: OpaqueDraft,
        at now: UnixTime
    ) throws(StoreError) -> Replacement {
        let standing = self.record(draft.key, at: now)
        // A repeated call of the attempt that wrote the record.
        if let standing, standing.attempt == draft.attempt { return .done }
        guard self.mayLive(draft) else { return .absent }
        if let judged {
            guard let standing else { return .absent }
            guard standing.version == judged else { return .changed }
        } else if standing != nil {
            return .changed
        }
        // The new record takes over the old record's place in the limits.
        if self.forget(draft.key) == nil {
            guard self.limits.replaceables.take() else { throw .full }
        }
        self.write(draft)
        return .done
    }

    // MARK: Steps

    /// Reports whether neither the lineage nor the owner of the record has ended.
    private func mayLive(_ draft: OpaqueDraft) -> Bool {
        !self.hasEnded(draft.key.lineage) && self.isCurrent(draft.terms.owner)
    }

    /// Writes a record. The caller has taken its place in the limits, and has checked that its lineage has not ended.
    private mutating func write(_ draft: OpaqueDraft) {
        let record = OpaqueRecord(
            bytes: draft.bytes,
            terms: draft.terms,
            deadline: draft.deadline,
            version: self.newVersion(),
            attempt: draft.attempt
        )
        self.keep(.opaque(record), under: draft.key)
    }
}
