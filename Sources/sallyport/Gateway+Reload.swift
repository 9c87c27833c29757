import Logging
import Observability
import Providers
import RequestPath
import Sessions
import Settings
import SignIn
import Synchronization
import Vocabulary

/// How the gateway takes other settings.
extension Gateway {
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
                loaded,
                self.foundations,
                generation: generation,
                former: current
            )
            await self.loops.onEach {
                $0.adopt(assembly.configuration)
                $0.sessions.foreignTokens = assembly.foreignTokens
                $0.sessions.tokenReader = assembly.tokenReader
                $0.sessions.directory = assembly.users
            }
            self.foundations.grants.adopt(assembly.refreshing)
            self.startProviders(of: assembly)
            self.gate.adopt(loaded.settings.limits, trusted: loaded.settings.trustedProxies)
            self.state.withLock {
                $0.settings = loaded.settings
                $0.assembly = assembly
                $0.generation = generation
                $0.lastReloadSucceeded = true
                $0.readAt = Clock.system.now()
            }
            // Without tokens there are no such endpoints.
            let admin = self.admin.withLock { $0 }
            try await admin?.adopt(operators: self.operatorEndpoints(loaded.settings))
            for target in assembly.configuration.targets { target.refresh() }
            await self.endSessions(ofUsersIn: loaded.settings.fixedUsers)
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
}
