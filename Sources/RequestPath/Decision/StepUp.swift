package import Sessions
package import Settings
package import Vocabulary

/// Whether signing in again would open a route to the user of a session that does not suffice for it (`require.aal`,
/// `require.max_age`). A redirect to the sign-in page is only for those whom it helps: all others would come back to it.
package enum StepUp {
    /// A user who signed in more recently than this, and whose session still does not suffice, is not sent to sign in again.
    package static let recent: Duration = .seconds(3)

    /// - Parameter provider: nil: no provider is configured, so signing in is not possible.
    package static func helps(
        _ require: RequirementSettings,
        _ session: Session,
        _ provider: ProviderSettings?,
        _ now: UnixTime
    ) -> Bool {
        // Signing in changes what the cookie is good for and nothing about a token that a program presents.
        guard let provider, session.kind == .web, now.since(session.authenticatedAt) >= self.recent else {
            return false
        }
        var renewed = session
        renewed.aal = provider.assurance(of: session.subject) ?? session.aal
        renewed.origin = .browser
        renewed.scopes = []
        renewed.authenticatedAt = now
        return Requirements.unmet(require, renewed, now) == nil
    }
}
