import Logging
import Observability
import Providers
import RequestPath
import Settings
import Synchronization
import Vocabulary

extension Gateway {
    /// Reads the settings again and replaces them as a whole; on any error, the former ones stay in use.
    func reloadSettings() async {
        guard let reload = self.reload else { return }
        let registry = self.foundations.registry
        let prepared: (former: Assembly, assembly: Assembly, operators: [EndpointServer.Prepared])
        do {
            prepared = try self.prepare(try reload())
        } catch {
            self.state.withLock { $0.lastReloadSucceeded = false }
            self.logger.error("configuration not reloaded, the former one is in use: \(error)")
            self.foundations.audit.emit(AuditEvent(.configReloadFailed))
            registry.increment(registry.counter(MetricNames.configReloads, "failure"))
            return
        }
        let (former, assembly) = (prepared.former, prepared.assembly)
        let users = assembly.settings.fixedUsers
        // First, so that no sign-in begins any more that a former password was right for.
        let changes = self.foundations.users.adopt(users?.settings)
        await self.use(assembly)
        for server in prepared.operators { await server.use() }
        await self.endSessions(of: changes, in: users.map { Realm($0.name) } ?? .default)
        await self.endTokens(ofClientsOf: former.clients, missingIn: assembly.clients)
        self.logger.info(
            "configuration reloaded",
            metadata: ["generation": "\(assembly.configuration.generation)"]
        )
        self.foundations.audit.emit(AuditEvent(.configReloaded))
        registry.increment(registry.counter(MetricNames.configReloads, "success"))
    }

    /// Makes all that other settings need before any of it is used: what can fail, fails while nothing has changed.
    private func prepare(
        _ loaded: LoadedSettings
    ) throws -> (former: Assembly, assembly: Assembly, operators: [EndpointServer.Prepared]) {
        let former = self.state.withLock { $0.assembly }
        for warning in loaded.warnings + Self.fixedForLife(former.settings, loaded.settings) {
            self.logger.warning("\(warning)")
        }
        var loaded = loaded
        // What is bound is known by its place in the list.
        if former.settings.listen.map(\.address) != loaded.settings.listen.map(\.address) {
            loaded.settings.listen = former.settings.listen
        }
        loaded.settings.management = former.settings.management
        loaded.settings.adminListen = former.settings.adminListen
        if let listen = former.settings.authorization?.listen, loaded.settings.authorization != nil {
            loaded.settings.authorization?.listen = listen
        }
        // What stays bound with TLS keeps it.
        if loaded.settings.tls == nil { loaded.settings.tls = former.settings.tls }
        if former.settings.redirectListen?.address != loaded.settings.redirectListen?.address {
            loaded.settings.redirectListen = former.settings.redirectListen
        }
        let assembly = try Assembly(
            loaded,
            self.foundations,
            generation: former.configuration.generation + 1,
            former: former
        )
        let admin = try self.admin.withLock { $0 }?.prepare(
            self.adminEndpoints(loaded.settings),
            tls: assembly.adminTLS
        )
        let endpoints = self.managementEndpoints(loaded.settings)
        let management = try zip(self.management.withLock { $0 }, assembly.managementTLS).map {
            try $0.prepare(endpoints, tls: $1, others: loaded.settings.hosts.map(\.publicURL))
        }
        let operators = management + [admin].compactMap(\.self)
        return (former, assembly, operators)
    }

    /// Warnings for settings in the file that a reload cannot change.
    private static func fixedForLife(_ former: Settings, _ new: Settings) -> [String] {
        var warnings: [String] = []
        if former.listen.map(\.address) != new.listen.map(\.address) {
            warnings.append("listen: has other addresses; all of it takes effect at the next start")
        }
        if former.redirectListen?.address != new.redirectListen?.address {
            warnings.append("redirect_http: takes effect at the next start")
        }
        if former.management != new.management {
            warnings.append("listen: addresses with role: management take effect at the next start")
        }
        if former.adminListen != new.adminListen { warnings.append("admin.listen: takes effect at the next start") }
        if former.authorization?.listen != new.authorization?.listen {
            warnings.append("authorization.listen: takes effect at the next start")
        }
        if former.eventLoops != new.eventLoops { warnings.append("event_loops: takes effect at the next start") }
        if former.secrets != new.secrets { warnings.append("secret_file: takes effect at the next start") }
        if former.store != new.store { warnings.append("store: takes effect at the next start") }
        if former.logs != new.logs { warnings.append("log: takes effect at the next start") }
        if former.telemetry != new.telemetry { warnings.append("telemetry: takes effect at the next start") }
        return warnings
    }
}
