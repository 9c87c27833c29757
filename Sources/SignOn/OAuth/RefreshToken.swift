import Cryptography
package import Sessions
package import Vocabulary

/// The content of a refresh token: its family and its generation.
package struct RefreshToken: Sendable, Hashable {
    /// The number of random bytes of a family's id.
    static let familyLength = 8

    /// The lineage of the family.
    package let lineage: Lineage
    /// The family's id within the lineage.
    package let family: [UInt8]
    /// The number of rotations before this token.
    package let generation: UInt32

    /// Creates the first refresh token of a new family.
    package init(newFamilyIn lineage: Lineage) {
        self.init(lineage: lineage, family: Random.bytes(Self.familyLength), generation: 0)
    }

    init(lineage: Lineage, family: [UInt8], generation: UInt32) {
        self.lineage = lineage
        self.family = family
        self.generation = generation
    }

    /// The key of the family's record. It does not depend on the gateway's secrets, because the record outlives them.
    package var key: RecordKey {
        RecordKey(
            kind: RefreshFamily.kind,
            lineage: self.lineage,
            digest: SHA256.digest(Array("refresh family 1 \(self.lineage.tag) ".utf8) + self.family)
        )
    }

    /// Returns the token of another generation of this family.
    func of(generation: UInt32) -> RefreshToken {
        RefreshToken(lineage: self.lineage, family: self.family, generation: generation)
    }
}

/// Makes refresh tokens and reads presented refresh tokens.
///
/// A token is `spr_ keyID(2) tag(10)` and 43 characters of base64url for 32 bytes: the family's id (8), the generation
/// (4, big-endian) and a code (20). The code is a truncated HMAC-SHA-256 of all earlier parts under a key from the
/// gateway's secret. Forged tokens are therefore recognised without the store. The gateway can make the token of each
/// generation again for a client that lost an answer.
package struct RefreshTokenAuthority: Sendable {
    /// The result of reading a presented token without the store.
    package enum Reading: Sendable, Hashable {
        /// A token that this gateway made.
        case genuine(RefreshToken)
        /// A token that was made under a secret that is not accepted.
        case otherKey
        /// Not a refresh token of this gateway.
        case malformed
    }

    private static let prefix = Array(TokenKind.refresh.prefix.utf8)
    private static let keyIDLength = 2
    private static let tagLength = 10
    private static let codeLength = 20

    private struct Key: Sendable {
        let id: [UInt8]
        let code: HMACKey

        init(_ secret: Secret) {
            self.id = Array(TokenAuthority.keyID(of: secret).utf8)
            self.code = HMACKey(HKDF(secret: secret.bytes).bytes(for: "sallyport refresh tokens 1", count: 32))
        }
    }

    /// The keys. The first key makes tokens. Each key verifies the tokens with its id.
    private let keys: [Key]

    /// - Parameters:
    ///   - current: The secret for making tokens.
    ///   - accepted: Further secrets whose tokens are read.
    package init(current: Secret, accepted: [Secret] = []) {
        self.keys = [Key(current)] + accepted.filter { $0 != current }.map(Key.init)
    }

    /// Returns the text of a token for its client. The text depends only on the token and the current secret.
    package func make(_ token: RefreshToken) -> Secret {
        let key = self.keys[0]
        var bytes = Self.prefix + key.id + Array(token.lineage.tag.utf8)
        var body = token.family
        withUnsafeBytes(of: token.generation.bigEndian) { body += $0 }
        body += Self.code(of: bytes + body, under: key)
        bytes += Base64URL.encoded(body)
        return Secret(bytes)
    }

    package func read(_ token: [UInt8]) -> Reading {
        let tagStart = Self.prefix.count + Self.keyIDLength
        let bodyStart = tagStart + Self.tagLength
        guard TokenAuthority.isWellFormed(.refresh, token), let body = Base64URL.decoded(token[bodyStart...]) else {
            return .malformed
        }
        guard let key = self.keys.first(where: { token[Self.prefix.count..<tagStart].elementsEqual($0.id) }) else {
            return .otherKey
        }
        let codeStart = body.count - Self.codeLength
        let code = Self.code(of: Array(token[..<bodyStart]) + body[..<codeStart], under: key)
        guard constantTimeEqual(Array(body[codeStart...]), code) else { return .malformed }
        let generation = body[RefreshToken.familyLength..<codeStart].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return .genuine(
            RefreshToken(
                lineage: Lineage(tag: String(decoding: token[tagStart..<bodyStart], as: UTF8.self)),
                family: Array(body[..<RefreshToken.familyLength]),
                generation: generation
            )
        )
    }

    private static func code(of bytes: [UInt8], under key: Key) -> [UInt8] {
        Array(key.code.sha256(bytes).bytes.prefix(Self.codeLength))
    }
}

extension TokenKind {
    /// A refresh token (`RefreshTokenAuthority`).
    package static var refresh: TokenKind { TokenKind(prefix: "spr_", record: RefreshFamily.kind) }
}
