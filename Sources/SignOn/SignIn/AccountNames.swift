import Cryptography
package import Vocabulary

/// Keyed hashes of the identifiers that users type, for the audit stream. The identifiers themselves may be mistyped
/// passwords or addresses of strangers.
///
/// A successful sign-in is recorded with hash and subject, so that failed sign-ins can be matched to their user.
package struct AccountNames: Sendable {
    private let key: HMACKey

    /// - Parameter secret: The deployment's current secret. Another secret yields other hashes.
    package init(_ secret: Secret) {
        self.key = HMACKey(HKDF(secret: secret.bytes).bytes(for: "sallyport account name 1", count: 32))
    }

    /// Returns 22 characters of base64url: the first 128 bits of HMAC-SHA-256 over the normalised identifier.
    package func name(of user: UserIdentifier) -> String {
        Base64URL.encode(Array(self.key.sha256(user.bytes).bytes.prefix(16)))
    }
}
