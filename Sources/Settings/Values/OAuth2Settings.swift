package import Vocabulary

/// A provider of plain OAuth 2.0.
package struct OAuth2Settings: Sendable, Equatable {
    package var name: String
    package var authorizationURL: String
    package var tokenURL: String
    package var userinfoURL: String
    package var caFile: String?
    package var client: ProviderClientSettings
    package var authorization = AuthorizationRequestSettings(scopes: [])
    package var usesPKCE = true
    package var claims = ClaimSettings()
    package var allow = AdmissionSettings()
    /// The rule for the names of the provider's users.
    package var names = SubjectNames()

    package init(
        name: String,
        authorizationURL: String,
        tokenURL: String,
        userinfoURL: String,
        client: ProviderClientSettings
    ) {
        self.name = name
        self.authorizationURL = authorizationURL
        self.tokenURL = tokenURL
        self.userinfoURL = userinfoURL
        self.client = client
    }
}

extension OAuth2Settings: ProviderSettings {
    package static var key: String { "oauth2" }

    package var calledURL: String? { self.tokenURL }
    package var redirects: Bool { true }
    package var givenTokens: [String] { [IdentitySettings.accessTokenPath] }
    package var ownName: String? { self.name }
    package var claimMapping: ClaimSettings? { self.claims }
    package var highestAssurance: AssuranceLevel? { .aal1 }

    package func naming(_ names: SubjectNames) -> OAuth2Settings {
        var settings = self
        settings.names = names
        return settings
    }

    package var title: String { "OAuth 2.0 at \(self.name)" }
    package var signInStep: String? { "sends the browser to \(self.authorizationURL)" }
    package var exchangeChoice: ExchangeSettings.Choice? {
        ExchangeSettings.Choice(id: Self.key, label: "single sign-on")
    }
}
