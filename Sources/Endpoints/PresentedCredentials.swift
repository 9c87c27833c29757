package import Vocabulary

/// What a request to an endpoint presents to say who sends it, as the one reader of credentials found it; nothing of it
/// has been looked up. Which of them counts is for the endpoint to say.
package struct PresentedCredentials: Sendable, Equatable {
    /// What `Authorization` holds, by its scheme (RFC 9110 11.4).
    package enum Authorization: Sendable, Equatable {
        /// What follows `Bearer` (RFC 6750 2.1); empty when nothing does.
        case bearer(Secret)
        /// What follows `Basic` (RFC 7617 2), not decoded; empty when nothing does.
        case basic(Secret)
        /// Any other scheme, or none.
        case other
    }

    /// The different values of the host's session cookie, in the order in which they came and at most
    /// `mostSessionCookies` of them. With more than one it is not known which is the browser's: another site of the same
    /// domain may have planted one.
    package var sessionCookies: [Secret]
    /// `X-Session-Token`; nil when absent or empty.
    package var sessionToken: Secret?
    /// `Authorization`; nil when absent.
    package var authorization: Authorization?
    /// `X-Session-Token` or `Authorization` stands more than once, so neither is read.
    package var isRepeated: Bool

    /// More cookies of one name than a browser could come to hold are not worth a look-up each.
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
