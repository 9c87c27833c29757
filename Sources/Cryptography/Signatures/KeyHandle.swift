import COpenSSL

/// An OpenSSL key. Any thread may use it, because the key does not change and its reference count is atomic.
final class KeyHandle: Sendable {
    nonisolated(unsafe) let pointer: OpaquePointer

    /// Takes ownership of `pointer`.
    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        EVP_PKEY_free(self.pointer)
    }

    /// Makes a key from these parameters; `nil` if OpenSSL rejects them.
    static func made(_ type: String, selection: Int32, _ parameters: [KeyParameter]) -> KeyHandle? {
        let context = EVP_PKEY_CTX_new_from_name(nil, type, nil).orStop("key context")
        defer { EVP_PKEY_CTX_free(context) }
        mustSucceed(EVP_PKEY_fromdata_init(context), "EVP_PKEY_fromdata_init")
        let key: OpaquePointer? = KeyParameter.withList(parameters) { list in
            var key: OpaquePointer?
            return EVP_PKEY_fromdata(context, &key, selection, list) == 1 ? key : nil
        }
        guard let key else {
            ERR_clear_error()
            return nil
        }
        return KeyHandle(key)
    }

    /// Makes a context with this key for a scheme. `begin` prepares the context for signing or for verifying.
    func context(for scheme: SignatureScheme, _ begin: (OpaquePointer) -> Int32) -> OpaquePointer {
        let context = EVP_PKEY_CTX_new_from_pkey(nil, self.pointer, nil).orStop("key context")
        mustSucceed(begin(context), "the begin of a signature")
        switch scheme {
        case .rsaPKCS1(let hash):
            mustSucceed(EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING), "PKCS #1 padding")
            mustSucceed(EVP_PKEY_CTX_set_signature_md(context, hash.handle), "the hash of a signature")
        case .rsaPSS(let hash):
            mustSucceed(EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING), "PSS padding")
            mustSucceed(EVP_PKEY_CTX_set_signature_md(context, hash.handle), "the hash of a signature")
            mustSucceed(EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST), "the salt's length")
        case .ecdsa(let curve):
            mustSucceed(EVP_PKEY_CTX_set_signature_md(context, curve.hash.handle), "the hash of a signature")
        case .ed25519:
            preconditionFailure("Ed25519 signs messages, not digests")
        }
        return context
    }

    /// Makes a pool of contexts for each scheme of `kind`, except for Ed25519, which signs messages instead of digests.
    /// `begin` prepares the contexts. The result is an array, because a search of few schemes is faster than a table.
    func pools(
        _ kind: KeyKind,
        _ begin: @escaping @Sendable (OpaquePointer) -> Int32
    ) -> [(scheme: SignatureScheme, pool: ContextPool)] {
        kind.schemes.filter { $0 != .ed25519 }.map { scheme in
            (scheme, ContextPool(make: { self.context(for: scheme, begin) }, free: { EVP_PKEY_CTX_free($0) }))
        }
    }

    /// The kind of the key; `nil` if the gateway does not use keys of its kind.
    var kind: KeyKind? {
        if EVP_PKEY_is_a(self.pointer, "RSA") == 1 { return .rsa }
        if EVP_PKEY_is_a(self.pointer, "ED25519") == 1 { return .ed25519 }
        guard EVP_PKEY_is_a(self.pointer, "EC") == 1 else { return nil }
        var name = [CChar](repeating: 0, count: 64)
        guard EVP_PKEY_get_group_name(self.pointer, &name, name.count, nil) == 1 else {
            ERR_clear_error()
            return nil
        }
        let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return EllipticCurve(openSSLName: text).map(KeyKind.ellipticCurve)
    }

    /// Returns a number of the key, big-endian in `length` bytes, or in as few as possible if `length` is `nil`.
    func number(_ name: String, length: Int? = nil) -> [UInt8] {
        var number: OpaquePointer?
        mustSucceed(EVP_PKEY_get_bn_param(self.pointer, name, &number), "EVP_PKEY_get_bn_param")
        defer { BN_clear_free(number) }
        let least = (Int(BN_num_bits(number)) + 7) / 8
        let count = length ?? least
        precondition(least <= count, "a number of a key is longer than its kind allows")
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            initialized = Int(BN_bn2binpad(number, buffer.baseAddress, Int32(count)))
        }
    }
}
