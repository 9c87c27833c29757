package import Vocabulary

/// The credentials of a request to an endpoint, as sent. None is verified yet.
package struct PresentedCredentials: Sendable, Equatable {
    /// The content of `Authorization`, by its scheme (RFC 9110 11.4).
    package enum Authorization: Sendable, Equatable {
        /// The text after `Bearer` (RFC 6750 2.1). It may be empty.
        case bearer(Secret)
        /// The text after `Basic` (RFC 7617 2), not decoded. It may be empty.
        case basic(Secret)
        /// The text after `DPoP` (RFC 9449 7.1). It may be empty.
        case dpop(Secret)
        /// Any other scheme, or none.
        case other
    }

    /// The distinct values of the host's session cookie, in order, at most `maxSessionCookies`. If there are several,
    /// a sibling domain may have planted one.
    package var sessionCookies: [Secret] = []
    /// The distinct values of the provider's session cookie, in order, at most `maxSessionCookies`.
    package var providerCookies: [Secret] = []
    /// The gateway's other cookies on this host, in order, at most `maxCompanions`.
    package var companions: [CompanionCookie] = []
    /// The session-transfer tokens in cookies.
    package var handoff = HandoffCredentials()
    /// The content of `X-Session-Token`. `nil` if it is absent or empty.
    package var sessionToken: Secret?
    /// The content of `Authorization`. `nil` if it is absent.
    package var authorization: Authorization?
    /// The content of `DPoP` (RFC 9449 4), the proof of a key. `nil` if it is absent.
    package var proof: Secret?

    /// The maximum number of session cookies. Each one costs a look-up.
    package static let maxSessionCookies = 8
    /// The maximum number of companion cookies. The gateway never sets as many.
    package static let maxCompanions = 64

    package init() {}

    /// The token in `X-Session-Token`, otherwise in `Authorization: Bearer`. `nil` if both are absent.
    package var explicitToken: Secret? {
        if let sessionToken = self.sessionToken { return sessionToken }
        guard case .bearer(let token) = self.authorization, !token.bytes.isEmpty else { return nil }
        return token
    }

    /// Returns the value of the companion cookie with this label. `nil` if the cookie is absent or has several values,
    /// one of which a sibling domain may have planted.
    package func companion(_ label: String) -> Secret? {
        let values = self.companions.filter { $0.label == label }.map(\.value)
        return values.first.flatMap { value in values.allSatisfy { $0 == value } ? value : nil }
    }
}

/// A cookie of the gateway whose name is the session cookie's name, `-` and a label.
package struct CompanionCookie: Sendable, Equatable {
    package var label: String
    package var value: Secret

    package init(label: String, value: Secret) {
        self.label = label
        self.value = value
    }
}

/// The session-transfer tokens in a request's cookies (`HandoffCookies`).
package struct HandoffCredentials: Sendable, Equatable {
    /// The distinct values of the handoff cookies, in order, at most `most`.
    package var tokens: [Secret] = []
    /// The value of the cookie that marks handled tokens. `nil` if the cookie is absent or has several values.
    package var marks: Secret?
    /// The value of the cookie for a repeated attempt. `nil` if the cookie is absent or has several values.
    package var attempt: Secret?

    /// The maximum number of tokens. An endpoint uses none if there are several.
    package static let most = 8

    package init() {}
}
