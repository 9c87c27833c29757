import Cryptography
import Vocabulary

/// The members of a JWK (RFC 7517 4), and the checks that they must pass.
struct JWKMembers {
    private let members: [String: JSONValue]

    init(_ value: JSONValue) throws(JOSEError) {
        guard let members = value.members else { throw JOSEError("the key is not an object") }
        self.members = members
        for name in ["kty", "kid", "alg", "use", "crv"] {
            guard members[name].map({ $0.string != nil }) ?? true else { throw JOSEError("\(name) is not a string") }
        }
    }

    subscript(name: String) -> JSONValue? { self.members[name] }

    /// Returns the text of a member; `nil` if it is missing or not a string.
    func text(_ name: String) -> String? { self.members[name]?.string }

    /// Rejects a key that is not for verifying signatures (RFC 7517 4.2, 4.3).
    func checkUse() throws(JOSEError) {
        if let use = self.text("use"), use != "sig" { throw JOSEError("use is not sig") }
        guard let operations = self.members["key_ops"] else { return }
        guard case .array(let names) = operations else { throw JOSEError("key_ops is not an array") }
        guard names.contains("verify") else { throw JOSEError("key_ops does not allow to verify") }
    }

    /// Returns the key, and the members that its thumbprint covers (RFC 7638 3.2, RFC 8037 2).
    func publicKey() throws(JOSEError) -> (PublicKey, required: [String: JSONValue]) {
        switch self.text("kty") {
        case "RSA":
            // RFC 7518 2 forbids leading zeros, but some libraries write one.
            let modulus = Array(try self.bytes("n").drop { $0 == 0 })
            let exponent = Array(try self.bytes("e").drop { $0 == 0 })
            guard let key = PublicKey(modulus: modulus, exponent: exponent) else {
                throw JOSEError("the RSA key is too short, too long or weak")
            }
            return (key, JWKWriting.required([modulus, exponent], of: .rsa))
        case "EC":
            guard let curve = self.text("crv").flatMap(EllipticCurve.init) else {
                throw JOSEError("the curve is unknown")
            }
            let (x, y) = (try self.bytes("x"), try self.bytes("y"))
            guard let key = PublicKey(curve, x: x, y: y) else { throw JOSEError("the point is not on the curve") }
            return (key, JWKWriting.required([x, y], of: key.kind))
        case "OKP":
            guard self.text("crv") == "Ed25519" else { throw JOSEError("the curve is unknown") }
            let x = try self.bytes("x")
            guard let key = PublicKey(ed25519: x) else { throw JOSEError("the key is not of 32 bytes") }
            return (key, JWKWriting.required([x], of: .ed25519))
        case "oct": throw JOSEError("the key is symmetric")
        case nil: throw JOSEError("kty is missing")
        default: throw JOSEError("kty is unknown")
        }
    }

    func bytes(_ name: String) throws(JOSEError) -> [UInt8] {
        guard let text = self.text(name), !text.isEmpty, let bytes = Base64URL.decode(text) else {
            throw JOSEError("\(name) is missing or not base64url")
        }
        return bytes
    }
}

enum JWKWriting {
    /// Returns the members that the thumbprint covers, for a key with these numbers (`PrivateKey.publicNumbers`).
    static func required(_ numbers: [[UInt8]], of kind: KeyKind) -> [String: JSONValue] {
        let texts = numbers.map { JSONValue.string(Base64URL.encode($0)) }
        switch kind {
        case .rsa: return ["kty": "RSA", "n": texts[0], "e": texts[1]]
        case .ellipticCurve(let curve):
            return ["kty": "EC", "crv": .string(curve.rawValue), "x": texts[0], "y": texts[1]]
        case .ed25519: return ["kty": "OKP", "crv": "Ed25519", "x": texts[0]]
        }
    }
}
