import Sessions
package import Settings
import SignOn
package import Vocabulary

/// The cookies of one host for session-transfer tokens. Apps set the cookies in `names`, the gateway sets the others.
package struct HandoffCookies: Sendable {
    /// The time in seconds for which the browser keeps the marks of handled tokens. A token that comes back later is
    /// looked up and audited again.
    private static let handledAge = 3600
    /// The lifetime of the account cookie in seconds: the longest that browsers allow (RFC 6265bis 5.5).
    private static let accountAge = 400 * 86_400
    private static let attemptAge = Int(SessionAttempt.lifetime.components.seconds)
    private static let pendingAge = Int(PendingHandoff.lifetime.components.seconds)

    /// The names of the cookies into which apps put a token.
    package let names: [String]
    private let handledName: String
    private let attemptName: String
    private let pendingName: String
    private let accountName: String

    /// Creates the cookies with the configured names.
    package init(_ settings: Settings) {
        self.names = settings.handoff.cookieNames
        self.handledName = settings.session.handledCookieName
        self.attemptName = settings.session.attemptCookieName
        self.pendingName = settings.session.pendingCookieName
        self.accountName = settings.session.accountCookieName
    }

    /// Returns the cookie with an attempt's secret. A repeated request with this cookie gets the first answer.
    package func attempt(_ reach: CookieScope) -> SessionCookie {
        SessionCookie(name: self.attemptName, reach: reach, maxAge: Self.attemptAge)
    }

    /// Returns the cookie with a token that awaits the user's confirmation.
    package func pending(_ reach: CookieScope) -> SessionCookie {
        SessionCookie(name: self.pendingName, reach: reach, maxAge: Self.pendingAge)
    }

    /// Returns the cookie with the account that the browser used last. Sign-out does not delete it.
    package func account(_ reach: CookieScope) -> SessionCookie {
        Self.account(named: self.accountName, reach)
    }

    /// Returns the account cookie with the configured name `name`.
    package static func account(named name: String, _ reach: CookieScope) -> SessionCookie {
        SessionCookie(name: name, reach: reach, maxAge: Self.accountAge)
    }

    /// Returns the cookie that marks tokens as handled.
    package func handled(_ reach: CookieScope) -> SessionCookie {
        SessionCookie(name: self.handledName, reach: reach, maxAge: Self.handledAge)
    }

    /// Returns the `Set-Cookie` values that clear every token cookie and mark the tokens as handled. The gateway
    /// ignores a marked token if a browser keeps its cookie.
    ///
    /// - Parameters:
    ///   - authority: `host[:port]` of the host.
    ///   - marks: The new value of the cookie `handled`.
    package func clearing(on authority: String, _ reach: CookieScope, marking marks: Secret) -> [String] {
        self.clearing(on: authority, reach) + [self.handled(reach).setting(marks)]
    }

    /// Returns the `Set-Cookie` values that clear every token cookie. Apps set them with and without `Domain`.
    package func clearing(on authority: String, _ reach: CookieScope) -> [String] {
        let attributes = reach.isSecure ? "; Secure; HttpOnly; SameSite=None" : "; HttpOnly"
        let host = Self.host(of: authority)
        return self.names.flatMap { name in
            [
                "\(name)=; Path=/; Max-Age=0\(attributes)",
                "\(name)=; Path=/; Domain=\(host); Max-Age=0\(attributes)",
            ]
        }
    }

    /// Returns the authority without its port. An IPv6 address in brackets keeps its colons.
    private static func host(of authority: String) -> Substring {
        guard let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]" as Character) else {
            return authority[...]
        }
        return authority[..<colon]
    }
}
