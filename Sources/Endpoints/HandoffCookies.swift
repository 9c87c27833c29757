import Sessions
package import Settings
import SignOn
package import Vocabulary

/// The cookies of one host that accompany session-transfer tokens. Apps put a token in some of them. The gateway sets
/// four more: the mark of handled tokens, the attempt whose answer may be lost, the token that awaits confirmation, and
/// the account that the browser used last.
package struct HandoffCookies: Sendable {
    /// The time in seconds for which handled handoff cookies are ignored if they come back. Later they are judged
    /// again, which costs a look-up and a line in the audit stream.
    private static let handledAge = 3600
    /// The lifetime of the cookie for the account used last, in seconds: the longest possible (RFC 6265bis 5.5).
    private static let accountAge = 400 * 86_400
    private static let attemptAge = Int(SessionAttempt.lifetime.components.seconds)
    private static let pendingAge = Int(PendingHandoff.lifetime.components.seconds)

    /// The names of the cookies in which apps put a token.
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

    /// Returns the cookie that lets a browser repeat an attempt.
    package func attempt(_ reach: CookieReach) -> SessionCookie {
        SessionCookie(name: self.attemptName, reach: reach, maxAge: Self.attemptAge)
    }

    /// Returns the cookie that keeps a token until the user confirms it.
    package func pending(_ reach: CookieReach) -> SessionCookie {
        SessionCookie(name: self.pendingName, reach: reach, maxAge: Self.pendingAge)
    }

    /// Returns the cookie for the account that the browser used last. It outlives sign-outs, because it is meant for
    /// users who are not signed in.
    package func account(_ reach: CookieReach) -> SessionCookie {
        Self.account(named: self.accountName, reach)
    }

    /// Returns the cookie for the account that the browser used last, with a configured name.
    package static func account(named name: String, _ reach: CookieReach) -> SessionCookie {
        SessionCookie(name: name, reach: reach, maxAge: Self.accountAge)
    }

    /// Returns the cookie that marks tokens as handled.
    package func handled(_ reach: CookieReach) -> SessionCookie {
        SessionCookie(name: self.handledName, reach: reach, maxAge: Self.handledAge)
    }

    /// Returns the `Set-Cookie` values that clear every token cookie and mark the tokens as handled. A cookie that the
    /// gateway cannot clear is therefore ignored if it comes back.
    ///
    /// - Parameters:
    ///   - authority: `host[:port]` of the host.
    ///   - marks: The new value of the cookie that marks handled tokens.
    package func clearing(on authority: String, _ reach: CookieReach, marking marks: Secret) -> [String] {
        self.clearing(on: authority, reach) + [self.handled(reach).setting(marks)]
    }

    /// Returns the `Set-Cookie` values that clear every token cookie, with and without the domain: apps set both.
    package func clearing(on authority: String, _ reach: CookieReach) -> [String] {
        let attributes = reach.isSecure ? "; Secure; HttpOnly; SameSite=None" : "; HttpOnly"
        let host = Self.host(of: authority)
        return self.names.flatMap { name in
            [
                "\(name)=; Path=/; Max-Age=0\(attributes)",
                "\(name)=; Path=/; Domain=\(host); Max-Age=0\(attributes)",
            ]
        }
    }

    /// Returns the authority without its port. Colons inside the brackets of an IPv6 address do not begin a port.
    private static func host(of authority: String) -> Substring {
        guard let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]" as Character) else {
            return authority[...]
        }
        return authority[..<colon]
    }
}
