import COpenSSL
package import Vocabulary

/// Password hashes by scrypt (RFC 7914): `scrypt:N:r:p:salt:hash` with salt and hash in base64url. PHC strings of other
/// programs are verified, too: `$scrypt$ln=14,r=8,p=5$salt$hash`, with the logarithm of N and unpadded base64.
package enum Scrypt {
    /// Returns true if `password` is the password that `encoded` was made from.
    ///
    /// The time depends on the cost in `encoded`, not on the password. A malformed hash is rejected at once.
    package static func verify(password: [UInt8], encoded: Secret) -> Bool {
        guard let hash = EncodedHash(encoded) else { return false }
        guard var derived = Self.derive(password: password, salt: hash.salt, cost: hash.cost, count: hash.hash.count)
        else { return false }
        defer { OPENSSL_cleanse(&derived, derived.count) }
        return constantTimeEqual(derived, hash.hash)
    }

    /// Hashes `password` with a new salt, at a cost that OWASP recommends: 16 MiB and five passes.
    package static func hash(password: [UInt8]) -> Secret {
        let salt = Random.bytes(16)
        let hash = Self.derive(password: password, salt: salt, cost: .standard, count: 32).orStop("scrypt")
        return EncodedHash(cost: .standard, salt: salt, hash: hash).encoded
    }

    /// Returns true if `encoded` can be verified: it has one of the two forms and at most 512 bytes, N is a power of
    /// two, r and p are at most 64, one pass needs 1 MiB to 256 MiB (all passes at most 1 GiB), the salt has 8 to 128
    /// bytes and the hash 32 to 128 bytes.
    package static func isWellFormed(_ encoded: Secret) -> Bool {
        EncodedHash(encoded) != nil
    }

    /// Returns a hash that no password matches, with the cost of `encoded`. If `encoded` is malformed, the
    /// hash has the cost of `hash(password:)`.
    package static func decoy(like encoded: Secret) -> Secret {
        let cost = EncodedHash(encoded)?.cost ?? .standard
        return EncodedHash(cost: cost, salt: Random.bytes(16), hash: Random.bytes(32)).encoded
    }

    /// Derives `count` bytes from the password; `nil` if OpenSSL rejects the cost or has no memory for it.
    package static func derive(password: [UInt8], salt: [UInt8], cost: Cost, count: Int) -> [UInt8]? {
        guard count > 0 else { return nil }
        var succeeded = false
        let derived = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            let result = withPointer(password) { password, passwordCount in
                // OpenSSL declares `char *`; any bytes are allowed.
                password.withMemoryRebound(to: CChar.self, capacity: passwordCount) { password in
                    withPointer(salt) { salt, saltCount in
                        EVP_PBE_scrypt(
                            password,
                            passwordCount,
                            salt,
                            saltCount,
                            cost.n,
                            cost.r,
                            cost.p,
                            Self.memoryLimit,
                            buffer.baseAddress,
                            count
                        )
                    }
                }
            }
            succeeded = result == 1
            initialized = succeeded ? count : 0
        }
        if !succeeded { ERR_clear_error() }
        return succeeded ? derived : nil
    }

    /// OpenSSL's memory limit in bytes, a little more than the most expensive accepted hash needs. OpenSSL's default,
    /// 32 MiB, is too low for common costs.
    private static let memoryLimit: UInt64 = 320 << 20
}

extension Scrypt {
    /// The cost of one guess: `128 * n * r` bytes of memory and `n * r * p` work (RFC 7914 2).
    package struct Cost: Sendable, Equatable {
        package let n: UInt64
        package let r: UInt64
        package let p: UInt64

        package init(n: UInt64, r: UInt64, p: UInt64) {
            self.n = n
            self.r = r
            self.p = p
        }

        static let standard = Cost(n: 16_384, r: 8, p: 5)

        /// Whether the cost is high enough to protect passwords, and low enough not to overload the machine.
        var isAcceptable: Bool {
            guard (2...(1 << 24)).contains(self.n), self.n & (self.n - 1) == 0 else { return false }
            guard (1...64).contains(self.r), (1...64).contains(self.p) else { return false }
            let memory = 128 * self.n * self.r
            return memory >= 1 << 20 && memory <= 256 << 20 && memory * self.p <= 1 << 30
        }
    }

    fileprivate struct EncodedHash {
        let cost: Cost
        let salt: [UInt8]
        let hash: [UInt8]

        private static func own(_ text: [UInt8]) -> EncodedHash? {
            let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
            guard parts.count == 6, parts[0].elementsEqual("scrypt".utf8),
                let n = self.number(parts[1]), let r = self.number(parts[2]), let p = self.number(parts[3]),
                let salt = Base64URL.decoded(parts[4]), let hash = Base64URL.decoded(parts[5])
            else { return nil }
            return EncodedHash(cost: Cost(n: n, r: r, p: p), salt: salt, hash: hash)
        }

        private static func phc(_ text: [UInt8]) -> EncodedHash? {
            let parts = text.split(separator: UInt8(ascii: "$"), omittingEmptySubsequences: false)
            guard parts.count == 5, parts[0].isEmpty, parts[1].elementsEqual("scrypt".utf8) else { return nil }
            let costs = parts[2].split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
            guard costs.count == 3,
                let ln = self.number(costs[0], after: "ln="), ln <= 24,
                let r = self.number(costs[1], after: "r="), let p = self.number(costs[2], after: "p="),
                let salt = Base64.decodedWithoutPadding(parts[3]), let hash = Base64.decodedWithoutPadding(parts[4])
            else { return nil }
            return EncodedHash(cost: Cost(n: 1 << ln, r: r, p: p), salt: salt, hash: hash)
        }

        var encoded: Secret {
            let salt = Base64URL.encode(self.salt)
            return Secret("scrypt:\(self.cost.n):\(self.cost.r):\(self.cost.p):\(salt):\(Base64URL.encode(self.hash))")
        }

        private static func number(_ parameter: ArraySlice<UInt8>, after name: String) -> UInt64? {
            guard parameter.starts(with: name.utf8) else { return nil }
            return self.number(parameter.dropFirst(name.utf8.count))
        }

        /// Reads a decimal number without sign or leading zero.
        private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
            guard (1...9).contains(digits.count), digits.first != 0x30,
                digits.allSatisfy({ (0x30...0x39).contains($0) })
            else { return nil }
            return digits.reduce(0) { $0 * 10 + UInt64($1 - 0x30) }
        }
    }
}

extension Scrypt.EncodedHash {
    fileprivate init?(_ encoded: Secret) {
        guard encoded.bytes.count <= 512, let hash = Self.own(encoded.bytes) ?? Self.phc(encoded.bytes),
            hash.cost.isAcceptable, (8...128).contains(hash.salt.count), (32...128).contains(hash.hash.count)
        else { return nil }
        self = hash
    }
}
