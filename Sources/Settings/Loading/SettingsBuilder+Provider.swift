internal import Vocabulary

extension SettingsBuilder {
    // MARK: Which provider

    /// The names by which hosts and clients may choose a provider; what chooses none has the first.
    var providerNames: [String] {
        guard self.tree["providers"] != nil else { return [Realm.default.name] }
        return self.tree.trees("providers").compactMap { $0.text("name") }
    }

    /// The provider that a host or client has. A name that no provider has is reported.
    mutating func providerName(chosenBy tree: SettingsTree) -> String {
        let names = self.providerNames
        guard let name = tree.text("provider") else { return names.first ?? Realm.default.name }
        if !names.contains(name), !self.isPartial {
            self.report(
                tree.place(of: "provider"),
                found: "\(quoted(name)), which is not in providers",
                allowed: alternatives(names),
                mend: suggestion(for: name, among: names, else: "add it to providers")
            )
        }
        return name
    }

    mutating func providers(_ settings: Settings) -> [NamedProvider] {
        guard self.tree["providers"] != nil else {
            guard let tree = self.tree.tree("provider"), !tree.entries.isEmpty else {
                self.reportMissingProvider(settings)
                return []
            }
            return [self.provider(tree, Realm.default.name, settings)].compactMap(\.self)
        }
        let place = self.tree.place(of: "providers")
        if let other = self.tree["provider"] {
            self.report(
                place,
                found: "both provider and providers",
                allowed: "either one provider, or a list of them",
                mend: "move it into an element of providers: the other one is at \(other.origin)"
            )
        }
        let trees = self.tree.trees("providers")
        if trees.isEmpty, !self.isPartial {
            self.report(place, found: "an empty list", allowed: "one or more", mend: "add one")
        }
        var origins: [String: SettingsOrigin] = [:]
        let providers = trees.compactMap { tree -> NamedProvider? in
            guard let name = tree.text("name") else { return nil }
            self.checkOnce(name, "name", of: tree, in: &origins, mend: "choose another one: the first is at")
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
        let written = tree.entries.map(\.name).filter { Section.providerKinds[$0] != nil }
        guard let name = written.first else {
            self.reportMissing(
                tree.place,
                Section.providerKinds.keys.map(\.name).joined(separator: ", "),
                "add one of these keys"
            )
            return nil
        }
        if written.count > 1 {
            self.report(
                tree.place(of: written[1]),
                found: "both \(name) and \(written[1])",
                allowed: "one provider",
                mend: "remove one: the other is at \(tree.place(of: name).origin)"
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
        self.checkProvider(read, provider, of: tree, section.place, settings)
        var named = NamedProvider(name: provider, settings: read)
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
                self.report(trees[place].place, found: found, allowed: allowed, mend: mend)
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
            self.tree.place(of: "provider"),
            "provider.oidc, provider.kratos, provider.oauth2, provider.introspection or provider.static",
            "name an OpenID provider (SALLYPORT_OIDC_URL), Kratos (SALLYPORT_KRATOS_URL) or users (SALLYPORT_USERS_FILE), or "
                + "write auth: public on every route; without a provider no one can sign in"
        )
    }

    // MARK: What the rest of the settings demands of it

    private mutating func checkProvider(
        _ provider: ProviderSettings,
        _ chosen: String,
        of tree: SettingsTree,
        _ place: KeyPlace,
        _ settings: Settings
    ) {
        let hosts = settings.hosts.filter { $0.provider == chosen }
        if hosts.isEmpty, !settings.hosts.isEmpty {
            self.warnings.append("\(tree.key): no host has the provider \(chosen), so nobody can use it")
        }
        if case .kratos = provider, !hosts.isEmpty, !hosts.contains(where: \.endpoints), !self.isPartial {
            self.report(
                place,
                found: "Kratos, and no host with endpoints: true",
                allowed: "it with a host on which browsers and apps reach it",
                mend: "write endpoints: true on the host that is Kratos's serve.public.base_url"
            )
        }
        if provider.redirects, !hosts.isEmpty, !hosts.contains(where: \.endpoints), !self.isPartial {
            self.report(
                place,
                found: "a provider that sends browsers back, and no host with endpoints: true",
                allowed: "it with a host whose callback is registered at the provider",
                mend: "write endpoints: true on the host whose /.sallyport/callback is registered"
            )
        }
        if case .fixedUsers = provider, settings.hosts.contains(where: \.endpoints), !hosts.isEmpty,
            !hosts.contains(where: \.endpoints)
        {
            self.warnings.append(
                "\(tree.key): no host of the provider \(chosen) has endpoints: true, so its users cannot sign in"
            )
        }
        for route in self.writtenRoutes(of: chosen) {
            self.checkLevel(route, provider, place.key)
            if !provider.signsIn, route.text("unauthenticated") == "login" {
                self.report(
                    route.place(of: "unauthenticated"),
                    found: "login, but with \(place.key) nobody can sign in",
                    allowed: "auto or 401",
                    mend: "remove it"
                )
            }
        }
    }

    /// Refuses a level that no sign-in and no token of this provider reaches: the route would refuse everybody.
    ///
    /// - Parameter key: That of the provider.
    private mutating func checkLevel(_ route: SettingsTree, _ provider: ProviderSettings, _ key: String) {
        guard let require = route.tree("require"), let level = require.text("aal").map(AssuranceLevel.init(named:)),
            let highest = provider.highestAssurance, level > highest
        else { return }
        let mend =
            switch provider {
            case .openID, .introspection:
                "name the values that reach it, e.g. \(key).claims.acr: {phr: \(level.rawValue)}, or require less"
            default: "require less: a provider without id_token does not say how users signed in"
            }
        self.report(
            require.place(of: "aal"),
            found: "\(level.rawValue), which no sign-in by \(key) reaches",
            allowed: "at most \(highest.rawValue), the highest level that is configured",
            mend: mend
        )
    }

    /// Refuses a field for a token that the provider never gives.
    mutating func checkToken(_ path: String, _ place: KeyPlace, _ providers: [ProviderSettings]) {
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
            place,
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
