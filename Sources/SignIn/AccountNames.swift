internal import Cryptography
package import Providers
package import Vocabulary

/// Names accounts in the audit stream without telling what was typed: people type passwords into the wrong field, and an
/// unknown identifier may be somebody's address elsewhere.
///
/// A name is a keyed hash, so it cannot be computed from a list of addresses by a reader of the log. The sign-in that
/// succeeds has it beside the subject: that is how a failed one is matched to its user.
package struct AccountNames: Sendable {
    private let key: HMACKey

    /// - Parameter secret: The deployment's current secret. Names under the next one are others.
    package init(_ secret: Secret) {
        self.key = HMACKey(HKDF.sha256(secret: secret.bytes, salt: [], info: "sallyport account name 1", count: 32))
    }

    /// 22 characters of base64url: the first 128 bits of HMAC-SHA-256 over the identifier in its one spelling.
    package func name(of user: UserIdentifier) -> String {
        Base64URL.encode(Array(self.key.sha256(user.bytes).bytes.prefix(16)))
    }
}
