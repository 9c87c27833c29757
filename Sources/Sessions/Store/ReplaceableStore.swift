package import NIOCore

/// A kind of record that is replaced by compare-and-swap: only a caller that judged the record can replace it.
package protocol ReplaceableRecord: StoredRecord {
    /// True if a write is acknowledged only after a replica has it, if there are replicas. Otherwise, a failover at any
    /// later time may undo an acknowledged write.
    static var isConfirmed: Bool { get }
    /// True if a record can no longer be replaced once the store's primary was replaced or restarted, because an
    /// earlier replacement may have been lost.
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
    /// The present record is not the one that was judged. The caller reads and judges again.
    case changed
    /// There is no record, or its lineage or subject has ended. Nothing was written.
    case absent
    /// The record was written under another reign, as in `Consumption.quarantined` (only with `isBoundToReign`).
    case quarantined
}

/// Stores replaceable records of every kind. The records end with their lineage.
package protocol ReplaceableStore: Sendable {
    /// Returns the record under `key`; `nil` if it does not exist or has ended.
    func eventualReplaceable<Record: ReplaceableRecord>(
        _ key: RecordKey,
        as kind: Record.Type,
        on loop: any EventLoop
    ) -> Eventual<Stored<Record>?>

    /// Replaces the record under `key` with `record` if the present record is still `judged` (compare-and-swap). Fails
    /// with `.full` if there is no room.
    ///
    /// An attempt is repeated with the same id: while the record that it wrote is present, the answer is `.done` again.
    /// The first answer may have been lost, or withheld because no replica had confirmed the write.
    ///
    /// - Parameter judged: The version that was read; `nil` if no record may exist yet.
    func eventualReplace<Record: ReplaceableRecord>(
        _ key: RecordKey,
        judged: RecordVersion?,
        with record: Record,
        attempt: AttemptID,
        on loop: any EventLoop
    ) -> Eventual<Replacement>

    /// Ends the record, whatever its version. Also succeeds if it does not exist. The call may be repeated.
    func end(replaceable key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void>
}

extension ReplaceableStore {
    /// Returns the answer of `eventualReplaceable` as a future.
    package func replaceable<Record: ReplaceableRecord>(
        _ key: RecordKey,
        as kind: Record.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<Stored<Record>?> {
        self.eventualReplaceable(key, as: kind, on: loop).future(on: loop)
    }

    /// Returns the answer of `eventualReplace` as a future.
    package func replace<Record: ReplaceableRecord>(
        _ key: RecordKey,
        judged: RecordVersion?,
        with record: Record,
        attempt: AttemptID,
        on loop: any EventLoop
    ) -> EventLoopFuture<Replacement> {
        self.eventualReplace(key, judged: judged, with: record, attempt: attempt, on: loop).future(on: loop)
    }

    /// Writes a new record. The answer is `.changed` if the record exists already.
    package func create<Record: ReplaceableRecord>(
        _ record: Record,
        key: RecordKey,
        attempt: AttemptID,
        on loop: any EventLoop
    ) -> EventLoopFuture<Replacement> {
        self.replace(key, judged: nil, with: record, attempt: attempt, on: loop)
    }
}
