internal import Endpoints
internal import Sessions
internal import SignIn
internal import Vocabulary

/// Reads the session cookies of a request and the requester that they identify.
struct RequestCookies: Sendable {
    /// The configured name, e.g. `__Host-sallyport`.
    let name: String

    func cookie(_ request: EndpointRequest) -> SessionCookie {
        SessionCookie(name: self.name, reach: request.cookieReach)
    }

    /// The `Set-Cookie` field that signs the browser in.
    func signingIn(
        _ token: Secret,
        _ session: Session,
        _ request: EndpointRequest,
        at now: UnixTime
    ) -> (name: String, value: String) {
        ("set-cookie", self.cookie(request).setting(token, maxAge: session.cookieAge(at: now)))
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
