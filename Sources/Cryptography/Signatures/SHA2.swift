import COpenSSL

/// The hash functions of signatures and HMACs (FIPS 180-4).
package enum SHA2: Sendable, Hashable {
    case sha256
    case sha384
    case sha512

    /// The length of a digest in bytes.
    package var length: Int {
        switch self {
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }

    /// Returns the HMAC of `message` (RFC 2104).
    package func code(of message: UnsafeRawBufferPointer, key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: self.length)
        let start = message.assumingMemoryBound(to: UInt8.self).baseAddress
        let result = withPointer(key) { HMAC(self.handle, $0, Int32($1), start, message.count, &code, nil) }
        if result == nil { mustSucceed(0, "HMAC") }
        return code
    }

    /// Returns the digest of `message`.
    package func digest(of message: [UInt8]) -> [UInt8] {
        message.withUnsafeBytes { self.withDigest(of: $0) { Array(UnsafeBufferPointer(start: $0, count: $1)) } }
    }

    func withDigest<Result>(
        of message: UnsafeRawBufferPointer,
        _ body: (UnsafePointer<UInt8>, Int) -> Result
    ) -> Result {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: self.length) { target in
            let digest = target.baseAddress.orStop("room for a digest")
            mustSucceed(EVP_Digest(message.baseAddress, message.count, digest, nil, self.handle, nil), "EVP_Digest")
            return body(digest, self.length)
        }
    }

    /// OpenSSL's handle of the hash function (`Fetched`).
    var handle: OpaquePointer {
        switch self {
        case .sha256: Fetched.sha256
        case .sha384: Fetched.sha384
        case .sha512: Fetched.sha512
        }
    }
}

extension Fetched {
    nonisolated(unsafe) static let sha384 = EVP_MD_fetch(nil, "SHA384", nil).orStop("SHA-384")
    nonisolated(unsafe) static let sha512 = EVP_MD_fetch(nil, "SHA512", nil).orStop("SHA-512")
}
