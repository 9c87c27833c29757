package import Vocabulary

/// The cookie by which the sign-in page knows that a transfer token has just signed nobody in. It demands nothing: the
/// page shows a sentence, and a browser without the cookie sees the page without it.
package enum HandoffNotice {
    /// What follows the session cookie's name and `-` in its name.
    package static let label = "notice"
    /// How long the way to the sign-in page may take (seconds).
    private static let age = 60

    /// - Parameter name: The configured name of the session cookie.
    package static func cookie(beside name: String, _ reach: CookieReach) -> SessionCookie {
        SessionCookie(name: "\(name)-\(self.label)", reach: reach, maxAge: self.age)
    }

    package static let value = Secret("1")
}
