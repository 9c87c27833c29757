#if !canImport(CryptoKit)
import Foundation

/// Stands in for CryptoKit where the tests run without it (FIPS 180-4).
enum SHA256 {
    static func hash(data: Data) -> [UInt8] {
        var state: [UInt32] = Self.fractions(of: 2, count: 8)
        let constants = Self.fractions(of: 3, count: 64)
        var message = Array(data) + [0x80]
        message += Array(repeating: 0, count: (120 - message.count % 64) % 64)
        message += (0..<8).reversed().map { UInt8(truncatingIfNeeded: (data.count * 8) >> ($0 * 8)) }
        for start in stride(from: 0, to: message.count, by: 64) {
            var words = (0..<16).map { word in
                message[(start + word * 4)..<(start + word * 4 + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            }
            for index in 16..<64 {
                let (early, late) = (words[index - 15], words[index - 2])
                let one = Self.turned(early, 7) ^ Self.turned(early, 18) ^ early >> 3
                let two = Self.turned(late, 17) ^ Self.turned(late, 19) ^ late >> 10
                words.append(words[index - 16] &+ one &+ words[index - 7] &+ two)
            }
            var s = state
            for index in 0..<64 {
                let one = Self.turned(s[4], 6) ^ Self.turned(s[4], 11) ^ Self.turned(s[4], 25)
                let choice = s[4] & s[5] ^ ~s[4] & s[6]
                let first = s[7] &+ one &+ choice &+ constants[index] &+ words[index]
                let two = Self.turned(s[0], 2) ^ Self.turned(s[0], 13) ^ Self.turned(s[0], 22)
                let majority = s[0] & s[1] ^ s[0] & s[2] ^ s[1] & s[2]
                s = [first &+ two &+ majority, s[0], s[1], s[2], s[3] &+ first, s[4], s[5], s[6]]
            }
            for index in 0..<8 { state[index] &+= s[index] }
        }
        return state.flatMap { word in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> $0) } }
    }

    private static func turned(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }

    /// The first 32 bits of the fractions of the roots of the first primes, by whole numbers.
    private static func fractions(of degree: Int, count: Int) -> [UInt32] {
        let primes = (2...).lazy.filter { number in !(2..<number).contains { number % $0 == 0 } }.prefix(count)
        return primes.map { prime in
            let root = degree == 2 ? sqrt(Double(prime)) : cbrt(Double(prime))
            return UInt32((root - root.rounded(.down)) * 4_294_967_296)
        }
    }
}
#endif
