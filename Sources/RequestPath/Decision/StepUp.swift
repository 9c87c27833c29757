package import Sessions
package import Settings
package import Vocabulary

/// Decides whether a new sign-in would meet a route's requirements, and what the sign-in must achieve. Without this
/// decision, redirects to the sign-in page could loop.
package enum StepUp {
    /// The time after a sign-in during which the user is asked to sign in again only in the cases that `helps` names.
    package static let recent: Duration = .seconds(3)

    /// - Parameters:
    ///   - provider: The provider for the sign-in. `nil` if none is configured, so that nobody can sign in.
    ///   - origin: The origin of the new session: a browser, or a native app that hands off its new sign-in.
    package static func helps(
        _ require: RequirementSettings,
        _ session: Session,
        _ provider: (any ProviderSettings)?,
        _ now: UnixTime,
        from origin: Session.Origin = .browser
    ) -> Bool {
        // A sign-in replaces a browser's session, not a program's token. An actor cannot sign in as the user.
        guard let provider, provider.signsIn, session.kind == .web, session.actor == nil else { return false }
        // The sign-in page offers only the required providers. The next user is unknown, so a sign-in may help.
        if !require.providers.isEmpty, !require.admits(session.identity.realm) { return true }
        // After a handoff, the user has signed in to the app but not here, so no sign-in would be repeated.
        if session.origin != .transfer, now.since(session.authenticatedAt) < self.recent {
            // A provider that accepts demands ends an insufficient sign-in with a page (`signin.insufficient`). Other
            // providers would redirect back at once with an equal session.
            guard provider.enforcesRequestedAssurance, let aal = require.aal, session.aal < aal else { return false }
        }
        var renewed = session
        renewed.aal = provider.assurance(of: session.identity.idAtProvider) ?? session.aal
        renewed.origin = origin
        renewed.scopes = []
        renewed.authenticatedAt = now
        return Requirements.unmet(require, renewed, now) == nil
    }

    /// Returns what the next sign-in must achieve, as far as the provider supports it. All demands are made at once, so
    /// that one sign-in is enough.
    package static func demand(
        _ require: RequirementSettings,
        _ denial: Denial,
        _ session: Session?,
        _ provider: (any ProviderSettings)?,
        _ now: UnixTime
    ) -> SignInDemand {
        var demand = SignInDemand(providers: require.providers)
        if let provider, provider.enforcesRequestedAssurance {
            if let aal = require.aal, let best = provider.assurance(of: session?.identity.idAtProvider ?? ""),
                best >= aal
            {
                demand.aal = aal
            }
            demand.maxAge = require.maxAge
        }
        // If the demand does not tell the provider what is missing, the user must authenticate again.
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
    /// The demands on the next sign-in as parameters of `/authorize` (RFC 9470 3).
    var signInParameters: [(name: String, value: String)] {
        [("acr_values", self.aal?.rawValue), ("max_age", self.maxAge.map { "\($0.components.seconds)" })]
            .compactMap { (name, value) in value.map { (name: name, value: $0) } }
    }
}
