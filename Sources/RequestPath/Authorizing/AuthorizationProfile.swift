import AddressIntelligence
package import Settings
import Vocabulary

/// The settings and tables for reading and answering the checks of other proxies, made once per configuration.
package final class AuthorizationProfile: Sendable {
    let settings: AuthorizationSettings
    let peers: CIDRSet
    /// The rule that finds the client's address in a check. It trusts the peers that send checks and `trusted_proxies`.
    let addresses: ClientAddressRule
    /// The identity fields of an answer that allows a request.
    let fields: ReportedFields
    /// The identity profile and fields of oauth2-proxy. `nil` if the gateway does not serve oauth2-proxy's paths.
    let oauth2Proxy: (profile: IdentityProfile, fields: ReportedFields)?
    private let forms: CheckForms
    /// True if proxies may also send requests for the gateway's own pages to the authorization listener. oauth2-proxy
    /// and Authelia serve checks and pages at one address, and proxies are configured for that.
    let servesPages: Bool
    /// True if a request for one of the gateway's pages names its client in `X-Real-IP`. If nginx is configured as in
    /// oauth2-proxy's manual, it sets no other field with the address, and `X-Forwarded-For` comes from the client.
    let namesPageClientsInRealIP: Bool
    /// True if each check must contain the client's address, because sessions or transfer tokens may be bound to it.
    let needsAddress: Bool

    /// Creates the profile from the settings. Returns `nil` if no other proxy may send checks.
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

    /// Returns the form of a check with this path. Returns `nil` if the listener does not serve the path.
    func form(of path: UnsafeBufferPointer<UInt8>) -> CheckForm? {
        self.forms[path]
    }
}
