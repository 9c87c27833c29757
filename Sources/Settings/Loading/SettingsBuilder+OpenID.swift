import Vocabulary

extension ProviderKind {
    static let openID = ProviderKind(
        OpenIDSettings.self,
        .openID,
        "An OpenID provider.",
        read: { builder, tree, _ in builder.openID(tree) }
    )
}

extension SettingsBuilder {
    fileprivate mutating func openID(_ tree: SettingsTree) -> OpenIDSettings? {
        let caFile = self.readablePath("ca_file", of: tree)
        let client = self.providerClient(tree)
        self.reportMissingKeys(of: tree, in: .openID)
        if let client, client.method == .none, tree["client_authentication"] == nil, !self.lacksFiles {
            self.warnings.append(
                "\(tree.key) has no client_secret_file: the gateway is a public client of the provider, and anybody can act as this client; "
                    + "if it is registered as one, write client_authentication: none"
            )
        }
        var settings = OpenIDSettings(
            issuer: tree.text("issuer") ?? "",
            client: client ?? ProviderClientSettings(id: "")
        )
        tree.set(.openID, in: &settings)
        settings.caFile = caFile
        settings.claims = self.claims(of: tree)
        self.setAuthorization(&settings.authorization, tree, .openID)
        for level in AssuranceLevel.demandable where settings.authorization.acrValues[level] == nil {
            let values = settings.claims.levels.filter { $0.claim == .acr && $0.level >= level }.map(\.value)
            // Every sign-in reaches `aal1` without a request for it.
            if level > .aal1, !values.isEmpty {
                settings.authorization.acrValues[level] = values.joined(separator: " ")
            }
        }
        if let scopes = tree.texts("scopes"), !scopes.contains("openid") {
            self.report(
                tree.place(of: "scopes"),
                found: "a list without openid",
                allowed: "a list with openid, without which a provider sends no id_token (OpenID Connect Core 3.1.2.1)",
                fix: "add openid"
            )
        }
        settings.allow = self.admission(tree)
        settings.algorithms = self.someTexts("algorithms", of: tree) ?? settings.algorithms
        settings.audiences = self.someTexts("audiences", of: tree) ?? []
        settings.introspection = tree.tree("introspection").map { self.introspection($0, of: settings, tree) }
        return tree.text("issuer") == nil || client == nil ? nil : settings
    }

    /// Builds the introspection of an OpenID provider's opaque tokens.
    private mutating func introspection(
        _ tree: SettingsTree,
        of provider: OpenIDSettings,
        _ written: SettingsTree
    ) -> IntrospectionSettings {
        let names = ["client_id", "client_secret_file", "client_key_file", "client_authentication"]
        var client = provider.client
        if names.contains(where: { tree[$0] != nil }) {
            client = self.providerClient(tree, id: provider.client.id) ?? client
        }
        let refreshTokenClients = self.someTexts("refresh_token_clients", of: tree) ?? []
        if provider.audiences.isEmpty, written["audiences"] == nil, refreshTokenClients.isEmpty {
            self.reportMissing(
                KeyPlace(origin: tree.origin, key: written.key(of: "audiences")),
                "one audience or more with introspection: otherwise tokens that were meant for other apps would pass",
                "add the audience of the access tokens, as the provider writes it in aud"
            )
        }
        self.checkAuthenticates(client, tree)
        var settings = IntrospectionSettings(url: tree.text("url"), client: client, audiences: provider.audiences)
        settings.audienceClaim = provider.audienceClaim
        settings.refreshTokenClients = refreshTokenClients
        settings.caFile = provider.caFile
        settings.issuer = provider.issuer
        settings.claims = provider.claims
        settings.allow = provider.allow
        return settings
    }
}
