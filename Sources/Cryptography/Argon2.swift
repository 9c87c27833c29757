import CArgon2
import COpenSSL
package import Vocabulary

/// Verifies Argon2 password hashes (RFC 9106, `Argon2Hash`) that other programs made. The gateway's own hashes use
/// scrypt.
package enum Argon2 {
    /// Returns true if `password` is the password that `encoded` was made from.
    ///
    /// The time depends on the cost in `encoded`, not on the password. A malformed hash is rejected at once.
    package static func verify(password: [UInt8], encoded: Secret) -> Bool {
        guard let parts = Self.parts(encoded), let salt = Self.decoded(parts.salt), let hash = Self.decoded(parts.hash),
            var derived = Self.derive(password: password, salt: salt, like: parts, count: hash.count)
        else { return false }
        defer { OPENSSL_cleanse(&derived, derived.count) }
        return constantTimeEqual(derived, hash)
    }

    /// Returns true if `encoded` can be verified.
    package static func isWellFormed(_ encoded: Secret) -> Bool { self.parts(encoded) != nil }

    /// Returns a hash that no password matches, with the variant and cost of a well-formed hash.
    static func decoy(like encoded: Secret) -> Secret {
        guard let parts = Self.parts(encoded), let hash = Self.decoded(parts.hash) else { return encoded }
        return Secret(
            parts.with(
                salt: Base64.encodedWithoutPadding(Random.bytes(16)),
                hash: Base64.encodedWithoutPadding(Random.bytes(hash.count))
            ).text
        )
    }

    private static func parts(_ encoded: Secret) -> Argon2Hash? {
        try? Argon2Hash(String(decoding: encoded.bytes, as: UTF8.self))
    }

    private static func decoded(_ text: String) -> [UInt8]? { Base64.decodedWithoutPadding(Array(text.utf8)[...]) }

    /// Derives `count` bytes from the password; `nil` if the memory does not suffice for the cost.
    private static func derive(password: [UInt8], salt: [UInt8], like parts: Argon2Hash, count: Int) -> [UInt8]? {
        var (password, salt) = (password, salt)
        var derived = [UInt8](repeating: 0, count: count)
        let (passwordCount, saltCount) = (UInt32(password.count), UInt32(salt.count))
        let status = derived.withUnsafeMutableBufferPointer { derived in
            password.withUnsafeMutableBufferPointer { password in
                salt.withUnsafeMutableBufferPointer { salt in
                    var context = argon2_context()
                    context.out = derived.baseAddress
                    context.outlen = UInt32(count)
                    context.pwd = passwordCount > 0 ? password.baseAddress : nil
                    context.pwdlen = passwordCount
                    context.salt = salt.baseAddress
                    context.saltlen = saltCount
                    context.t_cost = parts.passes
                    context.m_cost = parts.memory
                    context.lanes = parts.lanes
                    // The lanes run one after another, because the caller limits how many hashes run at a time.
                    context.threads = 1
                    context.version = parts.version
                    return argon2_ctx(&context, parts.variant == .argon2id ? Argon2_id : Argon2_i)
                }
            }
        }
        OPENSSL_cleanse(&password, password.count)
        return status == ARGON2_OK.rawValue ? derived : nil
    }
}
