package import Sessions
package import Settings
package import Vocabulary

/// Whether signing in again would give a user access to a route for which the session does not suffice (`require.aal`,
/// `require.max_age`). Only then is the user redirected to the sign-in page; otherwise the redirect would lead back and
/// forth.
package enum StepUp {
    /// A user who signed in more recently than this is not asked to sign in again, even if the session does not
    /// suffice.
    package static let recent: Duration = .seconds(3)

    /// - Parameter provider: nil if no provider is configured, so that signing in is not possible.
    package static func helps(
        _ require: RequirementSettings,
        _ session: Session,
        _ provider: ProviderSettings?,
        _ now: UnixTime
    ) -> Bool {
        // Signing in changes the cookie's session, but not a token that a program presents.
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
