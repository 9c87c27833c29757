import AddressIntelligence
package import Settings
import Vocabulary

/// What the checks of other proxies are read and answered with; made once for each configuration.
package final class AuthorizationProfile: Sendable {
    let settings: AuthorizationSettings
    let peers: CIDRSet
    /// The proxies that ask, and those behind them, name the client.
    let addresses: ClientAddressRule
    /// The names of the identity's fields, each of which stands in an answer that allows a request: the proxy would
    /// otherwise leave the client's own (CVE-2026-30851).
    let fields: ReportedFields
    /// Those of oauth2-proxy; nil where its paths are not served.
    let oauth2Proxy: (profile: IdentityProfile, fields: ReportedFields)?
    /// Whether some session or transfer token is bound to the client's address, so that a check must name it.
    let needsAddress: Bool

    /// nil: no other proxy may ask.
    package init?(_ settings: Settings, identity: IdentityProfile) {
        guard let authorization = settings.authorization else { return nil }
        self.settings = authorization
        self.peers = CIDRSet(authorization.peers)
        self.addresses = ClientAddressRule(
            trusted: authorization.peers + settings.trustedProxies,
            header: .xForwardedFor
        )
        self.fields = ReportedFields(identity)
        self.oauth2Proxy = settings.oauth2ProxyPaths ? Self.oauth2ProxyFields(settings.identity) : nil
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
        CheckForm.of(path, self.settings, oauth2Proxy: self.oauth2Proxy != nil)
    }
}

/// The names of an identity's fields, for answers in which each of them stands.
struct ReportedFields: Sendable {
    /// `X-Auth-Subject: `, in the order in which the lines are rendered.
    private let beginnings: [[UInt8]]

    init(_ identity: IdentityProfile) {
        var names = identity.sources.map(\.beginning)
        if identity.hasBasic { names.append(Array("Authorization: ".utf8)) }
        if identity.assertion != nil { names.append(Array("\(AssertionSigner.field): ".utf8)) }
        self.beginnings = names
    }

    /// Appends the lines, and an empty one for each field that has no value.
    func append(_ rendered: [ContiguousArray<UInt8>], to lines: inout [UInt8]) {
        var next = 0
        for part in rendered {
            var start = part.startIndex
            while start < part.endIndex {
                let end = part[start...].firstIndex(of: 0x0A).map { $0 + 1 } ?? part.endIndex
                let line = part[start..<end]
                while next < self.beginnings.count, !line.starts(with: self.beginnings[next]) {
                    self.appendEmpty(next, to: &lines)
                    next += 1
                }
                lines.append(contentsOf: line)
                next += 1
                start = end
            }
        }
        while next < self.beginnings.count {
            self.appendEmpty(next, to: &lines)
            next += 1
        }
    }

    private func appendEmpty(_ index: Int, to lines: inout [UInt8]) {
        lines.append(contentsOf: self.beginnings[index])
        lines.append(contentsOf: [0x0D, 0x0A])
    }
}
