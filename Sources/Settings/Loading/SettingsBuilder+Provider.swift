internal import Vocabulary

extension SettingsBuilder {
    // MARK: Which provider

    mutating func provider(_ settings: Settings) -> ProviderSettings? {
        let tree = self.tree.tree("provider")
        let written = tree?.entries.map(\.name) ?? []
        guard let tree, let name = written.first else {
            self.reportMissingProvider(settings)
            return nil
        }
        if written.count > 1, let origin = tree[written[1]]?.origin, let first = tree[name]?.origin {
            self.report(
                origin,
                "provider.\(written[1])",
                found: "both \(name) and \(written[1])",
                allowed: "one provider",
                mend: "remove one: the other is at \(first)"
            )
        }
        // A section with a problem has been reported.
        guard let section = tree.tree(name) else { return nil }
        let provider: ProviderSettings? =
            switch name {
            case "oidc": self.openID(section).map(ProviderSettings.openID)
            case "kratos": self.kratos(section, besides: settings.session).map(ProviderSettings.kratos)
            case "oauth2": self.oauth2(section).map(ProviderSettings.oauth2)
            case "introspection": self.introspection(section).map(ProviderSettings.introspection)
            default: self.fixedUsers(section, settings)
            }
        if let provider { self.checkProvider(provider, at: section.origin, name, settings) }
        return provider
    }

    private mutating func reportMissingProvider(_ settings: Settings) {
        guard settings.hosts.contains(where: { $0.routes.contains { $0.auth == .required } }) else { return }
        self.reportMissing(
            self.tree["provider"]?.origin ?? self.tree.origin,
            "provider",
            "provider.oidc, provider.kratos, provider.oauth2, provider.introspection or provider.static",
            "name an OpenID provider (SALLYPORT_OIDC_URL), Kratos (SALLYPORT_KRATOS_URL) or users (SALLYPORT_USERS_FILE), or "
                + "write auth: public on every route; without a provider no one can sign in"
        )
    }

    // MARK: What the rest of the settings demands of it

    private mutating func checkProvider(
        _ provider: ProviderSettings,
        at origin: SettingsOrigin,
        _ name: String,
        _ settings: Settings
    ) {
        if case .kratos = provider, !settings.hosts.isEmpty, !settings.hosts.contains(where: \.endpoints),
            !self.isPartial
        {
            self.report(
                origin,
                "provider.kratos",
                found: "Kratos, and no host with endpoints: true",
                allowed: "it with a host on which browsers and apps reach it",
                mend: "write endpoints: true on the host that is Kratos's serve.public.base_url"
            )
        }
        if provider.redirects, !settings.hosts.isEmpty, !settings.hosts.contains(where: \.endpoints), !self.isPartial {
            self.report(
                origin,
                "provider.\(name)",
                found: "a provider that sends browsers back, and no host with endpoints: true",
                allowed: "it with a host whose callback is registered at the provider",
                mend: "write endpoints: true on the host whose /.sallyport/callback is registered"
            )
        }
        for (key, route) in self.writtenRoutes() {
            self.checkLevel(route, key, provider, name)
            if !provider.signsIn, route.text("unauthenticated") == "login",
                let origin = route["unauthenticated"]?.origin
            {
                self.report(
                    origin,
                    "\(key).unauthenticated",
                    found: "login, but with provider.\(name) nobody can sign in",
                    allowed: "auto or 401",
                    mend: "remove it"
                )
            }
        }
    }

    /// Refuses a level that no sign-in and no token of this provider reaches: the route would refuse everybody.
    private mutating func checkLevel(
        _ route: SettingsTree,
        _ key: String,
        _ provider: ProviderSettings,
        _ name: String
    ) {
        guard let require = route.tree("require"), let origin = require["aal"]?.origin,
            let level = require.text("aal").map(AssuranceLevel.init(named:)), let highest = provider.highestAssurance,
            level > highest
        else { return }
        let claims = "provider.\(name).claims"
        let mends = [
            "oidc": "name the values that reach it, e.g. \(claims).acr: {phr: \(level.rawValue)}, or require less",
            "introspection":
                "name the values that reach it, e.g. \(claims).acr: {phr: \(level.rawValue)}, or require less",
        ]
        self.report(
            origin,
            "\(key).require.aal",
            found: "\(level.rawValue), which no sign-in by provider.\(name) reaches",
            allowed: "at most \(highest.rawValue), the highest level that is configured",
            mend: mends[name] ?? "require less: a provider without id_token does not say how users signed in"
        )
    }

    /// Refuses a field for a token that the provider never gives.
    mutating func checkToken(
        _ path: String,
        _ origin: SettingsOrigin,
        _ key: String,
        _ provider: ProviderSettings?
    ) {
        guard IdentitySettings.tokenPaths.contains(path), !self.isPartial else { return }
        let isGiven =
            switch provider {
            case .openID: true
            case .oauth2, .introspection: path == "provider.access_token"
            case .kratos, .fixedUsers, nil: false
            }
        guard !isGiven else { return }
        self.report(
            origin,
            key,
            found: "\(quoted(path)), which this provider does not give to the gateway",
            allowed:
                "provider.id_token with provider.oidc, and provider.access_token with every provider but static",
            mend: "remove the field"
        )
    }
}
