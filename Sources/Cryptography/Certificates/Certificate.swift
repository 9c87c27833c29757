import COpenSSL
package import Vocabulary

/// An X.509 certificate (RFC 5280). Reading a certificate does not verify it.
package struct Certificate: Sendable, Equatable {
    /// The kind of a certificate's key, by which a TLS server chooses its certificate.
    package enum Key: Sendable, Equatable {
        /// A key on a NIST curve with this number of bits.
        case ellipticCurve(Int)
        case rsa(Int)
        case other
    }

    /// The subject in ASCII with escapes (RFC 4514); empty if it cannot be written in ASCII.
    package let subject: String
    package let issuer: String
    package let validFrom: UnixTime
    package let validUntil: UnixTime
    package let key: Key
    /// The host names among the subject's alternative names, in lower case without a trailing dot.
    package let dnsNames: [String]
    /// The IP addresses among the alternative names, in network order: 4 or 16 bytes.
    package let addresses: [[UInt8]]

    private let handle: CertificateHandle

    /// Returns the certificates in PEM text (RFC 7468) in their order; `nil` if one is damaged or indented. A PEM
    /// parser would silently skip an indented certificate.
    package static func all(inPEM text: [UInt8]) -> [Certificate]? {
        guard let handles = CertificateHandle.all(inPEM: text) else { return nil }
        let certificates = handles.compactMap { Certificate($0) }
        return certificates.count == handles.count ? certificates : nil
    }

    private init?(_ handle: CertificateHandle) {
        guard let from = handle.validFrom, let until = handle.validUntil else { return nil }
        self.handle = handle
        self.subject = handle.subject ?? ""
        self.issuer = handle.issuer ?? ""
        self.validFrom = from
        self.validUntil = until
        self.key = Self.key(of: handle.pointer)
        let names = handle.alternativeNames ?? []
        self.dnsNames = names.filter { $0.kind == GEN_DNS }.compactMap { _, value in
            // A space, a control character or a byte beyond ASCII could be read in two ways (CVE-2021-3712).
            guard value.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
            let name = String(decoding: value, as: UTF8.self).lowercased()
            return name.hasSuffix(".") ? String(name.dropLast()) : name
        }
        self.addresses = names.filter { $0.kind == GEN_IPADD && [4, 16].contains($0.value.count) }.map(\.value)
    }

    package static func == (left: Certificate, right: Certificate) -> Bool { left.handle.der == right.handle.der }

    // MARK: Judging

    /// Returns true if `issuer` issued this certificate: names, key identifiers, key usage and signature match.
    package func isIssued(by issuer: Certificate) -> Bool {
        defer { ERR_clear_error() }
        guard X509_check_issued(issuer.handle.pointer, self.handle.pointer) == X509_V_OK,
            let key = X509_get0_pubkey(issuer.handle.pointer)
        else { return false }
        return X509_verify(self.handle.pointer, key) == 1
    }

    /// Whether the certificate may issue other certificates.
    package var isAuthority: Bool { X509_check_ca(self.handle.pointer) > 0 }

    /// Whether the certificate has Authority Information Access, as certificates of public CAs do (RFC 5280 4.2.2.1).
    package var namesIssuersAddress: Bool { X509_get_ext_by_NID(self.handle.pointer, NID_info_access, -1) >= 0 }

    /// Whether a server may present the certificate. It must allow signatures. If it lists purposes, the list must
    /// include servers or any purpose (RFC 5280 4.2.1.3, 4.2.1.12).
    package var isForServers: Bool {
        // If the certificate does not have the extension, the library returns all bits.
        X509_get_key_usage(self.handle.pointer) & UInt32(KU_DIGITAL_SIGNATURE) != 0
            && X509_get_extended_key_usage(self.handle.pointer) & UInt32(XKU_SSL_SERVER | XKU_ANYEKU) != 0
    }

    /// Returns true if the certificate has the public key of `key`.
    package func belongs(to key: CertificateKey) -> Bool {
        defer { ERR_clear_error() }
        return X509_check_private_key(self.handle.pointer, key.handle.pointer) == 1
    }

    private static func key(of x509: OpaquePointer) -> Key {
        guard let key = X509_get0_pubkey(x509) else {
            ERR_clear_error()
            return .other
        }
        let bits = Int(EVP_PKEY_get_bits(key))
        if EVP_PKEY_is_a(key, "EC") == 1 {
            // The number of bits does not identify a curve: secp256k1 and brainpool curves have as many.
            let curves = ["prime256v1", "secp384r1", "secp521r1"]
            return curves.contains(Self.group(of: key) ?? "") ? .ellipticCurve(bits) : .other
        }
        return EVP_PKEY_is_a(key, "RSA") == 1 ? .rsa(bits) : .other
    }

    /// Returns the name of a key's curve; `nil` if the key has explicit parameters.
    private static func group(of key: OpaquePointer) -> String? {
        var name = [CChar](repeating: 0, count: 64)
        var count = 0
        guard EVP_PKEY_get_group_name(key, &name, name.count, &count) == 1, count < name.count else {
            ERR_clear_error()
            return nil
        }
        return String(decoding: name[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// The private key of a certificate, of any kind that OpenSSL reads.
package struct CertificateKey: Sendable {
    let handle: KeyHandle

    /// Reads the first private key in PEM text; `nil` if there is no key or it is encrypted.
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
