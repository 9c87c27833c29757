package import Vocabulary

/// An introspection endpoint (RFC 7662).
package struct IntrospectionSettings: Sendable, Equatable {
    /// nil: the one that the issuer's metadata names.
    package var url: String?
    package var caFile: String?
    package var issuer: String?
    package var client: ProviderClientSettings
    package var audiences: [String]
    package var audienceClaim = AudienceClaim.audience
    /// The provider's ids of the clients whose refresh tokens count; empty: none does.
    package var refreshTokenClients: [String] = []
    /// Whose refresh tokens count: they make sessions of browsers.
    package var allow = AdmissionSettings()
    package var claims = ClaimSettings()
    /// What the users are called.
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
