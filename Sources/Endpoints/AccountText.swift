package import Sessions
import SignOn
import Vocabulary

/// The text that pages show for an account.
package enum AccountText {
    /// Returns the name that the user knows the account by. An unverified address, or a name that the user chose, could
    /// be another account's. The account's id therefore follows a name, and an unverified address is not shown.
    package static func of(_ identity: Identity) -> String {
        let claims = UserInfoClaims.claims(of: identity, scopes: ["email", "profile"])
        let id = identity.id
        if let email = claims["email"]?.string, claims["email_verified"] != .bool(false) { return email }
        guard let name = claims["preferred_username"]?.string, name != id else { return id }
        return "\(name) (\(id))"
    }
}
