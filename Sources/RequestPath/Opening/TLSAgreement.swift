/// The result of a client's TLS handshake with the gateway.
struct TLSAgreement {
    let flight: ServerFlight
    /// The protocol chosen with ALPN. `nil` if none was chosen.
    let applicationProtocol: String?
    /// The client's certificate in DER. `nil` if the client sent none.
    let clientCertificate: [UInt8]?
}
