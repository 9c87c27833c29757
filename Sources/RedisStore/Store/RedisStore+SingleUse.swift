package import NIOCore
package import Sessions
internal import Vocabulary

extension RedisStore {
    package func create<Record: SingleUseRecord>(
        _ record: Record,
        key: RecordKey,
        on loop: any EventLoop
    ) -> EventLoopFuture<Void> {
        let parts: RecordParts
        do { parts = try self.parts(of: record, key: key) } catch { return loop.makeFailedFuture(error) }
        let call = ScriptCall(
            Scripts.createSingleUse,
            keys: [parts.key, Keyspace.lineage(key.lineage)],
            arguments: [parts.bytes, Self.digits(parts.life), Self.digits(parts.life + Self.margin)]
        )
        // 0: its lineage has ended. If its owner's sessions ended, the epoch shows that when the record is read.
        return self.run(call, on: loop).map { _ in }
    }

    package func singleUse<Record: SingleUseRecord>(
        _ key: RecordKey,
        as kind: Record.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<SingleUseLookup<Record>> {
        precondition(key.kind == Record.kind, "a record needs a key of its kind")
        let keys = [Keyspace.marker(key), Keyspace.record(key), Keyspace.lineage(key.lineage)]
        let known = self.judged.value(for: key)?.terms.owner?.subject
        let found = self.ask(RedisCommand("MGET", keys), on: loop).flatMapThrowing { reply in
            try Values(reply, count: 3)
        }
        let epoch = known.map { self.epoch(of: $0, on: loop) }
        return found.flatMapThrowing { values in
            (try self.candidate(values, key: key, as: kind), doubtful: values.doubtful(keys))
        }.flatMap { candidate, doubtful in
            switch candidate {
            case .spent:
                return loop.makeSucceededFuture(candidate)
            case .absent:
                return self.verify(absent: doubtful, on: loop).map { candidate }
            case .live(let stored):
                guard let owner = stored.record.terms.owner else { return loop.makeSucceededFuture(candidate) }
                let current =
                    if let epoch, known == owner.subject { epoch } else { self.epoch(of: owner.subject, on: loop) }
                return current.map { owner.epoch >= $0 ? candidate : .absent }
            }
        }
    }

    package func consume(
        _ key: RecordKey,
        judged: RecordVersion,
        marker: Marker,
        creating: [NewRecord],
        on loop: any EventLoop
    ) -> EventLoopFuture<Consumption> {
        for new in creating { precondition(new.key.lineage == key.lineage, "a created record must be of the family") }
        // Only a record that this store read under this very version can be consumed.
        let kept = self.judged.value(for: key).flatMap { $0.version == judged ? $0 : nil }
        var subjects = Set(creating.compactMap { if case .session(let new) = $0 { new.session.subject } else { nil } })
        if let owner = kept?.terms.owner { subjects.insert(owner.subject) }
        return self.epochs(of: subjects, on: loop).flatMapThrowing { epochs in
            var value: [UInt8] = []
            if let kept, kept.isAlive(at: self.clock.now(), epochs) { value = kept.value }
            return try self.consumption(
                of: key,
                value: value,
                marker: marker,
                creating: creating,
                parent: kept?.terms.parent,
                epochs: epochs
            )
        }.flatMap { call in
            self.client.evaluate(call, on: loop).flatMap { reply in
                self.outcome(reply, of: key, marker: marker, on: loop)
            }.flatMapError { error in
                // The answer was lost, but the command may have been carried out; a read shows it. The command is not
                // repeated: the first one may still be in a buffer and would then meet the result of the second.
                guard case RedisError.unanswered = error else {
                    return loop.makeFailedFuture(StoreError.unavailable)
                }
                return self.readBack(key, marker: marker, on: loop)
            }
        }
    }

    package func confirm(_ marker: Marker, of key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void> {
        let place = Keyspace.marker(key)
        let call = ScriptCall(Scripts.confirm, keys: [place], arguments: [Self.digits(SingleUse.markerLife)])
        return self.run(call, on: loop).flatMapThrowing { reply in
            // A marker is never replaced; a different one can only result from a failover.
            guard case .bulk(let bytes) = reply, try self.seals.marker(bytes, at: place) == marker else {
                throw StoreError.unavailable
            }
        }
    }

    // MARK: Steps

    /// The record, its owner's epoch not checked yet.
    private func candidate<Record: SingleUseRecord>(
        _ values: Values,
        key: RecordKey,
        as kind: Record.Type
    ) throws(StoreError) -> SingleUseLookup<Record> {
        if let marker = values[0] { return .spent(try self.seals.marker(marker, at: Keyspace.marker(key))) }
        guard let value = values[1], try Self.isLive(ledger: values[2]) else { return .absent }
        let sealed = try Self.withoutReign(value)
        let record = try self.seals.singleUse(sealed, at: Keyspace.record(key), as: kind)
        let terms = record.terms
        guard self.clock.now() < terms.expiresAt else { return .absent }
        let kept = self.judged.update(key) { old in
            if let old, old.value == value { return old }
            return Judged(version: self.newVersion(), value: value, terms: terms)
        }
        return .live(Stored(record: record, version: kept.version))
    }

    private func consumption(
        of key: RecordKey,
        value: [UInt8],
        marker: Marker,
        creating: [NewRecord],
        parent: RecordKey?,
        epochs: [String: UInt64]
    ) throws(RecordTooLarge) -> ScriptCall {
        let markerKey = Keyspace.marker(key)
        var keys = [Keyspace.record(key), markerKey, Keyspace.lineage(key.lineage)]
        var made: [[UInt8]] = []
        var longest = Duration.zero
        for new in creating {
            switch new {
            case .session(let new):
                let parts = self.parts(of: new, epoch: epochs[new.session.subject] ?? 0)
                keys += [parts.key, parts.idleKey]
                made += [parts.bytes, Self.digits(parts.life), [], parts.idle, Self.digits(parts.idleLife), []]
                longest = max(longest, parts.life)
            case .singleUse(let key, let record):
                let parts = try self.parts(of: record, key: key)
                keys.append(parts.key)
                made += [parts.bytes, Self.digits(parts.life), Self.underReign]
                longest = max(longest, parts.life)
            case .replaceable(let key, let record):
                let parts = try self.parts(of: record, key: key, attempt: marker.attempt)
                keys.append(parts.key)
                made += [parts.bytes, Self.digits(parts.life), Self.reign(of: record)]
                longest = max(longest, parts.life)
            }
        }
        var parentMark: [UInt8] = []
        if !creating.isEmpty, let parent {
            keys.append(Keyspace.record(parent))
            parentMark = Array("P".utf8)
        }
        let arguments = [
            value, self.seals.seal(marker, at: markerKey), Self.digits(SingleUse.markerLife), parentMark,
            Self.digits(longest + Self.margin),
        ]
        return ScriptCall(Scripts.consume, keys: keys, arguments: arguments + made)
    }

    private func outcome(
        _ reply: RedisReply,
        of key: RecordKey,
        marker: Marker,
        on loop: any EventLoop
    ) -> EventLoopFuture<Consumption> {
        switch reply {
        case .integer(1): return loop.makeSucceededFuture(.done)
        case .integer(0): return loop.makeSucceededFuture(.changed)
        case .integer(-1): return loop.makeSucceededFuture(.quarantined)
        case .bulk(let bytes):
            do throws(StoreError) {
                let standing = try self.seals.marker(bytes, at: Keyspace.marker(key))
                guard standing == marker else { return loop.makeSucceededFuture(.spent(standing)) }
                // The same attempt with the same outcome repeats its request because the answer was lost. This time it
                // has only read, and no replica has confirmed the marker that it found.
                return self.confirm(marker, of: key, on: loop).map { .done }
            } catch {
                return loop.makeFailedFuture(error)
            }
        default: return loop.makeFailedFuture(StoreError.unavailable)
        }
    }

    /// The outcome of an attempt whose answer was lost. A missing marker proves nothing, because the command may still
    /// be on its way: then the store is unavailable, and repeating the attempt with the same id finds out.
    private func readBack(
        _ key: RecordKey,
        marker: Marker,
        on loop: any EventLoop
    ) -> EventLoopFuture<Consumption> {
        // The connection was lost with the answer. A new one is waited for, but only for a limited time.
        let command = RedisCommand("GET", [Keyspace.marker(key)])
        let reply = self.client.sendWhenUp(command, within: self.readBackPatience, on: loop)
        return Self.answered(reply).flatMap { reply in
            guard case .bulk = reply else { return loop.makeFailedFuture(StoreError.unavailable) }
            return self.outcome(reply, of: key, marker: marker, on: loop)
        }
    }
}

extension RedisStore.Judged {
    /// Whether it may still be used: neither expired nor made before its owner's epoch, which is one of `epochs`.
    fileprivate func isAlive(at now: UnixTime, _ epochs: [String: UInt64]) -> Bool {
        guard now < self.terms.expiresAt else { return false }
        guard let owner = self.terms.owner else { return true }
        return owner.epoch >= epochs[owner.subject] ?? 0
    }
}
