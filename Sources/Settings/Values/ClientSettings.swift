package import Vocabulary

/// An OAuth client, with Auth0's `session_transfer` object.
///
/// ## Configuration keys (`clients[]`)
/// - `client_id` (token, required), `client_secret_file` (path): without one the client is public.
/// - `session_transfer.can_create_session_transfer_token` (boolean, default: false).
/// - `session_transfer.allowed_authentication_methods` (list of `cookie`, `query`; default: none).
/// - `session_transfer.enforce_device_binding` (`none` | `ip` | `asn` | `ip_dual_stack` | `ip_or_asn`,
///   default: ip).
/// - `session_transfer.binding_dry_run` (boolean, default: false): check and count, but do not enforce.
/// - `session_transfer.on_mismatch` (`burn` | `keep`, default: burn).
/// - `session_transfer.on_replay` (`refuse` | `revoke_derived`, default: refuse).
package struct ClientSettings: Sendable, Equatable {
    package var clientID: String
    package var clientSecret: Secret?
    package var canCreateTransferToken: Bool
    package var allowsCookie: Bool
    package var allowsQuery: Bool
    package var binding: BindingMode
    package var bindingDryRun: Bool
    package var burnsOnMismatch: Bool
    package var revokesDerivedOnReplay: Bool

    package init(clientID: String) {
        self.clientID = clientID
        self.clientSecret = nil
        self.canCreateTransferToken = false
        self.allowsCookie = false
        self.allowsQuery = false
        self.binding = .ip
        self.bindingDryRun = false
        self.burnsOnMismatch = true
        self.revokesDerivedOnReplay = false
    }
}

/// How users sign in.
package enum ProviderSettings: Sendable, Equatable {
    /// Users in the configuration, for demos and tests. Not served beyond loopback without its flag.
    case fixedUsers([UserSettings])

    /// The assurance level of this user's sign-in; nil when the user is unknown.
    package func assurance(of id: String) -> AssuranceLevel? {
        switch self {
        case .fixedUsers(let users): users.first { $0.id == id }?.aal
        }
    }
}

/// A user of the `static` provider.
package struct UserSettings: Sendable, Equatable {
    /// What the user types: an email address or a name.
    package var identifier: String
    package var id: String
    /// `scrypt:N:r:p:salt:hash` in base64url.
    package var passwordHash: Secret
    package var traits: JSONValue
    /// The level that signing in reaches.
    package var aal: AssuranceLevel

    package init(identifier: String, id: String, passwordHash: Secret, traits: JSONValue, aal: AssuranceLevel) {
        self.identifier = identifier
        self.id = id
        self.passwordHash = passwordHash
        self.traits = traits
        self.aal = aal
    }
}
