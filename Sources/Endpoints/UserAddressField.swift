/// How the server of a client tells the token endpoint the address of its user, as Auth0 names it: in a field, or in a
/// parameter of the body with the same name.
package enum UserAddressField {
    package static let name = "auth0-forwarded-for"
}
