import Cryptography
package import Sessions
package import Vocabulary

/// What a refresh token says: its family, and its place in the sequence of the family's tokens.
package struct RefreshToken: Sendable, Hashable {
    /// The number of random bytes of a family's id.
    static let familyLength = 8

    /// The lineage in which the family is.
    package let lineage: Lineage
    /// The family's id within the lineage.
    package let family: [UInt8]
    /// How many rotations came before it.
    package let generation: UInt32

    /// The first refresh token of a new family.
    package init(newFamilyIn lineage: Lineage) {
        self.init(lineage: lineage, family: Random.bytes(Self.familyLength), generation: 0)
    }

    init(lineage: Lineage, family: [UInt8], generation: UInt32) {
        self.lineage = lineage
        self.family = family
        self.generation = generation
    }

    /// The key of the family's record. It does not depend on the gateway's secrets, as the record outlives them.
    package var key: RecordKey {
        RecordKey(
            kind: RefreshFamily.kind,
            lineage: self.lineage,
            digest: SHA256.digest(Array("refresh family 1 \(self.lineage.tag) ".utf8) + self.family)
        )
    }

    /// The same family's token of another generation.
    func of(generation: UInt32) -> RefreshToken {
        RefreshToken(lineage: self.lineage, family: self.family, generation: generation)
    }
}

/// Makes refresh tokens and reads those that are presented.
///
/// A token is `spr_ keyID(2) tag(10)` and 43 characters of base64url for 32 bytes: the family's id (8), the generation
/// (4, big-endian) and a code of all of that under a key from the gateway's secret (20 bytes of HMAC-SHA-256). So a
/// forged token is recognised without the store, the token of each generation can be made again for a client that lost
/// an answer, and a former token is recognised however old it is.
package struct RefreshTokenAuthority: Sendable {
    /// The result of reading a presented token, without the store.
    package enum Reading: Sendable, Hashable {
        /// This gateway made it.
        case genuine(RefreshToken)
        /// It was made under a secret that is not accepted.
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

    /// The first makes tokens; each reads those with its id.
    private let keys: [Key]

    /// - Parameters:
    ///   - current: Tokens are made under it.
    ///   - accepted: Tokens made under one of these are read.
    package init(current: Secret, accepted: [Secret] = []) {
        self.keys = [Key(current)] + accepted.filter { $0 != current }.map(Key.init)
    }

    /// The token as its client gets it; always the same under the same secret.
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
