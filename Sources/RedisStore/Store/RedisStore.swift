package import Cryptography
package import NIOCore
package import Sessions
import Synchronization
package import Vocabulary

/// The store of sessions and all other records in Redis, shared by any number of gateways.
///
/// Records are sealed, so Redis cannot read them. They are decoded and judged here; Redis only compares, writes and
/// expires them. Every gateway judges by Redis's clock (`StoreClock`). Keys outlive their records by `margin`, so that
/// differences between clocks never make Redis drop a live record.
///
/// **Versions.** A compare-and-act must name the exact bytes that were judged. The store therefore keeps the sealed
/// bytes of recently read records with their version numbers, and scripts compare these bytes with the value in Redis.
/// An act on a version that is no longer kept changes nothing, and usually returns `.changed`.
///
/// **Epochs.** Ending all sessions of a subject raises the subject's epoch. A session contains the epoch that was read
/// before the session was written, and every read compares this epoch with the current one. Scripts that write records
/// read no epochs, because epochs have separate slots.
package final class RedisStore: RecordStore {
    /// The time by which keys outlive records: more than the gateways' clocks differ (`StoreClock.tolerance`).
    static let margin = Duration.seconds(5)
    /// The time by which a session's record outlives the session, so that late requests get the reason for its end.
    static let recollection = Duration.seconds(900)
    /// More than the longest configurable lifetime of a session, so no end has to be remembered longer.
    package static let longestLife = Duration.seconds(400 * 86_400)

    /// The value of a record that was read, with the version that the store has assigned to it.
    struct Judged: Sendable {
        let version: RecordVersion
        let value: [UInt8]
        let terms: RecordTerms
        /// The attempt that wrote a replaceable record.
        var attempt: AttemptID?
        /// The epoch of a single-use record's owner that was read with the record, and the time of the read.
        var epoch: (value: UInt64, readAt: NIODeadline)?
    }

    /// The value of a document that was read, with the version that the store has assigned to it.
    struct JudgedDocument: Sendable {
        let version: RecordVersion
        let value: [UInt8]
        let attempt: AttemptID
    }

    let client: RedisClient
    let seals: RecordSeals
    let clock: Clock
    let caches: SessionCaches
    let judged = RecentTable<RecordKey, Judged>(capacity: 4096)
    /// A separate table for documents, because one request can list a whole collection.
    let judgedDocuments = RecentTable<DocumentKey, JudgedDocument>(capacity: 8192)
    /// The subject of the session or single-use record under a key, so that its epoch can be requested together with
    /// the record. An entry is never wrong, because a session is only replaced by a session of its subject.
    let subjects = RecentTable<RecordKey, KnownSubject>(capacity: 32_768)
    /// The sessions with an already reported expiry or idle timeout. Their records are found until Redis drops them.
    let reportedLapses = RecentTable<RecordKey, Void>(capacity: 16_384)
    let lapsed: LapseReceiver
    private let feed: InvalidationFeed
    /// The ends that apply even if a new or restarted primary has lost them.
    let endings: EndingMemory
    private let replay: EndingReplay
    let reigns: ReignWatch
    let readBackPatience: Duration
    let sessions = SharedSessions()
    let formerLists: TokenAuthority?
    /// The known subjects, kept because each of a subject's names costs an HMAC.
    let knownSubjects = RecentTable<String, KnownSubject>(capacity: 16_384)
    let loggedHour = Mutex(LoggedHour())
    private let versions = Atomic<UInt64>(0)

    /// Creates a store that uses `client`, and reports ends to `caches`.
    ///
    /// - Parameters:
    ///   - clock: The clock of `client`, except where a test controls the time.
    ///   - readBackPatience: The time to wait for a new connection after an answer was lost.
    ///   - formerLists: Names the lists of users' sessions that earlier gateways wrote (`FormerSessionList`); `nil` if
    ///     such lists are not read.
    ///   - lapsed: Receives an expired or idle session once, when its token is presented afterwards.
    package init(
        client: RedisClient,
        ring: SealingKeyRing,
        clock: Clock,
        caches: SessionCaches,
        readBackPatience: Duration = .milliseconds(250),
        formerLists: TokenAuthority? = nil,
        lapsed: @escaping LapseReceiver = { _ in }
    ) {
        self.formerLists = formerLists
        self.lapsed = lapsed
        self.readBackPatience = readBackPatience
        self.client = client
        self.seals = RecordSeals(ring: ring)
        self.clock = clock
        self.caches = caches
        let endings = EndingMemory(clock: clock)
        self.endings = endings
        self.replay = EndingReplay(client: client, memory: endings)
        self.reigns = ReignWatch(clock: clock)
        self.feed = InvalidationFeed(
            client: client,
            caches: caches,
            heard: { Self.remember($0, in: endings, client: client, clock: clock) }
        )
    }

    /// The time in milliseconds within which this gateway certainly receives the ends that it caused itself.
    private static let echo: UInt64 = 5000

    /// Remembers an end that was received. The new epoch of a subject is read from Redis first.
    private static func remember(_ ended: Invalidation, in endings: EndingMemory, client: RedisClient, clock: Clock) {
        switch ended {
        case .session(let key): endings.note(.session(key))
        case .record(let key): endings.note(.record(key))
        case .lineage(let lineage): endings.note(.lineage(lineage))
        case .subject(let name):
            client.ask(RedisCommand("MGET", [Keyspace.epoch(name)]), on: client.firstLoop).whenComplete { result in
                let epoch = try? Values(try result.get(), count: 1).latestEpoch(from: 0)
                if let epoch { return endings.note(.subject(name, epoch: epoch)) }
                // The epoch is unknown. Epochs are times by `clock`, so the current time replaces it, unless this
                // gateway has just caused the end itself.
                let now = UInt64(clamping: clock.now().milliseconds)
                guard endings.epoch(of: name) < now - min(now, Self.echo) else { return }
                endings.note(.subject(name, epoch: now))
            }
        case .client, .sessionRecord, .document, .all: break
        }
    }

    /// Begins to receive ends from other gateways, and starts the client. Waits as long as `RedisClient.start` does.
    /// Until ends are received from every primary, all caches doubt.
    package func start() async throws {
        self.feed.start()
        self.replay.start()
        self.reigns.start(self.client)
        try await self.client.start()
    }

    /// Stops receiving ends from other gateways, and shuts the client down.
    package func shutDown() async throws {
        self.replay.shutDown()
        try await self.feed.shutDown()
        try await self.client.shutDown()
    }

    func newVersion() -> RecordVersion {
        RecordVersion(value: self.versions.add(1, ordering: .relaxed).newValue)
    }

    // MARK: Steps that sessions and other records share

    /// Finds out from the value at `place` whether a write was executed, after its answer was lost with the connection.
    /// Waits for a new connection, at most for `readBackPatience`.
    ///
    /// The result is `.unavailable` if the value is missing or still is `judged` (the value before the write), because
    /// the write may be on its way. A retry with the attempt's id gets the outcome.
    func readBack<Answer: Sendable>(
        _ place: [UInt8],
        unless judged: [UInt8]? = nil,
        on loop: any EventLoop,
        _ outcome: @escaping @Sendable (RedisReply) throws -> Eventual<Answer>
    ) -> Eventual<Answer> {
        let (client, command) = (self.client, RedisCommand("GET", [place]))
        let reply = client.becomeUp(for: command, within: self.readBackPatience, on: loop).flatMapErrorThrowing { _ in
            throw StoreError.unavailable
        }.flatMap { client.ask(command, on: loop) }
        return Eventual.later(reply).flatMap { reply in
            guard case .bulk(let value) = reply, value != judged else { return .failure(StoreError.unavailable) }
            return Eventual { try outcome(reply) }
        }
    }

    /// Returns the reply to a script that needs memory. Throws `.full` if Redis has no memory left.
    static func written(_ result: Result<RedisReply, RedisError>) throws(StoreError) -> RedisReply {
        guard case .success(let reply) = result else { throw .unavailable }
        if case .error(let error) = reply { throw error.writeRefusal?.code == "OOM" ? .full : .unavailable }
        return reply
    }

    static func reply<Failure>(_ result: Result<RedisReply, Failure>) throws(StoreError) -> RedisReply {
        guard case .success(let reply) = result else { throw .unavailable }
        if case .error = reply { throw .unavailable }
        return reply
    }

    /// The values of an `MGET`, in the order of its keys.
    struct Values {
        private let elements: [RedisReply]

        /// Reads the values in the reply to an `MGET` of `count` keys.
        init(_ reply: RedisReply, count: Int) throws(StoreError) {
            guard case .array(let elements) = reply, elements.count == count else { throw .unavailable }
            for element in elements {
                switch element {
                case .bulk, .null: continue
                default: throw .unavailable
                }
            }
            self.elements = elements
        }

        private init(elements: [RedisReply]) { self.elements = elements }

        var count: Int { self.elements.count }

        /// Returns only the values at these indices.
        func selecting(_ indices: [Int]) -> Values { Values(elements: indices.map { self.elements[$0] }) }

        /// The value of a key; `nil` if the key has no value.
        subscript(index: Int) -> [UInt8]? {
            if case .bulk(let bytes) = self.elements[index] { bytes } else { nil }
        }

        /// Returns the latest of the epochs from index `start` on; 0 if none exists.
        func latestEpoch(from start: Int) throws(StoreError) -> UInt64 {
            var latest: UInt64 = 0
            for index in start..<self.elements.count {
                guard let digits = self[index] else { continue }
                guard let epoch = UInt64(String(decoding: digits, as: UTF8.self)) else { throw .unavailable }
                latest = max(latest, epoch)
            }
            return latest
        }
    }

    /// Fails if a key for which `MGET` gave no value has a value of another type. Damaged data must not appear absent.
    func verify(absent keys: [[UInt8]], on loop: any EventLoop) -> EventLoopFuture<Void> {
        let asked = keys.map { self.client.ask(RedisCommand("GET", [$0]), on: loop).map { _ in } }
        return EventLoopFuture.andAllSucceed(asked, on: loop)
    }

    /// Reports whether the lineage with this ledger is live.
    static func isLive(ledger: [UInt8]?) throws(StoreError) -> Bool {
        guard let ledger else { return false }
        if ledger.elementsEqual("L".utf8) { return true }
        guard ledger.elementsEqual("E".utf8) else { throw .unavailable }
        return false
    }

    /// Returns the latest epoch under any of the subject's names; 0 if none exists.
    package func eventualEpoch(of subject: String, on loop: any EventLoop) -> Eventual<UInt64> {
        // One command per name, because names have different slots.
        let asked = self.names(of: subject).map { name in
            self.client.ask(RedisCommand("MGET", [Keyspace.epoch(name)]), on: loop).flatMapThrowing { reply in
                // A primary that was just promoted or restarted may have lost the end.
                max(try Values(reply, count: 1).latestEpoch(from: 0), self.endings.epoch(of: name))
            }
        }
        if asked.count == 1 { return .later(asked[0]) }
        return .later(EventLoopFuture.whenAllSucceed(asked, on: loop).map { $0.max() ?? 0 })
    }

    package func now(on loop: any EventLoop) -> EventLoopFuture<UnixTime> {
        self.client.ask(RedisCommand("TIME"), on: loop).flatMapThrowing { reply in
            guard case .array(let parts) = reply, parts.count == 2, case .bulk(let digits) = parts[0],
                case .bulk(let rest) = parts[1], let seconds = Int64(String(decoding: digits, as: UTF8.self)),
                let microseconds = Int64(String(decoding: rest, as: UTF8.self))
            else { throw StoreError.unavailable }
            return UnixTime(seconds: seconds).advanced(by: .milliseconds(microseconds / 1000))
        }
    }

    /// Returns the latest remembered epoch of the subject; 0 if none exists. The present primary may have lost it.
    func rememberedEpoch(of subject: String) -> UInt64 {
        self.names(of: subject).reduce(0) { max($0, self.endings.epoch(of: $1)) }
    }

    /// Raises the epoch under each name of the subject in turn, so that gateways with only some of the secrets see it.
    func moveEpoch(_ names: ArraySlice<String>, to epoch: UInt64, on loop: any EventLoop) -> EventLoopFuture<Void> {
        guard let name = names.first else { return loop.makeSucceededVoidFuture() }
        let call = ScriptCall(
            Scripts.endSubject,
            keys: [Keyspace.epoch(name)],
            arguments: [Self.digits(Self.longestLife + Self.margin), Array("\(epoch)".utf8)]
        )
        return self.client.run(call, on: loop).flatMap { reply in
            guard case .integer(let moved) = reply, moved > 0 else {
                return loop.makeFailedFuture(StoreError.unavailable)
            }
            self.endings.note(.subject(name, epoch: UInt64(moved)))
            return self.moveEpoch(names.dropFirst(), to: UInt64(moved), on: loop)
        }
    }

    /// Reports an end to this process's caches after `step`. If `step` fails, the end may still have taken effect, so
    /// the caches are invalidated in any case.
    func telling<Answer: Sendable>(
        _ ended: Invalidation,
        after step: EventLoopFuture<Answer>,
        on loop: any EventLoop
    ) -> EventLoopFuture<Answer> {
        let caches = self.caches
        return step.flatMap { answer in
            caches.invalidate(ended, on: loop).map { answer }
        }.flatMapError { error in
            caches.invalidate(ended, on: loop).flatMapThrowing { throw error }
        }
    }

    /// Returns the TTL of a record that lives until `end`, with `margin`.
    static func life(until end: UnixTime, from now: UnixTime) -> Duration {
        min(max(end.since(now), .zero), Self.longestLife) + Self.margin
    }

    /// Returns the duration in whole milliseconds as decimal digits.
    static func digits(_ duration: Duration) -> [UInt8] {
        Array("\(duration.wholeMilliseconds)".utf8)
    }

    /// Returns the time in milliseconds as decimal digits.
    static func digits(of time: UnixTime) -> [UInt8] {
        Array("\(time.milliseconds)".utf8)
    }
}

extension RedisClient {
    /// Sends a command. Every error reply and failure becomes `StoreError.unavailable`.
    func ask(_ command: RedisCommand, on loop: any EventLoop) -> EventLoopFuture<RedisReply> {
        self.ask(command, on: loop) { .success($0) }
    }

    /// Sends a command, and returns what `step` makes from the reply, with a single future.
    func ask<Answer: Sendable>(
        _ command: RedisCommand,
        on loop: any EventLoop,
        _ step: @escaping @Sendable (RedisReply) throws -> Eventual<Answer>
    ) -> EventLoopFuture<Answer> {
        self.answer(on: loop, { $0.send(command, on: loop, $1) }, { try step(try RedisStore.reply($0)) })
    }

    /// Runs a script. Every error reply and failure becomes `StoreError.unavailable`.
    func run(_ call: ScriptCall, on loop: any EventLoop) -> EventLoopFuture<RedisReply> {
        self.run(call, on: loop) { .success(try RedisStore.reply($0)) }
    }

    /// Runs a script, and returns the answer that `step` makes from the result.
    func run<Answer: Sendable>(
        _ call: ScriptCall,
        on loop: any EventLoop,
        _ step: @escaping @Sendable (RedisConnectionHandler.Answered) throws -> Eventual<Answer>
    ) -> EventLoopFuture<Answer> {
        self.answer(on: loop, { $0.evaluate(call, on: loop, $1) }, step)
    }

    /// Sends a command or a script with `send`, and returns the answer that `step` makes from the result.
    private func answer<Answer: Sendable>(
        on loop: any EventLoop,
        _ send: @escaping @Sendable (RedisClient, @escaping RedisConnectionHandler.Receiver) -> Void,
        _ step: @escaping @Sendable (RedisConnectionHandler.Answered) throws -> Eventual<Answer>
    ) -> EventLoopFuture<Answer> {
        guard loop.inEventLoop else { return loop.flatSubmit { self.answer(on: loop, send, step) } }
        let promise = loop.makePromise(of: Answer.self)
        send(self) { result in
            Eventual(catching: { try step(result) }).whenComplete { promise.completeWith($0) }
        }
        return promise.futureResult
    }
}
