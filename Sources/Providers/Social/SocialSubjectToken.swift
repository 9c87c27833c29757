package import Settings

/// The artefact of a sign-in kit that a native app exchanges for a session, by Auth0's `subject_token_type` (RFC 8693
/// 2.1).
package enum SocialSubjectToken: String, Sendable, CaseIterable {
    /// An id_token of Google.
    case google = "http://auth0.com/oauth/token-type/google-id-token"
    /// An authorization code of Apple.
    case apple = "http://auth0.com/oauth/token-type/apple-authz-code"
    /// A session-info access token of Facebook.
    case facebook = "http://auth0.com/oauth/token-type/facebook-info-session-access-token"

    /// The social provider of the artefact.
    package var login: SocialLogin {
        switch self {
        case .google: .google
        case .apple: .apple
        case .facebook: .facebook
        }
    }

    /// Auth0's name of the social provider (`SocialLogin.connection`).
    package var connection: String { self.login.connection }
}

/// The providers whose sign-in kits give id_tokens to native apps, by Kratos's names for them.
package enum SocialIDToken: String, Sendable, CaseIterable {
    case google, apple
}
