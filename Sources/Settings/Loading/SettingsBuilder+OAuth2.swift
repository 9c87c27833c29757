extension ProviderKind {
    static let oauth2 = ProviderKind(
        OAuth2Settings.self,
        .oauth2,
        "A provider of plain OAuth 2.0, without discovery and id_token, such as GitHub.",
        read: { builder, tree, _ in builder.oauth2(tree) }
    )
}

extension SettingsBuilder {
    fileprivate mutating func oauth2(_ tree: SettingsTree) -> OAuth2Settings? {
        let caFile = self.readablePath("ca_file", of: tree)
        let client = self.providerClient(tree)
        self.reportMissingKeys(of: tree, in: .oauth2)
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
        settings.claims = self.claims(of: tree)
        self.setAuthorization(&settings.authorization, tree, .oauth2)
        settings.allow = self.admission(tree)
        if settings.claims.subject.isEmpty { return nil }
        return client == nil || urls.count < 3 || settings.name.isEmpty ? nil : settings
    }
}
