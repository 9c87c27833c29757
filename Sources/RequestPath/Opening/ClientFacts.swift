import Cryptography
import Observability
import Vocabulary

/// What the opening of a connection has found out about its client. Made once for a connection and never changed; a plain
/// connection has none.
package final class ClientFacts: Sendable {
    /// What each access line of the connection says of it.
    let logged: AccessMembers
    /// What the ids of its requests begin with; nil: they have ids of their own.
    let requestIDs: [UInt8]?

    /// What TLS has found out; nil: the client speaks without it.
    let tls: TLSFacts?

    /// The client's certificate, verified in the handshake; nil: it has shown none.
    var certificate: ClientCertificate? { self.tls?.certificate }

    /// - Parameter proxy: What the proxy in front has said.
    package convenience init(proxy: ProxyPreamble) {
        self.init(proxy: proxy, tls: nil)
    }

    /// - Parameters:
    ///   - proxy: What the proxy in front has said; nil: there is none, or it has said nothing.
    ///   - tls: What the handshake has found out.
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
        // Beyond what numbers in JSON can be (RFC 8259 6).
        if let number = values.googleConnection { logged.add("proxy.gcp_psc", "\(number)") }
        if let number = values.azureLink { logged.add("proxy.azure_link", Int64(number)) }
        self.logged = logged
        self.requestIDs = values.uniqueID.flatMap { RequestID.isFit($0) ? $0 : nil }
    }

    /// Whether the client's certificate has expired since the handshake, which would fail now.
    func hasExpired(at now: UnixTime) -> Bool { self.certificate.map { $0.notAfter <= now } ?? false }

    /// Whether the client was shown a certificate for the host that it asks for; true without TLS. It may ask for other
    /// hosts than the one that it has named in the handshake (RFC 9113 9.1.1).
    ///
    /// - Parameter bytes: The request's.
    func wasShown(_ authority: Slice, in bytes: UnsafeRawBufferPointer) -> Bool {
        guard let tls = self.tls, let base = bytes.baseAddress else { return true }
        return tls.covers(authority.bytes(in: base.assumingMemoryBound(to: UInt8.self)))
    }

    /// The id of a request of the connection, if the proxy has named the connection.
    ///
    /// - Parameter number: That of the request on its loop.
    @inline(__always)
    func requestID(_ number: UInt64) -> [UInt8]? {
        self.requestIDs.map { $0 + "-\(number)".utf8 }
    }
}
