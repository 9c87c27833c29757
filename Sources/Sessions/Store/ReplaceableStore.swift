package import NIOCore

/// A kind of record that is replaced by compare-and-swap: only a caller that has judged the present record can replace
/// it.
package protocol ReplaceableRecord: StoredRecord {
    /// Whether a write is only acknowledged after a replica has it, where there are replicas. Without that, a failover
    /// at any later time may undo an acknowledged write.
    static var isConfirmed: Bool { get }
    /// Whether a record can no longer be replaced after the store's primary was replaced or restarted: the record may
    /// have been replaced before that, and the replacement lost.
    static var isBoundToReign: Bool { get }
}

extension ReplaceableRecord {
    package static var isConfirmed: Bool { true }
    package static var isBoundToReign: Bool { false }
}

/// The answer to a compare-and-swap.
package enum Replacement: Sendable, Equatable {
    /// This attempt wrote the record, now or in an earlier try.
    case done
    /// The present record is not the one that was judged: read and judge again.
    case changed
    /// There is no record (any more), or its lineage or subject has ended; nothing was written.
    case absent
    /// As in `Consumption`; only for kinds with `isBoundToReign`.
    case quarantined
}

/// Keeps replaceable records of every kind. They end with their lineage.
package protocol ReplaceableStore: Sendable {
    /// The record under `key`; nil if there is none, or it has ended.
    func eventualReplaceable<Record: ReplaceableRecord>(
        _ key: RecordKey,
        as kind: Record.Type,
        on loop: any EventLoop
    ) -> Eventual<Stored<Record>?>

    /// Compare-and-swap: if the record under `key` is still `judged`, `record` replaces it. Fails with `.full` when
    /// there is no room.
    ///
    /// An attempt is repeated with the same id: as long as the record that it wrote is present, the answer is `.done`
    /// again. The first answer may have been lost, or withheld because no replica had confirmed the write.
    ///
    /// - Parameter judged: The version that was read; nil if there may be no record yet.
    func eventualReplace<Record: ReplaceableRecord>(
        _ key: RecordKey,
        judged: RecordVersion?,
        with record: Record,
        attempt: AttemptID,
        on loop: any EventLoop
    ) -> Eventual<Replacement>

    /// Ends the record, whatever its version. Succeeds also when there is none; may be repeated.
    func end(replaceable key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void>
}

extension ReplaceableStore {
    /// `eventualReplaceable` as a future.
    package func replaceable<Record: ReplaceableRecord>(
        _ key: RecordKey,
        as kind: Record.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<Stored<Record>?> {
        self.eventualReplaceable(key, as: kind, on: loop).future(on: loop)
    }

    /// `eventualReplace` as a future.
    package func replace<Record: ReplaceableRecord>(
        _ key: RecordKey,
        judged: RecordVersion?,
        with record: Record,
        attempt: AttemptID,
        on loop: any EventLoop
    ) -> EventLoopFuture<Replacement> {
        self.eventualReplace(key, judged: judged, with: record, attempt: attempt, on: loop).future(on: loop)
    }

    /// Writes a record where there is none yet; `.changed` when there is one.
    package func create<Record: ReplaceableRecord>(
        _ record: Record,
        key: RecordKey,
        attempt: AttemptID,
        on loop: any EventLoop
    ) -> EventLoopFuture<Replacement> {
        self.replace(key, judged: nil, with: record, attempt: attempt, on: loop)
    }
}
