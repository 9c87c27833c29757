import Cryptography
package import NIOCore
package import Sessions
import Vocabulary

extension RedisStore {
    package func session(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Stored<Session>?> {
        let promise = loop.makePromise(of: Stored<Session>?.self)
        let ask = { @Sendable in
            self.session(key, on: loop) { promise.completeWith($0.map(\.session).mapError { $0 }) }
        }
        if loop.inEventLoop { ask() } else { loop.execute(ask) }
        return promise.futureResult
    }

    package func session(_ key: RecordKey, on loop: any EventLoop, _ receiver: @escaping SessionReceiver) {
        var keys = Keyspace.all(of: key)
        let place = keys[0]
        // If an earlier read has found the subject, its epoch is requested at the same time, in the same command unless
        // Redis is a cluster.
        let known = self.subjects.value(for: key)
        let epoch = known.flatMap { self.client.isCluster ? self.epoch(of: $0.subject, on: loop) : nil }
        if epoch == nil, let known { keys += known.epochKeys }
        let found = Found(key: key, place: place, count: keys.count, known: known, epoch: epoch, isEnding: false)
        self.client.send(RedisCommand("MGET", keys), on: loop) { reply in
            self.judge(reply, found, on: loop, receiver)
        }
    }

    package func liveCount(
        of subject: String,
        _ sessions: [RecordKey],
        on loop: any EventLoop
    ) -> EventLoopFuture<Int> {
        guard !sessions.isEmpty else { return loop.makeSucceededFuture(0) }
        // One command per lineage, because lineages have different slots.
        let found = Dictionary(grouping: sessions, by: \.lineage).map { self.live($1, in: $0, on: loop) }
        return EventLoopFuture.whenAllSucceed(found, on: loop).and(self.epoch(of: subject, on: loop)).map {
            found,
            epoch in
            found.joined().count { $0.isListed && $0.epoch >= epoch }
        }
    }

    /// Returns those of `sessions` that are live, without checking their subject's epoch. All sessions are in
    /// `lineage`.
    private func live(
        _ sessions: [RecordKey],
        in lineage: Lineage,
        on loop: any EventLoop
    ) -> EventLoopFuture<[Session]> {
        let keys = [Keyspace.lineage(lineage)] + sessions.map(Keyspace.record) + sessions.map(Keyspace.idle)
        return self.client.ask(RedisCommand("MGET", keys), on: loop).flatMapThrowing { reply in
            let values = try Values(reply, count: keys.count)
            return try sessions.indices.compactMap { index in
                let place = 1 + index
                let own = values.selecting([place, 0, place + sessions.count])
                return try self.liveSession(own, sessions[index], at: keys[place], isEnding: false)?.record
            }
        }
    }

    package func create(_ session: NewSession, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.epoch(of: session.session.subject, on: loop).flatMap { epoch in
            self.know(session.session.subject, as: session.key)
            let parts = self.parts(of: session, epoch: epoch)
            let ledgerLife = Self.digits(parts.life + Self.margin)
            let call = ScriptCall(
                Scripts.createSession,
                keys: [parts.key, Keyspace.lineage(session.key.lineage), parts.idleKey],
                arguments: [parts.bytes, Self.digits(parts.life), ledgerLife, parts.idle, Self.digits(parts.idleLife)]
            )
            return self.client.run(call, on: loop).map { reply in
                // 0: the session's lineage has ended, and nothing was written.
                if reply == .integer(1) { self.note(session, on: loop) }
            }
        }
    }

    package func touch(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void> {
        let call = ScriptCall(
            Scripts.touch,
            keys: [Keyspace.idle(key)],
            arguments: [Self.digits(of: self.clock.now()), Self.digits(Self.margin)]
        )
        return self.client.run(call, on: loop).map { _ in }
    }

    package func end(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Bool> {
        let place = Keyspace.record(key)
        let found = Found(key: key, place: place, count: 3, known: nil, epoch: nil, isEnding: true)
        let ended = self.ending(.session(key), on: loop) { reply in
            let promise = loop.makePromise(of: Bool.self)
            self.judge(reply, found, on: loop) { ended in
                promise.completeWith(ended.map { $0.session != nil }.mapError { $0 })
            }
            return .later(promise.futureResult)
        }
        return self.telling(.session(key), after: ended, on: loop)
    }

    package func end(_ lineage: Lineage, on loop: any EventLoop) -> EventLoopFuture<Void> {
        let ended = self.ending(.lineage(lineage), on: loop) { .success(try Self.reply($0)) }.map { _ in }
        return self.telling(.lineage(lineage), after: ended, on: loop)
    }

    /// Writes an end, remembers it if it may have taken effect, and returns what `step` makes from the reply.
    func ending<Answer: Sendable>(
        _ ending: EndingMemory.Ending,
        on loop: any EventLoop,
        _ step: @escaping @Sendable (RedisConnectionHandler.Answered) throws -> Eventual<Answer>
    ) -> EventLoopFuture<Answer> {
        self.client.run(ending.call, on: loop) { [endings] reply in
            switch reply {
            case .success(.error), .failure(.notSent): break
            case .success, .failure: endings.note(ending)
            }
            return try step(reply)
        }
    }

    package func end(
        presented key: RecordKey,
        reaching reach: @escaping @Sendable (Session) -> EndReach,
        on loop: any EventLoop
    ) -> EventLoopFuture<PresentedEnd> {
        self.end(presented: key, reaching: reach, tries: Self.maxLooks, on: loop)
    }

    private func end(
        presented key: RecordKey,
        reaching reach: @escaping @Sendable (Session) -> EndReach,
        tries: Int,
        on loop: any EventLoop
    ) -> EventLoopFuture<PresentedEnd> {
        let place = Keyspace.record(key)
        return self.client.ask(RedisCommand("GET", [place]), on: loop) { reply in
            guard case .bulk(let bytes) = reply else {
                let call = ScriptCall(Scripts.confirmEnd, keys: [place, Keyspace.lineage(key.lineage)], arguments: [])
                let confirmed = self.telling(.session(key), after: self.client.run(call, on: loop), on: loop)
                return .later(
                    confirmed.flatMap { reply in
                        if reply == .integer(1) { return loop.makeSucceededFuture(.absent) }
                        // A failover between the two commands has brought the session back.
                        guard tries > 1 else { return loop.makeFailedFuture(StoreError.unavailable) }
                        return self.end(presented: key, reaching: reach, tries: tries - 1, on: loop)
                    }
                )
            }
            // The session need not be live: an earlier request may have ended it without getting the answer.
            let session = try self.seals.open(bytes, at: place, Session.decoded)
            return switch reach(session) {
            case .nothing: .success(.kept)
            case .session: .later(self.end(key, on: loop).map { _ in .ended(session) })
            case .lineage: .later(self.end(session.lineage, on: loop).map { .ended(session) })
            }
        }
    }

    /// The maximum number of reads of a session that is to be ended.
    private static let maxLooks = 3

    package func end(subject: String, on loop: any EventLoop) -> EventLoopFuture<Void> {
        let names = self.names(of: subject)
        return names.reduce(self.moveEpoch(names[...], to: 0, on: loop)) { ended, name in
            self.telling(.subject(name), after: ended, on: loop)
        }
    }

    package func names(of subject: String) -> [String] {
        self.known(subject).names
    }

    // MARK: Steps

    /// A subject of records that this gateway has read or written.
    struct KnownSubject: Sendable {
        let subject: String
        let names: [String]
        let epochKeys: [[UInt8]]
    }

    private func known(_ subject: String) -> KnownSubject {
        self.knownSubjects.value(for: subject)
            ?? self.knownSubjects.update(subject) { _ in
                let names = self.seals.ring.names(of: subject)
                return KnownSubject(subject: subject, names: names, epochKeys: names.map(Keyspace.epoch))
            }
    }

    /// Remembers the subject of the session or single-use record under `key`.
    func know(_ subject: String, as key: RecordKey) {
        self.subjects.update(key) { _ in self.known(subject) }
    }

    /// The values that a read of a session requests.
    private struct Found {
        let key: RecordKey
        /// The key of the session's record.
        let place: [UInt8]
        /// The number of values: the record's bytes, its lineage's ledger, its idle value, and the epochs of the
        /// `known` subject, unless `epoch` gives them.
        let count: Int
        let known: KnownSubject?
        let epoch: EventLoopFuture<UInt64>?
        /// True if the command that reads the session also ends it.
        let isEnding: Bool
    }

    /// Calls `receiver` with the live session in the reply, or with the reason why there is no live session.
    ///
    /// Uses futures only for separate reads, because every request with an uncached session runs this.
    private func judge(
        _ reply: Result<RedisReply, RedisError>,
        _ found: Found,
        on loop: any EventLoop,
        _ receiver: @escaping SessionReceiver
    ) {
        do throws(StoreError) {
            let values = try Values(try Self.reply(reply), count: found.count)
            let live = try self.liveSession(values, found.key, at: found.place, isEnding: found.isEnding)
            guard let candidate = live else {
                let doubtful = (0..<3).filter { values[$0] == nil }
                // If only some values are missing, `MGET` may have hidden values of another type.
                let absence = SessionFinding.absent(self.absence(values, found))
                guard !doubtful.isEmpty, doubtful.count < 3 else { return receiver(.success(absence)) }
                let keys = Keyspace.all(of: found.key)
                self.verify(absent: doubtful.map { keys[$0] }, on: loop).assumeIsolated().whenComplete { result in
                    receiver(result.map { absence }.mapError { _ in .unavailable })
                }
                return
            }
            let known = found.known?.subject == candidate.record.subject
            if known, found.epoch == nil {
                let epoch = try values.latestEpoch(from: 3)
                return receiver(.success(Self.finding(candidate, under: epoch)))
            }
            if !known { self.know(candidate.record.subject, as: found.key) }
            let epoch =
                if known, let epoch = found.epoch { epoch } else {
                    self.epoch(of: candidate.record.subject, on: loop)
                }
            epoch.assumeIsolated().whenComplete { epoch in
                // A later epoch means that the subject's sessions have ended since this session was made.
                receiver(epoch.map { Self.finding(candidate, under: $0) }.mapError { _ in .unavailable })
            }
        } catch {
            receiver(.failure(error))
        }
    }

    /// Returns the candidate, unless its subject's sessions have ended since it was made.
    private static func finding(_ candidate: Stored<Session>, under epoch: UInt64) -> SessionFinding {
        candidate.record.epoch >= epoch ? .live(candidate) : .absent(.sessionRevoked)
    }

    /// Returns the reason why these values contain no live session. Reports an expiry or idle timeout to `lapsed` once.
    private func absence(_ values: Values, _ found: Found) -> Reason {
        guard !found.isEnding else { return .sessionRevoked }
        guard let ledger = values[1], let bytes = values[0] else {
            // The session was ended (which deletes its record), it expired long ago, or data was lost.
            return self.endings.knowsEnd(of: found.key) ? .sessionRevoked : .sessionUnknown
        }
        guard ledger.elementsEqual("L".utf8),
            let session = try? self.seals.open(bytes, at: found.place, Session.decoded)
        else {
            return .sessionRevoked
        }
        let now = self.clock.now()
        let idleEnd = values[2].flatMap { try? IdleValue(bytes: $0) }?.deadline
        // The idle value is dropped some time after the idle timeout. If the session has expired by now, the expiry is
        // the reason.
        let reason = session.lapseReason(idleEnd: idleEnd ?? now)
        guard now >= session.expiresAt || idleEnd.map({ $0 <= now }) != false else { return .sessionRevoked }
        if self.reportedLapses.value(for: found.key) == nil {
            self.reportedLapses.update(found.key) { _ in }
            self.lapsed(SessionLapse(key: found.key, session: session, reason: reason))
        }
        return reason
    }

    /// Returns the live session in the values of `Keyspace.all`, without checking its subject's epoch.
    ///
    /// - Parameter isEnding: True if the command that has read the session has also ended it.
    func liveSession(
        _ values: Values,
        _ key: RecordKey,
        at place: [UInt8],
        isEnding: Bool
    ) throws(StoreError) -> Stored<Session>? {
        guard let bytes = values[0], try Self.isLive(ledger: values[1]), let idleBytes = values[2] else { return nil }
        let idle = try IdleValue(bytes: idleBytes)
        let version = Self.version(of: bytes)
        let held = self.sessions.held(key, version, usedAt: idle.usedAt)
        let stored =
            if let held { held } else {
                Stored(
                    record: try self.seals.open(bytes, at: place, Session.decoded),
                    version: version,
                    usedAt: idle.usedAt
                )
            }
        let now = self.clock.now()
        guard now < stored.record.expiresAt, now < idle.deadline else { return nil }
        // A primary that was just promoted or restarted may have lost the end.
        if !isEnding, self.endings.hasEnded(key, stored.record, names: self.names) { return nil }
        return held == nil ? self.sessions.shared(stored, under: key) : stored
    }

    /// Returns the version of a session: a hash of the record's bytes, seeded by this process, so that nobody who can
    /// write to Redis can find other bytes with the same version.
    private static func version(of sealed: [UInt8]) -> RecordVersion {
        var hasher = Hasher()
        sealed.withUnsafeBytes { hasher.combine(bytes: $0) }
        return RecordVersion(value: UInt64(bitPattern: Int64(hasher.finalize())))
    }

    /// The keys, the values and the TTLs of a new session.
    struct SessionParts {
        let key: [UInt8]
        let idleKey: [UInt8]
        let bytes: [UInt8]
        let life: Duration
        let idle: [UInt8]
        let idleLife: Duration
    }

    func parts(of new: NewSession, epoch: UInt64) -> SessionParts {
        var session = new.session
        session.epoch = epoch
        let now = self.clock.now()
        let key = Keyspace.record(new.key)
        // The record of an access token is not kept longer than the token: clients replace an expired token anyway.
        let recollection = session.access == nil ? Self.recollection : .zero
        let life = Self.life(until: session.expiresAt, from: now) + recollection
        let idle = IdleValue(now: now, idleLifetime: session.idleLifetime)
        return SessionParts(
            key: key,
            idleKey: Keyspace.idle(new.key),
            bytes: self.seals.seal(session.encoded, at: key),
            life: life,
            idle: idle.bytes,
            idleLife: idle.idleLifetime + Self.margin
        )
    }
}
