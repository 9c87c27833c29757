import Logging
import Observability
import Providers
import RequestPath
import Sessions
import Settings
import SignOn
import Synchronization
import Vocabulary

/// How the gateway takes other settings.
extension Gateway {
    /// Reads the settings again and replaces them as a whole; on any error, the former ones stay in use.
    func reloadSettings() async {
        guard let reload = self.reload else { return }
        let registry = self.foundations.registry
        let successor: Successor
        do {
            successor = try self.prepare(try reload())
        } catch {
            self.state.withLock { $0.lastReloadSucceeded = false }
            self.logger.error("configuration not reloaded, the former one is in use: \(error)")
            self.foundations.audit.emit(AuditEvent(.configReloadFailed))
            registry.increment(registry.counter(MetricNames.configReloads, "failure"))
            return
        }
        await self.adopt(successor)
        self.logger.info("configuration reloaded", metadata: ["generation": "\(successor.generation)"])
        self.foundations.audit.emit(AuditEvent(.configReloaded))
        registry.increment(registry.counter(MetricNames.configReloads, "success"))
    }

    /// What other settings need, all of it made before any of it is used: what can fail, fails while nothing has changed.
    private struct Successor {
        let settings: Settings
        let assembly: Assembly
        let generation: UInt64
        /// The admin listener and what it serves; nil if there is no such listener.
        let admin: (server: AdminServer, configuration: PathConfiguration)?
    }

    private func prepare(_ loaded: LoadedSettings) throws -> Successor {
        let (former, current, generation) = self.state.withLock { ($0.settings, $0.assembly, $0.generation + 1) }
        for warning in loaded.warnings + Self.fixedForLife(former, loaded.settings) {
            self.logger.warning("\(warning)")
        }
        let assembly = try Assembly(loaded, self.foundations, generation: generation, former: current)
        let admin = try self.admin.withLock { $0 }.map { server in
            // Without tokens there are no such endpoints.
            (server, try server.configuration(operators: self.operatorEndpoints(loaded.settings)))
        }
        return Successor(settings: loaded.settings, assembly: assembly, generation: generation, admin: admin)
    }

    private func adopt(_ successor: Successor) async {
        let (settings, assembly) = (successor.settings, successor.assembly)
        await self.loops.onEach {
            $0.adopt(assembly.configuration)
            $0.sessions.foreignTokens = assembly.foreignTokens
            $0.sessions.tokenReader = assembly.tokenReader
            $0.sessions.directory = assembly.users
        }
        self.foundations.grants.adopt(assembly.refreshing)
        self.startProviders(of: assembly)
        self.gate.adopt(settings.limits, trusted: settings.trustedProxies)
        let former = self.state.withLock { state in
            let former = state.assembly
            state.settings = settings
            state.assembly = assembly
            state.generation = successor.generation
            state.lastReloadSucceeded = true
            state.readAt = Clock.system.now()
            return former
        }
        if let (server, configuration) = successor.admin { await server.adopt(configuration) }
        for target in assembly.configuration.targets { target.refresh() }
        await self.endSessions(ofUsersIn: settings.fixedUsers)
        await self.endTokens(ofClientsOf: former.clients, missingIn: assembly.clients)
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
}
