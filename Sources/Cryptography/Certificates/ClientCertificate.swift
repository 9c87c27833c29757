import COpenSSL
package import Vocabulary

/// The facts in a client certificate (RFC 5280) that the gateway judges requests by.
///
/// Made from a file, or once per connection after TLS has verified the issuer and the client's key. This class verifies
/// nothing. All texts are printable ASCII, so fields and log lines can contain them.
package final class ClientCertificate: Sendable {
    /// The SHA-256 of the certificate in DER. It is in `cnf.x5t#S256` of tokens bound to the certificate (RFC 8705
    /// 3.1).
    package let sha256: Digest256
    /// The subject (RFC 4514), with `\XX` for characters beyond ASCII, as `openssl x509 -nameopt RFC2253` writes it.
    /// Empty if the certificate has only alternative names.
    package let subject: String
    /// The issuer, in the form of `subject`.
    package let issuer: String
    /// The serial number in hexadecimal digits, without leading zeros.
    package let serial: String
    /// The alternative names that are DNS names, email addresses or URIs, each once, in their order.
    package let names: [CertificateName]
    /// The last second in which the certificate is valid.
    package let notAfter: UnixTime

    /// The size limit of a certificate in bytes of DER.
    package static let largest = 65_536
    /// The maximum length of subject and issuer in characters.
    package static let longestText = 4096
    /// The maximum length of a serial number in digits. RFC 5280 4.1.2.2 allows 40.
    private static let longestSerial = 1024
    /// The maximum number of alternative names of the supported kinds.
    package static let maxNames = 256

    /// Reads a certificate; `nil` if the bytes are not exactly one certificate, a limit is exceeded, or the subject,
    /// issuer or list of alternative names is unreadable. Single invalid alternative names are left out.
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

    /// Reads the content of a file: the first certificate in PEM (RFC 7468), or a certificate in DER.
    package convenience init?(file bytes: [UInt8]) {
        guard bytes.count <= Self.largest * 2 else { return nil }
        self.init(der: CertificateHandle.all(inPEM: bytes)?.first?.der ?? bytes)
    }

    /// Returns the DNS names, email addresses and URIs, each once; `nil` if there are too many.
    private static func names(_ all: [(kind: Int32, value: [UInt8])]) -> [CertificateName]? {
        var names: [CertificateName] = []
        var known: Set<CertificateName> = []
        for (kind, value) in all {
            guard let name = Self.name(kind, value), known.insert(name).inserted else { continue }
            guard names.count < Self.maxNames else { return nil }
            names.append(name)
        }
        return names
    }

    /// Returns the name; `nil` if it is invalid (`CertificateName`) or of another kind, such as an IP address.
    private static func name(_ kind: Int32, _ value: [UInt8]) -> CertificateName? {
        switch kind {
        case GEN_DNS: CertificateName(.dns, value)
        case GEN_EMAIL: CertificateName(.email, value)
        case GEN_URI: CertificateName(.uri, value)
        default: nil
        }
    }
}
