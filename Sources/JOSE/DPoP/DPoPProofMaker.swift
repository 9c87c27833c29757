import Cryptography
package import Vocabulary

/// Makes proofs, as a client does (RFC 9449 4.2).
package struct DPoPProofMaker: Sendable {
    private let key: SigningKey

    package init(_ key: SigningKey) {
        self.key = key
    }

    /// The SHA-256 of the public key, to which servers bind tokens (RFC 7638).
    package var thumbprint: String { self.key.publicKey.thumbprint }

    /// Returns a proof for one request.
    ///
    /// - Parameters:
    ///   - url: The URL of the request. Its query and fragment are left out.
    ///   - accessToken: The token that is sent with the proof (`ath`).
    ///   - nonce: The server's last `DPoP-Nonce`.
    ///   - id: The `jti`; `nil` for a random one.
    package func proof(
        method: String,
        url: String,
        accessToken: Secret? = nil,
        nonce: String? = nil,
        at now: UnixTime,
        id: String? = nil
    ) -> String {
        var claims: [String: JSONValue] = [
            "jti": .string(id ?? Random.base64URL(16)), "htm": .string(method),
            "htu": .string(String(url.prefix { $0 != "?" && $0 != "#" })),
            "iat": .integer(now.seconds),
        ]
        claims["nonce"] = nonce.map(JSONValue.string)
        claims["ath"] = accessToken.map { .string(SHA256.digest($0.bytes).base64URL) }
        let header: [(String, JSONValue)] = [("typ", "dpop+jwt"), ("jwk", self.key.publicKey.required)]
        return String(decoding: self.key.sign(JSONText.encode(.object(claims)), header: header), as: UTF8.self)
    }
}
