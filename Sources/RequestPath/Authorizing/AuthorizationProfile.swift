import AddressIntelligence
package import Settings
import Vocabulary

/// The settings and tables for the checks by which other proxies ask whether a request is allowed (forward auth).
package final class AuthorizationProfile: Sendable {
    let settings: AuthorizationSettings
    let peers: CIDRSet
    /// Finds the client's address in a check. Trusts the proxies that send checks and `trusted_proxies`.
    let addresses: ClientAddressRule
    /// The identity fields of an answer that allows a request.
    let fields: ReportedFields
    /// The identity profile and fields of oauth2-proxy. `nil` if the gateway does not serve oauth2-proxy's paths.
    let oauth2Proxy: (profile: IdentityProfile, fields: ReportedFields)?
    private let forms: CheckForms
    /// True if the authorization listener also serves the gateway's pages, as oauth2-proxy and Authelia do.
    let servesPages: Bool
    /// True if requests for the gateway's pages have the client's address in `X-Real-IP`. With nginx as configured in
    /// oauth2-proxy's manual, `X-Forwarded-For` comes from the client.
    let namesPageClientsInRealIP: Bool
    /// True if each check must name the client's address: sessions or transfer tokens may be bound to it.
    let needsAddress: Bool

    /// Creates the profile. Returns `nil` if the settings allow no checks.
    package convenience init?(_ settings: Settings, identity: IdentityProfile) {
        guard let authorization = settings.authorization else { return nil }
        let forms = CheckForms(
            authorization,
            oauth2Proxy: settings.oauth2ProxyPaths,
            reading: settings.oauth2ProxyMetadata
        )
        self.init(authorization, in: settings, identity: identity, forms: forms)
    }

    package init(
        _ authorization: AuthorizationSettings,
        in settings: Settings,
        identity: IdentityProfile,
        forms: CheckForms
    ) {
        self.settings = authorization
        self.peers = CIDRSet(authorization.peers)
        self.addresses = ClientAddressRule(
            trusted: authorization.peers + settings.trustedProxies,
            header: .xForwardedFor
        )
        self.fields = ReportedFields(identity)
        self.oauth2Proxy = settings.oauth2ProxyPaths ? Self.oauth2ProxyFields(settings.identity) : nil
        self.forms = forms
        self.servesPages = settings.oauth2ProxyPaths || settings.identity.preset == .authelia
        self.namesPageClientsInRealIP = settings.oauth2ProxyPaths && settings.oauth2ProxyMetadata == nil
        self.needsAddress =
            settings.hosts.contains { $0.routes.contains { $0.liveBinding != .none } }
            || settings.clients.contains { $0.binding != .none }
    }

    private static func oauth2ProxyFields(_ settings: IdentitySettings) -> (IdentityProfile, ReportedFields) {
        var settings = settings
        settings.basic = nil
        settings.fields = IdentityProfile.fields(.oauth2Proxy).filter { $0.name.hasPrefix("X-Auth-Request-") }
        let profile = IdentityProfile(settings)
        return (profile, ReportedFields(profile))
    }

    /// Returns the form of checks at this path. `nil` if the listener does not serve the path.
    func form(of path: UnsafeBufferPointer<UInt8>) -> CheckForm? {
        self.forms[path]
    }
}
