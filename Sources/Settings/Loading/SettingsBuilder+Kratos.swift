import Vocabulary

extension SettingsBuilder {
    mutating func kratos(_ tree: SettingsTree, besides session: SessionSettings) -> KratosSettings? {
        let caFile = self.readablePath("ca_file", of: tree)
        self.reportMissingKeys(of: tree, in: .kratos)
        guard let publicURL = tree.url("public_url") else { return nil }
        var settings = KratosSettings(publicURL: publicURL)
        tree.set(.kratos, in: &settings)
        settings.caFile = caFile
        if session.isOwnCookie(settings.cookieName), tree["cookie"] != nil {
            self.report(
                tree.place(of: "cookie"),
                found: "\(quoted(settings.cookieName)), which is a cookie of the gateway",
                allowed: "the name of Kratos's own cookie",
                mend: "write the name that Kratos has in cookies.name"
            )
        }
        if !publicURL.isHTTPS, !publicURL.isLoopback {
            self.warnings.append(
                "\(tree.key(of: "public_url")) is plain http: whoever can read along between the gateway and Kratos sees the sessions of users"
            )
        }
        // Makes Kratos reachable as an app is, for the endpoints that are passed through to it.
        var upstream = Self.upstream(named: KratosSettings.upstream, at: settings.publicURL)
        upstream.caFile = settings.publicURL.isHTTPS ? settings.caFile : nil
        self.upstreams.append(upstream)
        return settings
    }
}
