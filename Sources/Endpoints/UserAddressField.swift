/// Auth0's field or parameter with the user's IP address. A client's server sends it to the token endpoint.
package enum UserAddressField {
    package static let name = "auth0-forwarded-for"
}
