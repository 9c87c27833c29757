/// Which RSA keys are used.
enum RSAKeyRules {
    /// At least 2048 bits (RFC 7518 3.3). The time to verify grows with the square of the length, so there is an upper
    /// bound.
    static let bits = 2048...8192

    /// Odd, at least 3, at most 32 bits, without leading zeros.
    static func isSound(exponent: [UInt8]) -> Bool {
        guard (1...4).contains(exponent.count), exponent[0] != 0 else { return false }
        let value = exponent.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return value & 1 == 1 && value >= 3
    }

    /// Whether the modulus has the form of keys of a broken generator, which can be factored (CVE-2017-15361): modulo
    /// every small prime it is a power of 65537. Of other moduli about one in 2^27 is.
    static func isOfWeakGenerator(modulus: [UInt8]) -> Bool {
        self.smallPrimes.allSatisfy { prime in
            let remainder = modulus.reduce(UInt32(0)) { ($0 << 8 | UInt32($1)) % prime }
            var power: UInt32 = 1
            repeat {
                if power == remainder { return true }
                power = power * (65_537 % prime) % prime
            } while power != 1
            return false
        }
    }

    private static let smallPrimes: [UInt32] = [
        3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109,
        113, 127, 131, 137, 139, 149, 151, 157, 163, 167,
    ]
}
