import COpenSSL
package import Vocabulary

/// A certificate that is signed with its own key, for trying the gateway. Clients do not trust it by default.
package struct SelfSignedCertificate: Sendable {
    /// The certificate in PEM (RFC 7468). `key` is its private key in PEM (PKCS #8).
    package let certificate: [UInt8]
    package let key: Secret

    /// Makes a P-256 key and its certificate. The validity began one hour ago.
    ///
    /// - Parameters:
    ///   - names: One or more names or addresses of the server. The first is also the common name.
    ///   - days: The validity in days from now.
    package init(names: [String], days: Int) {
        let key = PrivateKey.generated(.ellipticCurve(.p256)).pkcs8
        self.key = Secret(Self.pem("PRIVATE KEY", key.bytes))
        let handle = CertificateKey(pem: self.key).orStop("key").handle
        let x509 = CertificateHandle(X509_new().orStop("certificate"))
        mustSucceed(X509_set_version(x509.pointer, Int(sallyport_X509_VERSION_3)), "X509_set_version")
        // A serial number must be positive and have at most 20 bytes (RFC 5280 4.1.2.2).
        var serial = Random.bytes(16)
        serial[0] = serial[0] & 0x7F | 0x40
        let number = BN_bin2bn(serial, Int32(serial.count), nil).orStop("serial number")
        defer { BN_free(number) }
        BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x509.pointer))
        X509_gmtime_adj(X509_getm_notBefore(x509.pointer), -3600)
        X509_time_adj_ex(X509_getm_notAfter(x509.pointer), Int32(clamping: days), 0, nil)
        mustSucceed(X509_set_pubkey(x509.pointer, handle.pointer), "X509_set_pubkey")
        let subject = X509_get_subject_name(x509.pointer)
        let common = Array(names[0].utf8.prefix(64))
        mustSucceed(
            X509_NAME_add_entry_by_txt(subject, "CN", Self.asciiText, common, Int32(common.count), -1, 0),
            "X509_NAME_add_entry"
        )
        mustSucceed(X509_set_issuer_name(x509.pointer, subject), "X509_set_issuer_name")
        let alternatives = names.map { "\(Self.isAddress($0) ? "IP" : "DNS"):\($0)" }.joined(separator: ",")
        for (kind, value) in [
            (NID_subject_alt_name, alternatives), (NID_basic_constraints, "critical,CA:FALSE"),
            (NID_key_usage, "critical,digitalSignature"), (NID_ext_key_usage, "serverAuth"),
        ] {
            let added = X509V3_EXT_conf_nid(nil, nil, kind, value).orStop("extension")
            defer { X509_EXTENSION_free(added) }
            mustSucceed(X509_add_ext(x509.pointer, added, -1), "X509_add_ext")
        }
        precondition(X509_sign(x509.pointer, handle.pointer, Fetched.sha256) > 0, "OpenSSL failed at X509_sign")
        self.certificate = Self.pem("CERTIFICATE", x509.der)
    }

    /// `MBSTRING_ASC` of openssl/asn1.h.
    private static let asciiText: Int32 = 0x1001

    private static func isAddress(_ name: String) -> Bool {
        name.utf8.contains(UInt8(ascii: ":")) || name.utf8.allSatisfy { $0 == 0x2E || $0 >= 0x30 && $0 <= 0x39 }
    }

    private static func pem(_ label: String, _ bytes: [UInt8]) -> [UInt8] {
        let text = Base64.encoded(bytes)
        var lines = Array("-----BEGIN \(label)-----\n".utf8)
        for start in stride(from: 0, to: text.count, by: 64) {
            lines += text[start..<min(start + 64, text.count)] + [0x0A]
        }
        return lines + Array("-----END \(label)-----\n".utf8)
    }
}
