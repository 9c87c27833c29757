import COpenSSL
package import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

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
    /// The longest subject, issuer or serial number, in characters.
    package static let longestText = 4096
    /// The most alternative names of the kinds that are kept.
    package static let mostNames = 256

    /// The certificate in these bytes; nil if they are not exactly one certificate, or if it exceeds the limits above or has
    /// a name that cannot be read: a certificate of which a part was left out could be taken for another one.
    package init?(der: [UInt8]) {
        guard der.count <= Self.largest, let certificate = Self.decoded(der) else {
            ERR_clear_error()
            return nil
        }
        defer { X509_free(certificate) }
        guard let subject = Self.text(X509_get_subject_name(certificate)),
            let issuer = Self.text(X509_get_issuer_name(certificate)),
            let serial = Self.serial(X509_get0_serialNumber(certificate)), let names = Self.names(certificate),
            let notAfter = Self.time(X509_get0_notAfter(certificate))
        else {
            ERR_clear_error()
            return nil
        }
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
        self.init(der: Self.der(pem: bytes) ?? bytes)
    }

    private static func der(pem: [UInt8]) -> [UInt8]? {
        let certificate: OpaquePointer? = withPointer(pem) { start, count in
            guard let bio = BIO_new_mem_buf(start, Int32(count)) else { return nil }
            defer { BIO_free(bio) }
            return PEM_read_bio_X509(bio, nil, { _, _, _, _ in -1 }, nil)
        }
        guard let certificate else {
            ERR_clear_error()
            return nil
        }
        defer { X509_free(certificate) }
        var start: UnsafeMutablePointer<UInt8>?
        let count = Int(i2d_X509(certificate, &start))
        guard let bytes = start, count > 0 else { return nil }
        defer { CRYPTO_free(bytes, #file, #line) }
        return Array(UnsafeBufferPointer(start: bytes, count: count))
    }

    /// The certificate that fills all bytes, owned by the caller.
    private static func decoded(_ der: [UInt8]) -> OpaquePointer? {
        withPointer(der) { start, count in
            var next: UnsafePointer<UInt8>? = start
            guard let certificate = d2i_X509(nil, &next, count) else { return nil }
            guard next == start + count else {
                X509_free(certificate)
                return nil
            }
            return certificate
        }
    }

    private static func text(_ name: OpaquePointer?) -> String? {
        guard let name else { return nil }
        let output = BIO_new(BIO_s_mem()).orStop("memory")
        defer { BIO_free(output) }
        guard X509_NAME_print_ex(output, name, 0, sallyport_XN_FLAG_RFC2253) >= 0 else { return nil }
        let count = Int(BIO_ctrl_pending(output))
        guard count > 0 else { return "" }
        guard count <= Self.longestText else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        guard BIO_read(output, &bytes, Int32(count)) == Int32(count),
            bytes.allSatisfy({ (0x20..<0x7F).contains($0) })
        else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func serial(_ number: UnsafePointer<ASN1_INTEGER>?) -> String? {
        guard let number, let value = ASN1_INTEGER_to_BN(number, nil) else { return nil }
        defer { BN_free(value) }
        guard BN_num_bits(value) <= Int32(Self.longestText), let digits = BN_bn2hex(value) else { return nil }
        defer { CRYPTO_free(digits, #file, #line) }
        let text = String(cString: digits).lowercased()
        // OpenSSL writes whole bytes.
        let isNegative = text.first == "-"
        let significant = text.drop { $0 == "-" || $0 == "0" }
        return (isNegative ? "-" : "") + (significant.isEmpty ? "0" : significant)
    }

    private static func names(_ certificate: OpaquePointer) -> [CertificateName]? {
        var place: Int32 = 0
        guard let found = X509_get_ext_d2i(certificate, NID_subject_alt_name, &place, nil) else {
            // -1: there is none; anything else: it is there twice, or cannot be read.
            return place == -1 ? [] : nil
        }
        let list = OpaquePointer(found)
        defer { GENERAL_NAMES_free(list) }
        var names: [CertificateName] = []
        var known: Set<CertificateName> = []
        for index in 0..<max(OPENSSL_sk_num(list), 0) {
            guard let name = Self.name(OPENSSL_sk_value(list, index)), known.insert(name).inserted else { continue }
            guard names.count < Self.mostNames else { return nil }
            names.append(name)
        }
        return names
    }

    /// An alternative name; nil if it is of a kind that nothing is judged by, such as an address or another name.
    private static func name(_ element: UnsafeMutableRawPointer?) -> CertificateName? {
        guard let element else { return nil }
        var type: Int32 = 0
        guard let value = GENERAL_NAME_get0_value(element.assumingMemoryBound(to: GENERAL_NAME.self), &type) else {
            return nil
        }
        let kind: CertificateName.Kind
        switch type {
        case GEN_DNS: kind = .dns
        case GEN_EMAIL: kind = .email
        case GEN_URI: kind = .uri
        default: return nil
        }
        let string = value.assumingMemoryBound(to: ASN1_STRING.self)
        let bytes = UnsafeBufferPointer(start: ASN1_STRING_get0_data(string), count: Int(ASN1_STRING_length(string)))
        return CertificateName(kind, bytes)
    }

    private static func time(_ time: UnsafePointer<ASN1_TIME>?) -> UnixTime? {
        var parts = tm()
        guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
        return UnixTime(seconds: Int64(timegm(&parts)))
    }
}
