package import Cryptography
package import NIOCore
package import Sessions
import Synchronization
package import Vocabulary

/// Sessions and all other records in Redis, shared by any number of gateways.
///
/// Records are sealed, so Redis cannot read them. They are read and judged here; Redis compares, acts and expires.
/// Every gateway judges by Redis's clock (`StoreClock`), and every key has a TTL a little longer than the record's
/// lifetime, so that the remaining differences between clocks never make Redis drop a live record.
///
/// **Versions.** A compare-and-act must name the exact bytes that were judged, which a 64-bit number cannot do. So the
/// store keeps the sealed bytes of recently read records with the version numbers that it gave out, and the script
/// compares those bytes with the value in Redis. An act on a version that is no longer kept changes nothing: the answer
/// is `.changed`, judge again.
///
/// **Epochs** have slots of their own, so a script cannot read them together with a record. It does not need to: a
/// session carries the epoch that was read before it was written, and every read compares it with the current one. If
/// the subject's sessions are ended in between, the session is dead from the start.
package final class RedisStore: RecordStore {
    /// How much longer keys are kept than the lifetime: more than the gateways' clocks differ (`StoreClock.tolerance`).
    static let margin = Duration.seconds(5)
    /// How much longer the record of a session is kept than the session lives, so that a user who comes back then is known
    /// to have had one.
    static let recollection = Duration.seconds(900)
    /// No session lives longer than this, so an end need not be remembered longer.
    package static let longestLife = Duration.seconds(400 * 86_400)

    /// The value of a record that was read, under the version that was given out for it.
    struct Judged: Sendable {
        let version: RecordVersion
        let value: [UInt8]
        let terms: RecordTerms
        /// The attempt that wrote a replaceable record.
        var attempt: AttemptID?
        /// The epoch of a single-use record's owner that was read with it, and when.
        var epoch: (value: UInt64, readAt: NIODeadline)?
    }

    /// The value of a document that was read, under the version that was given out for it.
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
    /// A separate table, because one list can have as many documents as a collection.
    let judgedDocuments = RecentTable<DocumentKey, JudgedDocument>(capacity: 8192)
    /// The subject of the session or single-use record under a key, so that its epoch can be requested together with it.
    /// Never wrong, because a session is only replaced by one of the same subject.
    let subjects = RecentTable<RecordKey, KnownSubject>(capacity: 32_768)
    /// The sessions whose end by time was reported: each is found again until its record is gone.
    let reportedLapses = RecentTable<RecordKey, Void>(capacity: 16_384)
    let lapsed: LapseReceiver
    private let feed: InvalidationFeed
    /// The ends that count whatever a primary that was replaced or restarted says.
    let endings: EndingMemory
    private let replay: EndingReplay
    let reigns: ReignWatch
    let readBackPatience: Duration
    let sessions = SharedSessions()
    let formerLists: TokenAuthority?
    /// The subjects, of whose names each costs an HMAC.
    let knownSubjects = RecentTable<String, KnownSubject>(capacity: 16_384)
    let loggedHour = Mutex(LoggedHour())
    private let versions = Atomic<UInt64>(0)

    /// A store over `client`, which reports to `caches` what ends here.
    ///
    /// - Parameters:
    ///   - clock: The clock of `client`, except where a test controls the time.
    ///   - readBackPatience: How long to wait for a new connection after an answer was lost.
    ///   - formerLists: Names the lists of users' sessions that earlier gateways wrote (`FormerSessionList`); nil: none is
    ///     looked for.
    ///   - lapsed: Is told once of a session that has ended by time, if its token is presented later.
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

    /// Remembers an end that was received. A subject's new epoch must be read from Redis.
    private static func remember(_ ended: Invalidation, in endings: EndingMemory, client: RedisClient, clock: Clock) {
        switch ended {
        case .session(let key): endings.note(.session(key))
        case .record(let key): endings.note(.record(key))
        case .lineage(let lineage): endings.note(.lineage(lineage))
        case .subject(let name):
            client.ask(RedisCommand("MGET", [Keyspace.epoch(name)]), on: client.firstLoop).whenComplete { result in
                let epoch = try? Values(try result.get(), count: 1).latestEpoch(from: 0)
                if let epoch { return endings.note(.subject(name, epoch: epoch)) }
                // Epochs are times of the same clock. An end that this gateway has just caused is received too, and its
                // epoch is already known.
                let now = UInt64(clamping: clock.now().milliseconds)
                guard endings.epoch(of: name) < now - min(now, Self.echo) else { return }
                endings.note(.subject(name, epoch: now))
            }
        case .client, .sessionRecord, .document, .all: break
        }
    }

    /// Begins to listen for ends elsewhere, and starts the client; `RedisClient.start` documents what is waited for.
    /// Until every end is received, all caches doubt.
    package func start() async throws {
        self.feed.start()
        self.replay.start()
        self.reigns.start(self.client)
        try await self.client.start()
    }

    /// Stops listening and shuts the client down.
    package func shutDown() async throws {
        self.replay.shutDown()
        try await self.feed.shutDown()
        try await self.client.shutDown()
    }

    func newVersion() -> RecordVersion {
        RecordVersion(value: self.versions.add(1, ordering: .relaxed).newValue)
    }

    // MARK: Steps that sessions and other records share

    /// The outcome of a write whose answer was lost with its connection, of which the value at `place` tells. A new
    /// connection is waited for, but only for a limited time.
    ///
    /// No value proves nothing, because the write may still be on its way, and neither does `judged`, the value before the
    /// write. Then the store is unavailable, and repeating the attempt with the same id finds out.
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

    /// The reply to a script that needs room; lack of room is `.full`.
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

        /// The values in the reply to an `MGET` of `count` keys.
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

        /// The values of these keys alone.
        func selecting(_ indices: [Int]) -> Values { Values(elements: indices.map { self.elements[$0] }) }

        /// nil where a key has no value.
        subscript(index: Int) -> [UInt8]? {
            if case .bulk(let bytes) = self.elements[index] { bytes } else { nil }
        }

        /// The latest of the epochs that begin at `start`; 0 if there is none.
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

    /// Fails when a key for which `MGET` gave no value holds a value of another type: damaged data must not be reported
    /// as absent.
    func verify(absent keys: [[UInt8]], on loop: any EventLoop) -> EventLoopFuture<Void> {
        let asked = keys.map { self.client.ask(RedisCommand("GET", [$0]), on: loop).map { _ in } }
        return EventLoopFuture.andAllSucceed(asked, on: loop)
    }

    /// Whether the lineage with this ledger lives.
    static func isLive(ledger: [UInt8]?) throws(StoreError) -> Bool {
        guard let ledger else { return false }
        if ledger.elementsEqual("L".utf8) { return true }
        guard ledger.elementsEqual("E".utf8) else { throw .unavailable }
        return false
    }

    /// The latest epoch under any of the subject's names; 0 if its sessions were never ended.
    package func eventualEpoch(of subject: String, on loop: any EventLoop) -> Eventual<UInt64> {
        // One command for each name, because names have different slots.
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

    /// The latest epoch of the subject that this gateway knows of. A primary that was just promoted or restarted may have
    /// lost it.
    func rememberedEpoch(of subject: String) -> UInt64 {
        self.names(of: subject).reduce(0) { max($0, self.endings.epoch(of: $1)) }
    }

    /// Raises the epoch under each of the subject's names in turn, so that gateways that know only some of the secrets
    /// see it too.
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

    /// Reports an end to this process's caches, even when Redis did not answer whether it took effect: then they read
    /// again.
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

    /// The TTL for a lifetime that ends at `end`.
    static func life(until end: UnixTime, from now: UnixTime) -> Duration {
        min(max(end.since(now), .zero), Self.longestLife) + Self.margin
    }

    /// Whole milliseconds in decimal digits.
    static func digits(_ duration: Duration) -> [UInt8] {
        Array("\(duration.wholeMilliseconds)".utf8)
    }

    /// The time in milliseconds in decimal digits.
    static func digits(of time: UnixTime) -> [UInt8] {
        Array("\(time.milliseconds)".utf8)
    }
}

extension RedisClient {
    /// Sends a command. Every error reply and failure means that the store cannot answer.
    func ask(_ command: RedisCommand, on loop: any EventLoop) -> EventLoopFuture<RedisReply> {
        self.ask(command, on: loop) { .success($0) }
    }

    /// The same, and makes an answer of the reply: one future for both, because each costs as much as the step.
    func ask<Answer: Sendable>(
        _ command: RedisCommand,
        on loop: any EventLoop,
        _ step: @escaping @Sendable (RedisReply) throws -> Eventual<Answer>
    ) -> EventLoopFuture<Answer> {
        self.answer(on: loop, { $0.send(command, on: loop, $1) }, { try step(try RedisStore.reply($0)) })
    }

    /// Runs a script, with the same errors.
    func run(_ call: ScriptCall, on loop: any EventLoop) -> EventLoopFuture<RedisReply> {
        self.run(call, on: loop) { .success(try RedisStore.reply($0)) }
    }

    /// Runs a script, and makes an answer of its result.
    func run<Answer: Sendable>(
        _ call: ScriptCall,
        on loop: any EventLoop,
        _ step: @escaping @Sendable (RedisConnectionHandler.Answered) throws -> Eventual<Answer>
    ) -> EventLoopFuture<Answer> {
        self.answer(on: loop, { $0.evaluate(call, on: loop, $1) }, step)
    }

    /// What `step` makes of the result of what is sent.
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
