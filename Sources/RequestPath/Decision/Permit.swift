package import Sessions
import Settings
package import Vocabulary

/// The right to forward one request: made only by `Decision.judge`, consumed by the exchange that forwards it.
///
/// A request without a permit cannot reach an app, because nothing else makes an upstream head.
package struct Permit: ~Copyable {
    package let route: RouteEntry
    /// The session whose identity the app sees; nil on public routes and for anonymous requests of optional ones.
    package let session: CachedSession?

    fileprivate init(route: RouteEntry, session: CachedSession?) {
        self.route = route
        self.session = session
    }
}

/// What came of judging a request.
package enum Decision: ~Copyable {
    case permitted(Permit)
    case denied(Denial)
}

/// Why a request is not forwarded, and in which form it is told.
package enum Denial: Equatable, Sendable {
    /// Nobody is signed in: login for a navigation, 401 for all else.
    case unauthenticated(Reason)
    /// Somebody is, and it does not suffice: 403.
    case forbidden(Reason)

    /// Why, in either case.
    package var reason: Reason {
        switch self {
        case .unauthenticated(let reason), .forbidden(let reason): reason
        }
    }
}

/// The facts of a request that the decision rests on; the session is resolved already.
package struct Evidence {
    /// The session that the credential names, if there is one.
    package var session: CachedSession?
    /// Why there is no session, when a credential was presented.
    package var missing: Reason
    /// An explicit credential (bearer, `X-Session-Token`) was presented: it is judged even where none is needed.
    package var isExplicit: Bool
    /// The session came by cookie and the request could have been made by another site (`CrossSite`).
    package var isCrossSite: Bool
    /// What the live binding says of the device; nil: it matches or is not asked for.
    package var bindingMismatch: Reason?
    package var now: UnixTime

    package init(
        session: CachedSession?,
        missing: Reason,
        isExplicit: Bool,
        isCrossSite: Bool,
        bindingMismatch: Reason?,
        now: UnixTime
    ) {
        self.session = session
        self.missing = missing
        self.isExplicit = isExplicit
        self.isCrossSite = isCrossSite
        self.bindingMismatch = bindingMismatch
        self.now = now
    }
}

extension Decision {
    /// Judges a request against its frozen route. Never cached: it is a few comparisons.
    @inline(__always)
    package static func judge(_ route: RouteEntry, _ evidence: Evidence) -> Decision {
        if route.settings.auth == .public { return .permitted(Permit(route: route, session: nil)) }
        guard let session = evidence.session else {
            // With optional authentication an invalid explicit credential is an error, none is not (CVE-2021-21378).
            if route.settings.auth == .optional, !evidence.isExplicit {
                return .permitted(Permit(route: route, session: nil))
            }
            return .denied(.unauthenticated(evidence.missing))
        }
        if evidence.isCrossSite { return .denied(.forbidden(.requestCrossSite)) }
        if let mismatch = evidence.bindingMismatch { return .denied(.unauthenticated(mismatch)) }
        if route.hasRequirements, let reason = Requirements.unmet(route.settings.require, session.session, evidence.now)
        {
            return .denied(.forbidden(reason))
        }
        return .permitted(Permit(route: route, session: session))
    }
}
