import Cryptography
package import Providers
import Sessions
package import Settings
package import Vocabulary

/// Links the users of several providers into one account if the providers vouch for one verified address
/// (`accounts.link`).
///
/// The account's id is a keyed hash of the address, so it is the same at each sign-in and on each gateway, and nothing
/// is stored. Without the key, nobody can derive the address from the id, or the id from the address.
package struct AccountLinks: Sendable {
    private let key: HMACKey
    /// The realms whose providers are trusted to verify addresses.
    private let trusted: Set<Realm>

    /// - Parameters:
    ///   - key: The key of the hash. Another key yields other accounts.
    ///   - trusted: The realms whose providers are trusted to verify addresses.
    package init(_ key: Secret, trusted: Set<Realm>) {
        self.key = HMACKey(HKDF(secret: key.bytes).bytes(for: "sallyport linked account 1", count: 32))
        self.trusted = trusted
    }

    /// Creates the links that the settings describe. `nil` if the settings link no accounts.
    package init?(_ settings: Settings) {
        guard let key = settings.accounts.linkKey else { return nil }
        self.init(key, trusted: Set(settings.providers.filter(\.trustsEmail).map { Realm($0.name) }))
    }

    /// Returns the user with the id of the linked account if a trusted provider vouches for an address. Otherwise,
    /// returns the user unchanged.
    func linked(_ identity: Identity, of realm: Realm) -> Identity {
        guard self.trusted.contains(realm), let id = self.id(of: identity) else { return identity }
        return identity.inRealm(realm).linked(to: id)
    }

    /// Returns the authentication with the id of the user's linked account, if the user is linked.
    package func linked(_ authentication: Authentication, of realm: Realm) -> Authentication {
        var linked = authentication
        linked.identity = self.linked(authentication.identity, of: realm)
        return linked
    }

    /// Returns the id of the account for the user's verified address. `nil` if the user has no verified address.
    private func id(of identity: Identity) -> String? {
        let verified = identity.traitsDocument["email_verified"]
        // Some providers write the claim as a text.
        guard verified == .bool(true) || verified == .string("true"),
            let address = identity.traitsDocument["email"]?.string.flatMap(EmailAddress.init)
        else { return nil }
        let bytes = address.local + [UInt8(ascii: "@")] + address.domain
        return AccountID.id(Base64URL.encode(Array(self.key.sha256(bytes).bytes.prefix(24))))
    }
}
