/// The name of the field, or body parameter, in which a client's server sends the token endpoint its user's address.
/// The name is Auth0's.
package enum UserAddressField {
    package static let name = "auth0-forwarded-for"
}
