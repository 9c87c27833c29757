import Cryptography
import Vocabulary

/// The keys in an operator's file: a key set or a single key, with public keys, private keys or shared secrets. Only
/// the public parts of private keys are used. Secrets verify HS256, HS384 and HS512.
package struct KeyFile: Sendable {
    private let keys: JWKSet
    private let secrets: [SharedSecret]
    /// The `kid`s of secrets that were left out. Other secrets with one of these `kid`s are not used either.
    private let ambiguousKeyIDs: Set<String>
    /// The keys that were left out, with reasons.
    package let faults: [String]

    /// Reads a file. Public keys together with secrets are rejected, as a public key could be mistaken for a secret.
    package init(_ json: [UInt8]) throws(JOSEError) {
        guard json.count <= JOSELimits.keySet else { throw JOSEError("the key set is too large") }
        let document: JSONValue
        switch JSONText.read(json, maxDepth: JOSELimits.depth) {
        case .success(let value): document = value
        case .failure(let fault): throw JOSEError("the key set \(fault.rawValue)")
        }
        let values: [JSONValue]
        if case .array(let keys) = document["keys"] {
            values = keys
        } else if document["kty"] != nil {
            values = [document]
        } else {
            throw JOSEError("the file holds neither a key set nor a key")
        }
        let symmetric = values.filter { $0["kty"] == "oct" }
        guard symmetric.isEmpty || symmetric.count == values.count else {
            throw JOSEError("the file holds both public keys and shared secrets")
        }
        guard !symmetric.isEmpty else {
            self.keys = try JWKSet(values) { (value) throws(JOSEError) in try JWK(publicPartOf: JWKMembers(value)) }
            self.secrets = []
            self.ambiguousKeyIDs = []
            self.faults = self.keys.faults
            return
        }
        guard symmetric.count <= JOSELimits.keys else { throw JOSEError("the key set has too many keys") }
        var secrets: [SharedSecret] = []
        var faults: [String] = []
        var ambiguousKeyIDs: Set<String> = []
        for (index, value) in symmetric.enumerated() {
            do throws(JOSEError) {
                secrets.append(try SharedSecret(value))
            } catch {
                faults.append("key \(index + 1): \(error.detail)")
                if let keyID = value["kid"]?.string { ambiguousKeyIDs.insert(keyID) }
            }
        }
        self.keys = JWKSet(keys: [])
        self.secrets = secrets
        self.ambiguousKeyIDs = ambiguousKeyIDs
        self.faults = faults
    }

    /// Verifies the signature or HMAC of a token and returns the token.
    ///
    /// - Parameter allowing: The allowed algorithms; `nil` allows every algorithm that fits a key of the file.
    package func verify(_ token: [UInt8], allowing: Set<JWSAlgorithm>? = nil) throws(JOSEError) -> JWS {
        guard !self.secrets.isEmpty else {
            return try JWS.verify(token, with: self.keys, allowing: allowing ?? JWSAlgorithm.asymmetric)
        }
        let header = try JWS.header(of: token)
        guard (allowing ?? [.hs256, .hs384, .hs512]).contains(header.algorithm) else {
            throw JOSEError("\(header.algorithm.rawValue) is not allowed")
        }
        let fitting = self.secrets.filter { $0.keyID == header.keyID && $0.algorithms.contains(header.algorithm) }
        guard let secret = fitting.first else { throw JOSEError("no key of the set fits the token", kind: .unknownKey) }
        guard fitting.allSatisfy({ $0.secret == secret.secret }),
            secret.keyID.map({ !self.ambiguousKeyIDs.contains($0) }) ?? true
        else { throw JOSEError("several keys have this kid") }
        return try JWS.verify(
            token,
            with: self.keys,
            allowing: secret.algorithms,
            sharedSecret: secret.secret
        )
    }
}

/// A symmetric key (RFC 7518 6.4).
private struct SharedSecret: Sendable {
    let keyID: String?
    let secret: Secret
    let algorithms: Set<JWSAlgorithm>

    init(_ value: JSONValue) throws(JOSEError) {
        let members = try JWKMembers(value)
        try members.checkUse()
        self.keyID = members.text("kid")
        self.secret = Secret(try members.bytes("k"))
        guard let name = members.text("alg") else {
            self.algorithms = [.hs256, .hs384, .hs512]
            return
        }
        guard let algorithm = JWSAlgorithm(rawValue: name), algorithm.hash != nil else {
            throw JOSEError("alg does not fit the key")
        }
        self.algorithms = [algorithm]
    }
}
