/// Ory Kratos, which keeps users and their sessions.
package struct KratosSettings: Sendable, Equatable {
    package var publicURL: PublicURL
    package var adminURL: PublicURL?
    package var caFile: String?
    package var cookieName = "ory_kratos_session"
    package var cacheLifetime: Duration = .seconds(30)
    package var staleLifetime: Duration = .seconds(60)
    /// What the users are called.
    package var names = SubjectNames()

    package init(publicURL: PublicURL) {
        self.publicURL = publicURL
    }

    /// The name of the upstream through which its endpoints are reached.
    package static let upstream = "provider.kratos"
}
