internal import Cryptography
package import NIOCore
package import Sessions
internal import Vocabulary

extension RedisStore {
    package func session(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Stored<Session>?> {
        let keys = [Keyspace.record(key), Keyspace.lineage(key.lineage), Keyspace.idle(key)]
        let found = self.ask(RedisCommand("MGET", keys), on: loop)
        return self.judge(found, key: key, on: loop)
    }

    package func create(_ session: NewSession, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.epoch(of: session.session.subject, on: loop).flatMap { epoch in
            let parts = self.parts(of: session, epoch: epoch)
            let call = ScriptCall(
                Scripts.createSession,
                keys: [parts.key, Keyspace.lineage(session.key.lineage), parts.idleKey],
                arguments: [parts.bytes, parts.life, parts.ledgerLife, parts.idle, parts.idleLife]
            )
            // 0: its lineage has ended, and the session is dead on arrival.
            return self.run(call, on: loop).map { _ in }
        }
    }

    package func touch(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void> {
        let call = ScriptCall(
            Scripts.touch,
            keys: [Keyspace.idle(key)],
            arguments: [Array("\(self.clock.now().milliseconds)".utf8), Self.digits(Self.margin)]
        )
        return self.run(call, on: loop).map { _ in }
    }

    package func end(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Bool> {
        let call = ScriptCall(
            Scripts.endSession,
            keys: [Keyspace.record(key), Keyspace.lineage(key.lineage), Keyspace.idle(key)],
            arguments: []
        )
        let ended = self.judge(self.run(call, on: loop), key: key, on: loop).map { $0 != nil }
        return self.telling(.session(key), after: ended, on: loop)
    }

    package func end(_ lineage: Lineage, on loop: any EventLoop) -> EventLoopFuture<Void> {
        let call = ScriptCall(
            Scripts.endLineage,
            keys: [Keyspace.lineage(lineage)],
            arguments: [Self.digits(Self.markerLife)]
        )
        return self.telling(.lineage(lineage), after: self.run(call, on: loop).map { _ in }, on: loop)
    }

    package func end(subject: String, on loop: any EventLoop) -> EventLoopFuture<Void> {
        let names = self.seals.ring.names(of: subject)
        return self.telling(.subject(subject), after: self.moveEpoch(names[...], to: 0, on: loop), on: loop)
    }

    // MARK: Steps

    /// The live session in what was found for it: its bytes, its lineage's ledger and its idle value.
    private func judge(
        _ found: EventLoopFuture<RedisReply>,
        key: RecordKey,
        on loop: any EventLoop
    ) -> EventLoopFuture<Stored<Session>?> {
        // Asked for in the same tick where it is known whose session it is.
        let known = self.subjects.value(for: key)
        let epoch = known.map { self.epoch(of: $0, on: loop) }
        return found.flatMapThrowing { reply in try self.candidate(reply, key: key) }.flatMap { candidate in
            guard let candidate else { return loop.makeSucceededFuture(nil) }
            let session = candidate.record
            let current: EventLoopFuture<UInt64>
            if let epoch, known == session.subject {
                current = epoch
            } else {
                self.subjects.update(key) { _ in session.subject }
                current = self.epoch(of: session.subject, on: loop)
            }
            return current.map { epoch in session.epoch >= epoch ? candidate : nil }
        }
    }

    /// What lives but for its epoch.
    private func candidate(_ reply: RedisReply, key: RecordKey) throws(StoreError) -> Stored<Session>? {
        let values = try Self.values(reply, count: 3)
        guard let bytes = values[0], try Self.isLive(ledger: values[1]), let idle = values[2] else { return nil }
        let session = try self.seals.session(bytes, at: Keyspace.record(key))
        let now = self.clock.now()
        guard now < session.expiresAt, now < (try IdleValue(bytes: idle)).deadline else { return nil }
        return Stored(record: session, version: Self.version(of: bytes))
    }

    /// Tells one session from another; nothing is ever compared and acted on by it.
    private static func version(of bytes: [UInt8]) -> RecordVersion {
        SHA256.digest(bytes).withUnsafeBytes { RecordVersion(value: $0.load(as: UInt64.self)) }
    }

    /// A new session as it is written.
    struct SessionParts {
        let key: [UInt8]
        let idleKey: [UInt8]
        let bytes: [UInt8]
        let life: [UInt8]
        let ledgerLife: [UInt8]
        let idle: [UInt8]
        let idleLife: [UInt8]
    }

    func parts(of new: NewSession, epoch: UInt64) -> SessionParts {
        var session = new.session
        session.epoch = epoch
        let now = self.clock.now()
        let key = Keyspace.record(new.key)
        let life = Self.life(until: session.expiresAt, from: now)
        let idle = IdleValue(now: now, idleLifetime: session.idleLifetime)
        return SessionParts(
            key: key,
            idleKey: Keyspace.idle(new.key),
            bytes: self.seals.seal(session, at: key),
            life: Self.digits(life),
            ledgerLife: Self.digits(life + Self.margin),
            idle: idle.bytes,
            idleLife: Self.digits(idle.idleLifetime + Self.margin)
        )
    }
}

/// The value of an idle key: `<deadline> <idle lifetime>`, both in milliseconds, the first of the gateways' clock. Plain
/// text, for the touch script moves it on.
struct IdleValue {
    let deadline: UnixTime
    let idleLifetime: Duration

    init(now: UnixTime, idleLifetime: Duration) {
        self.idleLifetime = min(max(idleLifetime, .zero), RedisStore.longestLife)
        self.deadline = now.advanced(by: self.idleLifetime)
    }

    init(bytes: [UInt8]) throws(StoreError) {
        let parts = bytes.split(separator: 0x20, omittingEmptySubsequences: false)
        guard parts.count == 2, let deadline = Int64(String(decoding: parts[0], as: UTF8.self)),
            let lifetime = Int64(String(decoding: parts[1], as: UTF8.self))
        else { throw .unavailable }
        self.deadline = UnixTime(milliseconds: deadline)
        self.idleLifetime = .milliseconds(lifetime)
    }

    var bytes: [UInt8] {
        Array("\(self.deadline.milliseconds) \(self.idleLifetime.wholeMilliseconds)".utf8)
    }
}
