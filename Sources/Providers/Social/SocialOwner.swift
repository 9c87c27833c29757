package import Settings
package import Vocabulary

/// A configured provider with the issuer of a social provider. Its users also sign in with the social provider's kit.
/// An app sees one user, whether the user signs in with the browser or with the kit.
package struct SocialOwner: Sendable {
    package let realm: Realm
    private let issuer: String
    private let mapping: ClaimsMapping
    private let admission: Admission
    private let clock: Clock

    package init(_ settings: OpenIDSettings, realm: Realm, clock: Clock) {
        self.realm = realm
        self.issuer = settings.issuer
        self.mapping = ClaimsMapping(settings.claims, names: settings.names)
        self.admission = Admission(settings.allow, settings.claims)
        self.clock = clock
    }

    /// Returns the provider's user that the kit's artefact describes. The app's profile is ignored, as in the browser.
    ///
    /// - Throws: `signin.not_allowed`, or `social.refused` for claims that do not describe a user.
    package func user(_ stated: SocialClaims) throws(NotDone) -> ProvenUser {
        let subject: String
        do throws(ClaimsError) {
            subject = try ClaimsMapping.subject(.string(stated.subject))
        } catch {
            throw NotDone(.socialRefused, detail: error.detail)
        }
        let authentication = try self.admission.user(
            subject,
            UserClaims([stated.claims]),
            by: self.mapping,
            fallback: "oidc",
            now: self.clock.now(),
            unusable: .socialRefused
        )
        return ProvenUser(authentication, ProviderEvidence(provider: self.issuer))
    }
}

/// The owners of users who sign in with sign-in kits, on hosts that share their endpoints.
package struct SocialOwners: Sendable {
    private let owners: [String: SocialOwner]
    /// The realm of users whose issuer belongs to no provider of the hosts.
    private let others: Realm

    /// - Parameter owners: The owners by issuer (`iss`).
    package init(_ owners: [String: SocialOwner] = [:], others: Realm) {
        self.owners = owners
        self.others = others
    }

    /// Returns the user of a proof, in the realm of the provider with the proof's issuer, otherwise in `others`.
    ///
    /// - Throws: The errors of `SocialOwner.user`.
    package func user(of proof: SocialProof) throws(NotDone) -> SocialUser {
        guard let stated = proof.stated, let owner = self.owners[stated.issuer] else {
            return SocialUser(proven: proof.user, realm: self.others, isOfProvider: false)
        }
        return SocialUser(proven: try owner.user(stated), realm: owner.realm, isOfProvider: true)
    }
}

/// A user whom a social provider's sign-in kit has signed in.
package struct SocialUser: Sendable, Hashable {
    package var proven: ProvenUser
    /// The realm of the user.
    package let realm: Realm
    /// True if a provider of the realm issued the proof, and can end the user's sessions.
    package let isOfProvider: Bool

    package init(proven: ProvenUser, realm: Realm, isOfProvider: Bool) {
        self.proven = proven
        self.realm = realm
        self.isOfProvider = isOfProvider
    }
}
