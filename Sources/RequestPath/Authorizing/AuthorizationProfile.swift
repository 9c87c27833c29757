import AddressIntelligence
package import Settings
import Vocabulary

/// What the checks of other proxies are read and answered with; made once for each configuration.
package final class AuthorizationProfile: Sendable {
    let settings: AuthorizationSettings
    let peers: CIDRSet
    /// The proxies that ask, and those behind them, name the client.
    let addresses: ClientAddressRule
    /// The fields of an answer that allows a request.
    let fields: ReportedFields
    /// Those of oauth2-proxy; nil where its paths are not served.
    let oauth2Proxy: (profile: IdentityProfile, fields: ReportedFields)?
    /// The forms, by their paths.
    private let forms: CheckForms
    /// Whether the proxies may send browsers to the gateway's own pages here, too: oauth2-proxy and Authelia answer checks
    /// and show their pages at one address, and the configurations of proxies say so.
    let servesPages: Bool
    /// Whether the client of such a page stands in `X-Real-IP`: nginx sends no other name of it there, as oauth2-proxy's
    /// manual configures it, and `X-Forwarded-For` is the client's own.
    let namesPageClientsInRealIP: Bool
    /// Whether some session or transfer token is bound to the client's address, so that a check must name it.
    let needsAddress: Bool

    /// The profile of the settings; `nil` if no other proxy may ask.
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

    /// The form in which a check asks; nil: its path is none of the listener's.
    func form(of path: UnsafeBufferPointer<UInt8>) -> CheckForm? {
        self.forms[path]
    }
}
