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
        let claims = UserClaims([stated.claims])
        if let refusal = self.admission.refusal(claims) { throw NotDone(.signInNotAllowed, detail: refusal) }
        do throws(ClaimsError) {
            let authentication = try self.mapping.authentication(
                try ClaimsMapping.subject(.string(stated.subject)),
                claims,
                fallback: "oidc",
                now: self.clock.now()
            )
            return ProvenUser(authentication, ProviderEvidence(provider: self.issuer))
        } catch {
            throw NotDone(.socialRefused, detail: error.detail)
        }
    }
}

/// Whose users sign in by the kits of social providers on hosts that share their endpoints.
package struct SocialOwners: Sendable {
    private let owners: [SocialLogin: SocialOwner]
    /// Those of the kits that no provider of the hosts has.
    private let others: Realm

    package init(_ owners: [SocialLogin: SocialOwner] = [:], others: Realm) {
        self.owners = owners
        self.others = others
    }

    /// The provider whose users a kit signs in; nil: none, and the user is named by the kit.
    package subscript(login: SocialLogin) -> SocialOwner? { self.owners[login] }

    /// Whose users a kit signs in.
    package func realm(of login: SocialLogin) -> Realm { self.owners[login]?.realm ?? self.others }
}

extension SocialSubjectToken {
    /// The kit that gives it.
    package var login: SocialLogin {
        switch self {
        case .google: .google
        case .apple: .apple
        case .facebook: .facebook
        }
    }
}

extension SocialIDToken {
    /// The kit that gives it.
    package var login: SocialLogin {
        switch self {
        case .google: .google
        case .apple: .apple
        }
    }
}
