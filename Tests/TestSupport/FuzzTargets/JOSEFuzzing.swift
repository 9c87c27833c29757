import Cryptography
import JOSE
import Vocabulary

/// The same bytes as JSON, as a key set, as the header of a token that is signed correctly, as claims, as a token, and as
/// the URL, the payload and the whole of a proof.
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
        if let violation = self.proof(bytes) { return violation }
        let signed = Base64URL.encoded(bytes) + Array(".e30".utf8)
        let token = signed + [UInt8(ascii: ".")] + Base64URL.encoded(Self.key.signature(of: signed))
        guard let accepted = try? JWS.verify(token, with: Self.keys, allowing: [.es256]) else { return nil }
        let isPlain = accepted.header["alg"] == "ES256" && self.refusedMembers.allSatisfy { accepted.header[$0] == nil }
        return isPlain ? nil : "a header that must be refused is accepted"
    }

    private static let judge = DPoPJudge(nonces: DPoPNonces(SecretRing(current: Secret("fuzzing"))))
    private static let now = UnixTime(seconds: 1_800_000_000)

    private static func proof(_ bytes: [UInt8]) -> String? {
        let origin = "https://a.example"
        let target = DPoPTarget(origin: Array(origin.utf8), path: Array("/".utf8) + bytes)
        let path = String(decoding: bytes.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }, as: UTF8.self)
        if Array(path.utf8) == bytes, !target.matches("https://A.EXAMPLE:443/" + path) {
            return "a URL does not equal itself"
        }
        if target.matches("https://b.example/" + path) { return "a URL equals that of another host" }
        if target.matches(String(decoding: bytes, as: UTF8.self)), !bytes.contains(UInt8(ascii: ":")) {
            return "what is no URL equals one"
        }
        let demand = DPoPDemand(method: "GET", target: DPoPTarget(origin: Array(origin.utf8), path: Array("/".utf8)))
        func accepts(_ proof: [UInt8]) -> Bool {
            (try? self.judge.judge(proof, for: demand, now: self.now, epoch: 1)) != nil
        }
        if accepts(bytes) { return "a proof that nobody signed is accepted" }
        let header: [(String, JSONValue)] = [("typ", "dpop+jwt"), ("jwk", self.key.publicKey.required)]
        guard accepts(self.key.sign(bytes, header: header)) else { return nil }
        let claims = try? JWTClaims(bytes)
        let isFull = claims?.id != nil && claims?.issuedAt != nil && claims?["htm"] == "GET" && claims?["htu"] != nil
        return isFull ? nil : "a proof without its claims is accepted"
    }
}
