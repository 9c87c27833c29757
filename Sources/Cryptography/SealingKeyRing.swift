package import Vocabulary

/// The reason why sealed bytes could not be opened. A record that fails to open must not be treated as missing.
package enum SealingError: Error, Sendable, Equatable {
    /// The bytes have a newer format than this program knows.
    case newer(UInt8)
    /// The bytes were sealed under a secret that is not in the ring.
    case unknownKey
    /// The bytes were truncated, altered, or copied from another place.
    case damaged
}

/// Seals records at rest with AES-256-GCM under keys derived from the gateway's secrets. Opens records sealed under any
/// of these secrets. To rotate, put the new secret first and keep the old one among the accepted secrets.
///
/// Sealed bytes are `version(1) keyID(4) nonce(12) ciphertext tag(16)`. Version, key id and the place of the record
/// (such as its key in Redis) are authenticated, so a copy in another place does not open. Each place has its own key,
/// `HMAC(ring key, place)`. With a single key, 2^32 records would exhaust the random nonces (SP 800-38D 8.3), and a
/// busy deployment writes that many in weeks.
package struct SealingKeyRing: Sendable {
    /// The version of the format that this program writes.
    package static let version: UInt8 = 1

    /// The number of bytes that sealing adds.
    package static let overhead = 1 + Self.idLength + AES256GCM.nonceLength + AES256GCM.tagLength

    private static let idLength = 4

    private struct Key: Sendable {
        let id: [UInt8]
        let sealing: HMACKey
        let naming: HMACKey

        init(_ secret: Secret) {
            let keys = HKDF(secret: secret.bytes)
            self.id = keys.bytes(for: "sallyport sealing key id 1", count: idLength)
            self.sealing = HMACKey(keys.bytes(for: "sallyport record sealing 1", count: 32))
            self.naming = HMACKey(keys.bytes(for: "sallyport record naming 1", count: 32))
        }
    }

    /// The keys. The first key seals records, and every key can open them.
    private let keys: [Key]

    /// Makes a ring that seals under `current`, and also opens records sealed under `accepted`. No secret may be empty.
    package init(current: Secret, accepted: [Secret] = []) {
        self.keys = [Key(current)] + accepted.filter { $0 != current }.map(Key.init)
    }

    /// Seals `plaintext` for `place`.
    package func seal(_ plaintext: [UInt8], for place: [UInt8]) -> [UInt8] {
        let key = self.keys[0]
        var sealed: [UInt8] = []
        sealed.reserveCapacity(Self.overhead + plaintext.count)
        sealed.append(Self.version)
        sealed.append(contentsOf: key.id)
        let nonce = Random.bytes(AES256GCM.nonceLength)
        let body = key.sealing.sha256(place).withUnsafeBytes { key in
            AES256GCM.seal(plaintext, key: key, nonce: nonce, authenticating: place + sealed)
        }
        sealed.append(contentsOf: nonce)
        sealed.append(contentsOf: body)
        return sealed
    }

    /// Opens bytes that were sealed for `place`.
    package func open(_ sealed: [UInt8], for place: [UInt8]) throws(SealingError) -> [UInt8] {
        var opener = PlaceOpener(ring: self, place: place)
        return try opener.open(sealed)
    }

    /// Opens records that were sealed for one place, and reuses the key that was derived last.
    package struct PlaceOpener {
        private let ring: SealingKeyRing
        private let place: [UInt8]
        /// The last used key, with its position in the ring.
        private var derived: (index: Int, key: Digest256)?

        package init(ring: SealingKeyRing, place: [UInt8]) {
            self.ring = ring
            self.place = place
        }

        /// Opens a record and returns its plaintext.
        package mutating func open(_ sealed: [UInt8]) throws(SealingError) -> [UInt8] {
            guard let version = sealed.first else { throw .damaged }
            guard version <= SealingKeyRing.version else { throw .newer(version) }
            guard version == SealingKeyRing.version, sealed.count >= SealingKeyRing.overhead else { throw .damaged }
            let headerEnd = 1 + SealingKeyRing.idLength
            let bodyStart = headerEnd + AES256GCM.nonceLength
            let id = sealed[1..<headerEnd]
            guard let index = self.ring.keys.firstIndex(where: { $0.id.elementsEqual(id) }) else { throw .unknownKey }
            var authenticated = self.place
            authenticated.append(contentsOf: sealed[..<headerEnd])
            let plaintext = self.key(index).withUnsafeBytes { key in
                AES256GCM.open(
                    sealed[bodyStart...],
                    key: key,
                    nonce: sealed[headerEnd..<bodyStart],
                    authenticating: authenticated
                )
            }
            guard let plaintext else { throw .damaged }
            return plaintext
        }

        private mutating func key(_ index: Int) -> Digest256 {
            if let derived = self.derived, derived.index == index { return derived.key }
            let key = self.ring.keys[index].sealing.sha256(self.place)
            self.derived = (index, key)
            return key
        }
    }

    /// Returns true if the record was sealed under the current secret. A record under an earlier secret is lost when
    /// that secret is removed.
    package func isCurrent(_ sealed: [UInt8]) -> Bool {
        sealed.count >= Self.overhead && sealed[1..<(1 + Self.idLength)].elementsEqual(self.keys[0].id)
    }

    /// Returns the name for `text` under the current secret: the first of `names(of:)`.
    package func currentName(of text: String) -> String {
        self.keys[0].naming.sha256(Array(text.utf8)).base64URL
    }

    /// Returns names that do not reveal `text`, one for each secret of the ring, the current secret first. A record
    /// from before a rotation is found under an earlier secret's name.
    package func names(of text: String) -> [String] {
        let bytes = Array(text.utf8)
        return self.keys.map { $0.naming.sha256(bytes).base64URL }
    }
}
