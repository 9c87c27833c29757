package import NIOCore
package import Sessions
internal import Vocabulary

extension RedisStore {
    package func replaceable<Record: ReplaceableRecord>(
        _ key: RecordKey,
        as kind: Record.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<Stored<Record>?> {
        precondition(key.kind == Record.kind, "a record needs a key of its kind")
        let keys = [Keyspace.record(key), Keyspace.lineage(key.lineage)]
        return self.ask(RedisCommand("MGET", keys), on: loop) { reply in
            let values = try Values(reply, count: keys.count)
            guard let candidate = try self.candidate(values, key: key, as: kind) else {
                let doubtful = values.doubtful(keys)
                if doubtful.isEmpty { return .success(nil) }
                return .later(self.verify(absent: doubtful, on: loop).map { nil })
            }
            guard let owner = candidate.record.terms.owner else { return .success(candidate) }
            return .later(self.epoch(of: owner.subject, on: loop).map { owner.epoch >= $0 ? candidate : nil })
        }
    }

    package func replace<Record: ReplaceableRecord>(
        _ key: RecordKey,
        judged: RecordVersion?,
        with record: Record,
        attempt: AttemptID,
        on loop: any EventLoop
    ) -> EventLoopFuture<Replacement> {
        let parts: RecordParts
        do { parts = try self.parts(of: record, key: key, attempt: attempt) } catch {
            return loop.makeFailedFuture(error)
        }
        let kept = self.judged.value(for: key).flatMap { $0.version == judged ? $0 : nil }
        let swap = Swap(
            key: key,
            place: parts.key,
            // A version that is no longer kept is compared with bytes that no record has, so that the answer is the
            // present value.
            judged: judged == nil ? [] : kept?.value ?? [0],
            attempt: attempt,
            isBoundToReign: Record.isBoundToReign,
            isConfirmed: Record.isConfirmed
        )
        // The record that was judged was written by this same attempt.
        if let kept, kept.attempt == attempt { return self.confirm(swap, on: loop) }
        let call = ScriptCall(
            Record.isConfirmed ? Scripts.replace : Scripts.replaceUnconfirmed,
            keys: [parts.key, Keyspace.lineage(key.lineage)],
            arguments: [
                swap.judged, parts.bytes, Self.digits(parts.life), Self.digits(parts.life + Self.margin),
                Self.reign(of: record),
            ]
        )
        return self.isAlive(key, record.terms, on: loop).flatMap { isAlive in
            isAlive ? .later(self.replace(swap, by: call, on: loop)) : .success(.absent)
        }.future(on: loop)
    }

    private func replace(_ swap: Swap, by call: ScriptCall, on loop: any EventLoop) -> EventLoopFuture<Replacement> {
        self.run(call, on: loop) { result in
            if case .failure(.unanswered) = result {
                return self.readBack(swap.place, unless: swap.judged, on: loop) {
                    try self.outcome($0, of: swap, on: loop)
                }
            }
            return try self.outcome(try Self.written(result), of: swap, on: loop)
        }
    }

    package func end(replaceable key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void> {
        let ended = Self.answered(self.ending(.record(key), on: loop)).map { _ in }
        return self.telling(.record(key), after: ended, on: loop)
    }

    // MARK: Steps

    /// One compare-and-swap.
    private struct Swap: Sendable {
        let key: RecordKey
        let place: [UInt8]
        /// The value that must be present; empty: there must be none.
        let judged: [UInt8]
        let attempt: AttemptID
        let isBoundToReign: Bool
        let isConfirmed: Bool
    }

    /// The present record, its owner's epoch not checked yet.
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
        try self.seals.replaceable(isBoundToReign ? try Self.withoutReign(value) : value, at: place)
    }

    /// Whether a record with these terms may be written now.
    private func isAlive(_ key: RecordKey, _ terms: RecordTerms, on loop: any EventLoop) -> Eventual<Bool> {
        if self.endings.hasEnded(key, terms, names: self.names) { return .success(false) }
        guard let owner = terms.owner else { return .success(true) }
        return .later(self.epoch(of: owner.subject, on: loop).map { owner.epoch >= $0 })
    }

    private func outcome(
        _ reply: RedisReply,
        of swap: Swap,
        on loop: any EventLoop
    ) throws(StoreError) -> Eventual<Replacement> {
        switch reply {
        case .integer(1): return .success(.done)
        case .integer(0): return .success(.absent)
        case .integer(-1): return .success(.quarantined)
        case .bulk(let value):
            let standing = try self.envelope(value, at: swap.place, isBoundToReign: swap.isBoundToReign)
            return standing.attempt == swap.attempt ? .later(self.confirm(swap, on: loop)) : .success(.changed)
        default: throw .unavailable
        }
    }

    /// The attempt was carried out before: it is done once it is certain that the write will not be lost.
    private func confirm(_ swap: Swap, on loop: any EventLoop) -> EventLoopFuture<Replacement> {
        guard swap.isConfirmed else { return loop.makeSucceededFuture(.done) }
        let call = ScriptCall(Scripts.rewrite, keys: [swap.place], arguments: [])
        return self.run(call, on: loop).flatMapThrowing { reply in
            guard case .bulk(let value) = reply else { return .absent }
            let standing = try self.envelope(value, at: swap.place, isBoundToReign: swap.isBoundToReign)
            return standing.attempt == swap.attempt ? .done : .changed
        }
    }
}
