import COpenSSL

/// A key for HMAC-SHA-256 (RFC 2104), ready for use on any thread.
///
/// The key block is hashed once, and contexts are reused for many messages. OpenSSL wipes the key when the last copy of
/// the value is released.
package struct HMACKey: Sendable {
    private let keyed: Keyed

    /// Prepares a key of any length, which may be empty.
    package init(_ key: [UInt8]) {
        self.keyed = Keyed(key)
    }

    /// Returns the HMAC of `message`.
    package func sha256(_ message: [UInt8]) -> Digest256 {
        message.withUnsafeBytes { self.sha256($0) }
    }

    /// Returns the HMAC of `message`.
    package func sha256(_ message: UnsafeRawBufferPointer) -> Digest256 {
        self.sha256(message, UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// Returns the HMAC of a message in two parts.
    package func sha256(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> Digest256 {
        self.keyed.code(of: first, second)
    }
}

private final class Keyed: Sendable {
    // Not changed after `init`; copying a context only reads it.
    nonisolated(unsafe) private let context: OpaquePointer
    private let pool: ContextPool

    init(_ key: [UInt8]) {
        let context = EVP_MAC_CTX_dup(Self.unkeyed).orStop("HMAC context")
        mustSucceed(withPointer(key) { EVP_MAC_init(context, $0, $1, nil) }, "EVP_MAC_init")
        self.context = context
        nonisolated(unsafe) let original = context
        self.pool = ContextPool(
            make: { EVP_MAC_CTX_dup(original).orStop("HMAC context") },
            free: { EVP_MAC_CTX_free($0) }
        )
    }

    deinit {
        EVP_MAC_CTX_free(self.context)
    }

    /// A context with a digest but no key, made once and copied. Finding a digest by name takes longer than an HMAC.
    nonisolated(unsafe) private static let unkeyed: OpaquePointer = {
        let context = EVP_MAC_CTX_new(Fetched.hmac).orStop("HMAC context")
        var digest = Array("SHA256".utf8CString)
        let result = "digest".withCString { name in
            digest.withUnsafeMutableBufferPointer { digest in
                let parameters = [
                    OSSL_PARAM_construct_utf8_string(name, digest.baseAddress, 0), OSSL_PARAM_construct_end(),
                ]
                return EVP_MAC_CTX_set_params(context, parameters)
            }
        }
        mustSucceed(result, "EVP_MAC_CTX_set_params")
        return context
    }()

    func code(of first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> Digest256 {
        self.pool.with { context in
            // Without a key argument, OpenSSL keeps the context's key.
            mustSucceed(EVP_MAC_init(context, nil, 0, nil), "EVP_MAC_init")
            Self.update(context, first)
            Self.update(context, second)
            return Digest256 { target in
                let start = target.assumingMemoryBound(to: UInt8.self).baseAddress
                var count = 0
                mustSucceed(EVP_MAC_final(context, start, &count, target.count), "EVP_MAC_final")
            }
        }
    }

    private static func update(_ context: OpaquePointer, _ part: UnsafeRawBufferPointer) {
        guard !part.isEmpty else { return }
        let start = part.assumingMemoryBound(to: UInt8.self).baseAddress
        mustSucceed(EVP_MAC_update(context, start, part.count), "EVP_MAC_update")
    }
}
