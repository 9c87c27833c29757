import Endpoints
import Observability
import Operating
import Providers
import RequestPath
import Sessions
import Settings
import SignOn
import Vocabulary

/// A configured provider, made from one configuration.
struct AssembledProvider: Sendable {
    /// Reads the time of tokens, which were made by the provider's clock. Unlike the store's clock, it follows when the
    /// machine's clock is set.
    static let clock = Clock.system

    private(set) var roles = ProviderRoles()
    /// The OpenID issuer; nil: the provider is none.
    private(set) var issuer: OpenIDIssuer?
    /// nil: the provider is another one.
    private(set) var kratos: KratosProvider?
    private var origin: IssuerOrigin?
    /// Told why the provider gave no answer.
    private(set) var tellOutage: @Sendable (String) -> Void = { _ in }

    /// - Parameter former: The provider of the configuration that this one replaces. Its issuer is kept with all that is
    ///   known of it, unless the new settings reach or judge it differently.
    /// - Throws: `StartRefusal` that names the setting.
    init(_ provider: NamedProvider?, _ foundations: Foundations, former: AssembledProvider?) throws {
        guard let provider else { return }
        let place = provider.name == Realm.default.name ? "provider" : "provider \(provider.name)"
        func transport(_ caFile: String?, allowsPlainHTTP: Bool = false) throws -> any CallTransport {
            try Self.transport(caFile, allowsPlainHTTP: allowsPlainHTTP, provider.proxies, foundations)
        }
        let outages: @Sendable (String) -> Void = OutageLog(name: place).note
        self.tellOutage = outages
        switch provider.settings {
        case .fixedUsers(let users):
            let provider = StaticProvider(users: users, known: foundations.users)
            self.roles = ProviderRoles(password: provider, directory: provider)
        case .kratos(let settings):
            try StartRefusal.naming("\(place).kratos.") {
                let transport = try transport(settings.caFile, allowsPlainHTTP: true)
                let provider = KratosProvider(settings, transport: transport, clock: Self.clock, tellOutage: outages)
                self.kratos = provider
                self.roles = ProviderRoles(tokens: [provider])
            }
        case .oauth2(let settings):
            try StartRefusal.naming("\(place).oauth2.") {
                let transport = try transport(settings.caFile)
                let provider = try OAuth2Provider(settings, transport: transport, clock: Self.clock)
                self.roles = ProviderRoles(browser: provider, refreshing: provider)
            }
        case .introspection(let settings):
            try StartRefusal.naming("\(place).introspection.") {
                let transport = try transport(settings.caFile)
                let provider = try IntrospectionProvider(
                    settings,
                    transport: transport,
                    clock: Self.clock,
                    tellOutage: outages
                )
                self.roles = ProviderRoles(tokens: [provider])
            }
        case .openID(let settings):
            try StartRefusal.naming("\(place).oidc.") {
                let transport = try transport(settings.caFile)
                let origin = IssuerOrigin(settings, provider.proxies)
                let kept = former?.origin == origin ? former?.issuer : nil
                let issuer = try kept ?? OpenIDIssuer(settings, transport: transport, clock: Self.clock)
                (self.issuer, self.origin) = (issuer, origin)
                let provider = try OpenIDProvider(
                    settings,
                    issuer: issuer,
                    transport: transport,
                    clock: Self.clock,
                    noteUserInfo: UserInfoLog(name: place, foundations.registry).note
                )
                var tokens: [any TokenProvider] = []
                if let bearer = BearerProvider(settings, issuer: issuer, clock: Self.clock) { tokens.append(bearer) }
                var refreshTokens: IntrospectionProvider?
                if let introspection = settings.introspection {
                    (tokens, refreshTokens) = try Self.introspection(
                        introspection,
                        of: issuer,
                        transport,
                        tokens,
                        outages
                    )
                }
                self.roles = ProviderRoles(
                    browser: provider,
                    tokens: tokens,
                    refreshTokens: refreshTokens,
                    refreshing: provider,
                    logout: provider
                )
            }
        }
    }

    /// Whether it is known not to answer at the moment.
    var isAway: @Sendable () -> Bool {
        { [issuer = self.issuer, kratos = self.kratos] in
            issuer?.metadata.failure != nil || kratos?.failure != nil
        }
    }

    /// The endpoints that the provider answers itself.
    var forwarding: [ForwardingEndpoint] {
        guard self.kratos != nil else { return [] }
        func passed(_ path: String, but answered: [String] = []) -> ForwardingEndpoint {
            let methods = KratosProvider.methods.filter { !answered.contains($0) }
            return ForwardingEndpoint(path: path, methods: methods, upstream: KratosSettings.upstream)
        }
        return [passed(KratosProvider.exchangePath, but: ["GET"])]
            + KratosProvider.ends.sorted { $0.key < $1.key }.map { passed($0.key, but: $0.value) }
            + KratosProvider.paths.filter { KratosProvider.ends[$0] == nil }.map { passed($0) }
    }

    /// Adds opaque access tokens to `tokens`; and the refresh tokens that count.
    private static func introspection(
        _ settings: IntrospectionSettings,
        of issuer: OpenIDIssuer,
        _ transport: any CallTransport,
        _ tokens: [any TokenProvider],
        _ outages: @escaping @Sendable (String) -> Void
    ) throws -> (tokens: [any TokenProvider], refreshTokens: IntrospectionProvider?) {
        do throws(ProviderSetUpError) {
            var tokens = tokens
            if !settings.audiences.isEmpty {
                tokens.append(
                    try IntrospectionProvider(
                        settings,
                        of: issuer,
                        transport: transport,
                        clock: Self.clock,
                        tellOutage: outages
                    )
                )
            }
            guard !settings.refreshTokenClients.isEmpty else { return (tokens, nil) }
            let refreshTokens = try IntrospectionProvider(
                settings,
                of: issuer,
                judging: .refresh,
                transport: transport,
                clock: Self.clock,
                tellOutage: outages
            )
            return (tokens, refreshTokens)
        } catch {
            throw ProviderSetUpError(description: "introspection.\(error)")
        }
    }

    /// The verifiers of `native_social`, whose servers are reached as the provider is.
    static func social(_ settings: Settings, _ foundations: Foundations) throws -> SocialVerifiers {
        try StartRefusal.naming("native_social.") {
            let proxies = settings.providers.first?.proxies ?? settings.proxies
            let transport = try Self.transport(nil, proxies, foundations)
            return try SocialVerifiers(
                settings.nativeSocial,
                transport: transport,
                clock: Self.clock,
                tellOutage: OutageLog(name: "native_social").note
            )
        }
    }

    private static func transport(
        _ caFile: String?,
        allowsPlainHTTP: Bool = false,
        _ proxies: OutgoingProxies,
        _ foundations: Foundations
    ) throws -> any CallTransport {
        try foundations.providerClient.transport(
            caFile: caFile,
            allowsPlainHTTP: allowsPlainHTTP,
            proxies: proxies,
            countedIn: foundations.registry
        )
    }
}

/// A provider with what the hosts of its users need.
struct AssembledRealm: Sendable {
    let users: RealmUsers
    let realm: Realm
    /// Its settings; nil: no provider is configured.
    let named: NamedProvider?
    let provider: AssembledProvider
    /// The tokens that the provider knows; nil if it has no such role.
    let tokens: (any ForeignTokens)?
    /// The same of refresh tokens.
    let refreshTokens: (any ForeignTokens)?
    /// Says what of its users cannot be in fields.
    let unfit: UnfitIdentities

    /// - Parameters:
    ///   - named: nil: there is no provider.
    ///   - otherIssuers: Those of the other providers.
    ///   - identity: The fields for apps.
    ///   - clients: The registered OAuth clients.
    ///   - former: The realms of the configuration that this one replaces.
    /// - Throws: `StartRefusal` that names the setting.
    init(
        _ named: NamedProvider?,
        besides otherIssuers: Set<String>,
        _ identity: IdentityProfile,
        _ foundations: Foundations,
        clients: ClientRegistry,
        former: [AssembledRealm]
    ) throws {
        let realm = named.map { Realm($0.name) } ?? .default
        let unfit = UnfitIdentities(identity, named)
        self.unfit = unfit
        self.realm = realm
        self.named = named
        let former = former.first { $0.realm == realm }
        let provider = try AssembledProvider(named, foundations, former: former?.provider)
        self.provider = provider
        self.users = RealmUsers(realm, provider.roles.directory, clients: clients)
        func known(to providers: [any TokenProvider]) -> (any ForeignTokens)? {
            providers.isEmpty
                ? nil
                : ProviderTokens(
                    providers,
                    realm: realm,
                    otherIssuers: otherIssuers,
                    authority: foundations.authority,
                    store: foundations.store,
                    clock: foundations.clock,
                    observe: unfit.note,
                    end: { (token, session) throws(NotDone) in
                        try await ProviderSessions(records: foundations.records).end(session, of: token)
                        let event = GrantJournal.Event.ended(detail: "").auditEvent(of: session)
                        if let event { foundations.audit.emit(event) }
                    }
                )
        }
        self.tokens = known(to: provider.roles.tokens)
        self.refreshTokens = known(to: provider.roles.refreshTokens.map { [$0] } ?? [])
    }

    /// Whether its users can sign in here.
    var signsIn: Bool {
        self.provider.roles.password != nil || self.provider.roles.browser != nil || self.provider.kratos != nil
    }

    /// Those of all configured providers; one without a provider where there is none.
    static func all(
        _ settings: Settings,
        _ identity: IdentityProfile,
        _ foundations: Foundations,
        clients: ClientRegistry,
        former: [AssembledRealm]
    ) throws -> [AssembledRealm] {
        let all: [NamedProvider?] = settings.providers.isEmpty ? [nil] : settings.providers
        return try all.map { named in
            let others = settings.providers.filter { $0.name != named?.name }.compactMap(\.settings.tokenIssuer)
            return try AssembledRealm(
                named,
                besides: Set(others),
                identity,
                foundations,
                clients: clients,
                former: former
            )
        }
    }
}

/// What an issuer is reached and judged by: while it is the same, so is the issuer.
private struct IssuerOrigin: Equatable {
    let issuer: String
    let algorithms: [String]
    /// The content of `ca_file`; nil: the system's authorities.
    let authorities: [UInt8]?
    let proxies: OutgoingProxies

    init(_ settings: OpenIDSettings, _ proxies: OutgoingProxies) {
        self.proxies = proxies
        self.issuer = settings.issuer
        self.algorithms = settings.algorithms
        self.authorities = settings.caFile.flatMap { SettingsFiles.bytes(ofFile: $0, atMost: .max) }
    }
}
