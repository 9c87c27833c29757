package import Vocabulary

/// Sign-in with the tokens and codes that the sign-in kits of Google, Apple and Facebook give to a native app.
package struct NativeSocialSettings: Sendable, Equatable {
    package var google: GoogleSettings?
    package var apple: AppleSettings?
    package var facebook: FacebookSettings?

    package init(google: GoogleSettings? = nil, apple: AppleSettings? = nil, facebook: FacebookSettings? = nil) {
        self.google = google
        self.apple = apple
        self.facebook = facebook
    }

    /// Returns the `iss` values of a kit's tokens. Empty if the tokens have no `iss` or the kit is not configured.
    package func issuers(of login: SocialLogin) -> [String] {
        switch login {
        case .google: self.google?.issuers ?? []
        case .apple: self.apple.map { [$0.issuer] } ?? []
        case .facebook: []
        }
    }

    /// Whether a kit's `iss` is a provider's issuer. Google's `iss` may lack the scheme `https://`.
    static func isSame(_ issuer: String, _ provider: String) -> Bool {
        issuer.isExactly(provider) || "https://\(issuer)".isExactly(provider)
    }

    /// Returns Google's and Apple's kits with only the issuers in `issuers`; `nil` if no issuer remains.
    func keeping(_ issuers: Set<String>) -> NativeSocialSettings? {
        var kept = NativeSocialSettings(google: self.google, apple: self.apple)
        kept.google?.issuers.removeAll { !issuers.contains($0) }
        if kept.google?.issuers.isEmpty == true { kept.google = nil }
        if let apple = kept.apple, !issuers.contains(apple.issuer) { kept.apple = nil }
        return kept.google == nil && kept.apple == nil ? nil : kept
    }
}

/// Google's id_tokens.
package struct GoogleSettings: Sendable, Equatable {
    /// The spellings of `iss` that Google uses.
    package static let issuers = ["https://accounts.google.com", "accounts.google.com"]
    package static let keysURL = "https://www.googleapis.com/oauth2/v3/certs"

    package var audiences: [String]
    package var authorizedParties: [String] = []
    package var issuers = Self.issuers
    package var keysURL = Self.keysURL

    package init(audiences: [String]) {
        self.audiences = audiences
    }
}

/// Apple's authorization codes.
package struct AppleSettings: Sendable, Equatable {
    package static let tokenURL = "https://appleid.apple.com/auth/token"
    package static let keysURL = "https://appleid.apple.com/auth/keys"
    package static let issuer = "https://appleid.apple.com"

    package var bundleIDs: [String]
    package var teamID: String
    package var keyID: String
    /// The bytes of the PEM file.
    package var privateKey: Secret
    package var tokenURL = Self.tokenURL
    package var keysURL = Self.keysURL
    package var issuer = Self.issuer

    package init(bundleIDs: [String], teamID: String, keyID: String, privateKey: Secret) {
        self.bundleIDs = bundleIDs
        self.teamID = teamID
        self.keyID = keyID
        self.privateKey = privateKey
    }
}

/// Facebook's session-info access tokens.
package struct FacebookSettings: Sendable, Equatable {
    package static let debugURL = "https://graph.facebook.com/debug_token"

    package var appID: String
    package var appSecret: Secret
    package var debugURL = Self.debugURL

    package init(appID: String, appSecret: Secret) {
        self.appID = appID
        self.appSecret = appSecret
    }
}
