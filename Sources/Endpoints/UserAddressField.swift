/// Auth0's header field or body parameter in which a client's server sends its user's IP address to the token endpoint.
package enum UserAddressField {
    package static let name = "auth0-forwarded-for"
}
