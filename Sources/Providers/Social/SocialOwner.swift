package import Settings
package import Vocabulary

/// A provider of a host whose users sign in by the kit of a social provider as well: it has the issuer of that kit. An app
/// sees the same user then, whether the user comes through the browser or through the kit.
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

    /// The provider's user of whom the kit's artefact says this. What the app says of the user does not count, because it
    /// does not count in the browser either.
    ///
    /// - Throws: `signin.not_allowed`; `social.refused` for claims that make no user.
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

/// Whose users sign in by the kits of social providers on hosts that share their endpoints.
package struct SocialOwners: Sendable {
    private let owners: [String: SocialOwner]
    /// Those of the issuers that no provider of the hosts has.
    private let others: Realm

    /// - Parameter owners: Those of the kits' issuers, by `iss`.
    package init(_ owners: [String: SocialOwner] = [:], others: Realm) {
        self.owners = owners
        self.others = others
    }

    /// The user whom a proof names, and whose user it is: the provider's that has the issuer, else one whom the kit names.
    ///
    /// - Throws: As `SocialOwner.user`.
    package func user(of proof: SocialProof) throws(NotDone) -> SocialUser {
        guard let stated = proof.stated, let owner = self.owners[stated.issuer] else {
            return SocialUser(proven: proof.user, realm: self.others, isOfProvider: false)
        }
        return SocialUser(proven: try owner.user(stated), realm: owner.realm, isOfProvider: true)
    }
}

/// A user whom a kit of a social provider has signed in.
package struct SocialUser: Sendable, Hashable {
    package var proven: ProvenUser
    /// Whose user it is.
    package let realm: Realm
    /// Whether a provider of that realm has issued the proof, and ends its user's sessions.
    package let isOfProvider: Bool

    package init(proven: ProvenUser, realm: Realm, isOfProvider: Bool) {
        self.proven = proven
        self.realm = realm
        self.isOfProvider = isOfProvider
    }
}
