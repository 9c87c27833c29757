package import Sessions
import SignOn
import Vocabulary

/// The text that pages show for an account.
package enum AccountText {
    /// Returns the name that the user knows the account by. A name that the user chose is followed by the account's id,
    /// and an unverified address is not shown. Such a name or address could be another account's.
    package static func of(_ identity: Identity) -> String {
        let claims = UserInfoClaims.claims(of: identity, scopes: ["email", "profile"])
        let id = identity.id
        if let email = claims["email"]?.string, claims["email_verified"] != .bool(false) { return email }
        guard let name = claims["preferred_username"]?.string, name != id else { return id }
        return "\(name) (\(id))"
    }
}
