/// What native apps exchange for a session: Auth0's types of subject tokens for native social sign-in (RFC 8693 2.1,
/// `subject_token_type`).
package enum SocialSubjectToken: String, Sendable, CaseIterable {
    /// An id_token of Google.
    case google = "http://auth0.com/oauth/token-type/google-id-token"
    /// An authorization code of Apple.
    case apple = "http://auth0.com/oauth/token-type/apple-authz-code"
    /// A session-info access token of Facebook.
    case facebook = "http://auth0.com/oauth/token-type/facebook-info-session-access-token"

    /// The provider's name, as Auth0 spells it. It begins the subject of every user: `google-oauth2|117…`.
    package var connection: String {
        switch self {
        case .google: "google-oauth2"
        case .apple: "apple"
        case .facebook: "facebook"
        }
    }
}

/// The providers whose kits give id_tokens to native apps, by the names under which Kratos knows them.
package enum SocialIDToken: String, Sendable, CaseIterable {
    case google, apple
}
