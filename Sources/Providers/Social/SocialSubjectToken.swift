package import Settings

/// The artefact that a native app exchanges for a session: Auth0's types of subject tokens for native social sign-in
/// (RFC 8693 2.1, `subject_token_type`).
package enum SocialSubjectToken: String, Sendable, CaseIterable {
    /// An id_token of Google.
    case google = "http://auth0.com/oauth/token-type/google-id-token"
    /// An authorization code of Apple.
    case apple = "http://auth0.com/oauth/token-type/apple-authz-code"
    /// A session-info access token of Facebook.
    case facebook = "http://auth0.com/oauth/token-type/facebook-info-session-access-token"

    /// The social provider whose sign-in kit gives the artefact.
    package var login: SocialLogin {
        switch self {
        case .google: .google
        case .apple: .apple
        case .facebook: .facebook
        }
    }

    /// See `SocialLogin.connection`.
    package var connection: String { self.login.connection }
}

/// The providers whose sign-in kits give id_tokens to native apps, by their names in Kratos.
package enum SocialIDToken: String, Sendable, CaseIterable {
    case google, apple
}
