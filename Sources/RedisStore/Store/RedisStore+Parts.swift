import NIOCore
import Sessions
import Vocabulary

/// Writes records that are not sessions.
extension RedisStore {
    /// The key, the sealed value and the TTL of a new record.
    struct RecordParts {
        let key: [UInt8]
        let bytes: [UInt8]
        let life: Duration
    }

    /// The argument that makes a script write the primary's current reign before the bytes of a record.
    static let underReign = Array("R".utf8)

    /// Returns `underReign` for a record that is bound to its reign; otherwise an empty argument.
    static func reign<Record: ReplaceableRecord>(of record: Record) -> [UInt8] {
        Record.isBoundToReign ? Self.underReign : []
    }

    func parts(of record: some SingleUseRecord, key: RecordKey) throws(RecordTooLarge) -> RecordParts {
        self.parts(of: record, key: key, bytes: try record.encoded())
    }

    func parts(
        of record: some ReplaceableRecord,
        key: RecordKey,
        attempt: AttemptID
    ) throws(RecordTooLarge) -> RecordParts {
        self.parts(of: record, key: key, bytes: try record.encoded(attempt: attempt))
    }

    private func parts<Record: StoredRecord>(of record: Record, key: RecordKey, bytes: [UInt8]) -> RecordParts {
        precondition(key.kind == Record.kind, "a record needs a key of its kind")
        let place = Keyspace.record(key)
        let now = self.clock.now()
        return RecordParts(
            key: place,
            bytes: self.seals.seal(bytes, at: place),
            life: Self.life(until: record.end(writtenAt: now), from: now)
        )
    }

    /// Returns the sealed bytes of a value that begins with a reign.
    static func withoutReign(_ value: [UInt8]) throws(StoreError) -> [UInt8] {
        guard value.count > Scripts.reignLength else { throw .unavailable }
        return Array(value.dropFirst(Scripts.reignLength))
    }

    /// Reads the epochs of these subjects. Usually there is one subject.
    func epochs(of subjects: Set<String>, on loop: any EventLoop) -> EventLoopFuture<[String: UInt64]> {
        let asked = subjects.map { subject in self.epoch(of: subject, on: loop).map { (subject, $0) } }
        return EventLoopFuture.whenAllSucceed(asked, on: loop).map { Dictionary(uniqueKeysWithValues: $0) }
    }
}

extension RedisStore.Values {
    /// Returns the missing keys if only some keys are missing. They may have values of another type (`verify`).
    func doubtful(_ keys: [[UInt8]]) -> [[UInt8]] {
        let missing = keys.indices.filter { self[$0] == nil }
        return missing.count == keys.count ? [] : missing.map { keys[$0] }
    }
}
