import Vocabulary

extension ProviderKind {
    static let kratos = ProviderKind(
        KratosSettings.self,
        .kratos,
        "Ory Kratos: users sign in at its pages, and its session tokens and cookie are accepted.",
        isSingle: true,
        read: { $0.kratos($1, besides: $2.session) },
        check: { $0.checkKratos(at: $1) }
    )
}

extension SettingsBuilder {
    fileprivate mutating func kratos(_ tree: SettingsTree, besides session: SessionSettings) -> KratosSettings? {
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
                fix: "write the name that Kratos has in cookies.name"
            )
        }
        if !publicURL.isHTTPS, !publicURL.isLoopback {
            self.warnings.append(
                "\(tree.key(of: "public_url")) is plain http: anyone who can read the traffic between the gateway and Kratos sees the sessions of users"
            )
        }
        // Some endpoints are passed through to Kratos, so Kratos is also an upstream.
        var upstream = Self.upstream(named: KratosSettings.upstream, at: settings.publicURL)
        upstream.caFile = settings.publicURL.isHTTPS ? settings.caFile : nil
        self.upstreams.append(upstream)
        return settings
    }

    /// Reports Kratos without a host with endpoints, and Kratos beside other providers on a host without endpoints.
    fileprivate mutating func checkKratos(at place: ProviderKind.Place) {
        if !place.hosts.isEmpty, !place.hosts.contains(where: \.endpoints), !self.isPartial {
            self.report(
                place.section,
                found: "Kratos, but no host with endpoints: true",
                allowed: "Kratos with a host on which browsers and apps reach it",
                fix: "write endpoints: true on the host that is Kratos's serve.public.base_url"
            )
        }
        if !self.isPartial, let host = place.hosts.first(where: { $0.providers.count > 1 && !$0.endpoints }) {
            self.report(
                place.section,
                found: "Kratos beside other providers on \(host.publicURL), which has no endpoints",
                allowed:
                    "Kratos beside others on hosts with endpoints: true: its sign-in gives no ticket for another host",
                fix: "write endpoints: true on that host, or give it one provider"
            )
        }
    }
}
