package import AddressIntelligence
package import Cryptography
package import Vocabulary

/// The sender of a request, for sessions and audit records.
package struct Requester: Sendable {
    /// The client's address, after `trusted_proxies` has been applied.
    package var address: IPAddress
    package var userAgent: String?
    /// The certificate that the client presents in the TLS handshake, for rules. `nil` if it presents none.
    package var certificate: ClientCertificate?
    /// `host[:port]` of the `public_url` that received the request. A new web session is valid only there.
    package var authority: String
    package var requestID: String
    /// The distinct session tokens in the browser's cookies, in order of arrival.
    package var cookies: [Secret]
    /// The distinct values of the provider's own session cookie, in order of arrival.
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

    /// The requester without cookies, for requests that are not a browser's.
    package var withoutCookies: Requester {
        var requester = self
        (requester.cookies, requester.providerCookies) = ([], [])
        return requester
    }
}
