import Sessions
package import Vocabulary

/// How the users that a provider names by SCIM are found among the users who sign in (`admin.scim`).
package struct ProvisioningMatch: Sendable, Hashable {
    /// The realm of the provider.
    package let realm: Realm
    /// The name of the provider in its sessions. `nil` if the provider has none.
    package let provider: String?
    /// The trait that equals SCIM's `externalId`. `nil` if `externalId` is the provider's own id of the user.
    package let trait: String?

    package init(realm: Realm, provider: String?, trait: String?) {
        self.realm = realm
        self.provider = provider
        self.trait = trait
    }

    /// Returns the name under which the user is blocked by the trait. `nil` without a trait, and for users who do not
    /// have it or belong to another provider.
    func name(of user: Identity) -> String? {
        guard user.realm == self.realm, let trait, let value = user.traitsDocument[trait]?.string else { return nil }
        return self.name(of: value)
    }

    /// Returns the name under which the user with this `externalId` is blocked by the trait. `nil` without a trait. No
    /// user's name in the store and no id of a provider's session equals it, because of its zero bytes.
    func name(of externalID: String) -> String? {
        self.trait.map { "\u{0}trait\u{0}\(self.realm.name)\u{0}\($0)\u{0}\(externalID)" }
    }
}
