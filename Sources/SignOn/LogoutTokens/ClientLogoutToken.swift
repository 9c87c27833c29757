import Cryptography
package import JOSE
package import Vocabulary

/// A logout token for a client before it is signed (OpenID Connect Back-Channel Logout 1.0 2.4).
package struct ClientLogoutToken: Sendable {
    /// The lifetime of a token in seconds. Each retry has a new token.
    private static let lifetime: Int64 = 120
    private static let event = "http://schemas.openid.net/event/backchannel-logout"

    /// The issuer of the client's id_tokens.
    package var issuer: String
    package var session: ClientSession
    package var issuedAt: UnixTime

    package init(issuer: String, session: ClientSession, issuedAt: UnixTime) {
        self.issuer = issuer
        self.session = session
        self.issuedAt = issuedAt
    }

    /// Returns the token in compact form. Signing takes a millisecond, too long for an event loop.
    ///
    /// - Parameter key: The key that signs the client's id_tokens.
    package func signed(by key: SigningKey) -> String {
        var claims: [String: JSONValue] = [
            "iss": .string(self.issuer),
            "aud": .string(self.session.clientID),
            "iat": .integer(self.issuedAt.seconds),
            "exp": .integer(self.issuedAt.seconds + Self.lifetime),
            "jti": .string(Random.base64URL(16)),
            "sub": .string(self.session.userID),
            "events": [Self.event: [:]],
        ]
        claims["sid"] = self.session.sessionID.map(JSONValue.string)
        let token = key.sign(JSONText.encode(.object(claims)), header: [("typ", "logout+jwt")])
        return String(decoding: token, as: UTF8.self)
    }
}
