package import Cryptography
package import Sessions
import Settings
package import Vocabulary

/// The right to forward one request. Only `Decision.judge` makes a permit, and the forwarding exchange consumes it.
///
/// A request without a permit cannot reach an app, because only a permit makes an upstream head.
package struct Permit: ~Copyable {
    package let pinnedRoute: Pinned<RouteEntry>
    /// The session whose identity the app sees. `nil` on public routes, and for anonymous requests to optional routes.
    package let session: CachedSession?

    fileprivate init(route: RouteEntry, session: CachedSession?) {
        self.pinnedRoute = Pinned(route)
        self.session = session
    }

    package var route: RouteEntry { self.pinnedRoute.counted }
}

/// The result of judging a request.
package enum Decision: ~Copyable {
    case permitted(Permit)
    case denied(Denial)
}

/// The reason why a request is not forwarded.
package enum Denial: Equatable, Sendable {
    /// The user is not signed in: sign-in for a navigation, 401 otherwise.
    case unauthenticated(Reason)
    /// The user is signed in, but the session does not suffice: 403.
    case forbidden(Reason)

    /// The reason in either case.
    package var reason: Reason {
        switch self {
        case .unauthenticated(let reason), .forbidden(let reason): reason
        }
    }
}

/// The facts for the decision, except for the session, which has already been looked up.
package struct Evidence {
    /// The reason for the denial if there is no session.
    package var missing: Reason
    /// True if an explicit credential (bearer, `X-Session-Token`) was presented. It is judged even on optional routes.
    package var isExplicit = false
    /// True if the session came in a cookie and another site could have caused the request (`CrossSite`).
    package var isCrossSite = false
    /// The mismatch that the live binding found. `nil` if the device matches or is not checked.
    package var bindingMismatch: Reason?
    /// The client's certificate. It proves who sends the request, but is not a session. It is lent for the judgement.
    package unowned(unsafe) var certificate: ClientCertificate?
    package var now: UnixTime
}

extension Decision {
    /// Judges a request against its frozen route. The result is never cached: judging takes a few comparisons.
    ///
    /// - Parameter session: The session that the credential names. `nil` if there is no such session.
    @inline(__always)
    package static func judge(_ route: RouteEntry, _ session: CachedSession?, _ evidence: Evidence) -> Decision {
        if route.isPublic { return .permitted(Permit(route: route, session: nil)) }
        guard let session else {
            // With optional authentication, an invalid explicit credential is an error, but a missing credential is not
            // (CVE-2021-21378).
            if route.settings.auth == .optional, !evidence.isExplicit {
                return .permitted(Permit(route: route, session: nil))
            }
            return .denied(.unauthenticated(evidence.missing))
        }
        if evidence.isCrossSite { return .denied(.forbidden(.requestCrossSite)) }
        if let mismatch = evidence.bindingMismatch { return .denied(.unauthenticated(mismatch)) }
        if session.isLimited, let access = session.session.access, !access.isAccepted(on: route.settings) {
            return .denied(.unauthenticated(.credentialOtherAudience))
        }
        if !(evidence.now < session.tokensEndAt), route.settings.auth == .required {
            return .denied(.unauthenticated(.sessionRenewalAmbiguous))
        }
        if route.hasRequirements {
            // Checked first: another sign-in does not help a client without the certificate.
            if let certificate = route.settings.require.clientCertificate, !certificate.isMet(by: evidence.certificate)
            {
                return .denied(.forbidden(.requireClientCertificate))
            }
            if let reason = Requirements.unmet(route.settings.require, session.session, evidence.now) {
                return .denied(.forbidden(reason))
            }
        }
        return .permitted(Permit(route: route, session: session))
    }
}

extension AccessTerms {
    /// True if the route belongs to the API for which the token was issued.
    fileprivate func isAccepted(on route: RouteSettings) -> Bool {
        self.audience.map { route.apiAudiences.contains($0) } ?? false
    }
}
