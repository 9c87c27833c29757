/// What became of a client's handshake; the values of `sallyport_tls_handshakes_total{result}`.
package enum HandshakeResult: String, CaseIterable, Sendable {
    case ok
    /// A session was resumed.
    case resumed
    case failed
    /// It had not ended when the time for the first request was over.
    case late
    /// HTTP without TLS.
    case plainHTTP = "plain_http"
    /// Neither TLS nor HTTP.
    case foreign
    /// The listener has no certificate yet.
    case noCertificate = "no_certificate"
    /// No certificate has the name.
    case unknownName = "unknown_name"
    /// The client speaks none of the listener's protocols.
    case noProtocol = "no_protocol"
    /// The client has no certificate, or one that does not verify or has expired.
    case clientCertificate = "client_certificate"
    /// Too many from one address.
    case limited
}
