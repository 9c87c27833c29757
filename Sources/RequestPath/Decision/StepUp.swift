package import Sessions
package import Settings
package import Vocabulary

/// Decides whether a new sign-in would give access to a route if the session does not suffice, and which demands the
/// sign-in must meet. Applies to `require.aal`, `require.max_age`, `require.provider`, and `require.origin` after a
/// handoff. The user is redirected to the sign-in page only if that helps. Otherwise, the redirect would loop.
package enum StepUp {
    /// The time after a sign-in during which the user is not asked to sign in again, even if the session does not
    /// suffice.
    package static let recent: Duration = .seconds(3)

    /// - Parameters:
    ///   - provider: The provider for the sign-in. `nil` if no provider is configured: nobody can sign in.
    ///   - origin: The origin of the next session: the browser, or a native app that hands its new sign-in off.
    package static func helps(
        _ require: RequirementSettings,
        _ session: Session,
        _ provider: (any ProviderSettings)?,
        _ now: UnixTime,
        from origin: Session.Origin = .browser
    ) -> Bool {
        // Signing in changes the cookie's session, but not a token that a program presents. An actor for a user cannot
        // sign in as that user.
        guard let provider, provider.signsIn, session.kind == .web, session.actor == nil else { return false }
        // Another provider's user is a different, unknown user. The sign-in page offers only the required providers.
        if !require.providers.isEmpty, !require.admits(session.identity.realm) { return true }
        // After a handoff, the user has signed in to the app but not here, so nothing would be repeated.
        if session.origin != .transfer, now.since(session.authenticatedAt) < self.recent {
            // If the provider learns the required level, a sign-in below it ends with a page (`signin.insufficient`).
            // Other providers would redirect back at once with an equal session.
            guard provider.takesDemands, let aal = require.aal, session.aal < aal else { return false }
        }
        var renewed = session
        renewed.aal = provider.assurance(of: session.identity.idAtProvider) ?? session.aal
        renewed.origin = origin
        renewed.scopes = []
        renewed.authenticatedAt = now
        return Requirements.unmet(require, renewed, now) == nil
    }

    /// Returns the demands on the next sign-in, limited to those that the provider can receive and reach. With these
    /// demands, one sign-in suffices, and a user who cannot reach the level can still sign in.
    ///
    /// - Parameter denial: The denial of the request.
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
        // A provider that learns what is missing asks the user for it. Otherwise, the user must authenticate anew,
        // which also allows signing in with another account.
        if let session, case .forbidden(let reason) = denial {
            let isTold =
                reason == .requireAAL && demand.aal != nil || reason == .requireMaxAge && demand.maxAge != nil
                || reason == .requireProvider
            demand.isAgain = !isTold || !self.helps(require, session, provider, now)
        }
        return demand
    }
}

extension RequirementSettings {
    /// The parameters of `/authorize` for the route: everything that the next sign-in must reach, so that one sign-in
    /// suffices (RFC 9470 3).
    var signInParameters: [(name: String, value: String)] {
        [("acr_values", self.aal?.rawValue), ("max_age", self.maxAge.map { "\($0.components.seconds)" })]
            .compactMap { (name, value) in value.map { (name: name, value: $0) } }
    }
}
