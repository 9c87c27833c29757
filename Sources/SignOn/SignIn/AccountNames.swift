import Cryptography
package import Vocabulary

/// Names accounts in the audit stream without revealing the input. Users may type passwords into the wrong field, and
/// an unknown identifier may be the email address of an uninvolved person.
///
/// A name is a keyed hash, so a reader of the log cannot compute it from a list of addresses. A successful sign-in is
/// recorded with both the name and the subject, so that failed sign-ins can be matched to their user.
package struct AccountNames: Sendable {
    private let key: HMACKey

    /// - Parameter secret: The deployment's current secret. Another secret yields other names.
    package init(_ secret: Secret) {
        self.key = HMACKey(HKDF(secret: secret.bytes).bytes(for: "sallyport account name 1", count: 32))
    }

    /// Returns 22 characters of base64url: the first 128 bits of HMAC-SHA-256 over the normalised identifier.
    package func name(of user: UserIdentifier) -> String {
        Base64URL.encode(Array(self.key.sha256(user.bytes).bytes.prefix(16)))
    }
}
