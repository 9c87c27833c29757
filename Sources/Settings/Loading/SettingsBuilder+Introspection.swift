import Vocabulary

extension ProviderKind {
    static let introspection = ProviderKind(
        IntrospectionSettings.self,
        .introspection,
        "Accepts only access tokens, which an introspection endpoint verifies (RFC 7662). This is for APIs: nobody can sign in.",
        read: { builder, tree, _ in builder.introspection(tree) }
    )
}

extension SettingsBuilder {
    fileprivate mutating func introspection(_ tree: SettingsTree) -> IntrospectionSettings? {
        let caFile = self.readablePath("ca_file", of: tree)
        let client = self.providerClient(tree)
        self.reportMissingKeys(of: tree, in: .introspection)
        let audiences = self.someTexts("audiences", of: tree)
        guard let client, let url = tree.text("url"), let audiences else { return nil }
        self.checkAuthenticates(client, tree)
        var settings = IntrospectionSettings(url: url, client: client, audiences: audiences)
        tree.set(.introspection, in: &settings)
        settings.caFile = caFile
        settings.claims = self.claims(of: tree)
        return settings
    }

    /// Reports missing credentials. Without them, anybody could test tokens at the endpoint (RFC 7662 2.1).
    mutating func checkAuthenticates(_ client: ProviderClientSettings, _ tree: SettingsTree) {
        guard client.method == .none, tree["client_authentication"] == nil, !self.isPartial else { return }
        let isElsewhere = tree["client_secret_file"] != nil || tree["client_key_file"] != nil
        guard !self.lacksFiles || !isElsewhere else { return }
        self.report(
            KeyPlace(origin: tree.origin, key: tree.key(of: "client_secret_file")),
            found: "no credentials for the introspection endpoint",
            allowed: "client_secret_file or client_key_file (RFC 7662 2.1)",
            fix: "add one, or write client_authentication: none if the endpoint asks for no credentials"
        )
    }
}
