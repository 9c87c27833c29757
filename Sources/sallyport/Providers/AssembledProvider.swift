import Endpoints
import Observability
import Operating
import Providers
import RequestPath
import Sessions
import Settings
import SignOn
import Vocabulary

/// A provider, ready to use.
struct AssembledProvider: Sendable {
    let roles: ProviderRoles
    /// The OpenID issuer; `nil` for other kinds of providers.
    private(set) var issuer: OpenIDIssuer?
    /// How the issuer is reached and verified; `nil` without an issuer.
    private(set) var origin: IssuerOrigin?
    /// Kratos; `nil` for other kinds of providers.
    private(set) var kratos: KratosProvider?
    /// The endpoints that forward requests to the provider.
    private(set) var forwarding: [ForwardingEndpoint] = []
    /// Returns true while the provider does not answer.
    private(set) var isAway: @Sendable () -> Bool = { false }
    /// Called if the provider gives no usable answer. The argument says what failed.
    fileprivate(set) var reportOutage: @Sendable (String) -> Void = { _ in }

    /// Makes the provider. Without settings, the result has no roles.
    ///
    /// - Parameter former: The provider before a reload. Its issuer is kept unless its `origin` changes.
    /// - Throws: `StartRefusal`, with the setting at fault.
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
        provider.reportOutage = site.reportOutage
        return provider
    }

    /// Makes the verifiers of `native_social`. They use the proxies of the first provider or, without providers,
    /// the proxies of the settings.
    static func social(_ settings: Settings, _ foundations: Foundations) throws -> SocialVerifiers {
        try StartRefusal.naming("native_social.") {
            let proxies = settings.providers.first?.proxies ?? settings.proxies
            let transport = try foundations.transport(through: proxies)
            return try SocialVerifiers(
                settings.nativeSocial,
                transport: transport,
                clock: ProviderSite.clock,
                reportOutage: OutageLog(name: "native_social").note
            )
        }
    }
}

/// A provider's realm, with what its hosts need.
struct AssembledRealm: Sendable {
    let users: RealmUsers
    let realm: Realm
    /// The provider's settings; `nil` if no provider is configured.
    let named: NamedProvider?
    let provider: AssembledProvider
    /// Verifies access tokens of the provider; `nil` if they are not accepted.
    let tokens: (any ForeignTokens)?
    /// Verifies refresh tokens of the provider; `nil` if they are not accepted.
    let refreshTokens: (any ForeignTokens)?
    /// Logs users' values that cannot be sent in header fields.
    let unfit: UnfitIdentities

    /// - Parameters:
    ///   - named: The provider's settings; `nil` if no provider is configured.
    ///   - otherIssuers: The issuers of all other providers.
    ///   - former: The realms before a reload.
    /// - Throws: `StartRefusal`, with the setting at fault.
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
                    isBlocked: { foundations.records.blocks.isBlocked($0.identity, on: $1) },
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

    /// True if users can sign in at this provider.
    var signsIn: Bool {
        self.provider.roles.password != nil || self.provider.roles.browser != nil || self.provider.kratos != nil
    }

    /// Returns one realm for each configured provider, or an empty realm if there are none.
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
