import NIOCore
import Observability
import Operating
import RedisStore
import Sessions
import Settings
import Vocabulary

/// The store in Redis, with its client, log and readiness checks.
final class RedisBacking: StoreBacking {
    let limiter: any RateLimiter
    private let redis: RedisStore
    private let client: RedisClient
    private let journal: RedisJournal
    private let watch: RedisWatch
    private let secretWatch: SecretWatch
    private let settings: RedisSettings
    private let clockSpread = ClockSkew()

    /// Makes the parts, without connecting.
    ///
    /// - Parameters:
    ///   - lapsed: Called with an expired session when its token is presented.
    ///   - clock: A monotonic clock. It is also the clock of the records until Redis has reported its time.
    /// - Throws: `StartRefusal`, with the setting at fault.
    init(
        _ settings: RedisSettings,
        keys: ProcessKeys,
        group: any EventLoopGroup,
        caches: SessionCaches,
        journal: RedisJournal,
        lapsed: @escaping LapseReceiver,
        clock: Clock
    ) throws {
        let configuration: RedisConfiguration
        do throws(RedisURLError) {
            configuration = try RedisConfiguration(url: settings.url)
        } catch {
            throw StartRefusal(description: "store.redis: \(error)")
        }
        do {
            let clockSpread = self.clockSpread
            self.client = try RedisClient(
                configuration: configuration,
                group: group,
                meter: RedisMeter(),
                localClock: clock,
                observe: { event in
                    if event == .clockSet { clockSpread.clockWasSet() }
                    journal.note(event)
                }
            )
            // The short time limit keeps the log from waiting long for the reason of an outage.
            let check = try RedisCheck(
                configuration,
                settings,
                patience: .milliseconds(500),
                loop: group.any()
            )
            self.watch = RedisWatch(self.client, check: check, logger: journal.logger)
        } catch {
            let fault = configuration.tls.flatMap { RedisCheck.faults(inFilesOf: $0).first?.finding }
            throw StartRefusal(description: "store.redis: \(fault ?? "ca=, cert= or key= of the URL: \(error)")")
        }
        self.secretWatch = SecretWatch(client: self.client, secrets: keys.secrets) { journal.note($0) }
        self.redis = RedisStore(
            client: self.client,
            ring: keys.sealing,
            clock: self.client.clock,
            caches: caches,
            formerLists: keys.authority,
            lapsed: lapsed
        )
        self.limiter = RedisRateLimiter(client: self.client, ring: keys.sealing, clock: clock)
        self.journal = journal
        self.settings = settings
    }

    var store: any RecordStore { self.redis }
    var databaseSystem: String? { "redis" }

    /// Connects. Returns when each connection was tried once, even without success, or after four connect timeouts.
    func start() async throws {
        try await self.redis.start()
        await self.watch.start()
    }

    /// Returns whether the settings differ at most in the users and passwords of Redis.
    func mayReload(_ former: StoreSettings, _ new: StoreSettings) -> Bool {
        guard let one = former.redis, let other = new.redis else { return former == new }
        var same = new
        same.redis = one
        return former == same && Self.isSame(apartFromCredentials: one, other)
    }

    /// Returns whether the settings differ at most in the users and passwords in their URLs.
    private static func isSame(apartFromCredentials one: RedisSettings, _ other: RedisSettings) -> Bool {
        var same = other
        same.url = one.url
        guard one == same, let first = try? RedisConfiguration(url: one.url),
            let second = try? RedisConfiguration(url: other.url)
        else { return false }
        return first.isSame(apartFromCredentials: second)
    }

    /// Starts to use the users and passwords in the new settings.
    func adopt(_ settings: StoreSettings) {
        guard let redis = settings.redis, let configuration = try? RedisConfiguration(url: redis.url) else { return }
        guard configuration != self.client.connector.current else { return }
        self.watch.adoptCredentials(of: configuration)
        self.client.adoptCredentials(of: configuration)
    }

    func followClock(_ spread: @escaping @Sendable () async -> Void) { self.clockSpread.follow(spread) }

    /// Starts to compare this gateway's secrets with those of other gateways.
    func join() async { await self.secretWatch.start() }

    /// Waits for answers to commands under way, then closes the connections.
    func stop() async {
        await self.watch.shutDown()
        await self.secretWatch.shutDown()
        try? await self.redis.shutDown()
    }

    /// Does nothing: Redis itself removes expired records.
    func collectExpired() {}

    /// Redis's clock, shared by all gateways.
    var clock: Clock { self.client.clock }

    // MARK: Readiness

    var checks: [ReadinessCheck] {
        let status = self.client.status
        let lack = self.watch.missingRights
        let knowsTime = self.client.knowsTime && self.clockSpread.isDone
        let refusals = status.nodes.filter { $0.writeRefusal != nil }
        let strangers = self.secretWatch.strangers
        let isHeard = status.invalidationIsUp
        let unsafe = status.nodes.flatMap { node in
            (node.facts.map(RedisMessages.dangers) ?? []).map { "\(node.address): \($0)" }
        }
        let forgetful = status.nodes.filter {
            self.settings.requireAppendOnly && $0.facts?.writesAppendOnlyFile == false
        }
        .map { "\($0.address): \(RedisMessages.snapshotsOnly)" }
        let dangers = unsafe + forgetful
        return [
            ("store", status.isConnected, RedisMessages.connection(status, reason: self.watch.reason)),
            // Not ready: sessions can still be read, but users cannot sign in. `NOREPLICAS` may mean that the primary
            // is isolated, and that only other gateways can serve. The primary is retried even without requests, so an
            // idle gateway recovers.
            (
                "store_writes", refusals.isEmpty,
                refusals.isEmpty
                    ? lack == nil ? "no write is refused" : "see store_rights" : RedisMessages.writeRefusals(refusals)
            ),
            ("store_rights", lack == nil, lack ?? "the gateway's user has every right that it needs"),
            (
                "store_clock", knowsTime,
                knowsTime
                    ? "every event loop uses the store's time" : "the event loops do not know the store's time yet"
            ),
            // Only the gateway that joined later is not ready: a wrong secret must not take the others down.
            (
                "store_secrets", strangers.earlier == 0,
                RedisMessages.strangers(strangers) ?? "all gateways of this Redis share a secret"
            ),
            (
                "store_invalidation", isHeard,
                isHeard
                    ? "sign-outs at other gateways are received"
                    : "sign-outs at other gateways are not received: each session is read before it is used"
            ),
            (
                "store_quorum", status.cutOff == nil,
                status.cutOff.map { RedisMessages.silence($0.quorum) }
                    ?? "most of the servers that choose the primary answer"
            ),
            (
                "store_safety", (unsafe.isEmpty || !self.settings.requireSafe) && forgetful.isEmpty,
                dangers.isEmpty ? "Redis evicts no keys" : dangers.joined(separator: "; ")
            ),
        ]
    }

    // MARK: Metrics

    func register(in registry: MetricsRegistry, handoffLifetime: @escaping @Sendable () -> Duration) {
        let (client, journal, meter) = (self.client, self.journal, self.client.meter)
        for kind in RedisMeter.Kind.allCases {
            for outcome in RedisMeter.Outcome.allCases {
                registry.read(MetricNames.redisCommands, kind.label, outcome.label) {
                    Double(meter.count(of: kind, outcome))
                }
            }
            registry.read(MetricNames.redisCommandDuration, kind.label, buckets: RedisMeter.bounds) {
                let durations = meter.durations(of: kind)
                return (durations.counts, durations.seconds)
            }
        }
        registry.read(MetricNames.redisUp) { client.status.isConnected ? 1 : 0 }
        for reason in RedisMessages.reasons {
            registry.read(MetricNames.redisDown, reason) { [watch] in
                let now = RedisMessages.reason(client.status) ?? (watch.missingRights == nil ? nil : "noperm")
                return now == reason ? 1 : 0
            }
        }
        registry.read(MetricNames.redisStrangers) { [secretWatch] in
            let strangers = secretWatch.strangers
            return Double(strangers.earlier + strangers.later)
        }
        registry.read(MetricNames.redisConnections, "up") { Double(client.status.upCount) }
        registry.read(MetricNames.redisConnections, "down") { Double(client.status.downCount) }
        for code in RedisServerError.writeRefusals {
            registry.read(MetricNames.redisRefusedWrites, code) { Double(meter.refusedWrites(code)) }
        }
        registry.read(MetricNames.redisRefusing) {
            Double(client.status.nodes.count { $0.writeRefusal != nil })
        }
        registry.read(MetricNames.redisReplicas) {
            Double(client.status.nodes.map { $0.facts?.connectedReplicas ?? 0 }.min() ?? 0)
        }
        registry.read(MetricNames.redisClockOffset) { client.clock.now().since(Clock.system.now()).inSeconds }
        registry.read(MetricNames.redisPrimaryChanges) { Double(journal.primaryChanges) }
        registry.read(MetricNames.redisRestoredEnds) { Double(journal.restoredEnds) }
        registry.read(MetricNames.redisCutOff) { client.status.cutOff == nil ? 0 : 1 }
        registry.read(MetricNames.redisQuarantine) { journal.quarantine(of: handoffLifetime()).inSeconds }
    }
}

extension RedisStatus {
    /// The number of established connections, at most one for each event loop and primary.
    fileprivate var upCount: Int { self.nodes.reduce(0) { $0 + $1.connectedLoops } }

    /// The number of missing connections. While no primary is known, one for each event loop.
    fileprivate var downCount: Int { self.loops * max(self.nodes.count, 1) - self.upCount }
}

extension Duration {
    fileprivate var inSeconds: Double {
        let (seconds, attoseconds) = self.components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
