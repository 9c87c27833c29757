internal import Vocabulary

extension SettingsBuilder {
    // MARK: The providers

    mutating func openID(_ tree: SettingsTree) -> OpenIDSettings? {
        let key = "\(self.providerKey).oidc"
        let caFile = self.readablePath("ca_file", of: tree, key: key)
        let client = self.providerClient(tree, key: key)
        self.reportMissingKeys(of: tree, in: Section.openID, key: key)
        if let client, client.method == .none, tree["client_authentication"] == nil {
            self.warnings.append(
                "\(key) has no client_secret_file: the gateway is a public client of the provider, and anybody can act as it; "
                    + "if it is registered as one, write client_authentication: none"
            )
        }
        var settings = OpenIDSettings(
            issuer: tree.text("issuer") ?? "",
            client: client ?? ProviderClientSettings(id: "")
        )
        tree.set(.openID, in: &settings)
        settings.caFile = caFile
        settings.claims = self.claims(of: tree, key: key)
        self.setAuthorization(&settings.authorization, tree, .openID, key: key)
        for level in AssuranceLevel.demandable where settings.authorization.acrValues[level] == nil {
            let values = settings.claims.levels.filter { $0.claim == .acr && $0.level >= level }.map(\.value)
            // Nothing needs to be asked for what every sign-in reaches.
            if level > .aal1, !values.isEmpty {
                settings.authorization.acrValues[level] = values.joined(separator: " ")
            }
        }
        if let setting = tree["scopes"], let scopes = tree.texts("scopes"), !scopes.contains("openid") {
            self.report(
                setting.origin,
                "\(key).scopes",
                found: "no openid",
                allowed: "a list with openid, without which a provider sends no id_token (OpenID Connect Core 3.1.2.1)",
                mend: "add openid"
            )
        }
        settings.allow = self.admission(tree, key: key)
        settings.algorithms = self.someTexts("algorithms", of: tree, key: key) ?? settings.algorithms
        settings.audiences = self.someTexts("audiences", of: tree, key: key) ?? []
        if let introspection = tree.tree("introspection") {
            settings.introspection = self.introspection(
                introspection,
                of: settings,
                hasAudiences: tree["audiences"] != nil
            )
        }
        return tree.text("issuer") == nil || client == nil ? nil : settings
    }

    /// Introspection at the provider that also signs users in.
    private mutating func introspection(
        _ tree: SettingsTree,
        of provider: OpenIDSettings,
        hasAudiences: Bool
    ) -> IntrospectionSettings {
        let key = "\(self.providerKey).oidc.introspection"
        let names = ["client_id", "client_secret_file", "client_key_file", "client_authentication"]
        var client = provider.client
        if names.contains(where: { tree[$0] != nil }) {
            client = self.providerClient(tree, key: key, id: provider.client.id) ?? client
        }
        let refreshTokenClients = self.someTexts("refresh_token_clients", of: tree, key: key) ?? []
        if provider.audiences.isEmpty, !hasAudiences, refreshTokenClients.isEmpty {
            self.reportMissing(
                tree.origin,
                "\(self.providerKey).oidc.audiences",
                "one audience or more with introspection: otherwise tokens that were meant for other apps would pass",
                "add the audience of the access tokens, as the provider writes it in aud"
            )
        }
        self.checkAuthenticates(client, tree, key: key)
        var settings = IntrospectionSettings(url: tree.text("url"), client: client, audiences: provider.audiences)
        settings.audienceClaim = provider.audienceClaim
        settings.refreshTokenClients = refreshTokenClients
        settings.caFile = provider.caFile
        settings.issuer = provider.issuer
        settings.claims = provider.claims
        settings.allow = provider.allow
        return settings
    }

    mutating func oauth2(_ tree: SettingsTree) -> OAuth2Settings? {
        let key = "\(self.providerKey).oauth2"
        let caFile = self.readablePath("ca_file", of: tree, key: key)
        let client = self.providerClient(tree, key: key)
        self.reportMissingKeys(of: tree, in: Section.oauth2, key: key)
        let urls = ["authorization_url", "token_url", "userinfo_url"].compactMap { tree.text($0) }
        var settings = OAuth2Settings(
            name: tree.text("name") ?? "",
            authorizationURL: urls.first ?? "",
            tokenURL: urls.count == 3 ? urls[1] : "",
            userinfoURL: urls.last ?? "",
            client: client ?? ProviderClientSettings(id: "")
        )
        tree.set(.oauth2, in: &settings)
        settings.caFile = caFile
        settings.claims = self.claims(of: tree, key: key)
        self.setAuthorization(&settings.authorization, tree, .oauth2, key: key)
        settings.allow = self.admission(tree, key: key)
        if settings.claims.subject.isEmpty { return nil }
        return client == nil || urls.count < 3 || settings.name.isEmpty ? nil : settings
    }

    mutating func introspection(_ tree: SettingsTree) -> IntrospectionSettings? {
        let key = "\(self.providerKey).introspection"
        let caFile = self.readablePath("ca_file", of: tree, key: key)
        let client = self.providerClient(tree, key: key)
        self.reportMissingKeys(of: tree, in: Section.introspection, key: key)
        let audiences = self.someTexts("audiences", of: tree, key: key)
        guard let client, let url = tree.text("url"), let audiences else { return nil }
        self.checkAuthenticates(client, tree, key: key)
        var settings = IntrospectionSettings(url: url, client: client, audiences: audiences)
        tree.set(.introspection, in: &settings)
        settings.caFile = caFile
        settings.claims = self.claims(of: tree, key: key)
        return settings
    }

    /// An introspection endpoint must know who asks, or anybody could try tokens there (RFC 7662 2.1).
    private mutating func checkAuthenticates(_ client: ProviderClientSettings, _ tree: SettingsTree, key: String) {
        guard client.method == .none, tree["client_authentication"] == nil, !self.isPartial else { return }
        self.report(
            tree.origin,
            "\(key).client_secret_file",
            found: "nothing by which the gateway could prove itself to the introspection endpoint",
            allowed: "client_secret_file or client_key_file (RFC 7662 2.1)",
            mend: "add one; for an endpoint that asks for no proof write client_authentication: none"
        )
    }
}
