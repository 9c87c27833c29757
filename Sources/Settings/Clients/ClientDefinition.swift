package import Vocabulary

/// A client as the management API stores it: Auth0's object as written, without defaults or secrets.
package struct ClientDefinition: Sendable, Equatable {
    /// The members of the object. Unknown members are kept and ignored.
    package var members: JSONValue
    /// The secret that replaces the secret in `client_secret_file`; `nil` if no secret was set at run time.
    package var secret: Secret?

    package init(members: JSONValue, secret: Secret? = nil) {
        self.members = members
        self.secret = secret
    }
}
