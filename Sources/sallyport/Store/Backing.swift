import Logging
import NIOCore
import Observability
import Operating
import Sessions
import Settings
import Vocabulary

/// Where this process keeps its sessions and all other records, and what the process needs of that store besides its
/// protocols.
struct Backing: StoreBacking {
    private enum Kind {
        case memory(MemoryStore)
        case redis(RedisBacking)
    }

    let store: any RecordStore
    /// Counts attempts where sessions are kept, so that all gateways of one Redis count together.
    let limiter: any RateLimiter
    /// The clock for the lifetimes of what is stored here. Setting the machine's clock does not change it.
    ///
    /// Clients are shown absolute times of this clock, as in `expires_at`: the end that will be enforced. Relative
    /// times, as in `expires_in`, are differences of two of its times.
    let clock: Clock
    private let kind: Kind
}

extension Backing {
    /// The process's memory.
    init(_ store: MemoryStore, clock: Clock) {
        self.init(store: store, limiter: LocalRateLimiter(clock: clock), clock: clock, kind: .memory(store))
    }

    /// Redis where the settings name one, else this process's memory. It does not connect before `start()`.
    ///
    /// - Parameters:
    ///   - audit: By default none, as for a command.
    ///   - logger: By default none: a command says itself what fails.
    /// - Throws: `StartRefusal` that names the setting.
    init(
        _ settings: StoreSettings,
        sessions: SessionSettings = SessionSettings(),
        keys: ProcessKeys,
        group: any EventLoopGroup,
        caches: SessionCaches = SessionCaches(),
        audit: AuditStream = AuditStream(queue: nil),
        logger: Logger = .silent
    ) throws {
        let clock = Clock.steady()
        let lapsed: LapseReceiver = { lapse in
            if let event = AuditEvent(lapse) { audit.emit(event) }
        }
        if let redis = settings.redis {
            let journal = RedisJournal(logger: logger, audit: audit, clock: clock)
            let backing = try RedisBacking(
                redis,
                keys: keys,
                group: group,
                caches: caches,
                journal: journal,
                lapsed: lapsed,
                clock: clock
            )
            self.init(store: backing.store, limiter: backing.limiter, clock: backing.clock, kind: .redis(backing))
        } else {
            let store = MemoryStore(
                maxSessions: settings.maxSessions,
                maxMarkers: settings.maxMarkers,
                clock: clock,
                caches: caches,
                longestSession: max(sessions.browser.absolute, sessions.native.absolute),
                lapsed: lapsed
            )
            self.init(store, clock: clock)
        }
    }

    /// Starts to connect. The gateway also starts without its store, and tries again and again.
    func start() async throws {
        if case .redis(let redis) = self.kind { try await redis.start() }
    }

    /// Takes part as a gateway, beside others with the same store.
    func join() async {
        if case .redis(let redis) = self.kind { await redis.join() }
    }

    /// Takes over from reloaded settings what can change while the process runs: the users and passwords of Redis.
    func adopt(_ settings: StoreSettings) {
        if case .redis(let redis) = self.kind, let settings = settings.redis { redis.adoptCredentials(of: settings) }
    }

    /// Whether a reload may replace the settings of a store by these others.
    static func mayReload(_ former: StoreSettings, _ new: StoreSettings) -> Bool {
        guard let one = former.redis, let other = new.redis else { return former == new }
        var same = new
        same.redis = one
        return former == same && RedisBacking.isSame(apartFromCredentials: one, other)
    }

    /// Has `spread` called each time that the store sets its clock.
    func followClock(_ spread: @escaping @Sendable () async -> Void) {
        if case .redis(let redis) = self.kind { redis.followClock(spread) }
    }

    /// Closes the store. No request uses it any more.
    func stop() async {
        if case .redis(let redis) = self.kind { await redis.shutDown() }
    }

    /// Removes sessions that have ended; Redis does that by itself.
    func collectExpired() {
        if case .memory(let store) = self.kind { store.sweep() }
    }

    /// The checks of the store that readiness depends on.
    var checks: [ReadinessCheck] {
        switch self.kind {
        // Still ready when full: users who are signed in go on, and no other gateway could take the others.
        case .memory(let store): [(name: "store", ok: true, detail: Self.room(of: store))]
        case .redis(let redis): redis.checks
        }
    }

    /// Where the records are, and what there is no more room for.
    private static func room(of store: MemoryStore) -> String {
        var words = ["in this process's memory"]
        if store.sessionCount >= store.sessionLimit {
            words.append("store full: \(store.sessionLimit) sessions (store.memory.max_sessions), nobody can sign in")
        }
        if store.markerCount >= store.markerLimit {
            words.append(
                "store full: \(store.markerLimit) tokens (store.memory.max_markers), nothing can be handed over"
            )
        }
        return words.joined(separator: "; ")
    }

    /// Registers the values that are read at a scrape.
    ///
    /// - Parameter handoffLifetime: how long transfer tokens live under the settings in use.
    func register(in registry: MetricsRegistry, handoffLifetime: @escaping @Sendable () -> Duration) {
        switch self.kind {
        case .redis(let redis): redis.register(in: registry, handoffLifetime: handoffLifetime)
        case .memory(let store):
            registry.read(MetricNames.storeRecords, "sessions") { Double(store.sessionCount) }
            registry.read(MetricNames.storeRecords, "single_use") { Double(store.markerCount) }
            registry.read(MetricNames.storeLimit, "sessions") { Double(store.sessionLimit) }
            registry.read(MetricNames.storeLimit, "single_use") { Double(store.markerLimit) }
        }
    }
}

extension AuditEvent {
    /// The event of a session that ended by time. An access token's end is none: it is replaced by the next one.
    fileprivate init?(_ lapse: SessionLapse) {
        guard lapse.session.access == nil else { return nil }
        self.init(
            .sessionEnded,
            reason: lapse.reason,
            subject: lapse.session.subject,
            session: lapse.session.id,
            fingerprint: lapse.key.fingerprint,
            clientID: lapse.session.clientID,
            host: lapse.session.host,
            details: [("kind", lapse.session.kind.rawValue), ("expires_at", lapse.session.expiresAt.rfc3339)]
        )
    }
}
