internal import Endpoints
internal import SignIn

/// The session cookie of a request's host, and who asks by it.
struct RequestCookies: Sendable {
    /// The configured name, e.g. `__Host-sallyport`.
    let name: String

    func cookie(_ request: EndpointRequest) -> SessionCookie {
        SessionCookie(name: self.name, isSecure: request.isSecure)
    }

    /// Who asks, with the session cookies that the request presents.
    func requester(_ request: EndpointRequest) -> Requester {
        Requester(
            address: request.address,
            userAgent: request.field("user-agent"),
            authority: request.authority,
            requestID: request.requestID,
            cookies: request.credentials.sessionCookies
        )
    }
}
