package import Cryptography
internal import NIOCore
package import Sessions
import Synchronization
package import Vocabulary

/// Sessions and all other records in Redis, shared by any number of gateways.
///
/// Records are sealed, and Redis understands none of them. They are read and judged here; Redis compares, acts and forgets. Every gateway judges
/// by the clock of Redis (`StoreClock`), and every key has a TTL a little longer than the life that is judged, so that what
/// is left of their differences never makes Redis forget what is still alive.
///
/// **Versions.** A compare-and-act must name the very bytes that were judged, and a 64-bit number cannot. So the store
/// keeps the sealed bytes of the records it read last beside the numbers it gave out, and the script compares those bytes
/// with what lies in Redis. A version that is no longer kept changes nothing: it is `.changed`, judge again.
///
/// **Epochs** lie in a slot of their own, so a script cannot look at them together with a record. It need not: a session
/// is born under the epoch that was read before it was written, and every read compares. An end that comes between finds
/// the session dead on arrival.
package final class RedisStore: RecordStore {
    /// What keys outlive the life that is judged: more than gateways differ about the time (`StoreClock.tolerance`).
    static let margin = Duration.seconds(5)
    /// No session lives longer than this, so an end need not be remembered longer.
    package static let longestLife = Duration.seconds(400 * 86_400)

    /// The value of a record that was read, under the version that was given out for it.
    struct Judged: Sendable {
        let version: RecordVersion
        let value: [UInt8]
        let terms: RecordTerms
        /// The attempt that wrote a replaceable record.
        var attempt: AttemptID?
    }

    /// The same for a document.
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
    /// Apart, as a list has as many as a collection.
    let judgedDocuments = RecentTable<DocumentKey, JudgedDocument>(capacity: 8192)
    /// Whose record lies under a key, so that the epoch can be asked for together with the record. Never wrong: a key
    /// never gets another record.
    let subjects = RecentTable<RecordKey, KnownSubject>(capacity: 16_384)
    private let feed: InvalidationFeed
    /// What has ended, whatever a primary that was replaced or started again says.
    let endings: EndingMemory
    private let replay: EndingReplay
    /// How long a lost answer is worth waiting for a new connection.
    let readBackPatience: Duration
    /// The subjects' names, which cost an HMAC each.
    let subjectNames = RecentTable<String, [String]>(capacity: 16_384)
    private let versions = Atomic<UInt64>(0)

    /// A store over `client`, which tells `caches` what has ended here.
    ///
    /// - Parameters:
    ///   - clock: That of `client`, but where a test moves time.
    ///   - readBackPatience: how long a lost answer is worth waiting for a new connection.
    package init(
        client: RedisClient,
        ring: SealingKeyRing,
        clock: Clock,
        caches: SessionCaches,
        readBackPatience: Duration = .milliseconds(250)
    ) {
        self.readBackPatience = readBackPatience
        self.client = client
        self.seals = RecordSeals(ring: ring)
        self.clock = clock
        self.caches = caches
        let endings = EndingMemory(clock: clock)
        self.endings = endings
        self.replay = EndingReplay(client: client, memory: endings)
        self.feed = InvalidationFeed(
            client: client,
            caches: caches,
            heard: { Self.remember($0, in: endings, client: client, clock: clock) }
        )
    }

    /// Within so many milliseconds this gateway hears of what it ended itself, and more.
    private static let echo: UInt64 = 5000

    /// Keeps an end that was heard of. What epoch a subject has now, it must ask for.
    private static func remember(_ ended: Invalidation, in endings: EndingMemory, client: RedisClient, clock: Clock) {
        switch ended {
        case .session(let key): endings.note(.session(key))
        case .record(let key): endings.note(.record(key))
        case .lineage(let lineage): endings.note(.lineage(lineage))
        case .subject(let name):
            client.send(RedisCommand("MGET", [Keyspace.epoch(name)]), on: client.firstLoop).whenComplete { result in
                let epoch = try? Values(try Self.reply(result), count: 1).latestEpoch(from: 0)
                if let epoch { return endings.note(.subject(name, epoch: epoch)) }
                // Epochs are times of the same clock. What this gateway has just ended it hears, too, and knows better.
                let now = UInt64(clamping: clock.now().milliseconds)
                guard endings.epoch(of: name) + Self.echo < now else { return }
                endings.note(.subject(name, epoch: now))
            }
        case .document, .all: break
        }
    }

    /// Begins to listen for what ends elsewhere, and starts the client; `RedisClient.start` says what is waited for. Until
    /// everything is heard, all caches doubt.
    package func start() async throws {
        self.feed.start()
        self.replay.start()
        try await self.client.start()
    }

    /// Listens no more, and shuts the client down.
    package func shutDown() async throws {
        self.replay.shutDown()
        try await self.feed.shutDown()
        try await self.client.shutDown()
    }

    func newVersion() -> RecordVersion {
        RecordVersion(value: self.versions.add(1, ordering: .relaxed).newValue)
    }

    // MARK: Steps that sessions and other records share

    /// Sends a command whose error replies and failures all mean that the store cannot say.
    func ask(_ command: RedisCommand, on loop: any EventLoop) -> EventLoopFuture<RedisReply> {
        Self.answered(self.client.send(command, on: loop))
    }

    /// The same for a script.
    func run(_ call: ScriptCall, on loop: any EventLoop) -> EventLoopFuture<RedisReply> {
        Self.answered(self.client.evaluate(call, on: loop))
    }

    static func answered(_ reply: EventLoopFuture<RedisReply>) -> EventLoopFuture<RedisReply> {
        let promise = reply.eventLoop.makePromise(of: RedisReply.self)
        reply.whenComplete { result in
            do throws(StoreError) { promise.succeed(try Self.reply(result)) } catch { promise.fail(error) }
        }
        return promise.futureResult
    }

    /// The same for a write that needs room: that there is none is an answer of its own. Its future may also fail with
    /// `RedisError.unanswered`.
    func write(_ call: ScriptCall, on loop: any EventLoop) -> EventLoopFuture<RedisReply> {
        self.client.evaluate(call, on: loop).flatMapThrowing { reply in
            guard case .error(let error) = reply else { return reply }
            throw error.writeRefusal?.code == "OOM" ? StoreError.full : StoreError.unavailable
        }.flatMapErrorThrowing { error in
            switch error {
            case RedisError.unanswered, is StoreError: throw error
            default: throw StoreError.unavailable
            }
        }
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

        /// nil where a key has no value.
        subscript(index: Int) -> [UInt8]? {
            if case .bulk(let bytes) = self.elements[index] { bytes } else { nil }
        }

        /// The latest of the epochs that begin at `start`; 0 when there is none.
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

    /// Fails when a key that `MGET` gave no value for has one of another type: what is damaged is no reason to say that
    /// there is nothing.
    func verify(absent keys: [[UInt8]], on loop: any EventLoop) -> EventLoopFuture<Void> {
        EventLoopFuture.andAllSucceed(keys.map { self.ask(RedisCommand("GET", [$0]), on: loop).map { _ in } }, on: loop)
    }

    /// Whether the lineage with this ledger lives.
    static func isLive(ledger: [UInt8]?) throws(StoreError) -> Bool {
        guard let ledger else { return false }
        if ledger.elementsEqual("L".utf8) { return true }
        guard ledger.elementsEqual("E".utf8) else { throw .unavailable }
        return false
    }

    /// The subject's epoch now: the latest under any of its names. 0 when its sessions were never ended.
    func epoch(of subject: String, on loop: any EventLoop) -> EventLoopFuture<UInt64> {
        // One command for each name: they lie in slots of their own.
        let asked = self.seals.ring.names(of: subject).map { name in
            self.ask(RedisCommand("MGET", [Keyspace.epoch(name)]), on: loop).flatMapThrowing { reply in
                try Values(reply, count: 1).latestEpoch(from: 0)
            }
        }
        if asked.count == 1 { return asked[0] }
        return EventLoopFuture.whenAllSucceed(asked, on: loop).map { $0.max() ?? 0 }
    }

    /// Moves the epoch on under each of the subject's names, one after the other: gateways that know only some of the
    /// secrets see it too.
    func moveEpoch(_ names: ArraySlice<String>, to epoch: UInt64, on loop: any EventLoop) -> EventLoopFuture<Void> {
        guard let name = names.first else { return loop.makeSucceededVoidFuture() }
        let call = ScriptCall(
            Scripts.endSubject,
            keys: [Keyspace.epoch(name)],
            arguments: [Self.digits(Self.longestLife + Self.margin), Array("\(epoch)".utf8)]
        )
        return self.run(call, on: loop).flatMap { reply in
            guard case .integer(let moved) = reply, moved > 0 else {
                return loop.makeFailedFuture(StoreError.unavailable)
            }
            self.endings.note(.subject(name, epoch: UInt64(moved)))
            return self.moveEpoch(names.dropFirst(), to: UInt64(moved), on: loop)
        }
    }

    /// Tells this process's caches what ended, also when Redis did not say whether it did: then they read again.
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

    /// How long a key must stay for a life that ends at `end`, in digits of milliseconds.
    static func life(until end: UnixTime, from now: UnixTime) -> Duration {
        min(max(end.since(now), .zero), Self.longestLife) + Self.margin
    }

    /// Whole milliseconds in decimal digits.
    static func digits(_ duration: Duration) -> [UInt8] {
        Array("\(duration.wholeMilliseconds)".utf8)
    }
}
