import Cryptography
package import Vocabulary

/// A private key that signs tokens.
package final class SigningKey: Sendable {
    package let algorithm: JWSAlgorithm
    /// The public key with its `alg`, with `sig` as `use` and its thumbprint as `kid`.
    package let publicKey: JWK
    private let key: PrivateKey
    private let scheme: SignatureScheme

    /// Reads an unencrypted key in PEM: PKCS #8, or the older forms of OpenSSL.
    ///
    /// - Parameter algorithm: The algorithm; `nil` for RS256 with an RSA key, and for the only algorithm of other keys.
    package convenience init(pem: Secret, algorithm: JWSAlgorithm? = nil) throws(JOSEError) {
        guard let key = PrivateKey(pem: pem) else {
            throw JOSEError(
                "this is no private key in PEM of P-256, P-384, P-521, Ed25519 or RSA with 2048 to 8192 bits"
            )
        }
        try self.init(key, algorithm)
    }

    /// Reads a PKCS #8 key in DER.
    package convenience init(pkcs8: Secret, algorithm: JWSAlgorithm? = nil) throws(JOSEError) {
        guard let key = PrivateKey(pkcs8: pkcs8) else { throw JOSEError("this is no private key that can be used") }
        try self.init(key, algorithm)
    }

    /// Generates a key for a signature algorithm. An algorithm with a shared secret is a programming error and ends the
    /// process.
    package static func generated(_ algorithm: JWSAlgorithm) -> SigningKey {
        guard let kind = algorithm.keyKind else { preconditionFailure("there are no key pairs for a shared secret") }
        return SigningKey(PrivateKey.generated(kind), algorithm: algorithm)
    }

    /// Derives a key for ES256 that depends only on `secret` and `purpose`, so that all gateways have it.
    package static func derivedP256(from secret: Secret, purpose: String) -> SigningKey {
        SigningKey(PrivateKey.derivedP256(from: secret, purpose: purpose), algorithm: .es256)
    }

    private convenience init(_ key: PrivateKey, _ algorithm: JWSAlgorithm?) throws(JOSEError) {
        let usable = JWSAlgorithm.usable(with: key.kind)
        let usual = usable.contains(.rs256) ? .rs256 : usable.first
        guard let chosen = algorithm ?? usual, usable.contains(chosen) else {
            throw JOSEError("the key does not fit the algorithm")
        }
        self.init(key, algorithm: chosen)
    }

    private init(_ key: PrivateKey, algorithm: JWSAlgorithm) {
        guard let scheme = algorithm.scheme else { preconditionFailure("a key pair needs a scheme") }
        self.key = key
        self.algorithm = algorithm
        self.scheme = scheme
        self.publicKey = JWK(own: key, algorithm: algorithm)
    }

    /// The key as PKCS #8 in DER.
    package var pkcs8: Secret { self.key.pkcs8 }

    /// The key as PKCS #8 in PEM (RFC 7468 10).
    package var pem: Secret {
        var rest = Base64.encoded(self.pkcs8.bytes)[...]
        var text = Array("-----BEGIN PRIVATE KEY-----\n".utf8)
        while !rest.isEmpty {
            text += rest.prefix(64)
            text.append(UInt8(ascii: "\n"))
            rest = rest.dropFirst(64)
        }
        return Secret(text + Array("-----END PRIVATE KEY-----\n".utf8))
    }

    /// Signs a payload and returns the token in compact form. Its header has `alg`, a `kid` unless `header` has `jwk`,
    /// and the members of `header`.
    ///
    /// - Parameter keyID: The `kid` under which the verifier knows the key; `nil` for the thumbprint.
    package func sign(_ payload: [UInt8], header: [(String, JSONValue)] = [], keyID: String? = nil) -> [UInt8] {
        var members = Dictionary(header, uniquingKeysWith: { $1 })
        members["alg"] = .string(self.algorithm.rawValue)
        if members["jwk"] == nil { members["kid"] = (keyID ?? self.publicKey.keyID).map(JSONValue.string) }
        let dot = UInt8(ascii: ".")
        var token = Base64URL.encoded(JSONText.encode(.object(members)))
        token.append(dot)
        token += Base64URL.encoded(payload)
        let signature = self.signature(of: token)
        token.append(dot)
        token += Base64URL.encoded(signature)
        return token
    }

    /// Signs a token's header and payload, already encoded and joined by a dot (RFC 7515 5.1).
    package func signature(of signed: [UInt8]) -> [UInt8] {
        self.key.signature(of: signed, by: self.scheme)
    }
}

extension JWSAlgorithm {
    /// The kind of key that signs; `nil` for HMACs with a shared secret.
    fileprivate var keyKind: KeyKind? {
        switch self.scheme {
        case .rsaPKCS1, .rsaPSS: .rsa
        case .ecdsa(let curve): .ellipticCurve(curve)
        case .ed25519: .ed25519
        case nil: nil
        }
    }
}
