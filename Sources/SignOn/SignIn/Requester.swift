package import AddressIntelligence
package import Cryptography
package import Vocabulary

/// The client that asks for a session to begin or to end, as far as sessions and their records depend on it.
package struct Requester: Sendable {
    /// The client's address after `trusted_proxies`.
    package var address: IPAddress
    package var userAgent: String?
    /// What the client has proven in the TLS handshake, for rules; nil: nothing.
    package var certificate: ClientCertificate?
    /// `host[:port]` of the `public_url` under which the request arrived: web sessions are bound to it.
    package var authority: String
    package var requestID: String
    /// The different session tokens in a browser's cookies, in order of arrival. The reader of the request limits their
    /// number.
    package var cookies: [Secret]
    /// The same of the provider's own session cookie.
    package var providerCookies: [Secret]

    package init(
        address: IPAddress,
        userAgent: String?,
        certificate: ClientCertificate? = nil,
        authority: String,
        requestID: String,
        cookies: [Secret] = [],
        providerCookies: [Secret] = []
    ) {
        self.address = address
        self.userAgent = userAgent
        self.certificate = certificate
        self.authority = authority
        self.requestID = requestID
        self.cookies = cookies
        self.providerCookies = providerCookies
    }

    /// The same without the cookies, for what no browser's session is concerned with.
    package var withoutCookies: Requester {
        var requester = self
        (requester.cookies, requester.providerCookies) = ([], [])
        return requester
    }
}
