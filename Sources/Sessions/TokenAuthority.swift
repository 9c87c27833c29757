import Cryptography
import Synchronization
package import Vocabulary

/// Makes tokens and finds the record that a presented token names.
///
/// A token is `prefix(4) keyID(2) tag(10) random(43)`: 59 characters of `[A-Za-z0-9_-]`. The random part carries 256
/// bits. The tag names the lineage, and so selects the store's hash slot. The key id names the secret under which the
/// record key was derived. So a new secret signs no user out: tokens are made under the current secret, and found under
/// every accepted secret.
package struct TokenAuthority: Sendable {
    /// The length in bytes of every token that this gateway makes. Other lengths are rejected before anything is
    /// computed.
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

    /// The result of reading a presented token, from its syntax and its key id alone.
    package enum Reading: Sendable, Hashable {
        /// A possible token of this gateway. It names this record.
        case record(RecordKey)
        /// A token made under a secret that is not accepted. It names no record here.
        case otherKey
        /// Not a token of this kind: wrong length, prefix or alphabet.
        case malformed
    }

    /// The keys of all accepted secrets. The first key makes tokens. Each key finds the records of tokens with its id.
    let keys: [Key]

    /// Derives peppers and key ids from the gateway's secrets (RFC 5869). Tokens are made under `current`. Tokens made
    /// under one of `accepted` are still found. If two secrets have the same `keyID`, the earlier one is used.
    package init(current: Secret, accepted: [Secret] = []) {
        self.keys = [Key(current)] + accepted.filter { $0 != current }.map(Key.init)
    }

    /// Creates an authority with one secret.
    package init(secret: Secret) {
        self.init(current: secret)
    }

    /// Returns the two base64url characters that identify the secret in tokens. They do not reveal the secret.
    ///
    /// They carry twelve bits, so one in 4096 pairs of secrets has equal ids. A new secret must not have the id of its
    /// predecessor: the tokens of the predecessor would not be found.
    package static func keyID(of secret: Secret) -> String {
        let id = HKDF(secret: secret.bytes).bytes(for: "sallyport key id 1", count: 2)
        return String(Base64URL.encode(id).prefix(Self.keyIDLength))
    }

    /// Makes a lineage, for a sign-in that continues no earlier session.
    package func newLineage() -> Lineage {
        // Eight bytes are eleven characters; the first ten carry 60 random bits.
        Lineage(tag: String(Random.base64URL(8).prefix(Self.tagLength)))
    }

    /// Makes a token of the lineage, and the key of the token's record. The token is shown once, to its user.
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

    /// Finds the record that `token` names. A token that is malformed or of no accepted secret costs no hash and no
    /// store call.
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

    /// Finds the record that a token in an array names.
    package func read(_ kind: TokenKind, _ token: [UInt8]) -> Reading {
        token.withUnsafeBytes { self.read(kind, $0) }
    }

    /// Returns the key of the record that `token` names; `nil` if it is not a token of this gateway.
    package func key(_ kind: TokenKind, of token: [UInt8]) -> RecordKey? {
        if case .record(let key) = self.read(kind, token) { key } else { nil }
    }

    /// Returns the secret named by the key id of a well-formed token; `nil` if no accepted secret has this id.
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

    /// Makes an id for one attempt to use or replace a record. No other gateway makes the same id. The id is not
    /// secret, so only its part for the process is random. That part is made once.
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
