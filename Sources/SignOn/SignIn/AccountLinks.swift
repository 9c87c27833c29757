import Cryptography
package import Providers
import Sessions
package import Settings
package import Vocabulary

/// Makes one account of the users of several providers that vouch for the same verified address (`accounts.link`).
///
/// The account's id is a keyed hash of the address: it is the same at each sign-in and on each gateway, nothing is stored for
/// it, and nobody without the key learns the address from it, or the id from the address.
package struct AccountLinks: Sendable {
    private let key: HMACKey
    /// Whose word on an address counts.
    private let trusted: Set<Realm>

    /// - Parameters:
    ///   - key: Another key gives other accounts.
    ///   - trusted: The realms of the providers whose word on an address counts.
    package init(_ key: Secret, trusted: Set<Realm>) {
        self.key = HMACKey(HKDF(secret: key.bytes).bytes(for: "sallyport linked account 1", count: 32))
        self.trusted = trusted
    }

    /// nil where nothing is linked.
    package init?(_ settings: Settings) {
        guard let key = settings.accounts.linkKey else { return nil }
        self.init(key, trusted: Set(settings.providers.filter(\.trustsEmail).map { Realm($0.name) }))
    }

    /// The user, as an account if the provider is trusted and vouches for an address; else as before.
    func linked(_ identity: Identity, of realm: Realm) -> Identity {
        guard self.trusted.contains(realm), let id = self.id(of: identity) else { return identity }
        return identity.inRealm(realm).linked(to: id)
    }

    /// The same for a user who has just authenticated.
    package func linked(_ authentication: Authentication, of realm: Realm) -> Authentication {
        var linked = authentication
        linked.identity = self.linked(authentication.identity, of: realm)
        return linked
    }

    /// The id of the account with the verified address of these traits; nil: they have none.
    private func id(of identity: Identity) -> String? {
        let verified = identity.traitsDocument["email_verified"]
        // Some providers state the claim as a text.
        guard verified == .bool(true) || verified == .string("true"),
            let address = identity.traitsDocument["email"]?.string.flatMap(EmailAddress.init)
        else { return nil }
        let bytes = address.local + [UInt8(ascii: "@")] + address.domain
        return AccountID.id(Base64URL.encode(Array(self.key.sha256(bytes).bytes.prefix(24))))
    }
}
