package import Vocabulary

/// The cookie by which the sign-in page knows why the browser comes. It demands nothing: the page shows a sentence, and a
/// browser without the cookie sees the page without it.
package enum SignInNotice: String, Sendable {
    /// A transfer token has just signed nobody in.
    case handoff = "1"
    /// The session was not used for too long.
    case idle
    /// The session has reached its longest lifetime.
    case expired
    /// The session has ended. Why else is for the logs only (`Reason.told`).
    case ended

    /// What follows the session cookie's name and `-` in its name.
    package static let label = "notice"
    /// How long the way to the sign-in page may take (seconds).
    private static let age = 60

    /// Why a session's cookie is not good any more.
    ///
    /// - Parameters:
    ///   - told: What the client is told.
    ///   - absence: What the store says beyond that.
    package init?(told: Reason, absence: Reason?) {
        guard told == .sessionUnknown else { return nil }
        switch absence {
        case .sessionIdle: self = .idle
        case .sessionExpired: self = .expired
        default: self = .ended
        }
    }

    /// The one that a cookie's value names; nil for any other value.
    package init?(_ value: Secret) {
        self.init(rawValue: String(decoding: value.bytes, as: UTF8.self))
    }

    /// - Parameter name: The configured name of the session cookie.
    package static func cookie(beside name: String, _ reach: CookieReach) -> SessionCookie {
        SessionCookie(name: "\(name)-\(self.label)", reach: reach, maxAge: self.age)
    }

    /// The cookie's value.
    package var value: Secret { Secret(self.rawValue) }
}
