package import Cryptography
package import Sessions
import Settings
package import Vocabulary

/// The right to forward one request. Only `Decision.judge` creates a permit, and no request reaches an app without one.
package struct Permit: ~Copyable {
    package let pinnedRoute: Pinned<RouteEntry>
    /// The session whose identity the app receives. `nil` on public routes, and for anonymous users on optional routes.
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

/// Why a request is not forwarded.
package enum Denial: Equatable, Sendable {
    /// The request has no session that is valid for it. `DenialForm` determines the answer.
    case unauthenticated(Reason)
    /// The session is valid but does not allow the request. `DenialForm` determines the answer.
    case forbidden(Reason)

    /// The reason of either case.
    package var reason: Reason {
        switch self {
        case .unauthenticated(let reason), .forbidden(let reason): reason
        }
    }
}

/// The facts for the decision, except the session.
package struct Evidence {
    /// The reason to report if there is no session.
    package var missing: Reason
    /// True if an explicit credential (bearer token or `X-Session-Token`) was presented.
    package var isExplicit = false
    /// True if the session came in a cookie and another site may have caused the request (`CrossSite`).
    package var isCrossSite = false
    /// The mismatch between the session and the device. `nil` if they match or are not compared.
    package var bindingMismatch: Reason?
    /// The client's TLS certificate. Not retained, because the client's connection keeps it during the decision.
    package unowned(unsafe) var certificate: ClientCertificate?
    package var now: UnixTime
}

extension Decision {
    /// Judges a request on its route. The result is never cached, because judging is cheap.
    ///
    /// - Parameter session: The session of the presented credential. `nil` if there is none.
    @inline(__always)
    package static func judge(_ route: RouteEntry, _ session: CachedSession?, _ evidence: Evidence) -> Decision {
        if route.isPublic { return .permitted(Permit(route: route, session: nil)) }
        guard let session else {
            // On a route with optional authentication, an invalid explicit credential is an error (CVE-2021-21378). A
            // missing credential is not.
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
            // Checked first, because no sign-in can replace a missing certificate.
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
