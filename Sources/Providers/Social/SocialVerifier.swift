package import Sessions
package import Vocabulary

/// Verifies what a sign-in kit gave to a native app: an id_token, a code or a token (the artefact).
package protocol SocialVerifier: Sendable {
    /// Verifies the artefact. May call the provider, within a time limit.
    ///
    /// - Returns: The user, and an id of the artefact. The caller must record the id, to reject a replay.
    /// - Throws: `social.refused` if the artefact is not valid. `provider.unavailable` if the provider cannot be
    ///   reached, gives no proper answer or rejects the gateway's credentials. The detail names the failed check, and
    ///   contains no secret.
    func verify(_ signIn: SocialSignIn) async throws(NotDone) -> SocialProof
}

/// A sign-in with an artefact.
package struct SocialSignIn: Sendable {
    package var artefact: Secret
    /// The profile that the app sent; `nil` if there is none.
    package var profile: SocialProfile?
    /// The bundle id in the client's registration; `nil` if there is none.
    package var bundleID: String?
    /// The nonce that the app sent and the id_token must have; `nil` if the app sent none.
    package var nonce: String?
    /// True to reject an id_token with a nonce if the app sent none. Some kits hide their nonce from the app.
    package var isNonceCompared: Bool

    package init(
        artefact: Secret,
        profile: SocialProfile? = nil,
        bundleID: String? = nil,
        nonce: String? = nil,
        isNonceCompared: Bool = false
    ) {
        self.artefact = artefact
        self.profile = profile
        self.bundleID = bundleID
        self.nonce = nonce
        self.isNonceCompared = isNonceCompared
    }
}

/// The user of a verified artefact.
package struct SocialProof: Sendable, Hashable {
    package var user: ProvenUser
    package var artefact: SocialArtefact
    /// The provider's own claims about the user; `nil` if it reports only the id.
    package var stated: SocialClaims?

    package init(_ user: ProvenUser, _ artefact: SocialArtefact, stated: SocialClaims? = nil) {
        self.user = user
        self.artefact = artefact
        self.stated = stated
    }
}

/// A social provider's claims about a user, without the app's profile.
package struct SocialClaims: Sendable, Hashable {
    /// The issuer of the claims (`iss`).
    package var issuer: String
    /// The provider's id of the user.
    package var subject: String
    /// The claims as a JSON object.
    package var claims: JSONValue

    package init(issuer: String, subject: String, claims: JSONValue) {
        self.issuer = issuer
        self.subject = subject
        self.claims = claims
    }
}

/// The id of an artefact, and how long a replay of it must be recognised.
package struct SocialArtefact: Sendable, Hashable {
    package var id: OnceID
    /// The issue time of the artefact; `nil` if the provider does not report it, or redeems the artefact only once.
    package var issuedAt: UnixTime?
    /// The time for which the artefact can be presented, including the leeway for the clocks.
    package var lifetime: Duration

    package init(id: OnceID, issuedAt: UnixTime?, lifetime: Duration) {
        self.id = id
        self.issuedAt = issuedAt
        self.lifetime = lifetime
    }

    /// Returns whether the artefact may have been presented before the store began to remember ids.
    package func mayPredate(_ memory: OnceMemory) -> Bool { self.issuedAt.map(memory.mayFollow) ?? false }
}
