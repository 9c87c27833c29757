import COpenSSL
package import Vocabulary

/// A private key that signs, on any thread.
package final class PrivateKey: Sendable {
    package let kind: KeyKind
    /// The matching public key.
    package let publicKey: PublicKey
    private let key: KeyHandle
    private let pools: [(scheme: SignatureScheme, pool: ContextPool)]

    private init(_ key: KeyHandle, kind: KeyKind) {
        self.key = key
        self.kind = kind
        self.publicKey = PublicKey(key, kind: kind)
        self.pools = key.pools(kind) { EVP_PKEY_sign_init($0) }
    }

    /// Takes ownership of a key; `nil` if the gateway does not use keys of its kind or rejects its RSA numbers.
    private convenience init?(pointer: OpaquePointer?) {
        guard let pointer else {
            ERR_clear_error()
            return nil
        }
        let key = KeyHandle(pointer)
        guard let kind = key.kind else { return nil }
        if kind == .rsa {
            let isSound =
                PublicKey(modulus: key.number(OSSL_PKEY_PARAM_RSA_N), exponent: key.number(OSSL_PKEY_PARAM_RSA_E))
                != nil
            guard isSound else { return nil }
        }
        self.init(key, kind: kind)
    }

    /// Reads the first private key in PEM text (RFC 7468): PKCS #8, or the older `EC PRIVATE KEY` and `RSA PRIVATE
    /// KEY`. `nil` if there is no key, the key is encrypted, or the gateway does not use keys of its kind.
    package convenience init?(pem: Secret) {
        let pointer: OpaquePointer? = pem.bytes.withUnsafeBytes { bytes in
            guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
            defer { BIO_free(bio) }
            // Without a callback, OpenSSL would ask the terminal for the password of an encrypted key.
            return PEM_read_bio_PrivateKey_ex(bio, nil, { _, _, _, _ in -1 }, nil, nil, nil)
        }
        self.init(pointer: pointer)
    }

    /// Reads a PKCS #8 key in DER (RFC 5958); `nil` if it is invalid or of a kind that the gateway does not use.
    package convenience init?(pkcs8: Secret) {
        let pointer: OpaquePointer? = pkcs8.bytes.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            guard let information = d2i_PKCS8_PRIV_KEY_INFO(nil, &start, bytes.count) else { return nil }
            defer { PKCS8_PRIV_KEY_INFO_free(information) }
            return EVP_PKCS82PKEY_ex(information, nil, nil)
        }
        self.init(pointer: pointer)
    }

    /// Generates a key. RSA keys have 2048 bits.
    package static func generated(_ kind: KeyKind) -> PrivateKey {
        let type =
            switch kind {
            case .rsa: "RSA"
            case .ellipticCurve: "EC"
            case .ed25519: "ED25519"
            }
        let context = EVP_PKEY_CTX_new_from_name(nil, type, nil).orStop("key context")
        defer { EVP_PKEY_CTX_free(context) }
        mustSucceed(EVP_PKEY_keygen_init(context), "EVP_PKEY_keygen_init")
        switch kind {
        case .rsa: mustSucceed(EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048), "the length of a key")
        case .ellipticCurve(let curve):
            mustSucceed(EVP_PKEY_CTX_set_group_name(context, curve.rawValue), "the curve of a key")
        case .ed25519: break
        }
        var key: OpaquePointer?
        mustSucceed(EVP_PKEY_generate(context, &key), "EVP_PKEY_generate")
        return PrivateKey(KeyHandle(key.orStop("key")), kind: kind)
    }

    /// The key as PKCS #8 in DER.
    package var pkcs8: Secret {
        let information = EVP_PKEY2PKCS8(self.key.pointer).orStop("PKCS #8")
        defer { PKCS8_PRIV_KEY_INFO_free(information) }
        var start: UnsafeMutablePointer<UInt8>?
        let count = Int(i2d_PKCS8_PRIV_KEY_INFO(information, &start))
        let bytes = start.orStop("PKCS #8")
        defer { CRYPTO_clear_free(bytes, count, #file, #line) }
        return Secret(Array(UnsafeBufferPointer(start: bytes, count: count)))
    }

    /// The numbers of the public key: modulus and exponent (RSA), x and y (elliptic curves), or 32 bytes (Ed25519).
    package var publicNumbers: [[UInt8]] {
        switch self.kind {
        case .rsa: return [self.key.number(OSSL_PKEY_PARAM_RSA_N), self.key.number(OSSL_PKEY_PARAM_RSA_E)]
        case .ellipticCurve(let curve):
            return [OSSL_PKEY_PARAM_EC_PUB_X, OSSL_PKEY_PARAM_EC_PUB_Y].map {
                self.key.number($0, length: curve.length)
            }
        case .ed25519:
            var count = 32
            var bytes = [UInt8](repeating: 0, count: count)
            mustSucceed(EVP_PKEY_get_raw_public_key(self.key.pointer, &bytes, &count), "EVP_PKEY_get_raw_public_key")
            return [bytes]
        }
    }

    /// Signs `message`. A scheme for another kind of key is a programming error and ends the process.
    package func signature(of message: [UInt8], by scheme: SignatureScheme) -> [UInt8] {
        switch scheme {
        case .rsaPKCS1(let hash), .rsaPSS(let hash): return self.signature(of: message, scheme, hash)
        case .ecdsa(let curve):
            let der = self.signature(of: message, scheme, curve.hash)
            return ECDSASignature.raw(der[...], on: curve).orStop("signature")
        case .ed25519: return self.ed25519Signature(of: message)
        }
    }

    /// The maximum length of a signature, reached by an RSA key of 8192 bits.
    private static let maxSignature = 1024

    private func signature(of message: [UInt8], _ scheme: SignatureScheme, _ hash: SHA2) -> [UInt8] {
        let pool = self.pools.first { $0.scheme == scheme }.orStop("scheme for this key").pool
        return message.withUnsafeBytes { message in
            hash.withDigest(of: message) { digest, digestCount in
                [UInt8](unsafeUninitializedCapacity: Self.maxSignature) { target, initialized in
                    initialized = Self.maxSignature
                    let result = pool.with {
                        EVP_PKEY_sign($0, target.baseAddress, &initialized, digest, digestCount)
                    }
                    mustSucceed(result, "EVP_PKEY_sign")
                }
            }
        }
    }

    private func ed25519Signature(of message: [UInt8]) -> [UInt8] {
        let context = EVP_MD_CTX_new().orStop("digest context")
        defer { EVP_MD_CTX_free(context) }
        mustSucceed(EVP_DigestSignInit_ex(context, nil, nil, nil, nil, self.key.pointer, nil), "EVP_DigestSignInit")
        return [UInt8](unsafeUninitializedCapacity: 64) { target, initialized in
            initialized = 64
            let result = withPointer(message) { EVP_DigestSign(context, target.baseAddress, &initialized, $0, $1) }
            mustSucceed(result, "EVP_DigestSign")
        }
    }
}

extension PrivateKey {
    /// Derives a P-256 key that depends only on `secret` and `purpose`.
    ///
    /// HKDF derives 32 bytes for each value of a counter. The key is the first result from 1 to n - 1, where n is the
    /// group's order (FIPS 186-4 B.4.2).
    package static func derivedP256(from secret: Secret, purpose: String) -> PrivateKey {
        for counter in 1...255 {
            let scalar = HKDF(secret: secret.bytes).bytes(for: "\(purpose) \(counter)", count: 32)
            if let key = Self.p256(scalar) { return key }
        }
        preconditionFailure("HKDF gave no number below the order of P-256")
    }

    /// Makes the key with this big-endian number; `nil` unless it is from 1 to n - 1, where n is the group's order.
    static func p256(_ scalar: [UInt8]) -> PrivateKey? {
        guard scalar.count == 32, scalar.contains(where: { $0 != 0 }), scalar.lexicographicallyPrecedes(Self.p256Order)
        else { return nil }
        let key = KeyHandle.made(
            "EC",
            selection: sallyport_EVP_PKEY_KEYPAIR,
            [
                .text(OSSL_PKEY_PARAM_GROUP_NAME, EllipticCurve.p256.rawValue),
                .number(OSSL_PKEY_PARAM_PRIV_KEY, scalar),
                .octets(OSSL_PKEY_PARAM_PUB_KEY, Self.p256Point(scalar)),
            ]
        )
        return PrivateKey(key.orStop("key of P-256"), kind: .ellipticCurve(.p256))
    }

    /// Returns the public key's uncompressed point. OpenSSL does not compute the point of an imported private key.
    private static func p256Point(_ scalar: [UInt8]) -> [UInt8] {
        let number = BN_bin2bn(scalar, Int32(scalar.count), nil).orStop("number")
        defer { BN_clear_free(number) }
        let group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1).orStop("P-256")
        defer { EC_GROUP_free(group) }
        let point = EC_POINT_new(group).orStop("point")
        defer { EC_POINT_free(point) }
        mustSucceed(EC_POINT_mul(group, point, number, nil, nil, nil), "EC_POINT_mul")
        var encoded = [UInt8](repeating: 0, count: 65)
        let form = POINT_CONVERSION_UNCOMPRESSED
        let count = EC_POINT_point2oct(group, point, form, &encoded, encoded.count, nil)
        precondition(count == encoded.count, "OpenSSL gave no point")
        return encoded
    }

    /// The order n of the group (FIPS 186-4 D.1.2.3).
    private static let p256Order: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
    ]
}
