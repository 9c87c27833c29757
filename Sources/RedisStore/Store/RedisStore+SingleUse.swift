package import NIOCore
package import Sessions
import Vocabulary

extension RedisStore {
    package func create<Record: SingleUseRecord>(
        _ record: Record,
        key: RecordKey,
        on loop: any EventLoop
    ) -> EventLoopFuture<Void> {
        let parts: RecordParts
        do { parts = try self.parts(of: record, key: key) } catch { return loop.makeFailedFuture(error) }
        var keys = [parts.key, Keyspace.lineage(key.lineage)]
        var arguments = [parts.bytes, Self.digits(parts.life), Self.digits(parts.life + Self.margin)]
        if Record.isReadWithParent, let name = self.parentName(of: record.terms, in: key.lineage) {
            keys.append(Keyspace.parent(key))
            arguments.append(name)
        }
        let call = ScriptCall(Scripts.createSingleUse, keys: keys, arguments: arguments)
        if let owner = record.terms.owner { self.know(owner.subject, as: key) }
        // 0: the lineage has ended. If the owner's sessions have ended, the epoch shows that when the record is read.
        return self.client.run(call, on: loop) { result in
            _ = try Self.reply(result)
            return .success(())
        }
    }

    package func singleUse<Record: SingleUseRecord>(
        _ key: RecordKey,
        as kind: Record.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<SingleUseLookup<Record>> {
        precondition(key.kind == Record.kind, "a record needs a key of its kind")
        let places = [Keyspace.marker(key), Keyspace.record(key), Keyspace.lineage(key.lineage)]
        // If the owner is known, the owner's epoch is requested at the same time.
        let known = self.subjects.value(for: key)
        let epoch = known.flatMap { self.client.isCluster ? self.epoch(of: $0.subject, on: loop) : nil }
        let keys = epoch == nil ? places + (known?.epochKeys ?? []) : places
        return self.client.ask(RedisCommand("MGET", keys), on: loop) { reply in
            let values = try Values(reply, count: keys.count)
            switch try self.found(values, key: key, as: kind) {
            case .spent(let marker):
                return .success(.spent(marker))
            case .absent:
                let doubtful = values.doubtful(places)
                if doubtful.isEmpty { return .success(.absent) }
                return .later(self.verify(absent: doubtful, on: loop).map { .absent })
            case .live(let record, let value):
                guard let owner = record.terms.owner else {
                    return .success(.live(self.kept(record, value, under: key)))
                }
                if known?.subject != owner.subject { self.know(owner.subject, as: key) }
                if let parent = record.terms.parent { self.know(owner.subject, as: parent) }
                let current: Eventual<UInt64> =
                    if known?.subject != owner.subject {
                        .later(self.epoch(of: owner.subject, on: loop))
                    } else if let epoch {
                        .later(epoch)
                    } else {
                        .success(
                            max(try values.latestEpoch(from: places.count), self.rememberedEpoch(of: owner.subject))
                        )
                    }
                return current.map { current in
                    owner.epoch >= current ? .live(self.kept(record, value, under: key, epoch: current)) : .absent
                }
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
        // Created records have the lineage that the used record names. If the key of the used record has another
        // lineage, the record is damaged.
        guard creating.allSatisfy({ $0.key.lineage == key.lineage }) else {
            return loop.makeFailedFuture(StoreError.unavailable)
        }
        // Only a record that this store read under exactly this version can be consumed.
        let kept = self.judged.value(for: key).flatMap { $0.version == judged ? $0 : nil }
        var subjects = Set(creating.compactMap { if case .session(let new) = $0 { new.session.subject } else { nil } })
        if let owner = kept?.terms.owner { subjects.insert(owner.subject) }
        return self.epochs(of: subjects, judged: kept, on: loop).flatMap { epochs in
            var value: [UInt8] = []
            if let kept, kept.isAlive(at: self.clock.now(), epochs) { value = kept.value }
            return Eventual {
                let call = try self.consumption(
                    of: key,
                    value: value,
                    marker: marker,
                    creating: creating,
                    parent: kept?.terms.parent,
                    epochs: epochs
                )
                return .later(self.consume(key, by: call, marker, creating, on: loop))
            }
        }.future(on: loop)
    }

    private func consume(
        _ key: RecordKey,
        by call: ScriptCall,
        _ marker: Marker,
        _ creating: [NewRecord],
        on loop: any EventLoop
    ) -> EventLoopFuture<Consumption> {
        self.client.run(call, on: loop) { result in
            switch result {
            case .success(let reply):
                return try self.outcome(reply, of: key, marker: marker, creating: creating, on: loop)
            // The answer was lost. A read shows whether the command was executed. The command is not repeated, because
            // the first one may still be in a buffer and run after the second one.
            case .failure(.unanswered):
                return self.readBack(Keyspace.marker(key), on: loop) {
                    try self.outcome($0, of: key, marker: marker, creating: creating, on: loop)
                }
            case .failure:
                return .failure(StoreError.unavailable)
            }
        }
    }

    package func confirm(_ marker: Marker, of key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void> {
        let place = Keyspace.marker(key)
        let call = ScriptCall(Scripts.confirm, keys: [place], arguments: [Self.digits(SingleUse.markerLife)])
        return self.client.run(call, on: loop).flatMapThrowing { reply in
            // A marker is never replaced. A different marker can only result from a failover.
            guard case .bulk(let bytes) = reply, try self.seals.open(bytes, at: place, Marker.decoded) == marker else {
                throw StoreError.unavailable
            }
        }
    }

    // MARK: Steps

    /// The result of a read of a single-use record and its marker.
    enum FoundSingleUse<Record: SingleUseRecord> {
        /// The record and the value that contains it, without a check of its owner's epoch.
        case live(Record, value: [UInt8])
        case spent(Marker)
        case absent
    }

    func found<Record: SingleUseRecord>(
        _ values: Values,
        key: RecordKey,
        as kind: Record.Type
    ) throws(StoreError) -> FoundSingleUse<Record> {
        if let marker = values[0] {
            return .spent(try self.seals.open(marker, at: Keyspace.marker(key), Marker.decoded))
        }
        guard let value = values[1], try Self.isLive(ledger: values[2]) else { return .absent }
        let sealed = try Self.withoutReign(value)
        let record = try self.seals.open(sealed, at: Keyspace.record(key), kind.decoded)
        return self.clock.now() < record.terms.expiresAt ? .live(record, value: value) : .absent
    }

    /// Keeps the value that was read, for a compare-and-act that may follow, and returns the record with its version.
    func kept<Record: SingleUseRecord>(
        _ record: Record,
        _ value: [UInt8],
        under key: RecordKey,
        epoch: UInt64? = nil
    ) -> Stored<Record> {
        let kept = self.judged.update(key) { old in
            let version = old.flatMap { $0.value == value ? $0.version : nil } ?? self.newVersion()
            return Judged(
                version: version,
                value: value,
                terms: record.terms,
                epoch: epoch.map { (value: $0, readAt: .now()) }
            )
        }
        return Stored(record: record, version: kept.version)
    }

    /// The time for which an epoch need not be read again.
    private static let epochLife = TimeAmount.milliseconds(100)

    /// Returns the subjects' epochs. The epoch of the judged record's owner is not read again if it was read within
    /// `epochLife`. Records that are written with an outdated epoch are ended from the start.
    private func epochs(
        of subjects: Set<String>,
        judged: Judged?,
        on loop: any EventLoop
    ) -> Eventual<[String: UInt64]> {
        guard let owner = judged?.terms.owner?.subject, subjects == [owner], let epoch = judged?.epoch,
            .now() - epoch.readAt < Self.epochLife
        else { return .later(self.epochs(of: subjects, on: loop)) }
        return .success([owner: max(epoch.value, self.rememberedEpoch(of: owner))])
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
                self.know(new.session.subject, as: new.key)
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
            value, self.seals.seal(marker.encoded, at: markerKey), Self.digits(SingleUse.markerLife), parentMark,
            Self.digits(longest + Self.margin),
        ]
        return ScriptCall(Scripts.consume, keys: keys, arguments: arguments + made)
    }

    private func outcome(
        _ reply: RedisReply,
        of key: RecordKey,
        marker: Marker,
        creating: [NewRecord],
        on loop: any EventLoop
    ) throws(StoreError) -> Eventual<Consumption> {
        switch reply {
        case .integer(1):
            self.note(creating, on: loop)
            return .success(.done)
        case .integer(0): return .success(.changed)
        case .integer(-1): return .success(.quarantined)
        case .bulk(let bytes):
            let standing = try self.seals.open(bytes, at: Keyspace.marker(key), Marker.decoded)
            guard standing == marker else { return .success(.spent(standing)) }
            // This attempt wrote the marker earlier, and its answer was lost. The script has now only read the marker,
            // so a replica may not have it.
            let confirmed = self.confirm(marker, of: key, on: loop)
            return .later(
                confirmed.map {
                    self.note(creating, on: loop)
                    return .done
                }
            )
        default: throw .unavailable
        }
    }

    private func note(_ created: [NewRecord], on loop: any EventLoop) {
        for case .session(let session) in created { self.note(session, on: loop) }
    }
}

extension RedisStore.Judged {
    /// Reports whether the record may still be used: neither expired nor older than its owner's epoch in `epochs`.
    fileprivate func isAlive(at now: UnixTime, _ epochs: [String: UInt64]) -> Bool {
        guard now < self.terms.expiresAt else { return false }
        guard let owner = self.terms.owner else { return true }
        return owner.epoch >= epochs[owner.subject] ?? 0
    }
}
