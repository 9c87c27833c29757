import Cryptography
import Observability
import Vocabulary

/// The facts about a client from its TLS handshake and its PROXY header. Made once per connection.
package final class ClientFacts: Sendable {
    /// The members about the client in each access line of the connection.
    let logged: AccessMembers
    /// The beginning of all request ids of the connection, unless a request has a trusted `X-Request-Id`: the proxy's
    /// id of the connection. `nil` if there is no usable id.
    let requestIDs: [UInt8]?

    /// The facts from the TLS handshake. `nil` if the client does not use TLS.
    let tls: TLSFacts?

    /// The client's certificate, verified in the handshake. `nil` if the client has shown no certificate.
    var certificate: ClientCertificate? { self.tls?.certificate }

    /// - Parameter proxy: The PROXY header that the peer has sent.
    package convenience init(proxy: ProxyPreamble) {
        self.init(proxy: proxy, tls: nil)
    }

    /// - Parameters:
    ///   - proxy: The PROXY header that the peer has sent. `nil` if there is no header.
    ///   - tls: The facts from the handshake. `nil` if the client does not use TLS.
    init(proxy: ProxyPreamble?, tls: TLSFacts?) {
        var logged = AccessMembers()
        tls?.add(to: &logged)
        self.tls = tls
        guard let proxy else {
            self.logged = logged
            self.requestIDs = nil
            return
        }
        logged.add("proxy.version", Int64(proxy.version))
        let values = proxy.values
        if let name = values.authority { logged.add("proxy.authority", name) }
        if values.isTLS { logged.add("proxy.tls", true) }
        if let name = values.awsEndpoint { logged.add("proxy.aws_vpce", name) }
        // The number may exceed the range of JSON numbers (RFC 8259 6).
        if let number = values.googleConnection { logged.add("proxy.gcp_psc", "\(number)") }
        if let number = values.azureLink { logged.add("proxy.azure_link", Int64(number)) }
        self.logged = logged
        self.requestIDs = values.uniqueID.flatMap { RequestID.isFit($0) ? $0 : nil }
    }

    /// Returns whether the client's certificate has expired since the handshake.
    func hasExpired(at now: UnixTime) -> Bool { self.certificate.map { $0.notAfter <= now } ?? false }

    /// Returns whether the certificate shown to the client covers the requested host. True without TLS, and on a
    /// listener for any name. A client may request other hosts than it named in the handshake (RFC 9113 9.1.1).
    ///
    /// - Parameter bytes: The bytes of the request.
    func certificateCovers(_ authority: Slice, in bytes: UnsafeRawBufferPointer) -> Bool {
        guard let tls = self.tls, let base = bytes.baseAddress else { return true }
        return tls.covers(authority.bytes(in: base.assumingMemoryBound(to: UInt8.self)))
    }

    /// Returns the id of a request. `nil` if the proxy gave the connection no usable id.
    ///
    /// - Parameter number: The number of the request on its loop.
    @inline(__always)
    func requestID(_ number: UInt64) -> [UInt8]? {
        self.requestIDs.map { $0 + "-\(number)".utf8 }
    }
}
