import COpenSSL

/// OpenSSL algorithms. Each is fetched once.
///
/// Implicit fetches (`EVP_sha256()`) look up the algorithm under a lock at every use. In OpenSSL 3.0 this is slow and
/// blocks other threads (openssl#17064, openssl#20286). The handles are immutable and their reference counts atomic.
enum Fetched {
    nonisolated(unsafe) static let sha256 = EVP_MD_fetch(nil, "SHA256", nil).orStop("SHA-256")
    nonisolated(unsafe) static let hmac = EVP_MAC_fetch(nil, "HMAC", nil).orStop("HMAC")
}

extension Optional {
    /// Returns the value. If it is `nil`, ends the process: the gateway is not secure without this part of OpenSSL.
    func orStop(_ what: StaticString) -> Wrapped {
        guard let value = self else {
            ERR_clear_error()
            preconditionFailure("OpenSSL gave no \(what)")
        }
        return value
    }
}

/// Ends the process unless OpenSSL reported success. For calls that fail only if memory runs out or the library is
/// broken.
func mustSucceed(_ result: Int32, _ what: StaticString) {
    guard result == 1 else {
        ERR_clear_error()
        preconditionFailure("OpenSSL failed at \(what)")
    }
}

/// Runs `body` with a pointer that is never null. OpenSSL treats null as a missing argument even if the count is 0.
func withPointer<Result>(_ bytes: [UInt8], _ body: (UnsafePointer<UInt8>, Int) -> Result) -> Result {
    if bytes.isEmpty {
        return withUnsafePointer(to: 0) { body($0, 0) }
    }
    return bytes.withUnsafeBufferPointer { buffer in
        guard let start = buffer.baseAddress else { return withUnsafePointer(to: 0) { body($0, 0) } }
        return body(start, buffer.count)
    }
}
