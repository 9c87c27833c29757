package import Vocabulary

/// The hash of a user's password: made by the gateway with scrypt, or by another program with bcrypt or Argon2.
package enum PasswordHash {
    /// Returns true if `password` is the password that `encoded` was made from.
    ///
    /// The time depends on the cost in `encoded`, not on the password. A malformed hash is rejected at once.
    package static func verify(password: [UInt8], encoded: Secret) -> Bool {
        if Bcrypt.isWellFormed(encoded) { return Bcrypt.verify(password: password, encoded: encoded) }
        if Argon2.isWellFormed(encoded) { return Argon2.verify(password: password, encoded: encoded) }
        return Scrypt.verify(password: password, encoded: encoded)
    }

    /// Returns a hash that no password matches, with the kind and cost of `encoded`. If `encoded` is malformed, the
    /// result is a scrypt hash with the cost of the gateway's own hashes.
    ///
    /// For an unknown user, callers verify the password against this hash, so that the time of the answer does not
    /// reveal which users exist.
    package static func decoy(like encoded: Secret) -> Secret {
        if Bcrypt.isWellFormed(encoded) { return Bcrypt.decoy(like: encoded) }
        return Argon2.isWellFormed(encoded) ? Argon2.decoy(like: encoded) : Scrypt.decoy(like: encoded)
    }
}
