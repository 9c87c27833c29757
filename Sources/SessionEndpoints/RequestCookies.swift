internal import Endpoints
internal import SignIn
internal import Vocabulary

/// The session cookie of a request's host, and who asks by it.
struct RequestCookies: Sendable {
    /// More cookies of our name than a browser could come to hold are not worth a look-up each.
    private static let most = 8

    /// The configured name, e.g. `__Host-sallyport`.
    let name: String

    func cookie(_ request: EndpointRequest) -> SessionCookie {
        SessionCookie(name: self.name, isSecure: request.isSecure)
    }

    /// Who asks, with the different values of our cookie in the order in which they came.
    func requester(_ request: EndpointRequest) -> Requester {
        Requester(
            address: request.address,
            userAgent: request.field("user-agent"),
            authority: request.authority,
            requestID: request.requestID,
            cookies: self.values(request)
        )
    }

    private func values(_ request: EndpointRequest) -> [Secret] {
        var values: [Secret] = []
        for text in CookieField.values(of: self.cookie(request).name, in: request.fields) {
            let value = Secret(text)
            if values.count < Self.most && !values.contains(value) { values.append(value) }
        }
        return values
    }
}
