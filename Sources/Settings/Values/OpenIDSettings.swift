package import Vocabulary

/// An OpenID provider.
package struct OpenIDSettings: Sendable, Equatable {
    /// All supported algorithms, in their default order.
    package static let algorithms = [
        "RS256", "PS256", "ES256", "EdDSA", "RS384", "RS512", "PS384", "PS512", "ES384", "ES512",
    ]

    package var issuer: String
    package var caFile: String?
    package var client: ProviderClientSettings
    package var authorization = AuthorizationRequestSettings(scopes: ["openid", "profile", "email"])
    package var claims = ClaimSettings()
    package var allow = AdmissionSettings()
    package var userinfo = UserInfoUse.auto
    package var responseMode = ResponseMode.query
    package var algorithms = Self.algorithms
    /// The audiences of accepted access tokens. Empty if no access token is accepted as a credential.
    package var audiences: [String] = []
    package var audienceClaim = AudienceClaim.audience
    /// The introspection of opaque access tokens; `nil` if opaque tokens are not accepted.
    package var introspection: IntrospectionSettings?
    package var usesDPoP = false
    /// The rule for the names of the provider's users.
    package var names = SubjectNames()

    package init(issuer: String, client: ProviderClientSettings) {
        self.issuer = issuer
        self.client = client
    }
}

extension OpenIDSettings: ProviderSettings {
    package static var key: String { "oidc" }

    package var calledURL: String? { self.issuer }
    package var redirects: Bool { true }
    package var enforcesRequestedAssurance: Bool { true }
    package var givenTokens: [String] { IdentitySettings.tokenPaths }
    package var ownName: String? { self.issuer }
    package var tokenIssuer: String? { self.issuer }
    package var claimMapping: ClaimSettings? { self.claims }
    package var highestAssurance: AssuranceLevel? { self.claims.highest }

    package var acrLevels: [String: AssuranceLevel] {
        let levels = self.claims.levels.filter { $0.claim == .acr }.map { ($0.value, $0.level) }
        return Dictionary(levels, uniquingKeysWith: max)
    }

    package func naming(_ names: SubjectNames) -> OpenIDSettings {
        var settings = self
        settings.names = names
        settings.introspection?.names = names
        return settings
    }

    package var title: String { "OpenID at \(self.issuer)" }
    package var signInStep: String? { "sends the browser to \(self.issuer)" }
    package var exchangeChoice: ExchangeSettings.Choice? {
        ExchangeSettings.Choice(id: Self.key, label: "single sign-on")
    }
}

/// The use of a provider's userinfo endpoint.
package enum UserInfoUse: String, Sendable, CaseIterable, SettingWord {
    /// Called for traits that the id_token lacks. If the call fails, the sign-in continues if the id_token suffices.
    case auto
    /// Called at each sign-in. If the call fails, the sign-in fails.
    case required
    case off
}

/// How the browser delivers the provider's answer (`response_mode`).
package enum ResponseMode: String, Sendable, CaseIterable, SettingWord {
    /// In the query of the callback.
    case query
    /// In a form that the browser posts (OAuth 2.0 Form Post Response Mode). Apple requires it if scopes are requested.
    case formPost = "form_post"
}
