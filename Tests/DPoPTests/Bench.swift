import Cryptography
import JOSE
import Vocabulary

/// The bytes of text.
func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

/// A gateway that judges proofs, and a client that makes them.
struct Bench {
    static let secrets = SecretRing(current: Secret("the secret of the gateways, which is long"))
    static let origin = "https://app.example.com"
    /// Not at the beginning of a window of nonces.
    static let now = UnixTime(seconds: 1_800_000_017)
    static let token = Secret("spa_an-access-token")

    let key: SigningKey
    var nonces = DPoPNonces(Self.secrets)
    var now = Self.now
    var epoch: UInt64 = 1
    var demand = DPoPDemand(method: "POST", target: DPoPTarget(origin: bytes(Self.origin), path: bytes("/oauth/token")))
    var keys: DPoPKeyCache?

    init(key: SigningKey = .generated(.es256)) {
        self.key = key
    }

    /// What the gateway gives out now.
    var nonce: String { self.nonces.current(at: self.now, epoch: self.epoch) }

    /// The claims of a good proof, with changes; nil removes a claim.
    func claims(_ changes: [String: JSONValue?] = [:]) -> [String: JSONValue] {
        var claims: [String: JSONValue] = [
            "jti": "id-1", "htm": .string(self.demand.method), "htu": "https://app.example.com/oauth/token",
            "iat": .integer(self.now.seconds),
        ]
        for (name, value) in changes { claims[name] = value }
        return claims
    }

    /// A proof with these claims, with changes to the usual header.
    func proof(_ changes: [String: JSONValue?] = [:], header: [(String, JSONValue)] = []) -> [UInt8] {
        let usual: [(String, JSONValue)] = [("typ", "dpop+jwt"), ("jwk", self.key.publicKey.required)]
        return self.key.sign(JSONText.encode(.object(self.claims(changes))), header: usual + header)
    }

    /// A proof whose header has this exact text, signed correctly.
    func proof(headerText: String) -> [UInt8] {
        let payload = JSONText.encode(.object(self.claims()))
        let signed = bytes(Base64URL.encode(bytes(headerText)) + "." + Base64URL.encode(payload))
        return signed + bytes("." + Base64URL.encode(self.key.signature(of: signed)))
    }

    /// The proof with another character at `index`; nil: in its signature.
    static func forged(_ proof: [UInt8], at index: Int? = nil) -> [UInt8] {
        var proof = proof
        let index = index ?? proof.count - 10
        proof[index] = proof[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        return proof
    }

    func judge(_ proof: [UInt8]) -> Result<DPoPProof, DPoPRefusal> {
        Result { () throws(DPoPRefusal) in
            try DPoPJudge(nonces: self.nonces)
                .judge(proof, for: self.demand, keys: self.keys, now: self.now, epoch: self.epoch)
        }
    }

    /// The judgement of a proof with changed claims.
    func judge(_ changes: [String: JSONValue?]) -> Result<DPoPProof, DPoPRefusal> { self.judge(self.proof(changes)) }
}

extension Result where Success == DPoPProof, Failure == DPoPRefusal {
    var accepted: DPoPProof? { try? self.get() }
    var refusal: DPoPRefusal? { if case .failure(let refusal) = self { refusal } else { nil } }
    /// What the proof is refused for, where a nonce would not mend it.
    var fault: DPoPRefusal? { self.refusal.flatMap { $0.nonce == nil ? $0 : nil } }

    /// What the header is refused for.
    var headerFault: String? {
        guard let match = self.refusal?.description.wholeMatch(of: /The DPoP proof cannot be read: (.*)\./) else {
            return nil
        }
        return String(match.1)
    }
}
