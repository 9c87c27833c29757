import Vocabulary

extension SettingsBuilder {
    // MARK: Choice of providers

    /// The names of all providers.
    var providerNames: [String] {
        guard self.tree["providers"] != nil else { return [Realm.default.name] }
        return self.tree.trees("providers").compactMap { $0.text("name") }
    }

    /// Returns the providers of a host or client, at least one. Unknown names are reported.
    ///
    /// - Parameter fallback: The providers to return if the mapping names no provider.
    mutating func providerNames(chosenBy tree: SettingsTree, else fallback: [String]) -> [String] {
        guard let chosen = self.writtenNames(in: tree) else { return fallback }
        let key = tree["providers"] == nil ? "provider" : "providers"
        if tree["provider"] != nil, tree["providers"] != nil {
            self.report(
                tree.place(of: "providers"),
                found: "both provider and providers",
                allowed: "either one provider, or a list of them",
                fix: "move it into the list: the other one is at \(tree.place(of: "provider").origin)"
            )
        }
        let names = self.providerNames
        for (index, name) in chosen.enumerated() where !self.isPartial {
            let place = tree.place(of: key)
            let element = key == "provider" ? place : place.element(index)
            if !names.contains(name) {
                self.report(
                    element,
                    found: "\(quoted(name)), which is not in providers",
                    allowed: alternatives(names),
                    fix: suggestion(for: name, among: names, else: "add it to providers")
                )
            } else if chosen[..<index].contains(name) {
                self.report(
                    element,
                    found: "\(quoted(name)) a second time",
                    allowed: "each provider once",
                    fix: "remove one"
                )
            }
        }
        if chosen.isEmpty, !self.isPartial {
            self.report(tree.place(of: key), found: "an empty list", allowed: "one or more", fix: "add one")
        }
        return chosen.isEmpty ? fallback : chosen
    }

    /// Returns the names in a mapping's `providers` or `provider`; `nil` if it has neither key.
    private func writtenNames(in tree: SettingsTree) -> [String]? {
        tree.texts("providers") ?? tree.text("provider").map { [$0] }
    }

    /// The provider of hosts that name no provider, as a list.
    var firstProvider: [String] { [self.providerNames.first ?? Realm.default.name] }

    /// The providers of each host, by default the first provider. The top-level keys define providers and choose none.
    var hostProviders: [[String]] {
        guard self.tree["hosts"] != nil else { return [self.firstProvider] }
        return self.tree.trees("hosts").map { self.writtenNames(in: $0) ?? self.firstProvider }
    }

    /// The providers of clients that name no provider: the first provider, and those that share a host with it.
    var usualClientProviders: [String] {
        let lists = self.hostProviders.filter { $0.contains(self.firstProvider[0]) }
        let found = self.providerNames.filter { name in lists.contains { $0.contains(name) } }
        return found.isEmpty ? self.firstProvider : found
    }

    /// The providers whose names are put before their users' ids: those that share a host with another provider, except
    /// the first. Users of the first provider keep the ids that apps know.
    var prefixedProviders: [String] {
        let several = self.hostProviders.filter { $0.count > 1 }
        return self.providerNames.dropFirst().filter { name in several.contains { $0.contains(name) } }
    }

    mutating func providers(_ settings: Settings) -> [NamedProvider] {
        guard self.tree["providers"] != nil else {
            guard let tree = self.tree.tree("provider"), !tree.entries.isEmpty else {
                self.reportMissingProvider(settings)
                return []
            }
            let providers = [self.provider(tree, Realm.default.name, settings)].compactMap(\.self)
            self.checkDomains(providers, [tree])
            return providers
        }
        let place = self.tree.place(of: "providers")
        if let other = self.tree["provider"] {
            self.report(
                place,
                found: "both provider and providers",
                allowed: "either one provider, or a list of them",
                fix: "move it into an element of providers: the other one is at \(other.origin)"
            )
        }
        let trees = self.tree.trees("providers")
        if trees.isEmpty, !self.isPartial {
            self.report(place, found: "an empty list", allowed: "one or more", fix: "add one")
        }
        var origins: [String: SettingsOrigin] = [:]
        let providers = trees.compactMap { tree -> NamedProvider? in
            guard let name = tree.text("name") else { return nil }
            self.checkOnce(name, "name", of: tree, in: &origins, fix: "choose another one: the first is at")
            return self.provider(tree, name, settings)
        }
        self.checkTogether(providers)
        self.checkDomains(providers, trees)
        return self.named(providers)
    }

    /// Returns the providers with the rules for the names of their users. Reports a static user whose id a user of
    /// another provider could have.
    private mutating func named(_ providers: [NamedProvider]) -> [NamedProvider] {
        let marked = self.prefixedProviders
        return providers.map { provider in
            var provider = provider
            let others = marked.filter { $0 != provider.name }
            let names = SubjectNames(of: marked.contains(provider.name) ? provider.name : nil, besides: others)
            if let users = (provider.settings as? FixedUsersSettings)?.users,
                let user = users.first(where: { names.name(of: $0.id) == nil })
            {
                self.report(
                    self.tree.place(of: "providers"),
                    found: "the id \(quoted(user.id)), which a user of another provider can have",
                    allowed: "ids that do not begin with a provider's name and \(Realm.separator)",
                    fix: "choose another id"
                )
            }
            provider.settings = provider.settings.naming(names)
            return provider
        }
    }

    /// Builds the provider with the name `provider`; `nil` if its settings are unusable.
    private mutating func provider(
        _ tree: SettingsTree,
        _ provider: String,
        _ settings: Settings
    ) -> NamedProvider? {
        let written = tree.entries.compactMap { ProviderKind.named($0.name) }
        guard let kind = written.first else {
            self.reportMissing(
                tree.place,
                ProviderKind.all.map(\.key).joined(separator: ", "),
                "add one of these keys"
            )
            return nil
        }
        if written.count > 1 {
            self.report(
                tree.place(of: written[1].key),
                found: "both \(kind.key) and \(written[1].key)",
                allowed: "one provider",
                fix: "remove one: the other is at \(tree.place(of: kind.key).origin)"
            )
        }
        // A section that is not a mapping was reported before.
        guard let section = tree.tree(kind.key), let read = kind.read(&self, section, settings) else { return nil }
        let hosts = settings.hosts.filter { $0.providers.contains(provider) }
        let place = ProviderKind.Place(
            name: provider,
            tree: tree,
            section: section.place,
            hosts: hosts,
            settings: settings
        )
        self.check(read, kind, at: place)
        var named = NamedProvider(name: provider, settings: read)
        if read.calledURL != nil { named.proxies = self.proxies(of: tree, settings.proxies) }
        named.label = tree.text("label")
        named.image = self.image("icon_file", of: tree)
        named.isEssential = tree.boolean("essential")
        named.trustsEmail = section.boolean("trusted_email") ?? false
        named.domains = self.someTexts("domains", of: section) ?? []
        self.checkEmail(of: named, section)
        return named
    }

    /// Reports a second Kratos, a second static provider, and providers with equal `ownName`.
    private mutating func checkTogether(_ providers: [NamedProvider]) {
        let trees = self.tree.trees("providers")
        for (index, provider) in providers.enumerated() {
            let place = trees.firstIndex { $0.text("name") == provider.name } ?? index
            let settings = provider.settings
            func refuse(_ found: String, allowed: String, fix: String) {
                self.report(trees[place].place, found: found, allowed: allowed, fix: fix)
            }
            if ProviderKind.of(settings)?.isSingle == true,
                let twin = providers[..<index].first(where: { type(of: $0.settings) == type(of: settings) })
            {
                refuse(
                    "a second provider of the kind of \(twin.name)",
                    allowed:
                        "one static provider and one Kratos: the cookie and the paths of Kratos cannot belong to two",
                    fix: "remove one"
                )
            } else if let name = settings.ownName,
                let twin = providers[..<index].first(where: { $0.settings.ownName == name })
            {
                refuse(
                    "the issuer or name that \(twin.name) also has",
                    allowed: "each issuer or name once: it identifies the sessions and tokens of a provider",
                    fix: "remove one"
                )
            }
        }
    }

    private mutating func reportMissingProvider(_ settings: Settings) {
        guard settings.hosts.contains(where: { $0.routes.contains { $0.auth == .required } }) else { return }
        self.reportMissing(
            self.tree.place(of: "provider"),
            ProviderKind.allKeys,
            "add an OpenID provider (SALLYPORT_OIDC_URL), Kratos (SALLYPORT_KRATOS_URL) or users (SALLYPORT_USERS_FILE), or "
                + "write auth: public on every route; without a provider no one can sign in"
        )
    }

    // MARK: Checks against other settings

    private mutating func check(_ provider: any ProviderSettings, _ kind: ProviderKind, at place: ProviderKind.Place) {
        let (hosts, section) = (place.hosts, place.section)
        if hosts.isEmpty, !place.settings.hosts.isEmpty {
            self.warnings.append("\(place.tree.key): no host has the provider \(place.name), so nobody can use it")
        }
        kind.check(&self, place)
        if provider.redirects, !hosts.isEmpty, !hosts.contains(where: \.endpoints), !self.isPartial {
            self.report(
                section,
                found: "a provider that sends browsers back, but no host with endpoints: true",
                allowed: "a provider with a host whose callback is registered there",
                fix: "write endpoints: true on the host whose /.sallyport/callback is registered"
            )
        }
        // On hosts with several providers, another provider may reach the level.
        for route in self.writtenRoutes(ofOnly: place.name) {
            self.checkLevel(route, provider, kind, section.key)
            if !provider.signsIn, route.text("unauthenticated") == "login" {
                self.report(
                    route.place(of: "unauthenticated"),
                    found: "login, but with \(section.key) nobody can sign in",
                    allowed: "auto or 401",
                    fix: "remove it"
                )
            }
        }
    }

    /// Reports a level that no sign-in or token of the provider can reach, because the route would reject everybody.
    ///
    /// - Parameter key: The key of the provider.
    private mutating func checkLevel(
        _ route: SettingsTree,
        _ provider: any ProviderSettings,
        _ kind: ProviderKind,
        _ key: String
    ) {
        guard let require = route.tree("require"), let level = require.text("aal").map(AssuranceLevel.init(named:)),
            let highest = provider.highestAssurance, level > highest
        else { return }
        let fix =
            kind.mapsLevels
            ? "list the values that reach it, e.g. \(key).claims.acr: {phr: \(level.rawValue)}, or require less"
            : "require less: a provider without id_token does not say how users signed in"
        self.report(
            require.place(of: "aal"),
            found: "\(level.rawValue), which no sign-in with \(key) reaches",
            allowed: "at most \(highest.rawValue), the highest level that is configured",
            fix: fix
        )
    }

    /// Reports an identity field for a token that no provider gives to the gateway.
    mutating func checkToken(_ path: String, _ place: KeyPlace, _ providers: [any ProviderSettings]) {
        guard IdentitySettings.tokenPaths.contains(path), !self.isPartial else { return }
        guard !providers.contains(where: { $0.givenTokens.contains(path) }) else { return }
        self.report(
            place,
            found: "\(quoted(path)), which this provider does not give to the gateway",
            allowed:
                "provider.id_token with provider.oidc, and provider.access_token with every provider but static",
            fix: "remove the field"
        )
    }
}
