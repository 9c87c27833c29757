import AddressIntelligence
import Vocabulary

/// The lifetime of the gateway's cookies, and the requests with which browsers send them.
extension SettingsBuilder {
    /// Reports `persistent: ask` if no user sees the gateway's sign-in page.
    mutating func checkPersistence(_ session: SessionSettings, _ tree: SettingsTree) {
        guard session.browser.persistence == .ask, !self.isPartial else { return }
        let providers = [self.tree.tree("provider")].compactMap(\.self) + self.tree.trees("providers")
        guard !providers.contains(where: { $0["static"] != nil }) else { return }
        self.report(
            tree.place(of: "persistent"),
            found: "ask, but users sign in at the pages of their provider",
            allowed: "ask where users sign in at the gateway's own page, with passwords",
            fix: "write always or never"
        )
    }

    /// Checks `same_site`, and warns of CORS credentials that `same_site: lax` makes ineffective.
    mutating func checkCookies(of host: HostSettings, _ tree: SettingsTree) {
        if host.sameSite == .none, !host.publicURL.isHTTPS, !self.isPartial {
            self.report(
                tree.place(of: "same_site"),
                found: "none, but public_url is plain http",
                allowed: "none only with an https public_url: browsers accept these cookies only with Secure",
                fix: "write https in public_url, or remove same_site"
            )
        }
        guard host.sameSite == .lax else { return }
        for route in host.routes {
            guard let cors = route.cors, cors.credentials else { continue }
            guard let other = cors.origins.first(where: { !Self.isSameSite($0, host.publicURL) }) else { continue }
            self.warnings.append(
                "the route \(route.name) has cors.credentials for \(other), which is another site: browsers send it no "
                    + "session cookie unless the host \(host.publicURL.authority) has same_site: none"
            )
        }
    }

    /// Returns whether a web origin and a host probably belong to one site, by scheme and the last two labels. Below a
    /// registry such as `co.uk`, this is true for different sites, so a warning may be missing.
    private static func isSameSite(_ origin: String, _ url: PublicURL) -> Bool {
        let parts = origin.lowercased().split(separator: ":", maxSplits: 1)
        guard parts.count == 2, parts[0] == url.scheme else { return false }
        let authority = parts[1].drop { $0 == "/" }
        let host = authority.hasPrefix("[") ? authority.prefix { $0 != "]" } + "]" : authority.prefix { $0 != ":" }
        return self.site(String(host)) == self.site(url.host)
    }

    private static func site(_ host: String) -> String {
        guard IPAddress(host) == nil, !host.hasPrefix("[") else { return host }
        return host.split(separator: ".").suffix(2).joined(separator: ".")
    }
}
