package import Vocabulary

/// The reason why a browser comes to the sign-in page. A cookie passes the reason to the page.
package enum SignInNotice: String, Sendable {
    /// A transfer token did not sign the user in.
    case handoff = "1"
    /// The session exceeded its idle timeout.
    case idle
    /// The session reached its maximum lifetime.
    case expired
    /// The session ended for another reason. Only the logs name it (`Reason.told`).
    case ended

    /// The label of the cookie (`CompanionCookie`).
    package static let label = "notice"
    /// The lifetime of the cookie in seconds: enough time to reach the sign-in page.
    private static let age = 60

    /// Derives the notice for a session that is no longer valid. `nil` unless `told` is `sessionUnknown`.
    ///
    /// - Parameters:
    ///   - told: The reason in the answer to the client.
    ///   - absence: The store's more precise reason. `nil` if the store has none.
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
    package static func cookie(beside name: String, _ reach: CookieScope) -> SessionCookie {
        SessionCookie(name: "\(name)-\(self.label)", reach: reach, maxAge: self.age)
    }

    /// The cookie's value.
    package var value: Secret { Secret(self.rawValue) }
}
