import AddressIntelligence
import Cryptography
import Logging
import NIOCore
import NIOPosix
import Observability
import Providers
import RequestPath
import Sessions
import Settings
import SignIn
import Synchronization
import UnixSignals
import Vocabulary

/// The running gateway, which `run` and `demo` start, reload and stop.
final class Gateway: Sendable {
    private struct State {
        var settings: Settings
        var assembly: Assembly
        var generation: UInt64 = 1
        var isDraining = false
        var lastReloadSucceeded = true
        var readAt: UnixTime
    }

    private let foundations: Foundations
    private let backing: Backing
    private let watch: ProviderWatch
    private let cacheMetrics: CacheMetrics
    private let group: MultiThreadedEventLoopGroup
    private let loops: PathLoops
    private let gate: ConnectionGate
    private let logs: LineWriter
    private let logger: Logger
    private let reload: (@Sendable () throws -> LoadedSettings)?
    private let state: Mutex<State>
    private let listeners: Mutex<[Listener]> = Mutex([])
    /// Trapped before the first listener is announced: whoever waits for that may send a signal at once.
    private let signals: Mutex<UnixSignalsSequence?> = Mutex(nil)
    private let admin: Mutex<AdminServer?> = Mutex(nil)

    // MARK: Start

    /// Starts serving.
    ///
    /// - Parameter reload: Reads the settings again on SIGHUP; nil if there is nothing to read again.
    /// - Throws: `StartRefusal` or `ListenerError`, which name the setting.
    static func start(_ loaded: LoadedSettings, reload: (@Sendable () throws -> LoadedSettings)?) async throws
        -> Gateway
    {
        let settings = loaded.settings
        Process.ignoreBrokenPipes()
        let logs = try LineWriter(descriptor: Process.standardOutput)
        JSONLogHandler.bootstrap(
            queue: logs.queue(.log, capacity: settings.logs.buffer),
            threshold: JSONLogHandler.Threshold(settings.logs.level.loggerLevel)
        )
        let logger = Logger(label: "sallyport")
        for warning in loaded.warnings { logger.warning("\(warning)") }
        let secrets: SecretRing
        if let configured = settings.secrets {
            secrets = configured
        } else {
            secrets = SecretRing(current: Secret(Random.bytes(32)))
            logger.warning("no secret_file: a random secret is used, and every session ends with this process")
        }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: settings.eventLoops)
        // A gateway that shares a store must receive ends from others before it trusts its caches.
        let caches = SessionCaches(isDoubting: settings.store.redis != nil)
        let registry = MetricsRegistry()
        logs.register(in: registry)
        ProcessMetrics.register(in: registry, version: Version.current)
        let audit = AuditStream(
            queue: settings.logs.audit ? logs.queue(.audit, capacity: settings.logs.buffer) : nil,
            whenFull: settings.logs.auditRefusesWhenFull ? .refuse : .drop
        )
        let authority = TokenAuthority(current: secrets.current, accepted: secrets.accepted)
        let backing = try Backing(
            settings.store,
            secrets: secrets,
            group: group,
            caches: caches,
            audit: audit,
            logger: logger
        )
        let (store, clock) = (backing.store, backing.clock)
        let grantLog = GrantLog(logger: logger)
        let grants = ProviderGrants(
            store: store,
            authority: authority,
            loops: group,
            clock: clock,
            journal: GrantJournal(audit: audit, metrics: registry) { grantLog.note($0, $1) }
        )
        let foundations = Foundations(
            group: group,
            caches: caches,
            store: store,
            limiter: backing.limiter,
            familiar: FamiliarAddresses(),
            authority: authority,
            grants: grants,
            providerClient: ProviderHTTPClient(group: group),
            secrets: secrets,
            registry: registry,
            audit: audit,
            clock: clock
        )
        let assembly = try Assembly(settings, foundations, generation: 1)
        grants.adopt(assembly.refreshing)
        let watch = ProviderWatch(logger: logger)
        let access = settings.logs.access ? logs.queue(.access, capacity: settings.logs.buffer) : nil
        var loops: [NIOLoopBound<PathLoop>] = []
        let strayForwarding = StrayForwarding(logger: logger)
        for eventLoop in group.makeIterator() {
            // Made on its own loop and used only there.
            let loop = try await eventLoop.submit {
                let cache = SessionCache(capacity: settings.store.cachedSessions)
                caches.register(cache, on: eventLoop)
                let sessions = SessionResolver(
                    loop: eventLoop,
                    cache: cache,
                    store: store,
                    authority: authority,
                    clock: clock
                )
                sessions.foreignTokens = assembly.foreignTokens
                sessions.renewer = grants
                sessions.tokenReader = assembly.tokenReader
                let loop = PathLoop(
                    eventLoop: eventLoop,
                    configuration: assembly.configuration,
                    sessions: sessions,
                    shard: registry.makeShard(on: eventLoop),
                    accessLog: access.map { AccessLog(queue: $0) },
                    sessionClock: clock
                )
                loop.onStrayForwarding = { strayForwarding.tell(of: $0, from: $1) }
                loop.start()
                return NIOLoopBound(loop, eventLoop: eventLoop)
            }.get()
            loops.append(loop)
        }
        let gateway = Gateway(
            settings: settings,
            assembly: assembly,
            foundations: foundations,
            backing: backing,
            watch: watch,
            group: group,
            loops: PathLoops(loops),
            logs: logs,
            logger: logger,
            reload: reload
        )
        try await backing.start()
        gateway.startProvider(assembly.provider)
        watch.start()
        for target in assembly.configuration.targets { target.refresh() }
        gateway.registerMetrics()
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint, .sighup)
        gateway.signals.withLock { $0 = signals }
        try await gateway.listen(settings)
        gateway.collectExpired()
        return gateway
    }

    private init(
        settings: Settings,
        assembly: Assembly,
        foundations: Foundations,
        backing: Backing,
        watch: ProviderWatch,
        group: MultiThreadedEventLoopGroup,
        loops: PathLoops,
        logs: LineWriter,
        logger: Logger,
        reload: (@Sendable () throws -> LoadedSettings)?
    ) {
        self.state = Mutex(State(settings: settings, assembly: assembly, readAt: Clock.system.now()))
        self.foundations = foundations
        self.backing = backing
        self.watch = watch
        self.cacheMetrics = CacheMetrics(caches: foundations.caches, loops: group)
        self.group = group
        self.loops = loops
        self.gate = ConnectionGate(settings.limits, trusted: settings.trustedProxies)
        self.logs = logs
        self.logger = logger
        self.reload = reload
    }

    /// Registers metrics that are read at a scrape rather than counted.
    private func registerMetrics() {
        let registry = self.foundations.registry
        registry.read(MetricNames.configLastReloadSuccessful) {
            self.state.withLock { $0.lastReloadSucceeded } ? 1 : 0
        }
        registry.read(MetricNames.configLastReloadSuccessTimestamp) {
            Double(self.state.withLock { $0.readAt }.seconds)
        }
        registry.read(MetricNames.asnDatabaseBuildTimestamp) {
            Double(self.state.withLock { $0.assembly }.asn?.buildTime?.seconds ?? 0)
        }
        for refusal in ConnectionGate.Refusal.allCases {
            registry.read(MetricNames.connectionsRefused, "public", refusal.rawValue) {
                Double(self.gate.refusedCount(refusal))
            }
        }
        self.cacheMetrics.register(in: registry)
        self.backing.register(in: registry) { self.state.withLock { $0.settings.handoff.lifetime } }
    }

    /// Asks the provider from now on; once it was, this does nothing.
    private func startProvider(_ provider: AssembledProvider) {
        self.watch.adopt(provider.issuer)
        provider.start()
    }

    private func listen(_ settings: Settings) async throws {
        for address in settings.listen {
            let listener = try await Listener.bind(address, group: self.group, loops: self.loops, gate: self.gate)
            self.listeners.withLock { $0.append(listener) }
            self.logger.info(
                "listening",
                metadata: ["address": "\(address.host):\(listener.port)", "connections": "\(self.gate.effectiveLimit)"]
            )
        }
        if let address = settings.adminListen {
            let server = try await AdminServer.start(
                address,
                self.foundations,
                isReady: { self.isReady() },
                metrics: {
                    try await self.cacheMetrics.refresh()
                    return try await self.foundations.registry.render()
                }
            )
            self.admin.withLock { $0 = server }
            self.logger.info("admin listening", metadata: ["address": "\(address.host):\(server.port)"])
        }
    }

    /// Resolves the names of apps and removes expired records, periodically in the background.
    private func collectExpired() {
        self.group.next().scheduleRepeatedTask(initialDelay: .seconds(30), delay: .seconds(30)) { _ in
            Task.detached {
                self.backing.collectExpired()
                self.state.withLock { $0.assembly }.configuration.targets.forEach { $0.refresh() }
            }
        }
    }

    // MARK: Readiness

    var adminPort: Int? { self.admin.withLock { $0?.port } }

    /// Whether the gateway should get requests, and the conditions.
    func isReady() -> (ready: Bool, checks: [AdminServer.Check]) {
        let (isDraining, reloaded) = self.state.withLock { ($0.isDraining, $0.lastReloadSucceeded) }
        let listening = !self.listeners.withLock { $0.isEmpty }
        let checks: [AdminServer.Check] =
            [
                (name: "listening", ok: listening, detail: listening ? "bound" : "no listener"),
                (name: "draining", ok: !isDraining, detail: isDraining ? "stopping" : "no"),
                // A bad file keeps the old configuration: an operator should look at it, but requests are served.
                (
                    name: "configuration", ok: true,
                    detail: reloaded ? "current" : "last reload failed, the former is in use"
                ),
            ] + self.backing.checks + self.watch.checks
        return (checks.allSatisfy { $0.ok }, checks)
    }

    // MARK: Reload

    /// Reads the settings again and replaces them as a whole; on any error, the former ones stay in use.
    func reloadSettings() async {
        guard let reload = self.reload else { return }
        let registry = self.foundations.registry
        do {
            let loaded = try reload()
            let (former, current, generation) = self.state.withLock { ($0.settings, $0.assembly, $0.generation + 1) }
            for warning in loaded.warnings + Self.fixedForLife(former, loaded.settings) {
                self.logger.warning("\(warning)")
            }
            let assembly = try Assembly(
                loaded.settings,
                self.foundations,
                generation: generation,
                former: current
            )
            await self.loops.onEach {
                $0.adopt(assembly.configuration)
                $0.sessions.foreignTokens = assembly.foreignTokens
                $0.sessions.tokenReader = assembly.tokenReader
            }
            self.foundations.grants.adopt(assembly.refreshing)
            self.startProvider(assembly.provider)
            self.gate.adopt(loaded.settings.limits, trusted: loaded.settings.trustedProxies)
            self.state.withLock {
                $0.settings = loaded.settings
                $0.assembly = assembly
                $0.generation = generation
                $0.lastReloadSucceeded = true
                $0.readAt = Clock.system.now()
            }
            for target in assembly.configuration.targets { target.refresh() }
            self.logger.info("configuration reloaded", metadata: ["generation": "\(generation)"])
            self.foundations.audit.emit(AuditEvent(.configReloaded))
            registry.increment(registry.counter(MetricNames.configReloads, "success"))
        } catch {
            self.state.withLock { $0.lastReloadSucceeded = false }
            self.logger.error("configuration not reloaded, the former one is in use: \(error)")
            self.foundations.audit.emit(AuditEvent(.configReloadFailed))
            registry.increment(registry.counter(MetricNames.configReloads, "failure"))
        }
    }

    /// Warnings for settings in the file that a reload cannot change.
    private static func fixedForLife(_ former: Settings, _ new: Settings) -> [String] {
        var warnings: [String] = []
        if former.listen != new.listen { warnings.append("listen: takes effect at the next start") }
        if former.adminListen != new.adminListen { warnings.append("admin.listen: takes effect at the next start") }
        if former.eventLoops != new.eventLoops { warnings.append("event_loops: takes effect at the next start") }
        if former.secrets != new.secrets { warnings.append("secret_file: takes effect at the next start") }
        if former.store != new.store { warnings.append("store: takes effect at the next start") }
        if former.logs != new.logs { warnings.append("log: takes effect at the next start") }
        return warnings
    }

    // MARK: Stop

    /// Serves until SIGTERM or SIGINT, reloads on SIGHUP; a second SIGTERM ends at once.
    func runUntilSignalled() async {
        guard let signals = self.signals.withLock({ $0 }) else { return }
        var stopping: Task<Void, Never>?
        for await signal in signals {
            if signal == .sighup {
                await self.reloadSettings()
            } else if stopping == nil {
                self.logger.info("stopping", metadata: ["signal": "\(signal)"])
                stopping = Task {
                    await self.drainAndStop()
                    Process.exit(0)
                }
            } else {
                self.logger.warning("stopping at once")
                _ = self.logs.flush(timeout: .milliseconds(200))
                Process.exit(1)
            }
        }
    }

    /// Ends readiness first, then new connections, then requests under way, then the rest.
    func drainAndStop() async {
        let drain = self.state.withLock { state in
            state.isDraining = true
            return state.settings.drain
        }
        await self.loops.onEach { $0.drain() }
        try? await Task.sleep(for: drain.delay)
        // Some load balancers ignore readiness and connect until the end: connections that were made are served, and
        // bytes that were sent are read.
        let moment = min(drain.delay, .milliseconds(20))
        for listener in self.listeners.withLock({ $0 }) {
            if moment > .zero { await listener.takeLast(within: moment) }
            await listener.close()
        }
        try? await Task.sleep(for: moment * 10)
        await self.loops.onEach { $0.closeIdle() }
        let deadline = ContinuousClock.now + drain.timeout
        while ContinuousClock.now < deadline, await self.loops.busyCount() > 0 {
            try? await Task.sleep(for: .milliseconds(50))
        }
        await self.loops.onEach { $0.closeAll() }
        // New tokens that are not stored would be lost with the process.
        await self.foundations.grants.drain(until: max(deadline, .now + ProviderGrants.leastDrain))
        self.watch.shutDown()
        await self.foundations.providerClient.shutdown()
        await self.backing.stop()
        await self.admin.withLock { $0 }?.close()
        // The last requests ended after the loops last wrote their logs; requests that were cut off above get their
        // lines here as well.
        await self.loops.onEach { $0.flushAccessLog() }
        _ = self.logs.flush(timeout: .seconds(2))
        try? await self.group.shutdownGracefully()
    }
}

/// The version of the binary.
enum Version {
    static let current = "0.1.0"
}

extension LogSettings.Level {
    var loggerLevel: Logger.Level {
        switch self {
        case .debug: .debug
        case .info: .info
        case .warning: .warning
        case .error: .error
        }
    }
}
