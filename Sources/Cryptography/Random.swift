import COpenSSL

/// Unpredictable bytes from OpenSSL's generator (`RAND_bytes`).
///
/// A failure ends the process, because without randomness tokens could be guessed.
package enum Random {
    /// `count` fresh bytes.
    package static func bytes(_ count: Int) -> [UInt8] {
        precondition(count >= 0 && count <= Int(Int32.max), "the count of random bytes is out of range")
        guard count > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            mustSucceed(RAND_bytes(buffer.baseAddress, Int32(count)), "RAND_bytes")
            initialized = count
        }
    }

    /// The base64url form of `byteCount` fresh bytes.
    package static func base64URL(_ byteCount: Int) -> String {
        Base64URL.encode(Self.bytes(byteCount))
    }
}
