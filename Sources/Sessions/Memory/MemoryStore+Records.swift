package import NIOCore
import Synchronization
import Vocabulary

extension MemoryStore {
    // MARK: Single-use records

    package func create<Record: SingleUseRecord>(
        _ record: Record,
        key: RecordKey,
        on loop: any EventLoop
    ) -> EventLoopFuture<Void> {
        self.answer(on: loop) {
            let draft = try self.draft(record, key: key)
            try self.write(in: key.lineage) { (records, _) throws(StoreError) in try records.insert(draft) }
        }
    }

    package func singleUse<Record: SingleUseRecord>(
        _ key: RecordKey,
        as kind: Record.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<SingleUseLookup<Record>> {
        precondition(key.kind == Record.kind, "a record needs a key of its kind")
        let now = self.clock.now()
        let (marker, found) = self.shard(of: key.lineage).records.withLock {
            ($0.marker(key, at: now), $0.record(key, at: now))
        }
        return self.answer(on: loop) {
            if let marker { return .spent(marker) }
            guard let found else { return .absent }
            guard let record = try? Record.decoded(found.bytes) else { throw StoreError.unavailable }
            return .live(Stored(record: record, version: found.version))
        }
    }

    package func consume(
        _ key: RecordKey,
        judged: RecordVersion,
        marker: Marker,
        creating: [NewRecord],
        on loop: any EventLoop
    ) -> EventLoopFuture<Consumption> {
        self.answer(on: loop) {
            let offspring = try self.offspring(creating, of: key, attempt: marker.attempt)
            return try self.write(in: key.lineage) { (records, now) throws(StoreError) in
                try records.consume(key, judged: judged, marker: marker, creating: offspring, at: now)
            }
        }
    }

    package func confirm(_ marker: Marker, of key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void> {
        // This store loses no markers, so a look-up confirms the marker.
        let now = self.clock.now()
        return self.answer(on: loop) {
            guard self.shard(of: key.lineage).records.withLock({ $0.marker(key, at: now) }) == marker else {
                throw StoreError.unavailable
            }
        }
    }

    // MARK: Replaceable records

    package func eventualReplaceable<Record: ReplaceableRecord>(
        _ key: RecordKey,
        as kind: Record.Type,
        on loop: any EventLoop
    ) -> Eventual<Stored<Record>?> {
        precondition(key.kind == Record.kind, "a record needs a key of its kind")
        let now = self.clock.now()
        let found = self.shard(of: key.lineage).records.withLock { $0.record(key, at: now) }
        guard let found else { return .success(nil) }
        guard let record = try? ReplaceableEnvelope(found.bytes).record(as: kind) else {
            return .failure(StoreError.unavailable)
        }
        return .success(Stored(record: record, version: found.version))
    }

    package func eventualReplace<Record: ReplaceableRecord>(
        _ key: RecordKey,
        judged: RecordVersion?,
        with record: Record,
        attempt: AttemptID,
        on loop: any EventLoop
    ) -> Eventual<Replacement> {
        .now(
            Result {
                let draft = try self.draft(record, key: key, attempt: attempt)
                return try self.write(in: key.lineage) { (records, now) throws(StoreError) in
                    try records.replace(judged: judged, with: draft, at: now)
                }
            }
        )
    }

    package func end(replaceable key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.shard(of: key.lineage).records.withLock { $0.removeRecord(key) }
        return self.caches.invalidate(.record(key), on: loop)
    }

    // MARK: Ids

    package var onceMemory: OnceMemory { OnceMemory(epoch: self.epoch, since: self.begunAt) }

    package func eventualOnce(_ id: OnceID, for lifetime: Duration, on loop: any EventLoop) -> Eventual<Bool> {
        let now = self.clock.now()
        let end = now.advanced(by: lifetime)
        return .now(
            Result {
                do {
                    return try self.onces.enter(id, until: end, at: now)
                } catch StoreError.full {
                    self.collect()
                    return try self.onces.enter(id, until: end, at: now)
                }
            }
        )
    }

    // MARK: Steps

    private func draft(_ record: some SingleUseRecord, key: RecordKey) throws(RecordTooLarge) -> OpaqueDraft {
        try self.draft(record, key: key, bytes: record.encoded(), attempt: nil)
    }

    private func draft(
        _ record: some ReplaceableRecord,
        key: RecordKey,
        attempt: AttemptID
    ) throws(RecordTooLarge) -> OpaqueDraft {
        try self.draft(record, key: key, bytes: record.encoded(attempt: attempt), attempt: attempt)
    }

    private func draft<Record: StoredRecord>(
        _ record: Record,
        key: RecordKey,
        bytes: [UInt8],
        attempt: AttemptID?
    ) -> OpaqueDraft {
        precondition(key.kind == Record.kind, "a record needs a key of its kind")
        return OpaqueDraft(
            key: key,
            bytes: bytes,
            terms: record.terms,
            deadline: record.end(writtenAt: self.clock.now()),
            attempt: attempt
        )
    }

    private func offspring(
        _ creating: [NewRecord],
        of key: RecordKey,
        attempt: AttemptID
    ) throws(RecordTooLarge) -> Offspring {
        var offspring = Offspring()
        for new in creating {
            precondition(new.key.lineage == key.lineage, "a created record must be of the family")
            switch new {
            case .session(let session): offspring.sessions.append(session)
            case .singleUse(let key, let record): offspring.records.append(try self.draft(record, key: key))
            case .replaceable(let key, let record):
                offspring.records.append(try self.draft(record, key: key, attempt: attempt))
            }
        }
        return offspring
    }
}
