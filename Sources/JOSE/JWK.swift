import Cryptography
package import Vocabulary

/// A public key that verifies signatures (RFC 7517, 7518 6, 8037).
package final class JWK: Sendable, Hashable {
    /// `kid`.
    package let keyID: String?
    /// `alg`, the only algorithm that this key is used with; `nil` allows every algorithm that fits the key.
    package let algorithm: String?
    /// The members that define the public key, with `kid`, `alg` and `use` if the key has them.
    package let value: JSONValue
    /// The SHA-256 of the key's required members in base64url (RFC 7638).
    package let thumbprint: String
    /// The members that define the key (RFC 7638 3.2), without `kid`, `alg` and `use`.
    package var required: JSONValue {
        guard case .object(let members) = self.value else { return self.value }
        return .object(members.filter { !["kid", "alg", "use"].contains($0.key) })
    }

    let key: PublicKey
    /// The algorithms that this key may be used with.
    package let algorithms: Set<JWSAlgorithm>

    /// Reads a key and checks that it can verify signatures: its kind and numbers, `use`, `key_ops` and `alg`. A
    /// private or symmetric key is rejected.
    package convenience init(_ value: JSONValue) throws(JOSEError) {
        let members = try JWKMembers(value)
        for name in ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] where members[name] != nil {
            throw JOSEError("the key is not public")
        }
        try self.init(publicPartOf: members)
    }

    /// Reads the public part of a key that may be private.
    convenience init(publicPartOf members: JWKMembers) throws(JOSEError) {
        try members.checkUse()
        let (key, required) = try members.publicKey()
        var algorithms = JWSAlgorithm.usable(with: key.kind)
        if let name = members.text("alg") {
            guard let algorithm = JWSAlgorithm(rawValue: name), algorithms.contains(algorithm) else {
                throw JOSEError("alg does not fit the key")
            }
            algorithms = [algorithm]
        }
        self.init(
            key,
            algorithms,
            required,
            keyID: members.text("kid"),
            algorithm: members.text("alg"),
            use: members.text("use")
        )
    }

    /// Creates the public key of one of the gateway's private keys. Its `kid` is its thumbprint.
    convenience init(own key: PrivateKey, algorithm: JWSAlgorithm) {
        let required = JWKWriting.required(key.publicNumbers, of: key.kind)
        let thumbprint = Self.thumbprint(of: required)
        self.init(key.publicKey, [algorithm], required, keyID: thumbprint, algorithm: algorithm.rawValue, use: "sig")
    }

    private init(
        _ key: PublicKey,
        _ algorithms: Set<JWSAlgorithm>,
        _ required: [String: JSONValue],
        keyID: String?,
        algorithm: String?,
        use: String?
    ) {
        self.key = key
        self.algorithms = algorithms
        self.keyID = keyID
        self.algorithm = algorithm
        self.thumbprint = Self.thumbprint(of: required)
        var value = required
        value["kid"] = keyID.map(JSONValue.string)
        value["alg"] = algorithm.map(JSONValue.string)
        value["use"] = use.map(JSONValue.string)
        self.value = .object(value)
    }

    private static func thumbprint(of required: [String: JSONValue]) -> String {
        SHA256.digest(JSONText.encode(.object(required))).base64URL
    }

    package static func == (left: JWK, right: JWK) -> Bool { left === right || left.value == right.value }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.value) }
}
