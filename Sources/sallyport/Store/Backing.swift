import Logging
import NIOCore
import Observability
import Sessions
import Settings
import Vocabulary

/// Where this process keeps its sessions and all other records, with what a store needs beside the protocol by which requests use it.
enum Backing: Sendable {
    case memory(MemoryStore, LocalRateLimiter, Clock)
    case redis(RedisBacking)

    /// Redis where the settings name one, else this process's memory. Nothing is connected before `start()`.
    ///
    /// - Throws: `StartRefusal` that names the setting.
    init(
        _ settings: StoreSettings,
        secrets: SecretRing,
        group: any EventLoopGroup,
        caches: SessionCaches,
        audit: AuditStream,
        logger: Logger
    ) throws {
        let clock = Clock.steady()
        if let redis = settings.redis {
            let journal = RedisJournal(logger: logger, audit: audit, clock: clock)
            self = .redis(
                try RedisBacking(redis, secrets: secrets, group: group, caches: caches, journal: journal, clock: clock)
            )
        } else {
            let store = MemoryStore(
                maxSessions: settings.maxSessions,
                maxMarkers: settings.maxMarkers,
                clock: clock,
                caches: caches
            )
            self = .memory(store, LocalRateLimiter(clock: clock), clock)
        }
    }

    var store: any RecordStore {
        switch self {
        case .memory(let store, _, _): store
        case .redis(let redis): redis.store
        }
    }

    /// Counts tries where sessions are kept: all gateways of one Redis count together.
    var limiter: any RateLimiter {
        switch self {
        case .memory(_, let limiter, _): limiter
        case .redis(let redis): redis.limiter
        }
    }

    /// By which what is kept here lives and ends; setting the machine's clock sets none of them.
    ///
    /// Clients are shown absolute times of this clock, as in `expires_at`: the end that will be judged. What is relative, as
    /// `expires_in`, is the difference of two of its times and right whatever it shows.
    var clock: Clock {
        switch self {
        case .memory(_, _, let clock): clock
        case .redis(let redis): redis.clock
        }
    }

    /// Begins to connect. A store that is not there is no reason not to start: it is tried again and again.
    func start() async throws {
        if case .redis(let redis) = self { try await redis.start() }
    }

    /// Lets go of the store; no request is asking for anything any more.
    func stop() async {
        if case .redis(let redis) = self { await redis.shutDown() }
    }

    /// Removes what has ended; Redis does that by itself.
    func collectExpired() {
        if case .memory(let store, _, _) = self { store.sweep() }
    }

    /// What of it readiness depends on.
    var checks: [AdminServer.Check] {
        switch self {
        case .memory: [(name: "store", ok: true, detail: "in this process's memory")]
        case .redis(let redis): redis.checks
        }
    }

    /// Registers what is read at a scrape.
    ///
    /// - Parameter handoffLifetime: how long transfer tokens live under the settings in use.
    func register(in registry: MetricsRegistry, handoffLifetime: @escaping @Sendable () -> Duration) {
        if case .redis(let redis) = self { redis.register(in: registry, handoffLifetime: handoffLifetime) }
    }
}
