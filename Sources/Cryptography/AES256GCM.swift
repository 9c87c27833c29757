import COpenSSL

/// AES-256 in Galois/Counter Mode (NIST SP 800-38D) with nonces of 12 bytes and tags of 16 bytes.
package enum AES256GCM {
    package static let keyLength = 32
    package static let nonceLength = 12
    package static let tagLength = 16

    /// Returns the ciphertext of `plaintext`, followed by the tag over the ciphertext and `authenticating`.
    ///
    /// A nonce must never be used twice with the same key. A key or nonce of the wrong length is a programming error
    /// and ends the process.
    package static func seal(
        _ plaintext: [UInt8],
        key: UnsafeRawBufferPointer,
        nonce: [UInt8],
        authenticating: [UInt8]
    ) -> [UInt8] {
        self.withContext(key: key, nonce: nonce[...], encrypts: true) { context in
            var length: Int32 = 0
            if !authenticating.isEmpty {
                let result = EVP_EncryptUpdate(context, nil, &length, authenticating, Int32(authenticating.count))
                mustSucceed(result, "EVP_EncryptUpdate")
            }
            let count = plaintext.count
            return [UInt8](unsafeUninitializedCapacity: count + Self.tagLength) { buffer, initialized in
                if count > 0 {
                    mustSucceed(
                        EVP_EncryptUpdate(context, buffer.baseAddress, &length, plaintext, Int32(count)),
                        "EVP_EncryptUpdate"
                    )
                }
                let end = buffer.baseAddress.map { $0 + count }
                mustSucceed(EVP_EncryptFinal_ex(context, end, &length), "EVP_EncryptFinal_ex")
                let result = EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagLength), end)
                mustSucceed(result, "EVP_CTRL_AEAD_GET_TAG")
                initialized = count + Self.tagLength
            }
        }
    }

    /// Returns the plaintext of `sealed` (ciphertext and tag); `nil` if `sealed` was altered, or was made with another
    /// key, nonce or `authenticating`.
    package static func open(
        _ sealed: ArraySlice<UInt8>,
        key: UnsafeRawBufferPointer,
        nonce: ArraySlice<UInt8>,
        authenticating: [UInt8]
    ) -> [UInt8]? {
        guard sealed.count >= Self.tagLength, sealed.count <= Int(Int32.max) else { return nil }
        return self.withContext(key: key, nonce: nonce, encrypts: false) { context in
            Self.decrypt(sealed, authenticating: authenticating, with: context)
        }
    }

    private static func decrypt(
        _ sealed: ArraySlice<UInt8>,
        authenticating: [UInt8],
        with context: OpaquePointer
    ) -> [UInt8]? {
        let count = sealed.count - Self.tagLength
        var length: Int32 = 0
        if !authenticating.isEmpty {
            let result = EVP_DecryptUpdate(context, nil, &length, authenticating, Int32(authenticating.count))
            mustSucceed(result, "EVP_DecryptUpdate")
        }
        // `unsafeUninitializedCapacity:` costs more than writing zeros, because it looks up the array's type at run
        // time.
        var plaintext = [UInt8](repeating: 0, count: count)
        let isGenuine = sealed.withUnsafeBufferPointer { sealed in
            // OpenSSL's parameter for the tag is not `const`, but OpenSSL only copies the tag.
            let tag = UnsafeMutablePointer(mutating: sealed.baseAddress.map { $0 + count })
            let result = EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagLength), tag)
            mustSucceed(result, "EVP_CTRL_AEAD_SET_TAG")
            return plaintext.withUnsafeMutableBufferPointer { target in
                (count == 0
                    || EVP_DecryptUpdate(context, target.baseAddress, &length, sealed.baseAddress, Int32(count)) == 1)
                    && EVP_DecryptFinal_ex(context, target.baseAddress.map { $0 + count }, &length) == 1
            }
        }
        guard isGenuine else {
            // Unverified plaintext must not stay in memory.
            OPENSSL_cleanse(&plaintext, plaintext.count)
            ERR_clear_error()
            return nil
        }
        return plaintext
    }

    private static let pool = ContextPool(
        make: { EVP_CIPHER_CTX_new().orStop("cipher context") },
        free: { EVP_CIPHER_CTX_free($0) }
    )

    private static func withContext<Result>(
        key: UnsafeRawBufferPointer,
        nonce: ArraySlice<UInt8>,
        encrypts: Bool,
        _ body: (OpaquePointer) -> Result
    ) -> Result {
        precondition(key.count == Self.keyLength && nonce.count == Self.nonceLength, "an AES-GCM key or nonce is short")
        return self.pool.with { context in
            // A reused context keeps its cipher, which halves the work. The key and the nonce replace its other state.
            // The nonce length is not set, because 12 bytes are the default.
            let cipher = EVP_CIPHER_CTX_get0_cipher(context) == nil ? Fetched.aes256GCM : nil
            let keyStart = key.assumingMemoryBound(to: UInt8.self).baseAddress
            let result = nonce.withUnsafeBufferPointer { nonce in
                EVP_CipherInit_ex2(context, cipher, keyStart, nonce.baseAddress, encrypts ? 1 : 0, nil)
            }
            mustSucceed(result, "EVP_CipherInit_ex2")
            return body(context)
        }
    }
}

extension Fetched {
    nonisolated(unsafe) static let aes256GCM = EVP_CIPHER_fetch(nil, "AES-256-GCM", nil).orStop("AES-256-GCM")
}
