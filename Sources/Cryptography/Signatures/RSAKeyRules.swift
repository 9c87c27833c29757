/// The rules for the RSA keys that the gateway accepts.
enum RSAKeyRules {
    /// The allowed number of bits: at least 2048 (RFC 7518 3.3), with an upper limit because verification time grows
    /// with the square of the length.
    static let bits = 2048...8192

    /// Returns true if an exponent is odd, at least 3 and at most 32 bits long, without leading zeros.
    static func isSound(exponent: [UInt8]) -> Bool {
        guard (1...4).contains(exponent.count), exponent[0] != 0 else { return false }
        let value = exponent.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return value & 1 == 1 && value >= 3
    }

    /// Returns true if a modulus has the form of a broken generator's keys, which can be factored (CVE-2017-15361): a
    /// power of 65537 modulo every small prime. About one in 2^27 sound moduli has this form, too.
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
