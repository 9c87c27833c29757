import Cryptography
import Synchronization
package import Vocabulary

/// Makes tokens and finds the record of a presented token.
///
/// A token is `prefix(4) keyID(2) tag(10) random(43)`: 59 characters of `[A-Za-z0-9_-]`. The random part carries 256
/// bits. The tag names the lineage. The key id names the secret under which the record's key was derived, so tokens of
/// earlier accepted secrets are still found.
package struct TokenAuthority: Sendable {
    /// The length in bytes of every token that this gateway makes. Other lengths are rejected before any hashing.
    package static let tokenLength = 59

    static let tagLength = 10
    static let keyIDLength = 2
    static let randomBytes = 32
    static let prefixLength = 4
    /// The length in bytes of a public session id and of an attempt id.
    static let idBytes = 16

    /// The values derived from one secret.
    struct Key: Sendable {
        let id: [UInt8]
        let pepper: HMACKey

        init(_ secret: Secret) {
            self.id = Array(TokenAuthority.keyID(of: secret).utf8)
            self.pepper = HMACKey(HKDF(secret: secret.bytes).bytes(for: "sallyport token pepper 1", count: 32))
        }
    }

    /// The result of reading a presented token. No store is asked.
    package enum Reading: Sendable, Hashable {
        /// The token may be valid. This is the key of its record.
        case record(RecordKey)
        /// No accepted secret has the token's key id.
        case otherKey
        /// Not a token of this kind: the length, prefix or alphabet is wrong.
        case malformed
    }

    /// The keys of all accepted secrets. The first key makes tokens; every key finds records.
    let keys: [Key]

    /// Derives peppers and key ids from the gateway's secrets (RFC 5869). If two secrets have the same key id, the
    /// first one is used.
    ///
    /// - Parameters:
    ///   - current: The secret under which tokens are made.
    ///   - accepted: Earlier secrets, under which tokens are still found.
    package init(current: Secret, accepted: [Secret] = []) {
        self.keys = [Key(current)] + accepted.filter { $0 != current }.map(Key.init)
    }

    /// Creates an authority with one secret.
    package init(secret: Secret) {
        self.init(current: secret)
    }

    /// Returns the two base64url characters that identify the secret in tokens. They do not reveal the secret.
    ///
    /// The characters carry twelve bits, so one in 4096 pairs of secrets has equal ids. A new secret needs another id
    /// than its predecessor: otherwise, tokens of the predecessor are not found.
    package static func keyID(of secret: Secret) -> String {
        let id = HKDF(secret: secret.bytes).bytes(for: "sallyport key id 1", count: 2)
        return String(Base64URL.encode(id).prefix(Self.keyIDLength))
    }

    /// Makes a new random lineage for a sign-in.
    package func newLineage() -> Lineage {
        // Eight bytes are eleven characters. The first ten carry 60 random bits.
        Lineage(tag: String(Random.base64URL(8).prefix(Self.tagLength)))
    }

    /// Makes a token of the lineage, and the key of the token's record.
    package func make(_ kind: TokenKind, in lineage: Lineage) -> (token: Secret, key: RecordKey) {
        self.make(kind, in: lineage, random: Random.bytes(Self.randomBytes), under: self.current)
    }

    /// Makes a key in the lineage for a record that no token names.
    package func newKey(of kind: RecordKind, in lineage: Lineage) -> RecordKey {
        // No token begins with this label.
        let digest = self.current.pepper.sha256(Array("record 1 ".utf8) + Random.bytes(Self.randomBytes))
        return RecordKey(kind: kind, lineage: lineage, digest: digest)
    }

    /// Makes a token of the lineage under `secret`, with the random part `random`.
    func make(
        _ kind: TokenKind,
        in lineage: Lineage,
        random: [UInt8],
        under secret: Key
    ) -> (token: Secret, key: RecordKey) {
        precondition(lineage.tag.utf8.count == Self.tagLength, "a lineage tag has ten characters")
        var token = [UInt8]()
        token.reserveCapacity(Self.tokenLength)
        token.append(contentsOf: kind.prefix.utf8)
        token.append(contentsOf: secret.id)
        token.append(contentsOf: lineage.tag.utf8)
        token.append(contentsOf: Base64URL.encoded(random))
        let digest = secret.pepper.sha256(token)
        return (Secret(token), RecordKey(kind: kind.record, lineage: lineage, digest: digest))
    }

    /// Finds the record of `token`. A malformed token, or a token of no accepted secret, costs no hash and no store
    /// call.
    package func read(_ kind: TokenKind, _ token: UnsafeRawBufferPointer) -> Reading {
        guard Self.isWellFormed(kind, token) else { return .malformed }
        guard let secret = self.secret(of: token) else { return .otherKey }
        let tagStart = Self.prefixLength + Self.keyIDLength
        let tag = String(decoding: token[tagStart..<(tagStart + Self.tagLength)], as: UTF8.self)
        return .record(RecordKey(kind: kind.record, lineage: Lineage(tag: tag), digest: secret.pepper.sha256(token)))
    }

    /// Finds the record of a session token or an access token.
    package func readSession(_ token: UnsafeRawBufferPointer) -> Reading {
        let reading = self.read(.session, token)
        return reading == .malformed ? self.read(.access, token) : reading
    }

    /// Finds the record of a session token or an access token in an array.
    package func readSession(_ token: [UInt8]) -> Reading {
        token.withUnsafeBytes { self.readSession($0) }
    }

    /// Finds the record of a token in an array.
    package func read(_ kind: TokenKind, _ token: [UInt8]) -> Reading {
        token.withUnsafeBytes { self.read(kind, $0) }
    }

    /// Returns the key of the record of `token`; `nil` if this is not a token of the gateway.
    package func key(_ kind: TokenKind, of token: [UInt8]) -> RecordKey? {
        if case .record(let key) = self.read(kind, token) { key } else { nil }
    }

    /// Returns the secret that a well-formed token's key id names; `nil` if no accepted secret has this id.
    func secret(of token: some Collection<UInt8>) -> Key? {
        let id = token.dropFirst(Self.prefixLength).prefix(Self.keyIDLength)
        return self.keys.first { id.elementsEqual($0.id) }
    }

    /// The secret under which tokens are made.
    var current: Key { self.keys[0] }

    /// Makes a public session id (`ses_...`). It is useless as a credential.
    package func newSessionID() -> String {
        Random.bytes(Self.idBytes).withUnsafeBytes { Self.sessionID($0) }
    }

    static func sessionID(_ random: UnsafeRawBufferPointer) -> String {
        "ses_" + Base64URL.encode(random)
    }

    /// Makes an id for one attempt to use or replace a record, unique across all gateways. The id is not secret: it is
    /// a counter after a random part that is made once per process.
    package func newAttempt() -> AttemptID {
        let number = Self.attempts.wrappingAdd(1, ordering: .relaxed).newValue
        return withUnsafeBytes(of: number.bigEndian) { AttemptID(value: Base64URL.encode(Self.process + $0)) }
    }

    private static let process = Random.bytes(Self.idBytes - 8)
    private static let attempts = Atomic<UInt64>(0)

    /// Reports whether `token` has the length, prefix and alphabet of a token of this kind.
    package static func isWellFormed(_ kind: TokenKind, _ token: [UInt8]) -> Bool {
        token.withUnsafeBytes { self.isWellFormed(kind, $0) }
    }

    /// Checks length, prefix and alphabet, and reads no more than `tokenLength` bytes.
    private static func isWellFormed(_ kind: TokenKind, _ token: UnsafeRawBufferPointer) -> Bool {
        guard token.count == Self.tokenLength else { return false }
        guard token.prefix(Self.prefixLength).elementsEqual(kind.prefix.utf8) else { return false }
        for byte in token.dropFirst(Self.prefixLength) {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                continue
            default:
                return false
            }
        }
        return true
    }
}
