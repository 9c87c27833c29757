package import NIOCore
package import Sessions
import Vocabulary

extension RedisStore {
    package func eventualReplaceable<Record: ReplaceableRecord>(
        _ key: RecordKey,
        as kind: Record.Type,
        on loop: any EventLoop
    ) -> Eventual<Stored<Record>?> {
        precondition(key.kind == Record.kind, "a record needs a key of its kind")
        let keys = [Keyspace.record(key), Keyspace.lineage(key.lineage)]
        let found: EventLoopFuture<Stored<Record>?> = self.client.ask(RedisCommand("MGET", keys), on: loop) { reply in
            let values = try Values(reply, count: keys.count)
            guard let candidate = try self.candidate(values, key: key, as: kind) else {
                let doubtful = values.doubtful(keys)
                if doubtful.isEmpty { return .success(nil) }
                return .later(self.verify(absent: doubtful, on: loop).map { nil })
            }
            guard let owner = candidate.record.terms.owner else { return .success(candidate) }
            return self.eventualEpoch(of: owner.subject, on: loop).map { owner.epoch >= $0 ? candidate : nil }
        }
        return .later(found)
    }

    package func eventualReplace<Record: ReplaceableRecord>(
        _ key: RecordKey,
        judged: RecordVersion?,
        with record: Record,
        attempt: AttemptID,
        on loop: any EventLoop
    ) -> Eventual<Replacement> {
        let parts: RecordParts
        do { parts = try self.parts(of: record, key: key, attempt: attempt) } catch { return .failure(error) }
        let kept = self.judged.value(for: key).flatMap { $0.version == judged ? $0 : nil }
        let swap = Swap(
            places: [parts.key],
            // An unknown version is compared as bytes that no record has, so that the script returns the present value.
            judged: judged == nil ? [] : kept?.value ?? [0],
            attempt: attempt,
            isConfirmed: Record.isConfirmed,
            refusal: .success(.quarantined),
            writer: { value, places throws(StoreError) in
                try self.envelope(value, at: places[0], isBoundToReign: Record.isBoundToReign).attempt
            }
        )
        // This attempt wrote the judged record, so the call is a repetition: the write is only confirmed.
        if let kept, kept.attempt == attempt { return .later(self.confirm(swap, on: loop)) }
        let call = ScriptCall(
            Record.isConfirmed ? Scripts.replace : Scripts.replaceUnconfirmed,
            keys: [parts.key, Keyspace.lineage(key.lineage)],
            arguments: [
                swap.judged, parts.bytes, Self.digits(parts.life), Self.digits(parts.life + Self.margin),
                Self.reign(of: record),
            ]
        )
        return self.isAlive(key, record.terms, on: loop).flatMap { isAlive in
            isAlive ? .later(self.swap(swap, by: call, on: loop)) : .success(.absent)
        }
    }

    package func end(replaceable key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void> {
        let ended = self.ending(.record(key), on: loop) { .success(try Self.reply($0)) }.map { _ in }
        return self.telling(.record(key), after: ended, on: loop)
    }

    // MARK: Steps

    /// Returns the present record, without checking its owner's epoch.
    private func candidate<Record: ReplaceableRecord>(
        _ values: Values,
        key: RecordKey,
        as kind: Record.Type
    ) throws(StoreError) -> Stored<Record>? {
        guard let value = values[0], try Self.isLive(ledger: values[1]) else { return nil }
        let envelope = try self.envelope(value, at: Keyspace.record(key), isBoundToReign: Record.isBoundToReign)
        guard let record = try? envelope.record(as: kind) else { throw .unavailable }
        let terms = record.terms
        guard self.clock.now() < terms.expiresAt, !self.endings.hasEnded(key, terms, names: self.names) else {
            return nil
        }
        let kept = self.judged.update(key) { old in
            if let old, old.value == value { return old }
            return Judged(version: self.newVersion(), value: value, terms: terms, attempt: envelope.attempt)
        }
        return Stored(record: record, version: kept.version)
    }

    private func envelope(
        _ value: [UInt8],
        at place: [UInt8],
        isBoundToReign: Bool
    ) throws(StoreError) -> ReplaceableEnvelope {
        try self.seals.open(isBoundToReign ? try Self.withoutReign(value) : value, at: place, ReplaceableEnvelope.init)
    }

    /// Reports whether a record with these terms may be written now.
    private func isAlive(_ key: RecordKey, _ terms: RecordTerms, on loop: any EventLoop) -> Eventual<Bool> {
        if self.endings.hasEnded(key, terms, names: self.names) { return .success(false) }
        guard let owner = terms.owner else { return .success(true) }
        return self.eventualEpoch(of: owner.subject, on: loop).map { owner.epoch >= $0 }
    }
}
