package import Vocabulary

/// A client that was created or changed with the management API.
package struct ClientDefinition: Sendable, Equatable {
    /// Auth0's client object as written, without defaults and secrets. Unknown members are kept, but have no effect.
    package var members: JSONValue
    /// The secret that replaces the secret in `client_secret_file`; `nil` if no secret was set at run time.
    package var secret: Secret?

    package init(members: JSONValue, secret: Secret? = nil) {
        self.members = members
        self.secret = secret
    }
}
