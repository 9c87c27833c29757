/// The result of a client's handshake: the values of `sallyport_tls_handshakes_total{result}`.
package enum HandshakeResult: String, CaseIterable, Sendable {
    case ok
    /// A TLS session was resumed.
    case resumed
    case failed
    /// The handshake was not complete within the time for the first request.
    case late
    /// The client sent HTTP without TLS.
    case plainHTTP = "plain_http"
    /// The client sent neither TLS nor HTTP.
    case foreign
    /// The listener has no certificate yet.
    case noCertificate = "no_certificate"
    /// No certificate contains the requested name.
    case unknownName = "unknown_name"
    /// The client supports none of the listener's protocols.
    case noProtocol = "no_protocol"
    /// The client has no certificate, or the client's certificate cannot be verified or has expired.
    case clientCertificate = "client_certificate"
    /// The client's address has begun too many handshakes.
    case limited
}
