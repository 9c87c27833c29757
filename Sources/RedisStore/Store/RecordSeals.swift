import Cryptography
import Sessions
import Vocabulary

/// Seals records for their places (the keys in Redis under which they are stored), and opens and decodes them.
struct RecordSeals: Sendable {
    let ring: SealingKeyRing

    func seal(_ bytes: [UInt8], at place: [UInt8]) -> [UInt8] {
        self.ring.seal(bytes, for: place)
    }

    /// Seals the key of a session: its digest and its lineage's tag.
    func seal(sessionKey key: RecordKey, at place: [UInt8]) -> [UInt8] {
        var bytes = key.digest.bytes
        bytes.append(utf8: key.lineage.tag)
        return self.ring.seal(bytes, for: place)
    }

    /// Opens the keys of sessions that were sealed for one place.
    func sessionKeys(_ all: [[UInt8]], at place: [UInt8]) throws(StoreError) -> [RecordKey] {
        var opener = SealingKeyRing.PlaceOpener(ring: self.ring, place: place)
        var keys: [RecordKey] = []
        for sealed in all {
            guard let bytes = try? opener.open(sealed), bytes.count > Digest256.byteCount,
                let digest = Digest256(Array(bytes[..<Digest256.byteCount])),
                let tag = String(utf8: bytes[Digest256.byteCount...]), let lineage = Lineage(stored: tag)
            else { throw .unavailable }
            keys.append(RecordKey(kind: .session, lineage: lineage, digest: digest))
        }
        return keys
    }

    /// Opens a record that was sealed for a place, and decodes it with `decode`. A record that cannot be read is
    /// *unavailable*, never absent.
    func open<Record>(
        _ bytes: [UInt8],
        at place: [UInt8],
        _ decode: ([UInt8]) throws(CompactFormatError) -> Record
    ) throws(StoreError) -> Record {
        do {
            return try decode(try self.ring.open(bytes, for: place))
        } catch {
            throw .unavailable
        }
    }
}
