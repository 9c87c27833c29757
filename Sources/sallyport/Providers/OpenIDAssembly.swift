import Calls
import Observability
import Operating
import Providers
import Settings
import SignOn

extension ProviderAssembly {
    static let openID = ProviderAssembly(
        OpenIDSettings.self,
        assemble: { try .openID($0, $1) },
        check: { try await $1.check($0) }
    )
}

extension AssembledProvider {
    fileprivate static func openID(_ settings: OpenIDSettings, _ site: ProviderSite) throws -> AssembledProvider {
        let transport = try site.transport(settings)
        let origin = IssuerOrigin(settings, site.proxies)
        let kept = site.former?.origin == origin ? site.former?.issuer : nil
        let issuer = try kept ?? OpenIDIssuer(settings, transport: transport, clock: ProviderSite.clock)
        let provider = try OpenIDProvider(
            settings,
            issuer: issuer,
            transport: transport,
            clock: ProviderSite.clock,
            noteUserInfo: UserInfoLog(name: site.place, site.foundations.registry).note
        )
        var tokens: [any TokenProvider] = []
        if let bearer = BearerProvider(settings, issuer: issuer, clock: ProviderSite.clock) { tokens.append(bearer) }
        var refreshTokens: IntrospectionProvider?
        if let introspection = settings.introspection {
            (tokens, refreshTokens) = try Self.introspection(
                introspection,
                of: issuer,
                transport,
                tokens,
                site.reportOutage
            )
        }
        let roles = ProviderRoles(
            browser: provider,
            tokens: tokens,
            refreshTokens: refreshTokens,
            refreshing: provider,
            logout: provider
        )
        return AssembledProvider(
            roles: roles,
            issuer: issuer,
            origin: origin,
            isAway: { issuer.metadata.failure != nil }
        )
    }

    /// Adds a verifier of opaque access tokens to `tokens`, and makes a verifier of refresh tokens, each only if the
    /// settings ask for it.
    fileprivate static func introspection(
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
                        clock: ProviderSite.clock,
                        reportOutage: outages
                    )
                )
            }
            guard !settings.refreshTokenClients.isEmpty else { return (tokens, nil) }
            let refreshTokens = try IntrospectionProvider(
                settings,
                of: issuer,
                judging: .refresh,
                transport: transport,
                clock: ProviderSite.clock,
                reportOutage: outages
            )
            return (tokens, refreshTokens)
        } catch {
            throw ProviderSetUpError(description: "introspection.\(error)")
        }
    }
}

/// How an issuer is reached and verified. A reload keeps an issuer if this does not change.
struct IssuerOrigin: Equatable {
    let issuer: String
    let algorithms: [String]
    /// The content of `ca_file`; `nil` for the system's authorities.
    let authorities: [UInt8]?
    let proxies: OutgoingProxies

    init(_ settings: OpenIDSettings, _ proxies: OutgoingProxies) {
        self.proxies = proxies
        self.issuer = settings.issuer
        self.algorithms = settings.algorithms
        self.authorities = settings.caFile.flatMap { SettingsFiles.bytes(ofFile: $0, atMost: .max) }
    }
}
