import COpenSSL

/// HKDF with SHA-256 (RFC 5869): many keys from one secret.
package enum HKDF {
    /// `count` bytes for the purpose that `info` names.
    ///
    /// An empty salt means 32 zero bytes. The secret must not be empty, and `count` is 1 to 8160 (255 blocks). Anything
    /// else is a programming error and ends the process.
    package static func sha256(secret: [UInt8], salt: [UInt8], info: String, count: Int) -> [UInt8] {
        Self.sha256(secret: secret, salt: salt, info: Array(info.utf8), count: count)
    }

    /// `count` bytes for the purpose that the bytes of `info` name.
    package static func sha256(secret: [UInt8], salt: [UInt8], info: [UInt8], count: Int) -> [UInt8] {
        precondition(!secret.isEmpty, "the secret for HKDF must not be empty")
        precondition((1...8160).contains(count), "HKDF cannot give that many bytes")
        let context = EVP_PKEY_CTX_new_from_name(nil, "HKDF", nil).orStop("HKDF context")
        defer { EVP_PKEY_CTX_free(context) }
        mustSucceed(EVP_PKEY_derive_init(context), "EVP_PKEY_derive_init")
        mustSucceed(EVP_PKEY_CTX_set_hkdf_md(context, Fetched.sha256), "the digest of HKDF")
        mustSucceed(
            withPointer(secret) { EVP_PKEY_CTX_set1_hkdf_key(context, $0, Int32($1)) },
            "the secret of HKDF"
        )
        if !salt.isEmpty {
            mustSucceed(withPointer(salt) { EVP_PKEY_CTX_set1_hkdf_salt(context, $0, Int32($1)) }, "the salt of HKDF")
        }
        if !info.isEmpty {
            mustSucceed(withPointer(info) { EVP_PKEY_CTX_add1_hkdf_info(context, $0, Int32($1)) }, "the info of HKDF")
        }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            var length = count
            mustSucceed(EVP_PKEY_derive(context, buffer.baseAddress, &length), "EVP_PKEY_derive")
            precondition(length == count, "HKDF gave another count of bytes")
            initialized = count
        }
    }
}
