import JOSE
import Vocabulary

/// What the provider remembers.
struct OpenIDState: Sendable {
    /// The user's session at the provider. There is one at a time, as if all browsers were one.
    struct Session {
        var id: String
        var subject: String
        var authenticatedAt: UnixTime
    }

    /// What a sign-in gives to a client.
    struct Grant {
        var client: String
        var user: OpenIDScript.User
        var scopes: [String]
        var sessionID: String
        var authenticatedAt: UnixTime
        var level: String?
        var methods: [String]?
        /// The key to which the tokens are bound (RFC 9449 6).
        var thumbprint: String?
        var isEnded = false
    }

    struct Code {
        var grant: Int
        var nonce: String?
        var redirectURI: String
        var challenge: String?
        var expiresAt: UnixTime
        var isUsed = false
    }

    struct RefreshToken {
        var grant: Int
        /// When it was first used.
        var usedAt: UnixTime?
        var hasUsedOverlap = false
    }

    struct AccessToken {
        var grant: Int
        var expiresAt: UnixTime
        var isRevoked = false
    }

    struct Endpoint {
        var calls: [OpenIDCall] = []
        /// Faults for the next calls; then `standing`.
        var faults: [OpenIDFault] = []
        var standing: OpenIDFault?
        var isHeld = false
        var waiting = 0
    }

    var script: OpenIDScript
    /// The first one signs.
    var keys: [SigningKey]
    /// Published as well, and signing nothing.
    var retiredKeys: [SigningKey] = []
    /// Signs without being published; nil: the first of `keys` signs.
    var unpublishedKey: SigningKey?
    var session: Session?
    var lastSessionID: String?
    var grants: [Grant] = []
    var codes: [String: Code] = [:]
    var refreshTokens: [String: RefreshToken] = [:]
    var accessTokens: [String: AccessToken] = [:]
    var endpoints: [OpenIDEndpoint: Endpoint] = [:]
    /// Refresh tokens that came a second time and were punished.
    var reuses = 0
    /// `jti` of client assertions and DPoP proofs.
    var seen: Set<String> = []
    var dpopNonce: String

    var signingKey: SigningKey { self.unpublishedKey ?? self.keys[0] }
}
