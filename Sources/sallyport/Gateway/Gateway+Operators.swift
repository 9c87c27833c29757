import Endpoints
import Observability
import Sessions
import Settings
import SignOn
import Synchronization
import Vocabulary

/// The endpoints that need an operator's token.
extension Gateway {
    /// Returns the endpoints of management listeners. Attempts with invalid tokens are limited, because anybody may
    /// reach these listeners.
    func managementEndpoints(_ settings: Settings) -> [Endpoint] {
        self.operatorEndpoints(
            settings,
            counting: TryCounter(store: self.foundations.limiter, loops: self.foundations.group)
        )
    }

    /// Returns the endpoints that need an operator's token. Empty if no tokens are configured.
    func operatorEndpoints(_ settings: Settings, counting tries: TryCounter? = nil) -> [Endpoint] {
        guard !settings.operatorTokens.isEmpty else { return [] }
        let sessions = SessionService(
            records: self.foundations.records,
            settings: settings.session,
            devices: DeviceObserver(directory: nil),
            grants: self.foundations.grants,
            users: nil,
            cascade: SessionCascade(store: self.foundations.store),
            journal: AuditJournal(audit: self.foundations.audit, counters: .signIns(self.foundations.registry))
        )
        let audit: @Sendable (AuditEvent) -> Bool = { [audit = self.foundations.audit] in audit.emit($0) }
        let gate = OperatorGate(
            tokens: { self.state.withLock { $0.settings.operatorTokens } },
            audit: audit,
            tries: tries
        )
        let clients = OperatorClients(
            editor: ClientEditor(overlay: self.foundations.clientOverlay) {
                self.state.withLock { $0.assembly }.clients
            },
            gate: gate,
            metrics: self.foundations.registry,
            audit: audit
        )
        let limits = OperatorLimits(
            limits: AddressLimits(limiter: self.foundations.limiter, loops: self.foundations.group),
            gate: gate
        )
        let users = UserSessions(sessions: sessions)
        let provisioning = settings.provisioningMatch.map { match in
            let provisioning = Provisioning(users: users, provisioned: self.foundations.provisioned, match: match)
            return SCIMUsers(provisioning: provisioning, gate: gate)
        }
        return OperatorSessions(
            users: users,
            gate: gate,
            providers: { self.state.withLock { $0.settings.providers.map(OperatorSessions.Provider.init) } }
        ).endpoints + limits.endpoints + clients.endpoints + (provisioning?.endpoints ?? [])
    }
}

extension Settings {
    /// How users in SCIM are found at sign-in. `nil` if SCIM is not served.
    var provisioningMatch: ProvisioningMatch? {
        guard let scim, let named = self.providers.first(where: { $0.name == scim.provider }) else { return nil }
        return ProvisioningMatch(realm: Realm(named.name), provider: named.settings.ownName, trait: scim.trait)
    }
}
