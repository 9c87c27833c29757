/// How a client authenticates to an authorization server (OpenID Connect Core 9).
package enum ClientAuthenticationMethod: String, Sendable, CaseIterable, SettingWord {
    case basic = "client_secret_basic"
    case post = "client_secret_post"
    /// The client signs a JWT with its private key (RFC 7523 2.2).
    case privateKeyJWT = "private_key_jwt"
    /// The client only sends its id.
    case none
}
