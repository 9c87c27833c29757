internal import Endpoints
internal import SignIn

/// Reads the session cookies of a request and the requester that they identify.
struct RequestCookies: Sendable {
    /// The configured name, e.g. `__Host-sallyport`.
    let name: String

    func cookie(_ request: EndpointRequest) -> SessionCookie {
        SessionCookie(name: self.name, isSecure: request.isSecure)
    }

    /// The requester, with the session cookies of the request.
    func requester(_ request: EndpointRequest) -> Requester {
        Requester(
            address: request.address,
            userAgent: request.field("user-agent"),
            authority: request.authority,
            requestID: request.requestID,
            cookies: request.credentials.sessionCookies,
            providerCookies: request.credentials.providerCookies
        )
    }
}
