internal import Cryptography
internal import Sessions
internal import Vocabulary

/// Records as they lie in Redis: encoded and sealed for the key under which they lie.
struct RecordSeals: Sendable {
    let ring: SealingKeyRing

    func seal(_ session: Session, at place: [UInt8]) -> [UInt8] {
        self.ring.seal(Records.encode(session), for: place)
    }

    func seal(_ transfer: TransferToken, at place: [UInt8]) -> [UInt8] {
        self.ring.seal(Records.encode(transfer), for: place)
    }

    func seal(_ marker: Marker, at place: [UInt8]) -> [UInt8] {
        self.ring.seal(Records.encode(marker), for: place)
    }

    /// The session in these bytes. Whatever is wrong with them, there is a record: it is *unavailable*, never absent.
    func session(_ bytes: [UInt8], at place: [UInt8]) throws(StoreError) -> Session {
        try self.open(bytes, at: place) { (bytes) throws(CompactFormatError) in try Records.session(bytes) }
    }

    func transfer(_ bytes: [UInt8], at place: [UInt8]) throws(StoreError) -> TransferToken {
        try self.open(bytes, at: place) { (bytes) throws(CompactFormatError) in try Records.transfer(bytes) }
    }

    func marker(_ bytes: [UInt8], at place: [UInt8]) throws(StoreError) -> Marker {
        try self.open(bytes, at: place) { (bytes) throws(CompactFormatError) in try Records.marker(bytes) }
    }

    private func open<Record>(
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
