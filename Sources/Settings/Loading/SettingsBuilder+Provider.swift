internal import Vocabulary

extension SettingsBuilder {
    // MARK: Which provider

    /// The names by which hosts and clients may choose a provider; what chooses none has the first.
    var providerNames: [String] {
        guard self.tree["providers"] != nil else { return [Realm.default.name] }
        return self.tree.trees("providers").compactMap { $0.text("name") }
    }

    /// The provider that a host or client has. A name that no provider has is reported.
    mutating func providerName(chosenBy tree: SettingsTree, key: String) -> String {
        let names = self.providerNames
        guard let setting = tree["provider"], let name = tree.text("provider") else {
            return names.first ?? Realm.default.name
        }
        if !names.contains(name), !self.isPartial {
            let nearest = Spelling.nearest(to: name, in: names)
            self.report(
                setting.origin,
                "\(key)provider",
                found: "\(quoted(name)), which is not in providers",
                allowed: alternatives(names),
                mend: nearest.map { "did you mean \($0)?" } ?? "add it to providers"
            )
        }
        return name
    }

    mutating func providers(_ settings: Settings) -> [NamedProvider] {
        guard let setting = self.tree["providers"] else {
            guard let tree = self.tree.tree("provider"), !tree.entries.isEmpty else {
                self.reportMissingProvider(settings)
                return []
            }
            return [self.provider(tree, Realm.default.name, settings)].compactMap(\.self)
        }
        if let other = self.tree["provider"] {
            self.report(
                setting.origin,
                "providers",
                found: "both provider and providers",
                allowed: "either one provider, or a list of them",
                mend: "move it into an element of providers: the other one is at \(other.origin)"
            )
        }
        let trees = self.tree.trees("providers")
        if trees.isEmpty, !self.isPartial {
            self.report(setting.origin, "providers", found: "an empty list", allowed: "one or more", mend: "add one")
        }
        var origins: [String: SettingsOrigin] = [:]
        let providers = trees.enumerated().compactMap { index, tree -> NamedProvider? in
            guard let name = tree.text("name"), let origin = tree["name"]?.origin else { return nil }
            self.providerKey = "providers[\(index)]"
            if let earlier = origins.updateValue(origin, forKey: name) {
                self.report(
                    origin,
                    "\(self.providerKey).name",
                    found: "\(quoted(name)) a second time",
                    allowed: "each name once",
                    mend: "choose another one: the first is at \(earlier)"
                )
            }
            return self.provider(tree, name, settings)
        }
        self.checkTogether(providers)
        return providers
    }

    /// - Parameter provider: Its name among several.
    private mutating func provider(
        _ tree: SettingsTree,
        _ provider: String,
        _ settings: Settings
    ) -> NamedProvider? {
        let key = self.providerKey
        let written = tree.entries.map(\.name).filter { Section.providerKinds[$0] != nil }
        guard let name = written.first else {
            self.reportMissing(
                tree.origin,
                key,
                Section.providerKinds.keys.map(\.name).joined(separator: ", "),
                "add one of these keys"
            )
            return nil
        }
        if written.count > 1, let origin = tree[written[1]]?.origin, let first = tree[name]?.origin {
            self.report(
                origin,
                "\(key).\(written[1])",
                found: "both \(name) and \(written[1])",
                allowed: "one provider",
                mend: "remove one: the other is at \(first)"
            )
        }
        // A section with a problem has been reported.
        guard let section = tree.tree(name) else { return nil }
        let read: ProviderSettings? =
            switch name {
            case "oidc": self.openID(section).map(ProviderSettings.openID)
            case "kratos": self.kratos(section, besides: settings.session).map(ProviderSettings.kratos)
            case "oauth2": self.oauth2(section).map(ProviderSettings.oauth2)
            case "introspection": self.introspection(section).map(ProviderSettings.introspection)
            default: self.fixedUsers(section, settings)
            }
        guard let read else { return nil }
        self.checkProvider(read, provider, at: section.origin, name, settings)
        var named = NamedProvider(provider, read)
        if !read.isLocal { named.proxies = self.proxies(of: tree, settings.proxies) }
        return named
    }

    /// Refuses providers that cannot be told apart. Kratos's cookie and paths can belong to one Kratos only, and the
    /// users of the settings are one list.
    private mutating func checkTogether(_ providers: [NamedProvider]) {
        func firstTwin(_ index: Int, _ isTwin: (ProviderSettings, ProviderSettings) -> Bool) -> NamedProvider? {
            providers[..<index].first { isTwin($0.settings, providers[index].settings) }
        }
        let trees = self.tree.trees("providers")
        for (index, provider) in providers.enumerated() {
            let place = trees.firstIndex { $0.text("name") == provider.name } ?? index
            func refuse(_ found: String, allowed: String, mend: String) {
                self.report(trees[place].origin, "providers[\(place)]", found: found, allowed: allowed, mend: mend)
            }
            if let twin = firstTwin(index, { $0.isSecondOfItsKind(after: $1) }) {
                refuse(
                    "a second provider of the kind of \(twin.name)",
                    allowed:
                        "one static provider and one Kratos: the cookie and the paths of Kratos cannot belong to two",
                    mend: "remove one"
                )
            } else if let twin = firstTwin(index, { $0.ownName != nil && $0.ownName == $1.ownName }) {
                refuse(
                    "the issuer or name that \(twin.name) has, too",
                    allowed: "each provider once: by it the sessions and tokens of providers are told apart",
                    mend: "remove one"
                )
            }
        }
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
        _ chosen: String,
        at origin: SettingsOrigin,
        _ name: String,
        _ settings: Settings
    ) {
        let hosts = settings.hosts.filter { $0.provider == chosen }
        if hosts.isEmpty, !settings.hosts.isEmpty {
            self.warnings.append("\(self.providerKey): no host has the provider \(chosen), so nobody can use it")
        }
        if case .kratos = provider, !hosts.isEmpty, !hosts.contains(where: \.endpoints), !self.isPartial {
            self.report(
                origin,
                "\(self.providerKey).kratos",
                found: "Kratos, and no host with endpoints: true",
                allowed: "it with a host on which browsers and apps reach it",
                mend: "write endpoints: true on the host that is Kratos's serve.public.base_url"
            )
        }
        if provider.redirects, !hosts.isEmpty, !hosts.contains(where: \.endpoints), !self.isPartial {
            self.report(
                origin,
                "\(self.providerKey).\(name)",
                found: "a provider that sends browsers back, and no host with endpoints: true",
                allowed: "it with a host whose callback is registered at the provider",
                mend: "write endpoints: true on the host whose /.sallyport/callback is registered"
            )
        }
        if case .fixedUsers = provider, settings.hosts.contains(where: \.endpoints), !hosts.isEmpty,
            !hosts.contains(where: \.endpoints)
        {
            self.warnings.append(
                "\(self.providerKey): no host of the provider \(chosen) has endpoints: true, so its users cannot sign in"
            )
        }
        for (key, route) in self.writtenRoutes(of: chosen) {
            self.checkLevel(route, key, provider, name)
            if !provider.signsIn, route.text("unauthenticated") == "login",
                let origin = route["unauthenticated"]?.origin
            {
                self.report(
                    origin,
                    "\(key).unauthenticated",
                    found: "login, but with \(self.providerKey).\(name) nobody can sign in",
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
        let claims = "\(self.providerKey).\(name).claims"
        let mends = [
            "oidc": "name the values that reach it, e.g. \(claims).acr: {phr: \(level.rawValue)}, or require less",
            "introspection":
                "name the values that reach it, e.g. \(claims).acr: {phr: \(level.rawValue)}, or require less",
        ]
        self.report(
            origin,
            "\(key).require.aal",
            found: "\(level.rawValue), which no sign-in by \(self.providerKey).\(name) reaches",
            allowed: "at most \(highest.rawValue), the highest level that is configured",
            mend: mends[name] ?? "require less: a provider without id_token does not say how users signed in"
        )
    }

    /// Refuses a field for a token that the provider never gives.
    mutating func checkToken(
        _ path: String,
        _ origin: SettingsOrigin,
        _ key: String,
        _ providers: [ProviderSettings]
    ) {
        guard IdentitySettings.tokenPaths.contains(path), !self.isPartial else { return }
        let isGiven = providers.contains { provider in
            switch provider {
            case .openID: true
            case .oauth2, .introspection: path == "provider.access_token"
            case .kratos, .fixedUsers: false
            }
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

extension ProviderSettings {
    /// Whether both providers are of the same kind, and only one provider of that kind may be configured.
    fileprivate func isSecondOfItsKind(after first: ProviderSettings) -> Bool {
        switch (first, self) {
        case (.kratos, .kratos), (.fixedUsers, .fixedUsers): true
        default: false
        }
    }
}
