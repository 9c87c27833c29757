/// What was agreed on in a handshake.
struct TLSAgreement {
    let flight: ServerFlight
    /// The protocol by ALPN; nil: none was agreed on.
    let applicationProtocol: String?
    /// The client's certificate in DER; nil: it has shown none.
    let clientCertificate: [UInt8]?
}
