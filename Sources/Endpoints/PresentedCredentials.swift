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
        /// The text after `DPoP` (RFC 9449 7.1); may be empty.
        case dpop(Secret)
        /// Any other scheme, or none.
        case other
    }

    /// The different values of the host's session cookie, in order of arrival and at most `mostSessionCookies`. If
    /// there is more than one, it is unknown which is the browser's own: another site of the same domain may have
    /// planted one.
    package var sessionCookies: [Secret] = []
    /// The different values of the provider's own session cookie, in the same way.
    package var providerCookies: [Secret] = []
    /// The gateway's other cookies on this host, in order of arrival and at most `mostCompanions`.
    package var companions: [CompanionCookie] = []
    /// What the cookies say of session-transfer tokens.
    package var handoff = HandoffCredentials()
    /// `X-Session-Token`; nil when absent or empty.
    package var sessionToken: Secret?
    /// `Authorization`; nil when absent.
    package var authorization: Authorization?
    /// The content of `DPoP` (RFC 9449 4): the proof of a key; nil when absent.
    package var proof: Secret?

    /// The maximum number of session cookies: a browser does not get more, and each costs a look-up.
    package static let mostSessionCookies = 8
    /// The maximum number of companions: more than the gateway ever sets.
    package static let mostCompanions = 64

    package init() {}

    /// The token of `X-Session-Token` or `Authorization: Bearer`; nil when there is none.
    package var explicitToken: Secret? {
        if let sessionToken = self.sessionToken { return sessionToken }
        guard case .bearer(let token) = self.authorization, !token.bytes.isEmpty else { return nil }
        return token
    }

    /// The value of the companion with this label; nil when there is none. If there are several with different values,
    /// another site of the same domain may have planted one, so none counts.
    package func companion(_ label: String) -> Secret? {
        let values = self.companions.filter { $0.label == label }.map(\.value)
        return values.first.flatMap { value in values.allSatisfy { $0 == value } ? value : nil }
    }
}

/// A cookie of the gateway beside the session cookie, whose name begins with the session cookie's and `-`.
package struct CompanionCookie: Sendable, Equatable {
    /// The rest of its name.
    package var label: String
    package var value: Secret

    package init(label: String, value: Secret) {
        self.label = label
        self.value = value
    }
}

/// The session-transfer tokens in a request's cookies (`HandoffCookies`).
package struct HandoffCredentials: Sendable, Equatable {
    /// The different values of the handoff cookies, in order of arrival and at most `most`.
    package var tokens: [Secret] = []
    /// The value of the cookie that marks tokens as dealt with; nil when absent or ambiguous.
    package var marks: Secret?
    /// The secret of the try that the browser repeats; nil when absent or ambiguous.
    package var attempt: Secret?

    /// No honest browser has more; of several, none is used.
    package static let most = 8

    package init() {}
}
