package import Sessions
package import Settings
package import Vocabulary

/// The form in which a denial is told: to a person by the sign-in page where that helps, to everybody else by a status.
package enum DenialForm: Equatable, Sendable {
    /// 303 to the sign-in page. `isAgain`: the user is signed in, and has to prove it once more.
    case signIn(isAgain: Bool)
    case unauthorized
    case forbidden

    /// - Parameters:
    ///   - session: The session that does not suffice; nil: there is none.
    ///   - provider: Checks the sign-in; nil: none is configured, so signing in is not possible.
    package static func of(
        _ denial: Denial,
        _ head: RequestHead,
        _ base: Bytes,
        _ route: RouteSettings,
        session: Session?,
        provider: ProviderSettings?,
        now: UnixTime
    ) -> DenialForm {
        let mayRedirect =
            switch route.unauthenticated {
            case .auto: Navigation.wantsPage(head, base)
            case .login: true
            case .unauthorized: false
            }
        // A form that was posted is not repeated after the sign-in, so its user is told and not sent away.
        let isRedirected = mayRedirect && (head.knownMethod == .get || head.knownMethod == .head)
        switch denial {
        case .unauthenticated:
            return isRedirected ? .signIn(isAgain: false) : .unauthorized
        case .forbidden(let reason):
            guard isRedirected, reason == .requireAAL || reason == .requireMaxAge, let session,
                StepUp.helps(route.require, session, provider, now)
            else { return .forbidden }
            return .signIn(isAgain: true)
        }
    }
}

extension Denial {
    /// The challenge that goes with the status; nil: none.
    ///
    /// - Parameter isJudged: A credential was presented: only then is the reason named (RFC 6750 3.1).
    package func challenge(_ require: RequirementSettings, isJudged: Bool) -> String? {
        switch self.reason.refusal?.challenge {
        case nil:
            return nil
        case .bearer:
            return isJudged ? #"Bearer error="invalid_token""# : "Bearer"
        case .stepUp:
            // RFC 9470 3: what the next sign-in has to reach, all of it, so that one suffices.
            var challenge = #"Bearer error="insufficient_user_authentication""#
            if let aal = require.aal { challenge += ", acr_values=\"\(aal.rawValue)\"" }
            if let maxAge = require.maxAge { challenge += ", max_age=\"\(maxAge.components.seconds)\"" }
            return challenge
        }
    }
}
