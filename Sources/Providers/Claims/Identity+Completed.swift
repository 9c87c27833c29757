package import Sessions
import Vocabulary

extension Identity {
    /// Returns the user with missing traits copied from `former`. `email_verified` is copied only with an unchanged
    /// `email`.
    package func completed(by former: Identity) -> Identity {
        guard case .object(let now) = self.traits, case .object(var traits) = former.traits else { return self }
        if let email = now["email"], email != traits["email"] { traits["email_verified"] = nil }
        traits.merge(now) { $1 }
        return Identity(
            id: self.id,
            schemaID: self.schemaID,
            traits: .object(traits),
            metadataPublic: self.metadataPublic
        )
    }
}
