package import Settings
package import Vocabulary

/// A configured OpenID provider that has the issuer of a sign-in kit (Google, Apple). Users have the same id whether
/// they sign in with the browser or with the kit.
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

    /// Returns the provider's user for the kit's claims. The app's profile is ignored, as it is in the browser.
    ///
    /// - Throws: `signin.not_allowed`, or `social.refused` if the claims contain no usable user.
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

/// The OpenID providers that own the users of sign-in kits, for hosts that share their endpoints.
package struct SocialOwners: Sendable {
    private let owners: [String: SocialOwner]
    /// The realm of users whose issuer belongs to no such provider.
    private let others: Realm

    /// - Parameter owners: The owners by `iss`.
    package init(_ owners: [String: SocialOwner] = [:], others: Realm) {
        self.owners = owners
        self.others = others
    }

    /// Returns the user of a proof: of the provider with the proof's issuer, or otherwise a user in `others`.
    ///
    /// - Throws: The errors of `SocialOwner.user`.
    package func user(of proof: SocialProof) throws(NotDone) -> SocialUser {
        guard let stated = proof.stated, let owner = self.owners[stated.issuer] else {
            return SocialUser(proven: proof.user, realm: self.others, isOfProvider: false)
        }
        return SocialUser(proven: try owner.user(stated), realm: owner.realm, isOfProvider: true)
    }
}

/// A user who has signed in with a sign-in kit.
package struct SocialUser: Sendable, Hashable {
    package var proven: ProvenUser
    /// The realm of the user.
    package let realm: Realm
    /// True if a provider of the realm owns the user, and can end the user's sessions.
    package let isOfProvider: Bool

    package init(proven: ProvenUser, realm: Realm, isOfProvider: Bool) {
        self.proven = proven
        self.realm = realm
        self.isOfProvider = isOfProvider
    }
}
