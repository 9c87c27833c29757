import NIOCore
import RedisServers
import RedisStore
import Sessions
import Synchronization
import TestSupport
import Testing
import Vocabulary

/// The Redis parts of one gateway process: a client, a store with a subscription, and on every loop a cache with its
/// resolver.
final class Listener: Sendable {
    let client: RedisClient
    let store: RedisStore
    let caches = SessionCaches()
    let authority = TokenAuthority(secret: Secret("the secret of the tests"))
    private let resolvers: [NIOLoopBound<SessionResolver>]
    /// The time at which every session is presented, so that no entry becomes too old while a test waits.
    private let now = Clock.system.now()
    private let record: Record

    private final class Record: Sendable {
        let events = Mutex<[RedisEvent]>([])
    }

    private init(_ configuration: RedisConfiguration) async throws {
        let record = Record()
        let client = try RedisClient(configuration: configuration, group: loops) { event in
            record.events.withLock { $0.append(event) }
        }
        let store = RedisStore(client: client, ring: RedisStoreBench.ring, clock: .system, caches: self.caches)
        var resolvers: [NIOLoopBound<SessionResolver>] = []
        for loop in loops.makeIterator() {
            let (caches, authority) = (self.caches, self.authority)
            let resolver = try await loop.submit {
                let cache = SessionCache()
                caches.register(cache, on: loop)
                return NIOLoopBound(
                    SessionResolver(loop: loop, cache: cache, store: store, authority: authority, clock: .system),
                    eventLoop: loop
                )
            }.get()
            resolvers.append(resolver)
        }
        self.client = client
        self.store = store
        self.resolvers = resolvers
        self.record = record
    }

    /// Runs `body` with a started listener that has heard of no fault, and shuts it down afterwards.
    static func with(
        _ configuration: RedisConfiguration,
        trusting: Bool = true,
        _ body: (Listener) async throws -> Void
    ) async throws {
        let listener = try await Listener(configuration)
        try await listener.store.start()
        do {
            if trusting { try await waitUntil { listener.events.contains(.trusted) } }
            try await body(listener)
        } catch {
            try await listener.store.shutDown()
            throw error
        }
        try await listener.store.shutDown()
    }

    /// What the client reported, in order.
    var events: [RedisEvent] { self.record.events.withLock { $0 } }

    /// How often its subscription has begun to work.
    var trusts: Int { self.events.count { $0 == .trusted } }

    /// A new session that is written by `store`, with its token.
    func signIn(through store: RedisStore, subject: String = "alice") async throws -> (token: Secret, key: RecordKey) {
        let lineage = self.authority.newLineage()
        let (token, key) = self.authority.make(.session, in: lineage)
        let session = RedisStoreBench.session(subject: subject, lineage: lineage, now: Clock.system.now())
        try await store.create(NewSession(key: key, session: session), on: loops.next()).get()
        return (token, key)
    }

    /// Presents the token on every loop; returns on how many it was accepted.
    @discardableResult
    func present(_ token: Secret) async throws -> Int {
        var good = 0
        let now = self.now
        for resolver in self.resolvers {
            let isGood = try await resolver.eventLoop.flatSubmit {
                switch token.bytes.withUnsafeBytes({
                    resolver.value.resolve(.web, token: $0, now: now)
                }) {
                case .hit: resolver.eventLoop.makeSucceededFuture(true)
                case .miss(let read): read.future.assumeIsolated().map { $0 != nil }.nonisolated()
                case .otherKind, .otherKey, .malformed: resolver.eventLoop.makeSucceededFuture(false)
                }
            }.get()
            good += isGood ? 1 : 0
        }
        return good
    }

    /// On how many loops the token would be accepted without asking the store.
    func trusting(_ token: Secret) async throws -> Int {
        let now = self.now
        return try await self.count { cache in
            token.bytes.withUnsafeBytes { cache.lookup($0, now: now) } != nil ? 1 : 0
        }
    }

    /// The number of entries of all loops, doubtful or not.
    func entries() async throws -> Int {
        try await self.count { $0.counters.entries }
    }

    private func count(_ step: @escaping @Sendable (SessionCache) -> Int) async throws -> Int {
        var sum = 0
        for resolver in self.resolvers {
            sum += try await resolver.eventLoop.submit { step(resolver.value.cache) }.get()
        }
        return sum
    }
}

/// Measures how long a loop is busy with other work.
final class LoopPulse: Sendable {
    private struct Beats {
        var last = ContinuousClock.now
        var longest = Duration.zero
    }

    private let beats: Beat
    private let task: RepeatedTask

    private final class Beat: Sendable {
        let state = Mutex(Beats())
    }

    init(_ loop: any EventLoop) {
        let beats = Beat()
        self.beats = beats
        self.task = loop.scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(1)) { _ in
            beats.state.withLock { beats in
                beats.longest = max(beats.longest, ContinuousClock.now - beats.last)
                beats.last = .now
            }
        }
    }

    /// The longest time between two beats, which should be a millisecond apart.
    func stop() -> Duration {
        self.task.cancel()
        return self.beats.state.withLock { $0.longest }
    }
}
