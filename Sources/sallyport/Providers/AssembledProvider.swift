import Endpoints
import Observability
import Operating
import Providers
import RequestPath
import Sessions
import Settings
import SignOn
import Vocabulary

/// The running parts of a provider, made from one configuration.
struct AssembledProvider: Sendable {
    let roles: ProviderRoles
    /// The OpenID issuer. `nil` for a provider of another kind.
    private(set) var issuer: OpenIDIssuer?
    /// The values that determine how the issuer is reached and verified. `nil` if `issuer` is `nil`.
    private(set) var origin: IssuerOrigin?
    /// Kratos. `nil` for a provider of another kind.
    private(set) var kratos: KratosProvider?
    /// The endpoints whose requests are forwarded to the provider.
    private(set) var forwarding: [ForwardingEndpoint] = []
    /// Returns true while the provider is known not to answer.
    private(set) var isAway: @Sendable () -> Bool = { false }
    /// Called with the reason when the provider gives no usable answer.
    fileprivate(set) var reportOutage: @Sendable (String) -> Void = { _ in }

    /// Makes the provider. Without settings, the result has no roles.
    ///
    /// - Parameter former: The provider in the configuration that this one replaces. Its issuer is kept with its state,
    ///   unless the new settings change how the issuer is reached or verified.
    /// - Throws: `StartRefusal`, which names the setting at fault.
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

    /// Makes the verifiers of `native_social`. Calls use the first provider's proxies.
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

/// A provider, with the parts that the hosts of its users use.
struct AssembledRealm: Sendable {
    let users: RealmUsers
    let realm: Realm
    /// The provider's settings. `nil` if no provider is configured.
    let named: NamedProvider?
    let provider: AssembledProvider
    /// Verifies the provider's access tokens. `nil` if the provider does not verify any.
    let tokens: (any ForeignTokens)?
    /// Verifies the provider's refresh tokens. `nil` if the provider does not verify any.
    let refreshTokens: (any ForeignTokens)?
    /// Logs values of users that cannot be sent in header fields.
    let unfit: UnfitIdentities

    /// - Parameters:
    ///   - named: The provider's settings. `nil` if no provider is configured.
    ///   - otherIssuers: The issuers of all other providers.
    ///   - identity: The identity headers for apps.
    ///   - clients: The registered OAuth clients.
    ///   - former: The realms of the configuration that this one replaces.
    /// - Throws: `StartRefusal`, which names the setting at fault.
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

    /// True if the provider's users can sign in here.
    var signsIn: Bool {
        self.provider.roles.password != nil || self.provider.roles.browser != nil || self.provider.kratos != nil
    }

    /// Returns one realm per configured provider. Without providers there is one empty realm.
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
