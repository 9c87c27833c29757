package import Sessions
import SignOn
import Vocabulary

/// The text that pages show for an account.
package enum AccountText {
    /// Returns the email address unless it is unverified, otherwise the account's id, after the user name if there is
    /// one. Users can choose their names, and an unverified address can belong to someone else.
    package static func of(_ identity: Identity) -> String {
        let claims = UserInfoClaims.claims(of: identity, scopes: ["email", "profile"])
        let id = identity.id
        if let email = claims["email"]?.string, claims["email_verified"] != .bool(false) { return email }
        guard let name = claims["preferred_username"]?.string, name != id else { return id }
        return "\(name) (\(id))"
    }
}
