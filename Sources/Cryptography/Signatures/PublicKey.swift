import COpenSSL

/// A public key that verifies signatures, on any thread. OpenSSL's contexts are prepared once and reused.
package final class PublicKey: Sendable {
    package let kind: KeyKind
    private let key: KeyHandle
    private let pools: [(scheme: SignatureScheme, pool: ContextPool)]

    init(_ key: KeyHandle, kind: KeyKind) {
        self.key = key
        self.kind = kind
        self.pools = key.pools(kind) { EVP_PKEY_verify_init($0) }
    }

    /// Makes an RSA key from big-endian numbers. `nil` if the modulus is even, outside 2048 to 8192 bits or affected by
    /// CVE-2017-15361, if the exponent is even, below 3 or over 32 bits, or if a number has leading zeros.
    package convenience init?(modulus: [UInt8], exponent: [UInt8]) {
        guard let first = modulus.first, let last = modulus.last, last & 1 == 1 else { return nil }
        let bits = modulus.count * 8 - first.leadingZeroBitCount
        guard first != 0, RSAKeyRules.bits.contains(bits), RSAKeyRules.isSound(exponent: exponent),
            !RSAKeyRules.isOfWeakGenerator(modulus: modulus)
        else { return nil }
        let key = KeyHandle.made(
            "RSA",
            selection: sallyport_EVP_PKEY_PUBLIC_KEY,
            [.number(OSSL_PKEY_PARAM_RSA_N, modulus), .number(OSSL_PKEY_PARAM_RSA_E, exponent)]
        )
        guard let key else { return nil }
        self.init(key, kind: .rsa)
    }

    /// Makes the key of a point; `nil` if the point is not on the curve or a coordinate does not have the full length.
    package convenience init?(_ curve: EllipticCurve, x: [UInt8], y: [UInt8]) {
        guard x.count == curve.length, y.count == curve.length else { return nil }
        let key = KeyHandle.made(
            "EC",
            selection: sallyport_EVP_PKEY_PUBLIC_KEY,
            [
                .text(OSSL_PKEY_PARAM_GROUP_NAME, curve.rawValue),
                // The uncompressed form of a point (SEC 1 2.3.3).
                .octets(OSSL_PKEY_PARAM_PUB_KEY, [0x04] + x + y),
            ]
        )
        guard let key else { return nil }
        let context = EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil).orStop("key context")
        defer { EVP_PKEY_CTX_free(context) }
        guard EVP_PKEY_public_check(context) == 1 else {
            ERR_clear_error()
            return nil
        }
        self.init(key, kind: .ellipticCurve(curve))
    }

    /// Makes an Ed25519 key; `nil` unless there are 32 bytes.
    package convenience init?(ed25519 bytes: [UInt8]) {
        guard bytes.count == 32,
            let key = EVP_PKEY_new_raw_public_key_ex(nil, "ED25519", nil, bytes, bytes.count)
        else {
            ERR_clear_error()
            return nil
        }
        self.init(KeyHandle(key), kind: .ed25519)
    }

    /// True if `signature` is this key's signature of `message`; false if the scheme is for another kind of key.
    ///
    /// - Parameter signature: The signature; for ECDSA, r followed by s.
    package func verifies(
        _ signature: ArraySlice<UInt8>,
        of message: UnsafeRawBufferPointer,
        by scheme: SignatureScheme
    ) -> Bool {
        let isGenuine =
            switch scheme {
            case .rsaPKCS1(let hash), .rsaPSS(let hash): self.verifies(signature, of: message, scheme, hash)
            case .ecdsa(let curve):
                ECDSASignature.der(signature, on: curve).map {
                    self.verifies($0[...], of: message, scheme, curve.hash)
                } ?? false
            case .ed25519: self.kind == .ed25519 && self.verifiesEd25519(signature, of: message)
            }
        // A failed verification leaves entries in the thread's error queue.
        if !isGenuine { ERR_clear_error() }
        return isGenuine
    }

    private func verifies(
        _ signature: ArraySlice<UInt8>,
        of message: UnsafeRawBufferPointer,
        _ scheme: SignatureScheme,
        _ hash: SHA2
    ) -> Bool {
        guard let pool = self.pools.first(where: { $0.scheme == scheme })?.pool else { return false }
        return hash.withDigest(of: message) { digest, count in
            signature.withUnsafeBufferPointer { signature in
                pool.with { EVP_PKEY_verify($0, signature.baseAddress, signature.count, digest, count) == 1 }
            }
        }
    }

    private func verifiesEd25519(_ signature: ArraySlice<UInt8>, of message: UnsafeRawBufferPointer) -> Bool {
        let context = EVP_MD_CTX_new().orStop("digest context")
        defer { EVP_MD_CTX_free(context) }
        mustSucceed(EVP_DigestVerifyInit_ex(context, nil, nil, nil, nil, self.key.pointer, nil), "EVP_DigestVerifyInit")
        let start = message.assumingMemoryBound(to: UInt8.self).baseAddress
        return signature.withUnsafeBufferPointer { signature in
            EVP_DigestVerify(context, signature.baseAddress, signature.count, start, message.count) == 1
        }
    }
}
