import COpenSSL
package import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

/// An X.509 certificate (RFC 5280), as far as the gateway reads it. Nothing in it is trusted because it can be read.
package struct Certificate: Sendable, Equatable {
    /// What a certificate's key is for, as far as the choice of a certificate needs it.
    package enum Key: Sendable, Equatable {
        /// The number of bits of a curve of NIST.
        case ellipticCurve(Int)
        case rsa(Int)
        case other
    }

    /// The certificate's bytes, and their SHA-256.
    package let der: [UInt8]
    package let fingerprint: Digest256
    /// Names in the form of RFC 4514, in ASCII: other characters are escaped.
    package let subject: String
    package let issuer: String
    /// The serial number in lower-case hexadecimal.
    package let serial: String
    package let validFrom: UnixTime
    package let validUntil: UnixTime
    package let key: Key
    /// The subject's alternative names, each kind in its order: names in lower case without a trailing dot.
    package let dnsNames: [String]
    package let emails: [String]
    package let uris: [String]
    /// Addresses in network order: 4 or 16 bytes.
    package let addresses: [[UInt8]]

    private let handle: CertificateHandle

    /// Reads a certificate; nil if the bytes are none.
    package init?(der: [UInt8]) {
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
        self.init(CertificateHandle(pointer))
    }

    /// The certificates in text by PEM (RFC 7468), in their order; nil if one of them is damaged, or begins elsewhere than
    /// at the left margin: a reader of PEM would leave it out without a word.
    package static func all(inPEM text: [UInt8]) -> [Certificate]? {
        defer { ERR_clear_error() }
        let written = ["", "X509 ", "TRUSTED "].reduce(0) { $0 + text.count(of: "-----BEGIN \($1)CERTIFICATE-----") }
        return withPointer(text) { start, count in
            guard let bio = BIO_new_mem_buf(start, Int32(clamping: count)) else { return nil }
            defer { BIO_free(bio) }
            var found: [Certificate] = []
            while true {
                ERR_clear_error()
                // Without a function OpenSSL would ask the terminal for a password.
                guard let read = PEM_read_bio_X509(bio, nil, { _, _, _, _ in -1 }, nil) else { break }
                guard let certificate = Certificate(CertificateHandle(read)) else { return nil }
                found.append(certificate)
            }
            let reason = ERR_peek_last_error() & 0x7F_FFFF
            return reason == UInt(PEM_R_NO_START_LINE) && found.count == written ? found : nil
        }
    }

    private init?(_ handle: CertificateHandle) {
        let x509 = handle.pointer
        guard let from = Self.time(X509_get0_notBefore(x509)), let until = Self.time(X509_get0_notAfter(x509)) else {
            return nil
        }
        self.handle = handle
        self.der = handle.der
        self.fingerprint = SHA256.digest(self.der)
        self.subject = Self.text(of: X509_get_subject_name(x509))
        self.issuer = Self.text(of: X509_get_issuer_name(x509))
        self.serial = Self.serial(of: x509)
        self.validFrom = from
        self.validUntil = until
        self.key = Self.key(of: x509)
        var names: [Int32: [[UInt8]]] = [:]
        for (kind, value) in Self.alternativeNames(of: x509) { names[kind, default: []].append(value) }
        func texts(_ kind: Int32) -> [String] {
            // A name with another character than these would be read in two ways (CVE-2021-3712).
            (names[kind] ?? []).filter { $0.allSatisfy { $0 > 0x20 && $0 < 0x7F } }
                .map { String(decoding: $0, as: UTF8.self) }
        }
        self.dnsNames = texts(GEN_DNS).map { name in
            let lower = name.lowercased()
            return lower.hasSuffix(".") ? String(lower.dropLast()) : lower
        }
        self.emails = texts(GEN_EMAIL)
        self.uris = texts(GEN_URI)
        self.addresses = (names[GEN_IPADD] ?? []).filter { $0.count == 4 || $0.count == 16 }
    }

    package static func == (left: Certificate, right: Certificate) -> Bool { left.der == right.der }

    // MARK: Judging

    /// Whether the holder of `issuer` has signed this certificate: names, key identifiers, use of the key and signature.
    package func isIssued(by issuer: Certificate) -> Bool {
        defer { ERR_clear_error() }
        guard X509_check_issued(issuer.handle.pointer, self.handle.pointer) == X509_V_OK,
            let key = X509_get0_pubkey(issuer.handle.pointer)
        else { return false }
        return X509_verify(self.handle.pointer, key) == 1
    }

    /// Whether it may issue others.
    package var isAuthority: Bool { X509_check_ca(self.handle.pointer) > 0 }

    /// Whether it says where its issuer can be asked, as the certificates of public authorities do (RFC 5280 4.2.2.1).
    package var namesIssuersAddress: Bool { X509_get_ext_by_NID(self.handle.pointer, NID_info_access, -1) >= 0 }

    /// Whether a server may show it: it allows signatures, and says nothing of what it is for, or that it is for servers
    /// (RFC 5280 4.2.1.3, 4.2.1.12).
    package var isForServers: Bool {
        // The library answers all bits where the certificate does not have the extension.
        X509_get_key_usage(self.handle.pointer) & UInt32(KU_DIGITAL_SIGNATURE) != 0
            && X509_get_extended_key_usage(self.handle.pointer) & UInt32(XKU_SSL_SERVER | XKU_ANYEKU) != 0
    }

    /// Whether this is the certificate of a key.
    package func belongs(to key: CertificateKey) -> Bool {
        defer { ERR_clear_error() }
        return X509_check_private_key(self.handle.pointer, key.handle.pointer) == 1
    }

    // MARK: Reading

    private static func time(_ time: UnsafePointer<ASN1_TIME>?) -> UnixTime? {
        var parts = tm()
        guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else {
            ERR_clear_error()
            return nil
        }
        return UnixTime(seconds: Int64(timegm(&parts)))
    }

    private static func text(of name: OpaquePointer?) -> String {
        guard let name, let bio = BIO_new(BIO_s_mem()) else { return "" }
        defer { BIO_free(bio) }
        guard X509_NAME_print_ex(bio, name, 0, sallyport_XN_FLAG_RFC2253) >= 0 else {
            ERR_clear_error()
            return ""
        }
        return String(decoding: bio.memoryBytes, as: UTF8.self)
    }

    private static func serial(of x509: OpaquePointer) -> String {
        guard let number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(x509), nil) else { return "" }
        defer { BN_free(number) }
        let count = max((Int(BN_num_bits(number)) + 7) / 8, 1)
        var bytes = [UInt8](repeating: 0, count: count)
        BN_bn2binpad(number, &bytes, Int32(count))
        var text: [UInt8] = []
        for byte in bytes { Hexadecimal.append(byte, to: &text) }
        return String(decoding: text, as: UTF8.self).lowercased()
    }

    private static func key(of x509: OpaquePointer) -> Key {
        guard let key = X509_get0_pubkey(x509) else {
            ERR_clear_error()
            return .other
        }
        let bits = Int(EVP_PKEY_get_bits(key))
        if EVP_PKEY_is_a(key, "EC") == 1 {
            // Other curves have as many bits (secp256k1, brainpool).
            let curves = ["prime256v1", "secp384r1", "secp521r1"]
            return curves.contains(Self.group(of: key) ?? "") ? .ellipticCurve(bits) : .other
        }
        return EVP_PKEY_is_a(key, "RSA") == 1 ? .rsa(bits) : .other
    }

    /// The name of a key's curve; nil if its parameters are written out.
    private static func group(of key: OpaquePointer) -> String? {
        var name = [CChar](repeating: 0, count: 64)
        var count = 0
        guard EVP_PKEY_get_group_name(key, &name, name.count, &count) == 1, count < name.count else {
            ERR_clear_error()
            return nil
        }
        return String(decoding: name[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The names of kinds that are text or an address. Those of other kinds have other types and are not read
    /// (swift-nio-ssl read beyond such a name until 2.37.5).
    private static func alternativeNames(of x509: OpaquePointer) -> [(kind: Int32, value: [UInt8])] {
        guard let names = X509_get_ext_d2i(x509, NID_subject_alt_name, nil, nil) else {
            ERR_clear_error()
            return []
        }
        let list = OpaquePointer(names)
        defer { GENERAL_NAMES_free(list) }
        var found: [(kind: Int32, value: [UInt8])] = []
        for index in 0..<OPENSSL_sk_num(list) {
            guard let element = OPENSSL_sk_value(list, index) else { continue }
            var kind: Int32 = 0
            guard
                let value = GENERAL_NAME_get0_value(element.assumingMemoryBound(to: GENERAL_NAME.self), &kind),
                [GEN_DNS, GEN_EMAIL, GEN_URI, GEN_IPADD].contains(kind)
            else { continue }
            let text = value.assumingMemoryBound(to: ASN1_STRING.self)
            guard let start = ASN1_STRING_get0_data(text) else { continue }
            found.append((kind, Array(UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(text))))))
        }
        return found
    }
}

/// A private key as the file of a certificate's key has it, of any kind that OpenSSL reads.
package struct CertificateKey: Sendable {
    let handle: KeyHandle

    /// The first private key in text by PEM; nil if there is none, or if it is encrypted.
    package init?(pem: Secret) {
        let pointer: OpaquePointer? = pem.bytes.withUnsafeBytes { bytes in
            guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
            defer { BIO_free(bio) }
            return PEM_read_bio_PrivateKey_ex(bio, nil, { _, _, _, _ in -1 }, nil, nil, nil)
        }
        guard let pointer else {
            ERR_clear_error()
            return nil
        }
        self.handle = KeyHandle(pointer)
    }
}

/// A certificate of OpenSSL, which any thread may read: what it caches is made when it is read first, under its lock.
final class CertificateHandle: Sendable {
    nonisolated(unsafe) let pointer: OpaquePointer

    /// Takes ownership.
    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        X509_free(self.pointer)
    }

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
}

extension OpaquePointer {
    /// What was written to this BIO in memory.
    fileprivate var memoryBytes: [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1024)
        while true {
            let count = BIO_read(self, &piece, Int32(piece.count))
            guard count > 0 else { return bytes }
            bytes += piece[..<Int(count)]
        }
    }
}

extension [UInt8] {
    /// How often a text is in these bytes.
    fileprivate func count(of text: String) -> Int {
        let text = Array(text.utf8)
        guard self.count >= text.count else { return 0 }
        return (0...(self.count - text.count)).count(where: { self[$0] == text[0] && self[$0...].starts(with: text) })
    }
}
