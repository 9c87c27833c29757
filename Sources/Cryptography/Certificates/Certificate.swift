import COpenSSL
package import Vocabulary

/// An X.509 certificate (RFC 5280), as far as the gateway reads it. Nothing in it is trusted because it can be read.
package struct Certificate: Sendable, Equatable {
    /// What a certificate's key is for, as far as the choice of a certificate needs it.
    package enum Key: Sendable, Equatable {
        /// The number of bits of a curve of NIST.
        case ellipticCurve(Int)
        case rsa(Int)
        case other
    }

    /// Names in the form of RFC 4514, in ASCII: other characters are escaped. Empty if they cannot be written so.
    package let subject: String
    package let issuer: String
    package let validFrom: UnixTime
    package let validUntil: UnixTime
    package let key: Key
    /// The subject's alternative names that are names of hosts, in lower case without a trailing dot.
    package let dnsNames: [String]
    /// Its addresses in network order: 4 or 16 bytes.
    package let addresses: [[UInt8]]

    private let handle: CertificateHandle

    /// The certificates in text by PEM (RFC 7468), in their order; nil if one of them is damaged, or begins elsewhere than
    /// at the left margin: a reader of PEM would leave it out without a word.
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
            // A name with another character than these would be read in two ways (CVE-2021-3712).
            guard value.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
            let name = String(decoding: value, as: UTF8.self).lowercased()
            return name.hasSuffix(".") ? String(name.dropLast()) : name
        }
        self.addresses = names.filter { $0.kind == GEN_IPADD && [4, 16].contains($0.value.count) }.map(\.value)
    }

    package static func == (left: Certificate, right: Certificate) -> Bool { left.handle.der == right.handle.der }

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
