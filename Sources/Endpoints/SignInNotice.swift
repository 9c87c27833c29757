package import Vocabulary

/// The cookie with the reason why the browser comes to the sign-in page. It only adds a sentence to the page: a browser
/// without the cookie sees the page without the sentence.
package enum SignInNotice: String, Sendable {
    /// A transfer token did not sign the user in.
    case handoff = "1"
    /// The session exceeded its idle timeout.
    case idle
    /// The session reached its maximum lifetime.
    case expired
    /// The session ended for another reason, which only the logs name (`Reason.told`).
    case ended

    /// The suffix of the cookie's name, after the session cookie's name and `-`.
    package static let label = "notice"
    /// The lifetime of the cookie in seconds: enough time to reach the sign-in page.
    private static let age = 60

    /// Derives the notice from the reason why a session is no longer valid. `nil` unless `told` is `sessionUnknown`.
    ///
    /// - Parameters:
    ///   - told: The reason that the client gets.
    ///   - absence: The more precise reason from the store, if it has one.
    package init?(told: Reason, absence: Reason?) {
        guard told == .sessionUnknown else { return nil }
        switch absence {
        case .sessionIdle: self = .idle
        case .sessionExpired: self = .expired
        default: self = .ended
        }
    }

    /// Reads the value of the cookie. `nil` if it names no notice.
    package init?(_ value: Secret) {
        self.init(rawValue: String(decoding: value.bytes, as: UTF8.self))
    }

    /// Returns the cookie that carries a notice.
    ///
    /// - Parameter name: The configured name of the session cookie.
    package static func cookie(beside name: String, _ reach: CookieReach) -> SessionCookie {
        SessionCookie(name: "\(name)-\(self.label)", reach: reach, maxAge: self.age)
    }

    /// The cookie's value.
    package var value: Secret { Secret(self.rawValue) }
}
