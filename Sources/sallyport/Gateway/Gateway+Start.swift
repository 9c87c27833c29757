import AddressIntelligence
import Cryptography
import Logging
import NIOCore
import Observability
import Operating
import Providers
import RequestPath
import Sessions
import Settings
import SignOn
import Synchronization
import Transport
import Vocabulary

extension Gateway {
    /// - Parameters:
    ///   - terminal: Shows the log as text; `nil` to write JSON to standard output.
    ///   - signals: The signals to the process.
    ///   - reload: Reads the settings again on SIGHUP; `nil` to ignore SIGHUP.
    /// - Throws: `StartRefusal` or `ListenerError`, with the setting at fault.
    static func start(
        _ loaded: LoadedSettings,
        terminal: TerminalLog? = nil,
        signals: ServingSignals,
        reload: (@Sendable () throws -> LoadedSettings)?
    ) async throws -> Gateway {
        let logs = try LineWriter(descriptor: terminal?.descriptor ?? Process.standardOutput)
        do {
            return try await self.start(loaded, logs, terminal: terminal, signals: signals, reload: reload)
        } catch {
            // The log may say more than the error.
            _ = logs.flush(timeout: .milliseconds(500))
            throw error
        }
    }

    private static func start(
        _ loaded: LoadedSettings,
        _ logs: LineWriter,
        terminal: TerminalLog?,
        signals: ServingSignals,
        reload: (@Sendable () throws -> LoadedSettings)?
    ) async throws -> Gateway {
        let settings = loaded.settings
        JSONLogHandler.bootstrap(
            queue: logs.queue(.log, capacity: settings.logs.buffer),
            threshold: JSONLogHandler.Threshold(Logger.Level(rawValue: settings.logs.level.rawValue) ?? .info)
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
        let group = try TransportGroup(count: settings.eventLoops)
        // Calls to providers are rare, so one thread suffices. Requests do not wait for its TLS handshakes.
        let providerGroup = try TransportGroup(count: 1)
        // With a shared store, the caches are not trusted until sign-outs at other gateways are received.
        let caches = SessionCaches(isDoubting: settings.store.isShared)
        let registry = MetricsRegistry()
        logs.register(in: registry)
        ProcessMetrics.register(in: registry, version: Version.current)
        let audit = AuditStream(
            queue: settings.logs.audit ? logs.queue(.audit, capacity: settings.logs.buffer) : nil,
            whenFull: settings.logs.auditRefusesWhenFull ? .refuse : .drop
        )
        let keys = ProcessKeys(secrets)
        let backing = try StoreChoice.backing(
            settings.store,
            sessions: settings.session,
            keys: keys,
            group: group,
            caches: caches,
            audit: audit,
            logger: logger
        )
        let foundations = Foundations(
            backing,
            keys: keys,
            caches: caches,
            group: group,
            providerGroup: providerGroup,
            registry: registry,
            audit: audit,
            logger: logger
        )
        let assembly = try Assembly(loaded, foundations, generation: 1)
        let traces = try TraceExporter(settings, client: foundations.providerClient, logger: logger)
        traces?.queue.register(in: registry)
        let tracing = traces?.profile(storeSystem: backing.databaseSystem)
        let access = settings.logs.access ? logs.queue(.access, capacity: settings.logs.buffer) : nil
        var loops: [PathLoops.Place] = []
        let strayForwarding = StrayForwarding(logger: logger)
        let unknownHosts = UnknownHosts(logger: logger)
        let proxyNotices = ProxyNotices(logger: logger)
        for eventLoop in group.loops {
            // Each `PathLoop` is made and used on its own event loop.
            let loop = try await eventLoop.submit {
                let cache = SessionCache(capacity: settings.store.cachedSessions)
                caches.register(cache, on: eventLoop)
                let sessions = SessionResolver(
                    loop: eventLoop,
                    cache: cache,
                    store: foundations.store,
                    authority: foundations.authority,
                    clock: foundations.clock
                )
                foundations.resolvers.add(sessions)
                let loop = PathLoop(
                    eventLoop: eventLoop,
                    configuration: assembly.configuration,
                    sessions: sessions,
                    shard: registry.makeShard(on: eventLoop),
                    accessLog: access.map { AccessLog(queue: $0) },
                    tracer: traces.flatMap { traces in tracing.map { Tracer($0, queue: traces.queue) } },
                    sessionClock: foundations.clock,
                    makePool: ServerGroup.maker(on: eventLoop)
                )
                loop.onStrayForwarding = { strayForwarding.notify(of: $0, from: $1) }
                loop.onUnknownHost = { unknownHosts.notify($0, $1, $2) }
                loop.onProxyNotice = { proxyNotices.notify($0, of: $1) }
                loop.onUpstreamNotice = { $0.log(to: logger) }
                loop.onServerNotice = { $0.log(to: logger) }
                loop.checksServers = eventLoop === group.loops.first
                loop.start()
                return PathLoops.Place(loop, on: eventLoop)
            }.get()
            loops.append(loop)
        }
        let gateway = Gateway(
            assembly: assembly,
            foundations: foundations,
            group: group,
            providerGroup: providerGroup,
            loops: PathLoops(loops),
            traces: traces,
            logs: logs,
            terminal: terminal,
            logger: logger,
            signals: signals,
            reload: reload
        )
        backing.followClock { [loops = gateway.loops] in await loops.onEach { $0.readClocks() } }
        try await backing.start()
        await backing.join()
        foundations.idTokenKeys.start(following: caches)
        foundations.records.blocks.start(following: caches)
        foundations.provisioned.start(following: caches)
        await gateway.startClients()
        await gateway.use(assembly)
        gateway.watch.start()
        traces?.start(on: group.next())
        gateway.registerMetrics()
        await signals.trapStops()
        gateway.renewCertificates()
        try await gateway.listen(settings)
        gateway.keepUp()
        gateway.watchCertificates()
        gateway.returnMemory()
        return gateway
    }

    /// Registers the metrics that are read at each scrape.
    func registerMetrics() {
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
        registry.read(MetricNames.geoDatabaseBuildTimestamp) {
            Double(self.state.withLock { $0.assembly }.geo?.buildTime?.seconds ?? 0)
        }
        registry.read(MetricNames.clientsChanged) {
            let catalogue = self.state.withLock { $0.assembly }.clients.catalogue
            return Double(catalogue.changes.count)
        }
        registry.read(MetricNames.clientsWithheld) {
            Double(self.state.withLock { $0.assembly }.clients.catalogue.withheld.count)
        }
        registry.read(MetricNames.clientsUnreadable) { self.foundations.clientOverlay.isUnreadable ? 1 : 0 }
        for refusal in ConnectionGate.Refusal.allCases {
            for (listener, gate) in [("public", self.gate), ("authorization", self.authorizationGate)] {
                registry.read(MetricNames.connectionsRefused, listener, refusal.rawValue) {
                    Double(gate.refusedCount(refusal))
                }
            }
        }
        PathMetricIDs.showServers(in: registry) { self.state.withLock { $0.assembly }.configuration.metrics }
        // Of several certificates with the same title, the earliest expiry is shown.
        registry.read(all: MetricNames.tlsCertificateNotAfter) {
            let inUse = self.state.withLock { $0.assembly }.tls.first?.settings.certificates.compactMap(\.facts) ?? []
            return Dictionary(grouping: inUse, by: \.title).sorted { $0.key < $1.key }.compactMap { title, facts in
                facts.map { Double($0.until.seconds) }.min().map { ([title], $0) }
            }
        }
        registry.read(MetricNames.sessionsLive) { self.foundations.census.count ?? .nan }
        self.cacheMetrics.register(in: registry)
        self.foundations.backing.register(in: registry) { self.state.withLock { $0.settings.handoff.lifetime } }
    }

    /// Starts to follow changes of clients at run time. Waits up to two seconds for the first read, because clients
    /// should not be used without their changes.
    func startClients() async {
        let overlay = self.foundations.clientOverlay
        overlay.notify { [loops = self.loops, caches = self.foundations.caches, group = self.group] losses in
            await loops.onEach { $0.adoptClients() }
            await caches.end(losses, on: group.next())
        }
        overlay.start(following: self.foundations.caches)
        let deadline = NIODeadline.now() + .seconds(2)
        while !overlay.hasRead, NIODeadline.now() < deadline {
            try? await self.group.next().scheduleTask(in: .milliseconds(20)) {}.futureResult.get()
        }
    }

    /// Puts an assembly into use, at the start and at a reload. Cannot fail.
    ///
    /// - Parameter operators: The new endpoints of admin and management listeners. Empty to keep the current ones.
    /// - Returns: The static users whose sessions must end.
    @discardableResult
    func use(_ assembly: Assembly, _ operators: [EndpointServer.Prepared] = []) async -> KnownUsers.Changes {
        let settings = assembly.settings
        await self.resolveNames(of: assembly.configuration.targets)
        // First the users: no sign-in with an old password may begin after this.
        let changes = self.foundations.users.adopt(settings.fixedUsers?.settings)
        await self.loops.onEach {
            $0.adopt(assembly.configuration)
            $0.sessions?.resolver.parties = assembly.parties
        }
        for server in operators { await server.loops.onEach { $0.adopt(server.configuration) } }
        self.foundations.grants.adopt(assembly.refreshing) { [clients = assembly.clients] isNative in
            let clients = clients.snapshot
            return clients.hasFollower || (isNative && clients.isEmpty)
        }
        self.foundations.logoutTokens.adopt(assembly.logoutTokens)
        self.foundations.records.blocks.adopt(settings.provisioningMatch)
        self.watch.adopt(assembly.realms, on: settings.hosts)
        // From now on, providers are called. An issuer from before a reload has already started.
        for realm in assembly.realms { realm.provider.issuer?.start() }
        assembly.idTokens.makeReady()
        self.gate.adopt(settings.limits, trusted: settings.trustedProxies, apps: settings.appConnections)
        self.authorizationGate.adopt(settings.limits, trusted: settings.authorization?.peers ?? [])
        self.state.withLock { state in
            state.assembly = assembly
            state.lastReloadSucceeded = true
            state.readAt = Clock.system.now()
        }
        for target in assembly.configuration.targets { target.refreshNamesSoon(now: .now()) }
        return changes
    }

    /// Resolves new names of apps, for up to two seconds. Sessions stay with a server, so all addresses should be known
    /// at the first request.
    private func resolveNames(of targets: [UpstreamTarget]) async {
        let deadline = NIODeadline.now() + .seconds(2)
        for target in targets { target.refreshNames(now: .now()) }
        while targets.contains(where: \.awaitsFirstAddresses), NIODeadline.now() < deadline {
            try? await self.group.next().scheduleTask(in: .milliseconds(5)) {}.futureResult.get()
        }
    }

    func listen(_ settings: Settings) async throws {
        for (index, address) in settings.listen.map(\.address).enumerated() {
            let listener = try await Listener.bind(
                address,
                for: .clients(index),
                loops: self.loops,
                gate: self.gate
            )
            self.listeners.withLock { $0.append(listener) }
            self.logger.info(
                "listening",
                metadata: [
                    "address": "\(ListenAddress(host: address.host, port: listener.port))",
                    "connections": "\(self.gate.effectiveLimit)",
                ]
            )
        }
        if let redirect = settings.redirectListen?.address {
            let listener = try await Listener.bind(
                redirect,
                for: .redirects,
                setting: "redirect_http",
                loops: self.loops,
                gate: self.gate
            )
            self.listeners.withLock { $0.append(listener) }
            self.logger.info(
                "redirect listening",
                metadata: ["address": "\(ListenAddress(host: redirect.host, port: listener.port))"]
            )
        }
        if let address = settings.authorization?.listen.address {
            let listener = try await Listener.bind(
                address,
                for: .checks,
                setting: "authorization.listen",
                loops: self.loops,
                gate: self.authorizationGate
            )
            self.listeners.withLock { $0.append(listener) }
            self.logger.info(
                "authorization listening",
                metadata: ["address": "\(ListenAddress(host: address.host, port: listener.port))"]
            )
        }
        let (clients, apps) = (settings.limits.connections, settings.appConnections)
        if let files = ConnectionGate.filesNeeded(for: clients, apps: apps) {
            let appFiles = "\(min(clients, apps)) for apps (upstreams.NAME.max_connections x event_loops)"
            self.logger.warning(
                "limits.connections: this process may not open enough files for so many",
                metadata: [
                    "connections": "\(clients)", "used": "\(self.gate.effectiveLimit)",
                    "files": "\(ConnectionGate.openFiles)",
                    "needed": "\(clients) for clients, \(appFiles), \(ConnectionGate.reserve) for everything else",
                    "fix": "set LimitNOFILE (systemd), --ulimit nofile (docker) or ulimits (compose) to \(files)",
                ]
            )
        }
        let assembly = self.state.withLock { $0.assembly }
        for (listener, tls) in zip(settings.management, assembly.managementTLS) {
            let server = try await EndpointServer.start(
                listener,
                setting: "listen",
                besides: self.loops,
                limits: settings.limits,
                tls: tls,
                others: settings.hosts.map(\.publicURL),
                on: self.group.loops[0],
                self.managementEndpoints(settings)
            )
            self.management.withLock { $0.append(server) }
            self.logger.info(
                "management listening",
                metadata: ["address": "\(ListenAddress(host: listener.address.host, port: server.port))"]
            )
        }
        if let listener = settings.adminListen {
            let server = try await EndpointServer.start(
                listener,
                setting: "admin.listen",
                besides: self.loops,
                tls: assembly.adminTLS,
                on: self.group.loops[0],
                self.adminEndpoints(settings)
            )
            self.admin.withLock { $0 = server }
            self.logger.info(
                "admin listening",
                metadata: ["address": "\(ListenAddress(host: listener.address.host, port: server.port))"]
            )
        }
    }

    /// Starts to return freed memory to the system when the gateway is quiet (`HeapReturn`).
    func returnMemory() {
        let pause = TimeAmount(HeapReturn.interval)
        self.group.next().scheduleRepeatedTask(initialDelay: pause, delay: pause) { _ in
            Task.detached {
                let start = ContinuousClock.now
                guard let (before, after) = self.heap.withLock({ $0.lookAtProcess() }) else { return }
                self.logger.debug(
                    "memory is given back to the system",
                    metadata: [
                        "resident_before": "\(before)", "resident_after": "\(after)",
                        "took": "\(ContinuousClock.now - start)",
                    ]
                )
            }
        }
    }

    /// Starts the periodic work: resolving names of apps, removing expired records, counting live sessions.
    func keepUp() {
        self.group.next().scheduleRepeatedTask(initialDelay: .zero, delay: .seconds(30)) { _ in
            Task.detached { self.foundations.backing.collectExpired() }
            self.foundations.census.refresh(on: self.group.next()).whenComplete { _ in }
        }
        self.group.next().scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { _ in
            let now = NIODeadline.now()
            for target in self.state.withLock({ $0.assembly }).configuration.targets { target.refreshNames(now: now) }
        }
    }
}
