import Sessions
package import Settings
import SignOn
package import Vocabulary

/// The cookies of one host that accompany session-transfer tokens: those in which apps put a token, the one that marks
/// tokens that were dealt with, the one that lets a browser repeat an attempt whose answer was lost, the one that keeps a
/// token until the user confirms it, and the one that shows which account the browser used last.
package struct HandoffCookies: Sendable {
    /// How long handoff cookies that were dealt with are ignored when they come back (seconds). After that time they are
    /// judged again, which costs a look-up and a line in the audit stream.
    private static let handledAge = 3600
    /// How long a browser shows which account it used last (seconds): as long as browsers keep any cookie (RFC 6265bis
    /// 5.5).
    private static let accountAge = 400 * 86_400
    private static let attemptAge = Int(SessionAttempt.lifetime.components.seconds)
    private static let pendingAge = Int(PendingHandoff.lifetime.components.seconds)

    /// The names under which apps set a token.
    package let names: [String]
    private let handledName: String
    private let attemptName: String
    private let pendingName: String
    private let accountName: String

    /// The cookies with the configured names.
    package init(_ settings: Settings) {
        self.names = settings.handoff.cookieNames
        self.handledName = settings.session.handledCookieName
        self.attemptName = settings.session.attemptCookieName
        self.pendingName = settings.session.pendingCookieName
        self.accountName = settings.session.accountCookieName
    }

    /// The cookie that lets a browser repeat an attempt.
    package func attempt(_ reach: CookieReach) -> SessionCookie {
        SessionCookie(name: self.attemptName, reach: reach, maxAge: Self.attemptAge)
    }

    /// The cookie that keeps a token until the user confirms it.
    package func pending(_ reach: CookieReach) -> SessionCookie {
        SessionCookie(name: self.pendingName, reach: reach, maxAge: Self.pendingAge)
    }

    /// The cookie that shows which account the browser used last. It outlives sign-outs: it is for those who are not
    /// signed in.
    package func account(_ reach: CookieReach) -> SessionCookie {
        Self.account(named: self.accountName, reach)
    }

    /// The same, of a configured name.
    package static func account(named name: String, _ reach: CookieReach) -> SessionCookie {
        SessionCookie(name: name, reach: reach, maxAge: Self.accountAge)
    }

    /// The cookie that marks tokens as dealt with.
    package func handled(_ reach: CookieReach) -> SessionCookie {
        SessionCookie(name: self.handledName, reach: reach, maxAge: Self.handledAge)
    }

    /// The `Set-Cookie` values that clear every token, and that mark the values, so that a cookie that the gateway cannot
    /// clear is ignored when it comes back.
    ///
    /// - Parameters:
    ///   - authority: `host[:port]` of the host.
    ///   - marks: The new value of the cookie that marks them.
    package func clearing(on authority: String, _ reach: CookieReach, marking marks: Secret) -> [String] {
        self.clearing(on: authority, reach) + [self.handled(reach).setting(marks)]
    }

    /// Those that clear, both host-only and with the host as its domain, because apps set either kind.
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

    /// The authority without its port. The colons in the brackets of an IPv6 address are none of a port.
    private static func host(of authority: String) -> Substring {
        guard let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]" as Character) else {
            return authority[...]
        }
        return authority[..<colon]
    }
}
