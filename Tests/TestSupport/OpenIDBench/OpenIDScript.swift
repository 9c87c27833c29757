package import JOSE
package import Vocabulary

/// What an OpenID provider of a test does. Every property may be changed while it serves.
package struct OpenIDScript: Sendable {
    /// A registered client.
    package struct Client: Sendable {
        package var id: String
        /// nil: a public client.
        package var secret: String?
        /// Its keys for `private_key_jwt` (RFC 7523); nil: it authenticates with its secret.
        package var keys: JWKSet?
        /// Empty: every redirect URI is accepted.
        package var redirectURIs: [String]
        /// Where it may send browsers after a logout. Empty: every URI is accepted.
        package var logoutURIs: [String]

        package init(
            id: String,
            secret: String? = nil,
            keys: JWKSet? = nil,
            redirectURIs: [String] = [],
            logoutURIs: [String] = []
        ) {
            self.id = id
            self.secret = secret
            self.keys = keys
            self.redirectURIs = redirectURIs
            self.logoutURIs = logoutURIs
        }
    }

    /// A user, who is signed in at once.
    package struct User: Sendable, Equatable {
        /// `sub`
        package var subject: String
        /// More claims of the id_token.
        package var claims: [String: JSONValue]
        /// More claims of the userinfo endpoint.
        package var userinfo: [String: JSONValue]

        package init(
            _ subject: String,
            claims: [String: JSONValue] = [:],
            userinfo: [String: JSONValue] = [:]
        ) {
            self.subject = subject
            self.claims = claims
            self.userinfo = userinfo
        }
    }

    package enum AccessTokenForm: Sendable { case opaque, jwt }

    package enum Refresh: Sendable, Equatable {
        /// No refresh tokens.
        case none
        /// A refresh token stays the same.
        case kept
        /// Each use gives a new refresh token. Its predecessor is accepted once more within the overlap; any other second
        /// use ends the grant (RFC 9700 4.14.2).
        case rotating(overlap: Duration)
    }

    package enum DPoP: Sendable {
        /// Tokens are bound to a key if the client proves one.
        case accepted
        /// Token requests without a proof are refused.
        case required
        /// Proofs must also hold the provider's current nonce (RFC 9449 8).
        case requiredWithNonce
    }

    package var clients: [Client]
    /// Who signs in, unless `login_hint` is in `users`.
    package var user: User
    package var users: [String: User] = [:]
    /// How the user authenticated; nil: the claim is missing.
    package var methods: [String]? = ["pwd"]
    /// `acr` of a sign-in that asks for none of `levels`; nil: the claim is missing.
    package var level: String?
    /// The values of `acr_values` that a user can reach.
    package var levels: Set<String> = []

    /// Whether it is an OpenID provider; else one of plain OAuth 2.0, without discovery and id_token.
    package var isOpenID = true
    package var accessTokenForm = AccessTokenForm.opaque
    package var accessTokenLifetime = Duration.seconds(300)
    /// `aud` of access tokens.
    package var accessTokenAudience: [String] = ["api"]
    package var refresh = Refresh.rotating(overlap: .zero)
    package var dpop = DPoP.accepted
    package var requiresPKCE = true
    /// Whether the callback names the issuer, and metadata say so (RFC 9207).
    package var namesIssuer = true
    /// The error with which the authorization endpoint sends the browser back; nil: none.
    package var authorizationError: String?
    /// The member `user` of an answer that is posted, as Apple's first one has it; nil: none.
    package var postedUser: String?
    /// Whether a sign-in after a logout has the `sid` of the session before it.
    package var keepsSessionID = false
    /// The endpoints that metadata do not name and that answer 404.
    package var missing: Set<OpenIDEndpoint> = []

    /// Changes a document before it is signed or sent.
    package typealias Alteration = @Sendable (inout [String: JSONValue]) -> Void

    package var alterMetadata: Alteration?
    package var alterKeySet: Alteration?
    package var alterIDToken: Alteration?
    package var alterIDTokenHeader: Alteration?
    package var alterAccessToken: Alteration?
    package var alterTokenAnswer: Alteration?
    package var alterUserinfo: Alteration?
    package var alterIntrospection: Alteration?

    package init(
        clients: [Client] = [Client(id: "gateway", secret: "a secret of the client gateway")],
        user: User = User(
            "user-1",
            claims: ["email": "ada@example.com", "email_verified": true, "name": "Ada"]
        )
    ) {
        self.clients = clients
        self.user = user
    }
}

/// The endpoints of the provider.
package enum OpenIDEndpoint: String, CaseIterable, Sendable {
    case discovery = "/.well-known/openid-configuration"
    case keys = "/jwks.json"
    case authorization = "/authorize"
    case token = "/token"
    case userinfo = "/userinfo"
    case introspection = "/introspect"
    case revocation = "/revoke"
    case logout = "/logout"
}

/// What an endpoint does instead of its job.
package enum OpenIDFault: Sendable {
    /// Answers with this status and body.
    case answer(status: Int, body: String = "", fields: [(name: String, value: String)] = [])
    /// Closes the connection without an answer; the request has no effect.
    case closes
    /// Does its job, and closes the connection without an answer.
    case closesAfterwards
    /// Does its job after this time.
    case delays(Duration)
}
