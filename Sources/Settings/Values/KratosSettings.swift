package import Vocabulary

/// Ory Kratos, which stores users and their sessions.
package struct KratosSettings: Sendable, Equatable {
    package var publicURL: PublicURL
    package var adminURL: PublicURL?
    package var caFile: String?
    package var cookieName = "ory_kratos_session"
    package var cacheLifetime: Duration = .seconds(30)
    package var staleLifetime: Duration = .seconds(60)
    /// The rule for the names of the provider's users.
    package var names = SubjectNames()

    package init(publicURL: PublicURL) {
        self.publicURL = publicURL
    }

    /// The name of the upstream that leads to Kratos's endpoints.
    package static let upstream = "provider.kratos"
}

extension KratosSettings: ProviderSettings {
    package static var key: String { "kratos" }

    package var calledURL: String? { self.publicURL.description }
    package var allowsPlainHTTP: Bool { true }
    package var enforcesRequestedAssurance: Bool { true }
    package var credentialCookie: String? { self.cookieName }
    package var ownName: String? { self.publicURL.description }
    package var highestAssurance: AssuranceLevel? { .aal2 }
    package var confirmation: UserConfirmation { .whoami }

    package func naming(_ names: SubjectNames) -> KratosSettings {
        var settings = self
        settings.names = names
        return settings
    }

    package var title: String { "Kratos at \(self.publicURL)" }
    package var signInStep: String? { "sends the browser to the login of Kratos at \(self.publicURL)" }
}
