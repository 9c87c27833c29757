import Cryptography
package import Providers
import Sessions
package import Settings
package import Vocabulary

/// Links users of several providers to one account if they have the same verified email address (`accounts.link`).
///
/// The account's id is a keyed hash of the address. Every gateway computes the same id, and nothing is stored.
package struct AccountLinks: Sendable {
    private let key: HMACKey
    /// The realms whose providers are trusted to verify addresses.
    private let trusted: Set<Realm>

    /// - Parameters:
    ///   - key: The key of the hash. With another key, the accounts have other ids.
    ///   - trusted: The realms whose providers are trusted to verify addresses.
    package init(_ key: Secret, trusted: Set<Realm>) {
        self.key = HMACKey(HKDF(secret: key.bytes).bytes(for: "sallyport linked account 1", count: 32))
        self.trusted = trusted
    }

    /// Creates the links from the settings. `nil` if accounts are not linked.
    package init?(_ settings: Settings) {
        guard let key = settings.accounts.linkKey else { return nil }
        self.init(key, trusted: Set(settings.providers.filter(\.trustsEmail).map { Realm($0.name) }))
    }

    /// Returns the user with the id of the linked account, or unchanged if the realm is not trusted or the address is
    /// not verified.
    func linked(_ identity: Identity, of realm: Realm) -> Identity {
        guard self.trusted.contains(realm), let id = self.id(of: identity) else { return identity }
        return identity.inRealm(realm).linked(to: id)
    }

    /// Returns the authentication with the id of the linked account, or unchanged if the user is not linked.
    package func linked(_ authentication: Authentication, of realm: Realm) -> Authentication {
        var linked = authentication
        linked.identity = self.linked(authentication.identity, of: realm)
        return linked
    }

    /// Returns the account's id for the user's verified address. `nil` if the user has none.
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
