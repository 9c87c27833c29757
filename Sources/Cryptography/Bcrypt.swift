import CCrypt
import COpenSSL
package import Vocabulary

/// Verifies bcrypt hashes that other programs made: `$2b$10$` (version and cost), 22 characters of salt and 31
/// characters of hash. The gateway makes its own hashes with scrypt, which needs much memory for each guess.
package enum Bcrypt {
    /// The number of bytes of a password that bcrypt reads. Further bytes do not change the hash.
    private static let longestPassword = 72
    /// The accepted costs (binary logarithms of the rounds). The highest takes as long as the costliest scrypt hash.
    private static let costs = (4...16).map { $0 < 10 ? "0\($0)" : "\($0)" }
    /// The accepted versions, all with one algorithm. `$2x$` is rejected: it marks hashes of a faulty program
    /// (CVE-2011-2483).
    private static let versions = ["2a", "2b", "2y"]
    private static let alphabet = Array("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    private static let saltLength = 22
    private static let hashLength = 31
    /// The length of `$2b$10$`.
    private static let prefixLength = 7

    /// Returns true if `password` is the password that `encoded` was made from. Passwords over 72 bytes or with a NUL
    /// byte never match, because libcrypt would ignore the rest.
    ///
    /// The time depends on the cost in `encoded`, not on the password. A malformed hash is rejected at once.
    package static func verify(password: [UInt8], encoded: Secret) -> Bool {
        guard Self.isWellFormed(encoded) else { return false }
        let isReadWhole = password.count <= Self.longestPassword && !password.contains(0)
        guard let hash = Self.derive(password: isReadWhole ? password : [], like: encoded) else { return false }
        // The salt is not compared: its last character has unused bits, which libcrypt clears.
        return constantTimeEqual(hash, Array(encoded.bytes.suffix(Self.hashLength))) && isReadWhole
    }

    /// Returns true if `encoded` can be verified: `$2a$`, `$2b$` or `$2y$`, a cost of 4 to 16, salt and hash.
    package static func isWellFormed(_ encoded: Secret) -> Bool {
        let parts = encoded.bytes.split(separator: UInt8(ascii: "$"), omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0].isEmpty,
            Self.versions.contains(where: { parts[1].elementsEqual($0.utf8) }),
            Self.costs.contains(where: { parts[2].elementsEqual($0.utf8) }),
            parts[3].count == Self.saltLength + Self.hashLength
        else { return false }
        return parts[3].allSatisfy { Self.alphabet.contains($0) }
    }

    /// Returns a hash that no password matches, with the cost of a well-formed hash.
    static func decoy(like encoded: Secret) -> Secret {
        let random = Random.bytes(Self.saltLength + Self.hashLength).map { Self.alphabet[Int($0 & 0x3F)] }
        return Secret(Array(encoded.bytes.prefix(Self.prefixLength)) + random)
    }

    /// Returns the hash of `password` with the salt and cost of `encoded`; `nil` if libcrypt rejects them.
    private static func derive(password: [UInt8], like encoded: Secret) -> [UInt8]? {
        var phrase = password + [0]
        let setting = encoded.bytes + [0]
        // libcrypt needs a buffer of 32 KiB of zeros, and writes the hash into it.
        let size = Int(sallyport_CRYPT_DATA_SIZE)
        let data = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        data.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        defer {
            OPENSSL_cleanse(data, size)
            data.deallocate()
            OPENSSL_cleanse(&phrase, phrase.count)
        }
        let output: UnsafeMutablePointer<CChar>? = withPointer(phrase) { phrase, phraseCount in
            phrase.withMemoryRebound(to: CChar.self, capacity: phraseCount) { phrase in
                withPointer(setting) { setting, settingCount in
                    setting.withMemoryRebound(to: CChar.self, capacity: settingCount) { setting in
                        crypt_rn(phrase, setting, data, Int32(size))
                    }
                }
            }
        }
        guard let output else { return nil }
        let count = Self.prefixLength + Self.saltLength + Self.hashLength
        return Array(UnsafeRawBufferPointer(start: output, count: count).suffix(Self.hashLength))
    }
}
