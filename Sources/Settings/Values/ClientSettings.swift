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
