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
    let roles: ProviderRoles
    /// The OpenID issuer; `nil` for a provider of another kind.
    private(set) var issuer: OpenIDIssuer?
    /// The values by which the issuer is reached and judged; `nil` without an issuer.
    private(set) var origin: IssuerOrigin?
    /// Kratos; `nil` for a provider of another kind.
    private(set) var kratos: KratosProvider?
    /// The endpoints that the provider answers itself.
    private(set) var forwarding: [ForwardingEndpoint] = []
    /// Returns true if the provider is known not to answer at the moment.
    private(set) var isAway: @Sendable () -> Bool = { false }
    /// Takes the reason why the provider gave no answer.
    fileprivate(set) var tellOutage: @Sendable (String) -> Void = { _ in }

    /// Makes the provider, or no provider.
    ///
    /// - Parameter former: The provider of the configuration that this one replaces. Its issuer is kept with all that is
    ///   known of it, unless the new settings reach or judge it differently.
    /// - Throws: `StartRefusal` that names the setting.
    static func make(
        _ named: NamedProvider?,
        _ foundations: Foundations,
        former: AssembledProvider?
    ) throws -> AssembledProvider {
        guard let named else { return AssembledProvider(roles: ProviderRoles()) }
        let site = ProviderSite(named: named, foundations: foundations, former: former)
        var provider = try StartRefusal.naming("\(site.place).\(type(of: named.settings).key).") {
            try ProviderAssembly.assemble(named.settings, at: site)
        }
        provider.tellOutage = site.tellOutage
        return provider
    }

    /// The verifiers of `native_social`, whose servers are reached as the provider is.
    static func social(_ settings: Settings, _ foundations: Foundations) throws -> SocialVerifiers {
        try StartRefusal.naming("native_social.") {
            let proxies = settings.providers.first?.proxies ?? settings.proxies
            let transport = try foundations.transport(through: proxies)
            return try SocialVerifiers(
                settings.nativeSocial,
                transport: transport,
                clock: ProviderSite.clock,
                tellOutage: OutageLog(name: "native_social").note
            )
        }
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
        let provider = try AssembledProvider.make(named, foundations, former: former?.provider)
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
