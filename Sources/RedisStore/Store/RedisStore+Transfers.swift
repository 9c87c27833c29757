package import NIOCore
package import Sessions
internal import Vocabulary

extension RedisStore {
    package func create(_ transfer: TransferToken, key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void> {
        let place = Keyspace.record(key)
        let life = Self.life(until: transfer.expiresAt, from: self.clock.now())
        let call = ScriptCall(
            Scripts.createTransfer,
            keys: [place, Keyspace.lineage(key.lineage)],
            arguments: [
                self.seals.seal(transfer, at: place), Self.digits(life), Self.digits(life + Self.margin),
            ]
        )
        // 0: its lineage has ended. A parent that ended with its subject is found by its epoch when the token is read.
        return self.run(call, on: loop).map { _ in }
    }

    package func transfer(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<TransferLookup> {
        let keys = [Keyspace.marker(key), Keyspace.record(key), Keyspace.lineage(key.lineage)]
        let known = self.judged.value(for: key)?.transfer.parent.subject
        let found = self.ask(RedisCommand("MGET", keys), on: loop).flatMapThrowing { reply in
            try Values(reply, count: 3)
        }
        let epoch = known.map { self.epoch(of: $0, on: loop) }
        return found.flatMapThrowing { values in
            (try self.candidate(values, key: key), isDoubtful: values[1] == nil && values[2] != nil)
        }.flatMap { candidate, isDoubtful in
            switch candidate {
            case .spent:
                return loop.makeSucceededFuture(candidate)
            case .absent:
                return self.verify(absent: isDoubtful ? [keys[1]] : [], on: loop).map { candidate }
            case .live(let stored):
                let parent = stored.record.parent
                let current =
                    if let epoch, known == parent.subject { epoch } else { self.epoch(of: parent.subject, on: loop) }
                return current.map { parent.epoch >= $0 ? candidate : .absent }
            }
        }
    }

    package func consume(
        _ key: RecordKey,
        judged: RecordVersion,
        marker: Marker,
        creating: NewSession?,
        on loop: any EventLoop
    ) -> EventLoopFuture<Consumption> {
        if let creating { precondition(creating.key.lineage == key.lineage, "what a token makes is of its family") }
        // Only what this store read under this very version can be consumed.
        let kept = self.judged.value(for: key).flatMap { $0.version == judged ? $0 : nil }
        let parent = kept?.transfer.parent
        let parentEpoch = parent.map { self.epoch(of: $0.subject, on: loop) } ?? loop.makeSucceededFuture(0)
        let newEpoch: EventLoopFuture<UInt64> =
            if let creating, creating.session.subject != parent?.subject {
                self.epoch(of: creating.session.subject, on: loop)
            } else {
                parentEpoch
            }
        return parentEpoch.and(newEpoch).flatMap { parentEpoch, newEpoch in
            var bytes: [UInt8] = []
            if let kept, kept.transfer.parent.epoch >= parentEpoch, self.clock.now() < kept.transfer.expiresAt {
                bytes = kept.bytes
            }
            let call = self.consumption(
                of: key,
                bytes: bytes,
                marker: marker,
                creating: creating,
                parent: kept?.transfer.parentKey,
                epoch: newEpoch
            )
            return self.client.evaluate(call, on: loop).flatMap { reply in
                self.outcome(reply, of: key, marker: marker, on: loop)
            }.flatMapError { error in
                // Lost on the way: it may have been done, and what stands there tells. Nothing is run again: a command
                // that still lies in a buffer would then find the work of its successor.
                guard case RedisError.unanswered = error else {
                    return loop.makeFailedFuture(StoreError.unavailable)
                }
                return self.readBack(key, marker: marker, on: loop)
            }
        }
    }

    package func confirm(_ marker: Marker, of key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void> {
        let place = Keyspace.marker(key)
        let call = ScriptCall(Scripts.confirm, keys: [place], arguments: [Self.digits(Self.markerLife)])
        return self.run(call, on: loop).flatMapThrowing { reply in
            // A marker is never replaced. Another one can only come of a failover.
            guard case .bulk(let bytes) = reply, try self.seals.marker(bytes, at: place) == marker else {
                throw StoreError.unavailable
            }
        }
    }

    // MARK: Steps

    /// What the token is but for its subject's epoch.
    private func candidate(_ values: Values, key: RecordKey) throws(StoreError) -> TransferLookup {
        if let marker = values[0] { return .spent(try self.seals.marker(marker, at: Keyspace.marker(key))) }
        guard let bytes = values[1], try Self.isLive(ledger: values[2]) else { return .absent }
        guard bytes.count > Scripts.reignLength else { throw .unavailable }
        let sealed = Array(bytes.dropFirst(Scripts.reignLength))
        let transfer = try self.seals.transfer(sealed, at: Keyspace.record(key))
        guard self.clock.now() < transfer.expiresAt else { return .absent }
        let kept = self.judged.update(key) { old in
            if let old, old.bytes == bytes { return old }
            return Judged(version: self.newVersion(), bytes: bytes, transfer: transfer)
        }
        return .live(Stored(record: transfer, version: kept.version))
    }

    private func consumption(
        of key: RecordKey,
        bytes: [UInt8],
        marker: Marker,
        creating: NewSession?,
        parent: RecordKey?,
        epoch: UInt64
    ) -> ScriptCall {
        let markerKey = Keyspace.marker(key)
        var keys = [Keyspace.record(key), markerKey, Keyspace.lineage(key.lineage)]
        var arguments = [bytes, self.seals.seal(marker, at: markerKey), Self.digits(Self.markerLife)]
        if let creating {
            let parts = self.parts(of: creating, epoch: epoch)
            keys += [parts.key, parts.idleKey]
            if let parent { keys.append(Keyspace.record(parent)) }
            arguments += [parts.bytes, parts.life, parts.ledgerLife, parts.idle, parts.idleLife]
        }
        return ScriptCall(Scripts.consume, keys: keys, arguments: arguments)
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
                // The same attempt with the same outcome: its answer was lost and it asks again. This time it has only
                // read, and no replica has confirmed what it found.
                return self.confirm(marker, of: key, on: loop).map { .done }
            } catch {
                return loop.makeFailedFuture(error)
            }
        default: return loop.makeFailedFuture(StoreError.unavailable)
        }
    }

    /// What became of an attempt whose answer was lost. No marker proves nothing, for the command may still be on its
    /// way: that is unavailable, and whoever repeats the attempt with its id finds out.
    private func readBack(
        _ key: RecordKey,
        marker: Marker,
        on loop: any EventLoop
    ) -> EventLoopFuture<Consumption> {
        // The connection was lost with the answer; a new one is waited for, but not for long.
        let command = RedisCommand("GET", [Keyspace.marker(key)])
        let reply = self.client.sendWhenUp(command, within: self.readBackPatience, on: loop)
        return Self.answered(reply).flatMap { reply in
            guard case .bulk = reply else { return loop.makeFailedFuture(StoreError.unavailable) }
            return self.outcome(reply, of: key, marker: marker, on: loop)
        }
    }
}
