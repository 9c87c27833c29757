package import Vocabulary

/// A client as the management API keeps it: Auth0's object as it was written, without its defaults and secrets.
package struct ClientDefinition: Sendable, Equatable {
    /// The object's members; those that no key has are kept and mean nothing.
    package var members: JSONValue
    /// The client's secret in place of that in `client_secret_file`; nil: there is none but that.
    package var secret: Secret?

    package init(members: JSONValue, secret: Secret? = nil) {
        self.members = members
        self.secret = secret
    }
}
