package import Sessions
import SignOn
import Vocabulary

/// What pages call an account.
package enum AccountText {
    /// The name by which the user knows the account. An address that nobody has verified could be that of another account;
    /// so could a name that its user has chosen, so the account's id stands beside it.
    package static func of(_ identity: Identity) -> String {
        let claims = UserInfoClaims.claims(of: identity, scopes: ["email", "profile"])
        let id = identity.id
        if let email = claims["email"]?.string, claims["email_verified"] != .bool(false) { return email }
        guard let name = claims["preferred_username"]?.string, name != id else { return id }
        return "\(name) (\(id))"
    }
}
