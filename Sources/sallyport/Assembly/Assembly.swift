import AddressIntelligence
import Calls
import Endpoints
import JOSE
import Observability
import Operating
import Providers
import RequestPath
import Rules
import Sessions
import Settings
import SignOn
import Vocabulary

/// Everything that is made from one configuration, at the start and at each reload.
struct Assembly: Sendable {
    let configuration: PathConfiguration
    /// The providers, with what belongs to each.
    let realms: [AssembledRealm]
    /// Tells which users no longer exist.
    let users: RealmUsers
    /// What the event loops use to look up sessions.
    let parties: SessionParties
    let asn: ASNDirectory?
    let geo: GeoDirectory?
    let idTokens: IDTokenSigning
    let clients: ClientRegistry
    /// How clients are notified when sessions end.
    let logoutTokens: LogoutTokenSender.Plan
    /// The TLS of all listeners that have TLS.
    let tls: [ListenerTLS]
    /// The TLS of the management listeners, in the order of the settings; `nil` for one without TLS.
    let managementTLS: [ListenerTLS?]
    /// The TLS of `admin.listen`; `nil` without TLS.
    let adminTLS: ListenerTLS?

    /// - Parameter former: The assembly that a reload replaces.
    /// - Throws: `StartRefusal`, with the setting at fault.
    init(_ loaded: LoadedSettings, _ foundations: Foundations, generation: UInt64, former: Assembly? = nil) throws {
        let settings = loaded.settings
        let asn = try Self.asn(settings.asn)
        let geo = try StartRefusal.naming("geo: ") {
            try settings.geo.map { (geo) throws(AddressFileError) in try GeoDirectory(database: geo.database) }
        }
        let rules = RuleBook(settings.rules, places: geo)
        // Alerts need every series from the start.
        for rule in settings.rules {
            for result in RuleResult.allCases {
                _ = foundations.registry.counter(MetricNames.ruleResults, rule.name, result.rawValue)
            }
        }
        let devices = DeviceObserver(directory: asn)
        let clients = ClientRegistry(
            settings.clients,
            base: loaded.clients,
            groups: settings.groups.map(\.providers)
        )
        foundations.clientOverlay.attach(clients)
        try Self.refuse(newFaultsOf: clients, former?.clients)
        self.clients = clients
        let keyFile = try Self.keyFile(settings)
        let signingKeys = keyFile?.assertions ?? SigningKeyRing(foundations.keys.secrets)
        let idTokens =
            keyFile?.idTokens.map { .file($0) }
            ?? IDTokenSigning.store(foundations.idTokenKeys, isNeeded: !clients.snapshot.isEmpty)
        self.idTokens = idTokens
        let issuers = Self.issuers(settings)
        self.logoutTokens = LogoutTokenSender.Plan(
            clients: clients,
            issuers: Dictionary(uniqueKeysWithValues: issuers.map { ($0.key.name, $0.value) }),
            keys: idTokens,
            transport: try StartRefusal.naming("clients: ") {
                try foundations.providerClient.transport(proxies: settings.proxies)
            }
        )
        let identity = IdentityProfile(
            settings.identity,
            assertion: settings.identity.assertion.map {
                AssertionSigner(
                    $0,
                    issuers: issuers,
                    key: signingKeys.current
                )
            }
        )
        let problems = IdentityProfile.problems(settings.identity)
        guard problems.isEmpty else {
            throw StartRefusal(description: problems.map { "identity: \($0)" }.joined(separator: "\n"))
        }
        let routes = RouteTable(
            settings.hosts,
            upstreams: settings.upstreams.map(\.name),
            replacesAuthorization: identity.replacesAuthorization,
            others: settings.management.compactMap(\.publicURL)
        )
        let errors = routes.findings.filter(\.isError)
        guard errors.isEmpty else {
            throw StartRefusal(description: errors.map(\.description).joined(separator: "\n"))
        }
        let formerTargets = former?.configuration.targets ?? []
        let targets = try settings.upstreams.map { upstream in
            try StartRefusal.naming("") {
                try UpstreamTarget.make(upstream, keeping: formerTargets, names: foundations.names)
            }
        }
        let realms = try AssembledRealm.all(
            settings,
            identity,
            foundations,
            clients: clients,
            former: former?.realms ?? []
        )
        self.realms = realms
        let users = RealmUsers(together: realms.map(\.users))
        self.users = users
        var parties = SessionParties()
        parties.foreignTokens = realms.compactMap { realm in realm.tokens.map { RealmTokens(realm.realm, $0) } }
        parties.renewer = foundations.grants
        parties.tokenReader = identity.namesTokens ? foundations.grants : nil
        parties.directory = users
        parties.onEnd = { [grants = foundations.grants] in grants.noteEnd(of: $0) }
        self.parties = parties
        let keys = foundations.keys.sealing
        // A host shares sign-ins only with a host that has all its providers, so one `HandoffShare` serves all realms.
        let share =
            settings.handoff.isShared ? HandoffShare(hosts: SignInHosts(settings.hosts), keys: keys) : nil
        let confirmation = HandoffConfirmation(settings.handoff.confirmation, keys: keys)
        let proofs = DPoPGate(foundations.keys.secrets, onces: foundations.store)
        let journal = AuditJournal(audit: foundations.audit, counters: .handoffs(foundations.registry), places: geo)
        let handoff = HandoffConsumer(
            records: foundations.records,
            sessions: settings.session,
            asn: asn,
            directory: users,
            clients: clients,
            grants: foundations.grants,
            rules: rules,
            journal: journal
        )
        let keySets = KeySetEndpoints(signingKeys.published) { await idTokens.published() }.endpoints
        let groups = try settings.groups.map { group in
            let own = EndpointAssembly(
                group: group,
                members: group.realms.all.compactMap { realm in realms.first { $0.realm == realm } },
                related: settings.hosts(sharing: group),
                foundations: foundations,
                devices: devices,
                share: share,
                asn: asn,
                rules: rules,
                journal: journal,
                handoff: handoff,
                confirmation: confirmation,
                clients: realms.count > 1 ? clients.clients(of: group.providers) : clients,
                idTokenKeys: idTokens,
                social: try AssembledProvider.social(group.settings, foundations),
                proofs: proofs
            )
            return EndpointTable.Group(
                group.realms,
                own.endpoints + keySets,
                forwarding: own.members.flatMap(\.provider.forwarding),
                portal: own.portal
            )
        }
        func secured(_ listener: ListenerSettings) throws -> ListenerTLS? {
            guard listener.isSecure, let tls = settings.tls else { return nil }
            return try StartRefusal.naming("") {
                try ListenerTLS.make(tls, listener, keeping: former?.tls ?? [])
            }
        }
        let tls = try settings.listen.map(secured)
        self.managementTLS = try settings.management.map(secured)
        self.adminTLS = try settings.adminListen.flatMap(secured)
        let checksTLS = try (settings.authorization?.listen).flatMap(secured)
        self.tls = (tls + self.managementTLS + [self.adminTLS, checksTLS]).compactMap(\.self)
        self.configuration = PathConfiguration(
            settings: settings,
            routes: routes,
            targets: targets,
            endpoints: try EndpointTable(
                groups,
                on: routes,
                upstreams: settings.upstreams.map(\.name),
                maxBody: settings.limits.body
            ),
            registry: foundations.registry,
            generation: generation,
            judging: JudgingProfile(
                audit: foundations.audit,
                identity: identity,
                handoff: handoff,
                confirmation: confirmation,
                share: share,
                devices: devices,
                places: geo,
                proofs: proofs,
                clients: clients
            ),
            authorization: AuthorizationProfile(settings, identity: identity),
            tls: tls,
            checksTLS: checksTLS
        )
        self.asn = asn
        self.geo = geo
    }

    var settings: Settings { self.configuration.settings }

    /// The providers that can renew and revoke tokens.
    var refreshing: [any RefreshingProvider] { self.realms.compactMap(\.provider.roles.refreshing) }

    /// Returns the issuer (`iss`) for the users of each provider.
    private static func issuers(_ settings: Settings) -> [Realm: String] {
        guard !settings.providers.isEmpty else { return [.default: ServerMetadata.issuer(settings.issuer)] }
        return Dictionary(
            uniqueKeysWithValues: settings.providers.map { provider in
                (Realm(provider.name), ServerMetadata.issuer(settings.issuer(of: provider.name)))
            }
        )
    }

    /// Rejects a reload if the new file conflicts with changes of a client at run time, and the former file did not.
    /// The client would stop working.
    private static func refuse(newFaultsOf clients: ClientRegistry, _ former: ClientRegistry?) throws {
        guard let known = former?.catalogue.withheld else { return }
        let faults = clients.catalogue.withheld.filter { known[$0.key] == nil }.sorted { $0.key < $1.key }
        guard !faults.isEmpty else { return }
        let lines = faults.map { id, fault in
            "clients: the changes made to \(id) at run time do not fit this file: \(fault.sentence)"
        }
        throw StartRefusal(description: lines.joined(separator: "\n"))
    }

    private static func asn(_ settings: ASNSettings?) throws -> ASNDirectory? {
        try StartRefusal.naming("asn: ") {
            switch settings {
            case nil: nil
            case .database(let path): try ASNDirectory.open(database: path)
            case .csv(let path): try ASNDirectory.open(csv: path)
            }
        }
    }

    private static func keyFile(_ settings: Settings) throws -> SigningKeyFile? {
        do throws(JOSEError) {
            return try settings.signingKeys.map { (pem) throws(JOSEError) in try SigningKeyFile(pem: pem) }
        } catch {
            throw StartRefusal(description: "signing_key_file: \(error.detail)")
        }
    }
}
