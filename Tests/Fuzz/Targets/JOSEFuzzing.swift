import Cryptography
import JOSE
import Vocabulary

/// The same bytes as JSON, as a key set, as the header of a token that is signed correctly, as claims, and as a token.
enum JOSEFuzzing {
    private static let key = SigningKey.derivedP256(from: Secret("fuzzing"), purpose: "fuzzing")
    private static let keys = JWKSet(keys: [Self.key.publicKey])
    private static let refusedMembers = ["crit", "b64", "jku", "x5u", "jwk"]

    static func jose(_ bytes: [UInt8]) -> String? {
        if let value = JSONText.decode(bytes), JSONText.decode(JSONText.encode(value)) != value {
            return "JSON that was read is written as something else"
        }
        if let set = try? JWKSet(bytes) {
            let again = try? JWKSet(JSONText.encode(set.value))
            if again?.keys != set.keys { return "a key set that was read is written as another" }
        }
        _ = try? JWTClaims(bytes).check(issuer: "a", audience: ["a"], now: UnixTime(seconds: 1_800_000_000))
        if (try? JWS.verify(bytes, with: Self.keys, allowing: JWSAlgorithm.asymmetric)) != nil {
            return "a token that nobody signed is accepted"
        }
        let signed = Base64URL.encoded(bytes) + Array(".e30".utf8)
        let token = signed + [UInt8(ascii: ".")] + Base64URL.encoded(Self.key.signature(of: signed))
        guard let accepted = try? JWS.verify(token, with: Self.keys, allowing: [.es256]) else { return nil }
        let isPlain = accepted.header["alg"] == "ES256" && self.refusedMembers.allSatisfy { accepted.header[$0] == nil }
        return isPlain ? nil : "a header that must be refused is accepted"
    }
}
