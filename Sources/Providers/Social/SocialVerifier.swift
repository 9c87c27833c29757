package import Sessions
package import Vocabulary

/// Identifies the user of an artefact that a native app presents: an id_token, a code or a token from a sign-in kit.
package protocol SocialVerifier: Sendable {
    /// Verifies the artefact, if needed with a call to the provider. The call has its own time limit.
    ///
    /// - Returns: The user and how to mark the artefact as presented. Accepting it unmarked would allow a replay.
    /// - Throws: `social.refused` if the artefact is not valid. `provider.unavailable` if that is unknown: the provider
    ///   cannot be reached, does not answer properly or rejects the gateway's own credentials. The detail says which
    ///   check failed, never a part of the artefact or of a secret.
    func verify(_ signIn: SocialSignIn) async throws(NotDone) -> SocialProof
}

/// A sign-in that an app requests.
package struct SocialSignIn: Sendable {
    package var artefact: Secret
    /// The app's statement about the user. `nil` if the app sent no profile.
    package var profile: SocialProfile?
    /// The app's bundle id in the client's registration. `nil` if the client has none.
    package var bundleID: String?
    /// The nonce that the id_token must have. `nil` if the app sent none.
    package var nonce: String?
    /// True to refuse an id_token with a nonce if the app sent no nonce. Some kits hide the nonce from the app.
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

/// The user that an artefact proves.
package struct SocialProof: Sendable, Hashable {
    package var user: ProvenUser
    package var artefact: SocialArtefact
    /// The provider's own claims about the user. `nil` if the provider states only the id.
    package var stated: SocialClaims?

    package init(_ user: ProvenUser, _ artefact: SocialArtefact, stated: SocialClaims? = nil) {
        self.user = user
        self.artefact = artefact
        self.stated = stated
    }
}

/// A social provider's claims about a user, without what the app says.
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

/// The data by which a replay of an artefact is recognised.
package struct SocialArtefact: Sendable, Hashable {
    package var id: OnceID
    /// When the provider made the artefact. `nil` if the provider does not say, or accepts the artefact only once.
    package var issuedAt: UnixTime?
    /// How long the artefact could be presented again, including the leeway for the clocks of both sides.
    package var lifetime: Duration

    package init(id: OnceID, issuedAt: UnixTime?, lifetime: Duration) {
        self.id = id
        self.issuedAt = issuedAt
        self.lifetime = lifetime
    }

    /// Returns whether the artefact may have been presented before the store began to remember artefacts.
    package func mayPrecede(_ memory: OnceMemory) -> Bool { self.issuedAt.map(memory.mayFollow) ?? false }
}
