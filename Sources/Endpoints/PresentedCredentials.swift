package import Vocabulary

/// The credentials of a request to an endpoint, as the gateway's one reader of credentials found them. None has been
/// looked up; the endpoint decides which of them it uses.
package struct PresentedCredentials: Sendable, Equatable {
    /// The content of `Authorization`, by its scheme (RFC 9110 11.4).
    package enum Authorization: Sendable, Equatable {
        /// The text after `Bearer` (RFC 6750 2.1); may be empty.
        case bearer(Secret)
        /// The text after `Basic` (RFC 7617 2), not decoded; may be empty.
        case basic(Secret)
        /// Any other scheme, or none.
        case other
    }

    /// The different values of the host's session cookie, in order of arrival and at most `mostSessionCookies`. If
    /// there is more than one, it is unknown which is the browser's own: another site of the same domain may have
    /// planted one.
    package var sessionCookies: [Secret]
    /// `X-Session-Token`; nil when absent or empty.
    package var sessionToken: Secret?
    /// `Authorization`; nil when absent.
    package var authorization: Authorization?
    /// `X-Session-Token` or `Authorization` is repeated, so neither is read.
    package var isRepeated: Bool

    /// The maximum number of session cookies: a browser does not get more, and each costs a look-up.
    package static let mostSessionCookies = 8

    package init(
        sessionCookies: [Secret] = [],
        sessionToken: Secret? = nil,
        authorization: Authorization? = nil,
        isRepeated: Bool = false
    ) {
        self.sessionCookies = sessionCookies
        self.sessionToken = sessionToken
        self.authorization = authorization
        self.isRepeated = isRepeated
    }
}
