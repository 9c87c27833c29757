import COpenSSL
import Glibc
import Vocabulary

/// An OpenSSL certificate (RFC 5280). Any thread may read it, because OpenSSL fills the certificate's caches under a
/// lock.
final class CertificateHandle: Sendable {
    nonisolated(unsafe) let pointer: OpaquePointer

    /// Takes ownership of `pointer`.
    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        X509_free(self.pointer)
    }

    /// Reads a certificate in DER; `nil` if `der` is not exactly one certificate.
    convenience init?(der: [UInt8]) {
        let pointer: OpaquePointer? = withPointer(der) { start, count in
            var next: UnsafePointer<UInt8>? = start
            guard let read = d2i_X509(nil, &next, count) else { return nil }
            guard next == start + count else {
                X509_free(read)
                return nil
            }
            return read
        }
        guard let pointer else {
            ERR_clear_error()
            return nil
        }
        self.init(pointer)
    }

    /// Returns the certificates in PEM text (RFC 7468) in their order; `nil` if one is damaged or indented. A PEM
    /// parser would silently skip an indented certificate.
    static func all(inPEM text: [UInt8]) -> [CertificateHandle]? {
        defer { ERR_clear_error() }
        let written = ["", "X509 ", "TRUSTED "].reduce(0) { $0 + text.count(of: "-----BEGIN \($1)CERTIFICATE-----") }
        return withPointer(text) { start, count in
            guard let bio = BIO_new_mem_buf(start, Int32(clamping: count)) else { return nil }
            defer { BIO_free(bio) }
            var found: [CertificateHandle] = []
            while true {
                ERR_clear_error()
                // Without a callback, OpenSSL would ask the terminal for a password.
                guard let read = PEM_read_bio_X509(bio, nil, { _, _, _, _ in -1 }, nil) else { break }
                found.append(CertificateHandle(read))
            }
            let reason = ERR_peek_last_error() & 0x7F_FFFF
            return reason == UInt(PEM_R_NO_START_LINE) && found.count == written ? found : nil
        }
    }

    // MARK: Reading

    var der: [UInt8] {
        var start: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509(self.pointer, &start)
        guard count > 0, let start else {
            ERR_clear_error()
            return []
        }
        defer { CRYPTO_free(start, #file, #line) }
        return Array(UnsafeBufferPointer(start: start, count: Int(count)))
    }

    /// The subject as `openssl x509 -nameopt RFC2253` writes it (RFC 4514), with `\XX` for characters beyond ASCII;
    /// `nil` if the subject cannot be written in ASCII.
    var subject: String? { Self.text(X509_get_subject_name(self.pointer)) }
    var issuer: String? { Self.text(X509_get_issuer_name(self.pointer)) }

    /// The first and last second of the validity; `nil` if the field is not a time.
    var validFrom: UnixTime? { Self.time(X509_get0_notBefore(self.pointer)) }
    var validUntil: UnixTime? { Self.time(X509_get0_notAfter(self.pointer)) }

    /// The serial number in hexadecimal digits, without leading zeros.
    var serial: String? {
        guard let value = ASN1_INTEGER_to_BN(X509_get0_serialNumber(self.pointer), nil) else { return nil }
        defer { BN_free(value) }
        guard let digits = BN_bn2hex(value) else { return nil }
        defer { CRYPTO_free(digits, #file, #line) }
        let text = String(cString: digits).lowercased()
        // OpenSSL writes whole bytes, so there may be a leading zero.
        let isNegative = text.first == "-"
        let significant = text.drop { $0 == "-" || $0 == "0" }
        return (isNegative ? "-" : "") + (significant.isEmpty ? "0" : significant)
    }

    /// The DNS names, email addresses, URIs and IP addresses among the subject's alternative names, in their order.
    /// `nil` if the extension occurs twice or cannot be read. Other kinds of names are skipped, because they are not
    /// plain strings.
    var alternativeNames: [(kind: Int32, value: [UInt8])]? {
        var place: Int32 = 0
        guard let names = X509_get_ext_d2i(self.pointer, NID_subject_alt_name, &place, nil) else {
            ERR_clear_error()
            // -1 means that the extension is missing.
            return place == -1 ? [] : nil
        }
        let list = OpaquePointer(names)
        defer { GENERAL_NAMES_free(list) }
        var found: [(kind: Int32, value: [UInt8])] = []
        for index in 0..<max(OPENSSL_sk_num(list), 0) {
            guard let element = OPENSSL_sk_value(list, index) else { continue }
            var kind: Int32 = 0
            guard let value = GENERAL_NAME_get0_value(element.assumingMemoryBound(to: GENERAL_NAME.self), &kind),
                [GEN_DNS, GEN_EMAIL, GEN_URI, GEN_IPADD].contains(kind)
            else { continue }
            let text = value.assumingMemoryBound(to: ASN1_STRING.self)
            guard let start = ASN1_STRING_get0_data(text) else { continue }
            found.append((kind, Array(UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(text))))))
        }
        return found
    }

    private static func time(_ time: UnsafePointer<ASN1_TIME>?) -> UnixTime? {
        var parts = tm()
        guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else {
            ERR_clear_error()
            return nil
        }
        return UnixTime(seconds: Int64(timegm(&parts)))
    }

    private static func text(_ name: OpaquePointer?) -> String? {
        guard let name else { return nil }
        let output = BIO_new(BIO_s_mem()).orStop("memory")
        defer { BIO_free(output) }
        guard X509_NAME_print_ex(output, name, 0, sallyport_XN_FLAG_RFC2253) >= 0 else {
            ERR_clear_error()
            return nil
        }
        let count = Int(BIO_ctrl_pending(output))
        guard count > 0 else { return "" }
        var bytes = [UInt8](repeating: 0, count: count)
        guard BIO_read(output, &bytes, Int32(count)) == Int32(count),
            bytes.allSatisfy({ (0x20..<0x7F).contains($0) })
        else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension [UInt8] {
    /// Returns the number of occurrences of a text in these bytes.
    fileprivate func count(of text: String) -> Int {
        let text = Array(text.utf8)
        guard self.count >= text.count else { return 0 }
        return (0...(self.count - text.count)).count(where: { self[$0] == text[0] && self[$0...].starts(with: text) })
    }
}
