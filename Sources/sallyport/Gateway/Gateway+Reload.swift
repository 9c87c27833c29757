import Logging
import Observability
import Operating
import Providers
import RequestPath
import Settings
import Synchronization
import Vocabulary

extension Gateway {
    /// Reloads all settings. If that fails, the old settings stay in use.
    func reloadSettings() async {
        guard let reload = self.reload else { return }
        let registry = self.foundations.registry
        let prepared: (former: Assembly, assembly: Assembly, operators: [EndpointServer.Prepared])
        do {
            prepared = try self.prepare(try reload())
        } catch {
            self.state.withLock { $0.lastReloadSucceeded = false }
            self.logger.error("configuration not reloaded, the old one stays in use: \(error)")
            self.foundations.audit.emit(AuditEvent(.configReloadFailed))
            registry.increment(registry.counter(MetricNames.configReloads, "failure"))
            return
        }
        let (former, assembly) = (prepared.former, prepared.assembly)
        let changes = await self.use(assembly, prepared.operators)
        self.foundations.backing.adopt(assembly.settings.store)
        await self.endWhatIsGone(changes, of: former, in: assembly)
        self.logger.info(
            "configuration reloaded",
            metadata: ["generation": "\(assembly.configuration.generation)"]
        )
        self.foundations.audit.emit(AuditEvent(.configReloaded))
        registry.increment(registry.counter(MetricNames.configReloads, "success"))
    }

    /// Makes all parts from the new settings before any part is used. A failure changes nothing.
    private func prepare(
        _ loaded: LoadedSettings
    ) throws -> (former: Assembly, assembly: Assembly, operators: [EndpointServer.Prepared]) {
        let former = self.state.withLock { $0.assembly }
        var loaded = loaded
        loaded.warnings += loaded.settings.keepFixed(of: former.settings, by: self.foundations.backing)
        for warning in loaded.warnings { self.logger.warning("\(warning)") }
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
}

extension Settings {
    /// Restores the settings that a reload cannot change.
    ///
    /// - Parameter backing: The store in use.
    /// - Returns: A warning for each restored setting except `tls`.
    fileprivate mutating func keepFixed(of former: Settings, by backing: any StoreBacking) -> [String] {
        var warnings: [String] = []
        // Listeners are matched with their settings by index.
        if former.listen.map(\.address) != self.listen.map(\.address) {
            warnings.append("listen: the addresses have changed; the whole list takes effect at the next start")
            self.listen = former.listen
        }
        if former.redirectListen?.address != self.redirectListen?.address {
            warnings.append("redirect_http: takes effect at the next start")
            self.redirectListen = former.redirectListen
        }
        if former.management != self.management {
            warnings.append("listen: addresses with role: management take effect at the next start")
            self.management = former.management
        }
        self.keep(\.adminListen, of: former, "admin.listen", &warnings)
        if former.authorization?.listen != self.authorization?.listen {
            warnings.append("authorization.listen: takes effect at the next start")
            if let listen = former.authorization?.listen { self.authorization?.listen = listen }
        }
        // A listener that remains bound with TLS needs certificates.
        if self.tls == nil { self.tls = former.tls }
        if self.accounts.keepKey(of: former.accounts) {
            warnings.append(
                "accounts.key_file: the new key takes effect at the next start, and then gives the users of accounts.link other "
                    + "subjects: restore the old key unless you want that"
            )
        }
        // The settings below are read only at the start, except the users and passwords of Redis (`mayReload`).
        if !backing.mayReload(former.store, self.store) {
            warnings.append("store: takes effect at the next start")
            self.store = former.store
        }
        self.keep(\.eventLoops, of: former, "event_loops", &warnings)
        self.keep(\.secrets, of: former, "secret_file", &warnings)
        self.keep(\.logs, of: former, "log", &warnings)
        self.keep(\.telemetry, of: former, "telemetry", &warnings)
        return warnings
    }

    /// Restores one setting, with a warning if it was changed.
    private mutating func keep<Value: Equatable>(
        _ setting: WritableKeyPath<Settings, Value>,
        of former: Settings,
        _ key: String,
        _ warnings: inout [String]
    ) {
        guard former[keyPath: setting] != self[keyPath: setting] else { return }
        warnings.append("\(key): takes effect at the next start")
        self[keyPath: setting] = former[keyPath: setting]
    }
}
