import COpenSSL
package import Vocabulary

/// A certificate that a client has proven to own in the TLS handshake (RFC 5280), as far as requests are judged by it.
///
/// Made once for a connection. Whether an authority of the listener issued it has been verified by TLS before; here it is
/// only read. All texts are visible ASCII characters, so that a field or a log line can take them as they are.
package final class ClientCertificate: Sendable {
    /// The SHA-256 of the certificate in DER, which a token's `cnf.x5t#S256` names (RFC 8705 3.1).
    package let sha256: Digest256
    /// Whom it was issued to, as RFC 4514 writes names, with characters beyond ASCII as `\XX`: the form of
    /// `openssl x509 -nameopt RFC2253`. Empty in certificates that have only alternative names.
    package let subject: String
    /// Who issued it, in the same form.
    package let issuer: String
    /// The serial number in hexadecimal digits, without zeros in front.
    package let serial: String
    /// The alternative names that are DNS names, email addresses or URIs, each once, in their order.
    package let names: [CertificateName]
    /// The last second in which it is valid.
    package let notAfter: UnixTime

    /// The largest certificate, in bytes of DER: what a handshake with client certificates takes at most.
    package static let largest = 65_536
    /// The longest subject or issuer, in characters.
    package static let longestText = 4096
    /// The longest serial number, in digits. RFC 5280 4.1.2.2 allows 40.
    private static let longestSerial = 1024
    /// The most alternative names of the kinds that are kept.
    package static let mostNames = 256

    /// The certificate in these bytes; nil if they are not exactly one certificate, or if it exceeds the limits above or has
    /// a name that cannot be read: a certificate of which a part was left out could be taken for another one.
    package init?(der: [UInt8]) {
        guard der.count <= Self.largest, let read = CertificateHandle(der: der), let subject = read.subject,
            let issuer = read.issuer, let serial = read.serial, serial.utf8.count <= Self.longestSerial,
            subject.utf8.count <= Self.longestText, issuer.utf8.count <= Self.longestText,
            let names = read.alternativeNames.flatMap(Self.names), let notAfter = read.validUntil
        else { return nil }
        self.sha256 = SHA256.digest(der)
        self.subject = subject
        self.issuer = issuer
        self.serial = serial
        self.names = names
        self.notAfter = notAfter
    }

    /// The certificate in a file: the first by PEM (RFC 7468), else the one in DER.
    package convenience init?(file bytes: [UInt8]) {
        guard bytes.count <= Self.largest * 2 else { return nil }
        self.init(der: CertificateHandle.all(inPEM: bytes)?.first?.der ?? bytes)
    }

    /// Those by which requests are judged, each once; nil: they are too many.
    private static func names(_ all: [(kind: Int32, value: [UInt8])]) -> [CertificateName]? {
        var names: [CertificateName] = []
        var known: Set<CertificateName> = []
        for (kind, value) in all {
            guard let name = Self.name(kind, value), known.insert(name).inserted else { continue }
            guard names.count < Self.mostNames else { return nil }
            names.append(name)
        }
        return names
    }

    /// nil if it is of a kind that nothing is judged by, such as an address.
    private static func name(_ kind: Int32, _ value: [UInt8]) -> CertificateName? {
        switch kind {
        case GEN_DNS: CertificateName(.dns, value)
        case GEN_EMAIL: CertificateName(.email, value)
        case GEN_URI: CertificateName(.uri, value)
        default: nil
        }
    }
}
