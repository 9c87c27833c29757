import COpenSSL

/// SHA-256 (FIPS 180-4).
package enum SHA256 {
    /// Returns the digest of `message`.
    package static func digest(_ message: [UInt8]) -> Digest256 {
        message.withUnsafeBytes { Self.digest($0) }
    }

    /// Returns the digest of `message`.
    package static func digest(_ message: UnsafeRawBufferPointer) -> Digest256 {
        Digest256 { target in
            let start = target.assumingMemoryBound(to: UInt8.self).baseAddress
            mustSucceed(EVP_Digest(message.baseAddress, message.count, start, nil, Fetched.sha256, nil), "EVP_Digest")
        }
    }
}
