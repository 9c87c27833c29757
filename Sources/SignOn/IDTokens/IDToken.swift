import Cryptography
package import JOSE
package import Sessions
package import Vocabulary

/// An id_token before it is signed (OpenID Connect Core 2).
///
/// SDKs of native apps keep the token of a mint in place of their own, so that each has to be complete.
package struct IDToken: Sendable {
    /// How long a token is valid unless the client's settings say something else.
    package static let defaultLifetime = Duration.seconds(36_000)
    /// The longest time for which a token is valid, whatever the settings say: a replaced key stays published for this
    /// time.
    package static let longestLifetime = Duration.seconds(86_400)

    /// The URL in the metadata, with its trailing slash.
    package var issuer: String
    package var clientID: String
    package var identity: Identity
    /// The public id of the session.
    package var sessionID: String
    /// nil: the provider does not say.
    package var authenticatedAt: UnixTime?
    /// nil: unknown.
    package var level: AssuranceLevel?
    package var methods: [String]
    /// The granted scopes.
    package var scopes: [String]
    /// The value that the client sent to the authorization endpoint.
    package var nonce: String?
    /// `act` (RFC 8693 4.1); nil: nobody acts for the user.
    package var actor: JSONValue?
    /// The access token in the same answer.
    package var accessToken: Secret?
    package var issuedAt: UnixTime
    package var lifetime = Self.defaultLifetime

    /// A token of `session` for `clientID`.
    package init(
        of session: Session,
        issuer: String,
        clientID: String,
        scopes: [String],
        nonce: String? = nil,
        accessToken: Secret? = nil,
        issuedAt: UnixTime
    ) {
        self.issuer = issuer
        self.clientID = clientID
        self.identity = session.identity
        self.sessionID = session.id
        // A session states 1970 where the provider does not say.
        self.authenticatedAt = session.authenticatedAt.seconds > 0 ? session.authenticatedAt : nil
        self.level = session.aal == .aal0 ? nil : session.aal
        self.methods = session.methods
        self.scopes = scopes
        self.nonce = nonce
        self.actor = session.actorClaim
        self.accessToken = accessToken
        self.issuedAt = issuedAt
    }

    package var claims: JSONValue {
        // No name of these is among those of the profile.
        var claims = UserInfoClaims.claims(of: self.identity, scopes: self.scopes)
        let lifetime = min(max(self.lifetime, .seconds(1)), Self.longestLifetime)
        claims["iss"] = .string(self.issuer)
        claims["sub"] = .string(self.identity.id)
        claims["aud"] = .string(self.clientID)
        claims["iat"] = .integer(self.issuedAt.seconds)
        claims["exp"] = .integer(self.issuedAt.seconds + lifetime.components.seconds)
        claims["sid"] = .string(self.sessionID)
        claims["auth_time"] = self.authenticatedAt.map { .integer($0.seconds) }
        claims["acr"] = self.level.map { .string($0.rawValue) }
        let methods = RegisteredMethods.names(of: self.methods, level: self.level)
        if !methods.isEmpty { claims["amr"] = .array(methods.map(JSONValue.string)) }
        claims["act"] = self.actor
        claims["nonce"] = self.nonce.map(JSONValue.string)
        claims["at_hash"] = self.accessToken.map { .string(Self.hash(of: $0)) }
        return .object(claims)
    }

    /// The token in compact form. It is a millisecond's work, for which event loops have no time.
    ///
    /// - Parameter key: A key for RS256 (`IDTokenKeys`); `at_hash` is made with the hash of that algorithm. Another one is
    ///   a programming error and ends the process.
    package func signed(by key: SigningKey) -> String {
        precondition(key.algorithm == .rs256, "id_tokens are signed with RS256")
        return String(decoding: key.sign(JSONText.encode(self.claims), header: [("typ", "JWT")]), as: UTF8.self)
    }

    /// `at_hash` and `c_hash`: the left half of the SHA-256 (OpenID Connect Core 3.1.3.6).
    package static func hash(of token: Secret) -> String {
        Base64URL.encode(Array(SHA256.digest(token.bytes).bytes.prefix(16)))
    }
}
