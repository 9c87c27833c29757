internal import Endpoints
internal import Settings
internal import SignIn
internal import Vocabulary

/// Reads the session cookies of a request and the requester that they identify.
struct RequestCookies: Sendable {
    /// The configured name, e.g. `__Host-sallyport`.
    let name: String

    func cookie(_ request: EndpointRequest) -> SessionCookie {
        SessionCookie(name: self.name, isSecure: request.isSecure)
    }

    /// The fields of the answer to a browser that has signed in.
    ///
    /// - Parameters:
    ///   - token: Its session's.
    ///   - mark: By which it shows its account later; nil if it must not.
    func signedIn(
        _ token: Secret,
        marking mark: Secret?,
        _ request: EndpointRequest
    ) -> [(name: String, value: String)] {
        let name = "\(self.name)-\(SessionSettings.accountCookieLabel)"
        let account = mark.map { HandoffCookies.account(named: name, isSecure: request.isSecure).setting($0) }
        return ([self.cookie(request).setting(token)] + [account].compactMap(\.self)).map { ("set-cookie", $0) }
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
