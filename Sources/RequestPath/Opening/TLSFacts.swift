import Cryptography
import Observability
import Settings

/// The facts about a client from its TLS handshake.
struct TLSFacts {
    private let agreement: TLSAgreement
    private let serverName: String?
    /// Whether the certificate shown to the client covers the server name of the handshake.
    private let isNameCovered: Bool
    /// The contents of the certificate shown to the client. `nil` if they have not been read.
    let shown: CertificateFacts?
    /// The client's certificate. `nil` if the client sent none.
    let certificate: ClientCertificate?

    init(_ agreement: TLSAgreement, serverName: String?, shown: CertificateFacts?, _ certificate: ClientCertificate?) {
        self.agreement = agreement
        self.serverName = serverName
        self.shown = shown
        self.isNameCovered = serverName.map { shown?.covers($0) ?? true } ?? false
        self.certificate = certificate
    }

    /// Whether HTTP/2 was chosen with ALPN (RFC 9113 3.2).
    var hasChosenHTTP2: Bool { self.agreement.applicationProtocol == ListenerProtocol.http2.rawValue }

    /// Whether the certificate shown to the client covers a host. True if the certificate has not been read.
    ///
    /// - Parameter authority: The host, with or without a port.
    func covers(_ authority: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let shown = self.shown else { return true }
        // Usually, the host is the handshake's server name. Colons within brackets belong to an address.
        let host = authority.first == UInt8(ascii: "[") ? authority[...] : authority.prefix { $0 != UInt8(ascii: ":") }
        if self.isNameCovered, let name = self.serverName, name.utf8.elementsEqual(host) { return true }
        var text = String(decoding: host, as: UTF8.self).lowercased()
        if let end = text.lastIndex(of: "]") { text = String(text[...end]) }
        if text.hasSuffix(".") { text.removeLast() }
        // An empty host is treated as covered.
        return text.isEmpty || shown.covers(text)
    }

    /// Adds the members about the handshake to `logged`. Every access line of the connection contains them.
    func add(to logged: inout AccessMembers) {
        let flight = self.agreement.flight
        logged.add("tls.version", flight.isTLS13 ? "1.3" : "1.2")
        logged.add("tls.cipher", flight.suiteName)
        if let group = flight.groupName { logged.add("tls.group", group) }
        if let name = self.agreement.applicationProtocol { logged.add("tls.alpn", name) }
        if flight.isResumed { logged.add("tls.resumed", true) }
        if let name = self.serverName { logged.add("tls.server_name", name) }
        if let certificate = self.certificate { logged.add("tls.client_sha256", certificate.sha256.hexadecimal) }
    }
}
