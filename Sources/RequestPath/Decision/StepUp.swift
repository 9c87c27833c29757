package import Sessions
package import Settings
package import Vocabulary

/// Whether signing in again would give a user access to a route for which the session does not suffice (`require.aal`,
/// `require.max_age`, `require.provider`, and `require.origin` after a handoff), and what that sign-in has to reach. Only then is the user redirected to the sign-in page;
/// otherwise the redirect would lead back and forth.
package enum StepUp {
    /// A user who signed in more recently than this is not asked to sign in again, even if the session does not
    /// suffice.
    package static let recent: Duration = .seconds(3)

    /// - Parameter provider: nil if no provider is configured, so that signing in is not possible.
    package static func helps(
        _ require: RequirementSettings,
        _ session: Session,
        _ provider: (any ProviderSettings)?,
        _ now: UnixTime
    ) -> Bool {
        // Signing in changes the cookie's session, but not a token that a program presents.
        // Whoever acts for a user cannot sign in as that user.
        guard let provider, provider.signsIn, session.kind == .web, session.actor == nil else { return false }
        // The user of another provider is another one, of whom nothing is known yet: the page offers those providers only.
        if !require.providers.isEmpty, !require.admits(session.identity.realm) { return true }
        // After a handoff the user has signed in to the app, and here not at all: nothing would repeat itself.
        if session.origin != .transfer, now.since(session.authenticatedAt) < self.recent {
            // A provider that is told the level ends a sign-in that does not reach it with a page
            // (`signin.insufficient`). Any other would lead back at once with the same session.
            guard provider.takesDemands, let aal = require.aal, session.aal < aal else { return false }
        }
        var renewed = session
        renewed.aal = provider.assurance(of: session.identity.idAtProvider) ?? session.aal
        renewed.origin = .browser
        renewed.scopes = []
        renewed.authenticatedAt = now
        return Requirements.unmet(require, renewed, now) == nil
    }

    /// What the next sign-in has to reach for the route, as far as the provider can be told and can reach it: one sign-in
    /// then suffices, and a user who cannot reach the level is not kept from signing in at all.
    ///
    /// - Parameter denial: Why the session, or the lack of one, does not suffice.
    package static func demand(
        _ require: RequirementSettings,
        _ denial: Denial,
        _ session: Session?,
        _ provider: (any ProviderSettings)?,
        _ now: UnixTime
    ) -> SignInDemand {
        var demand = SignInDemand(providers: require.providers)
        if let provider, provider.takesDemands {
            if let aal = require.aal, let best = provider.assurance(of: session?.identity.idAtProvider ?? ""),
                best >= aal
            {
                demand.aal = aal
            }
            demand.maxAge = require.maxAge
        }
        // A provider that is told what is missing asks the user for it. Otherwise the user has to authenticate anew, also
        // to sign in with another account.
        if let session, case .forbidden(let reason) = denial {
            let isTold =
                reason == .requireAAL && demand.aal != nil || reason == .requireMaxAge && demand.maxAge != nil
                || reason == .requireProvider
            demand.isAgain = !isTold || !self.helps(require, session, provider, now)
        }
        return demand
    }
}
