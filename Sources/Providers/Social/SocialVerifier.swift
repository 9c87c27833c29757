package import Sessions
package import Vocabulary

/// Says who the user is of whom a native app presents an artefact: an id_token, a code or a token, which the kit of a
/// social provider gave to the app.
package protocol SocialVerifier: Sendable {
    /// Verifies the artefact, with the provider where that is needed, and with its own time limit.
    ///
    /// - Returns: The user, once the artefact is marked as presented. Whoever accepts it a second time accepts a replay.
    /// - Throws: `social.refused`: the artefact is not good. `provider.unavailable`: it is not known whether it is good,
    ///   because the provider cannot be asked or does not answer as it should, or does not accept the gateway's own
    ///   credentials. The detail says which check failed, never a part of the artefact or of a secret.
    func verify(_ signIn: SocialSignIn) async throws(NotDone) -> SocialProof
}

/// A sign-in as the app asks for it.
package struct SocialSignIn: Sendable {
    package var artefact: Secret
    /// What the app says about the user.
    package var profile: SocialProfile?
    /// The app's bundle id, as the client is registered; nil: the client has none.
    package var bundleID: String?
    /// The nonce that must stand in the id_token; nil: none was sent.
    package var nonce: String?
    /// Whether an id_token with a nonce needs one that was sent. Kits that tell the app no nonce cannot send one.
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

/// What an artefact proves.
package struct SocialProof: Sendable, Hashable {
    package var user: ProvenUser
    package var artefact: SocialArtefact
    /// What the provider itself states of the user; nil: nothing but the id.
    package var stated: SocialClaims?

    package init(_ user: ProvenUser, _ artefact: SocialArtefact, stated: SocialClaims? = nil) {
        self.user = user
        self.artefact = artefact
        self.stated = stated
    }
}

/// What a social provider states of a user, without what the app says besides.
package struct SocialClaims: Sendable, Hashable {
    /// Whose word it is (`iss`).
    package var issuer: String
    /// The provider's id of the user.
    package var subject: String
    /// A JSON object.
    package var claims: JSONValue

    package init(issuer: String, subject: String, claims: JSONValue) {
        self.issuer = issuer
        self.subject = subject
        self.claims = claims
    }
}

/// By what a second presentation of the same artefact is recognised.
package struct SocialArtefact: Sendable, Hashable {
    package var id: OnceID
    /// When the provider made it; nil if the provider does not say, or accepts it only once itself.
    package var issuedAt: UnixTime?
    /// How long the artefact could be presented again, by the clocks of both sides.
    package var lifetime: Duration

    package init(id: OnceID, issuedAt: UnixTime?, lifetime: Duration) {
        self.id = id
        self.issuedAt = issuedAt
        self.lifetime = lifetime
    }

    /// Whether it may have been presented before the store began to remember.
    package func mayPrecede(_ memory: OnceMemory) -> Bool { self.issuedAt.map(memory.mayFollow) ?? false }
}
