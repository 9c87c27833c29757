/// The parameters agreed in a handshake.
struct TLSAgreement {
    let flight: ServerFlight
    /// The protocol chosen with ALPN. `nil` if none was chosen.
    let applicationProtocol: String?
    /// The client's certificate in DER. `nil` if the client has shown none.
    let clientCertificate: [UInt8]?
}
