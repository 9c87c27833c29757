package import Vocabulary

/// An introspection endpoint (RFC 7662).
package struct IntrospectionSettings: Sendable, Equatable {
    /// The endpoint; `nil` for the endpoint in the issuer's metadata.
    package var url: String?
    package var caFile: String?
    package var issuer: String?
    package var client: ProviderClientSettings
    package var audiences: [String]
    package var audienceClaim = AudienceClaim.audience
    /// The client ids at the provider whose refresh tokens are accepted. Empty if no refresh token is accepted.
    package var refreshTokenClients: [String] = []
    /// The users who may sign in. Other users' access tokens are accepted for requests only, and their refresh tokens
    /// are rejected.
    package var allow = AdmissionSettings()
    package var claims = ClaimSettings()
    /// The rule for the names of the provider's users.
    package var names = SubjectNames()

    package init(url: String?, client: ProviderClientSettings, audiences: [String]) {
        self.url = url
        self.client = client
        self.audiences = audiences
    }
}

extension IntrospectionSettings: ProviderSettings {
    package static var key: String { "introspection" }

    package var calledURL: String? { self.url }
    package var signsIn: Bool { false }
    package var givenTokens: [String] { [IdentitySettings.accessTokenPath] }
    package var ownName: String? { self.issuer ?? self.url }
    package var claimMapping: ClaimSettings? { self.claims }
    package var highestAssurance: AssuranceLevel? { self.claims.highest }
    package var highestSignIn: AssuranceLevel { .aal0 }
    package func assurance(of ownID: String) -> AssuranceLevel? { nil }

    package func naming(_ names: SubjectNames) -> IntrospectionSettings {
        var settings = self
        settings.names = names
        return settings
    }

    package var title: String { "tokens of a provider alone" }
    package var signInStep: String? { nil }
}
