package import Vocabulary

/// The hash of a user's password: by scrypt, as the gateway makes it, or by bcrypt or Argon2, as another program made it.
package enum PasswordHash {
    /// Whether `password` is the one that `encoded` was made from.
    ///
    /// The time depends on the cost in `encoded`, not on the password. A malformed hash matches nothing and takes no
    /// time.
    package static func verify(password: [UInt8], encoded: Secret) -> Bool {
        if Bcrypt.isWellFormed(encoded) { return Bcrypt.verify(password: password, encoded: encoded) }
        if Argon2.isWellFormed(encoded) { return Argon2.verify(password: password, encoded: encoded) }
        return Scrypt.verify(password: password, encoded: encoded)
    }

    /// A hash that no password matches, of the same kind and cost as `encoded`.
    ///
    /// It is verified when the user does not exist. Otherwise the time of the answer would show which users exist.
    package static func decoy(like encoded: Secret) -> Secret {
        if Bcrypt.isWellFormed(encoded) { return Bcrypt.decoy(like: encoded) }
        return Argon2.isWellFormed(encoded) ? Argon2.decoy(like: encoded) : Scrypt.decoy(like: encoded)
    }
}
