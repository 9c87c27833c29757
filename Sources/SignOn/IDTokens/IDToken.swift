import Cryptography
package import JOSE
package import Sessions
package import Vocabulary

/// An id_token before it is signed (OpenID Connect Core 2).
///
/// Every id_token has all claims of its scopes, because native SDKs replace their id_token when they mint a transfer
/// token.
package struct IDToken: Sendable {
    /// The lifetime of a token, unless the client's settings say otherwise.
    package static let defaultLifetime = Duration.seconds(36_000)
    /// The maximum lifetime of a token. After a rotation, the old key stays published for longer than this.
    package static let longestLifetime = Duration.seconds(86_400)

    /// The issuer's URL as in the metadata, with its trailing slash.
    package var issuer: String
    package var clientID: String
    package var identity: Identity
    /// The public id of the session.
    package var sessionID: String
    /// The time of the sign-in. `nil` if the provider does not state it.
    package var authenticatedAt: UnixTime?
    /// The assurance level. `nil` if unknown.
    package var level: AssuranceLevel?
    package var methods: [String]
    /// The granted scopes.
    package var scopes: [String]
    /// The value that the client sent to the authorization endpoint.
    package var nonce: String?
    /// `act` (RFC 8693 4.1). `nil` if nobody acts for the user.
    package var actor: JSONValue?
    /// The access token that is issued together with the id_token, for `at_hash`. `nil` if none is issued.
    package var accessToken: Secret?
    package var issuedAt: UnixTime
    package var lifetime = Self.defaultLifetime

    /// Creates a token of `session` for `clientID`.
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
        // 1970 in a session means that the provider does not state the time.
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
        // The claims set below have other names than the profile claims, so they replace none.
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

    /// Returns the token in compact form. Signing takes a millisecond, too long for an event loop.
    ///
    /// - Parameter key: An RS256 key (`IDTokenKeys`). A key for another algorithm ends the process.
    package func signed(by key: SigningKey) -> String {
        precondition(key.algorithm == .rs256, "id_tokens are signed with RS256")
        return String(decoding: key.sign(JSONText.encode(self.claims), header: [("typ", "JWT")]), as: UTF8.self)
    }

    /// Returns `at_hash` or `c_hash`: the left half of the token's SHA-256 (OpenID Connect Core 3.1.3.6).
    package static func hash(of token: Secret) -> String {
        Base64URL.encode(Array(SHA256.digest(token.bytes).bytes.prefix(16)))
    }
}
