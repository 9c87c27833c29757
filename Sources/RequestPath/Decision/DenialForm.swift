package import Sessions
package import Settings
package import Vocabulary

/// How a request is denied: with a redirect to the sign-in page, a challenge to a native app, or a status.
package enum DenialForm: Equatable, Sendable {
    /// 303 to the sign-in page, with demands on the sign-in.
    case signIn(SignInDemand)
    /// A challenge that asks the native app around a WebView to hand a session off (`NativeChallenge`).
    case challenge
    case unauthorized
    case forbidden

    /// - Parameters:
    ///   - session: The session that does not suffice. `nil` if there is no session.
    ///   - provider: The provider for the sign-in. `nil` if none is configured, so that nobody can sign in.
    ///   - asksApp: True if a native app can hand a session off here.
    package static func of(
        _ denial: Denial,
        _ head: RequestHead,
        _ base: Bytes,
        _ route: RouteSettings,
        session: Session?,
        provider: (any ProviderSettings)?,
        asksApp: Bool,
        now: UnixTime
    ) -> DenialForm {
        let mayRedirect =
            switch route.unauthenticated {
            case .auto: Navigation.wantsPage(head, base)
            case .login: true
            case .unauthorized: false
            }
        // The browser would not repeat a posted form after the sign-in.
        let isRedirected = mayRedirect && (head.knownMethod == .get || head.knownMethod == .head)
        switch denial {
        case .unauthenticated:
            if asksApp { return .challenge }
            guard isRedirected, provider?.signsIn == true else { return .unauthorized }
        case .forbidden(let reason):
            guard isRedirected, [.requireAAL, .requireMaxAge, .requireOrigin, .requireProvider].contains(reason),
                let session
            else { return .forbidden }
            // Passkeys do not work in most WebViews, so the app lets its user sign in again in the system's browser.
            if asksApp, session.origin == .transfer, reason.refusal?.challenge == .stepUp,
                StepUp.helps(route.require, session, provider, now, from: .transfer)
            {
                return .challenge
            }
            guard StepUp.helps(route.require, session, provider, now) else { return .forbidden }
        }
        return .signIn(StepUp.demand(route.require, denial, session, provider, now))
    }
}

extension Denial {
    /// Returns the value of `WWW-Authenticate` for the denial. Returns `nil` if the denial has no challenge.
    ///
    /// - Parameters:
    ///   - isJudged: True if a credential was presented. The challenge then contains an error (RFC 6750 3.1).
    ///   - isProofScheme: True if the credential came as `DPoP`. The challenge then uses this scheme (RFC 9449 7.1).
    package func challenge(_ require: RequirementSettings, isJudged: Bool, isProofScheme: Bool) -> String? {
        let scheme = isProofScheme ? "DPoP" : "Bearer"
        switch self.reason.refusal?.challenge {
        case nil:
            return nil
        case .bearer:
            return "\(scheme) " + (isJudged ? #"error="invalid_token""# : Refusal.Challenge.realm)
        case .stepUp:
            let error = [(name: "error", value: "insufficient_user_authentication")]
            return "\(scheme) " + Refusal.Challenge.text(error + require.signInParameters)
        case .scope:
            let scopes = require.scopes.joined(separator: " ")
            // Other characters are not allowed in a scope (RFC 6749 3.3), so no access token can meet the requirement.
            let areTokens = scopes.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
            return #"\#(scheme) error="insufficient_scope""# + (areTokens ? #", scope="\#(scopes)""# : "")
        }
    }
}
