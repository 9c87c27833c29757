package import NIOCore

/// A kind of record that is replaced by compare-and-swap.
package protocol ReplaceableRecord: StoredRecord {
    /// True if a write succeeds only after a replica has the record, if there are replicas. Otherwise, a failover may
    /// undo the write.
    static var isConfirmed: Bool { get }
    /// True if records written under an earlier reign of the store's primary are never replaced. A failover may have
    /// undone a replacement.
    static var isBoundToReign: Bool { get }
}

extension ReplaceableRecord {
    package static var isConfirmed: Bool { true }
    package static var isBoundToReign: Bool { false }
}

/// The result of a compare-and-swap.
package enum Replacement: Sendable, Equatable {
    /// This attempt wrote the record, now or in an earlier try.
    case done
    /// The present record is not the judged version. The caller reads and judges again.
    case changed
    /// There is no record, or its lineage or subject has ended. Nothing was written.
    case absent
    /// The record was written under an earlier reign. Only kinds with `isBoundToReign` give this result.
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

    /// Replaces the record under `key` with `record` if the present version is `judged` (compare-and-swap). Fails with
    /// `.full` if there is no room.
    ///
    /// The call may be repeated with the same attempt. It returns `.done` while the record that the attempt wrote is
    /// present.
    ///
    /// - Parameter judged: The version that was read; `nil` if no record may exist yet.
    func eventualReplace<Record: ReplaceableRecord>(
        _ key: RecordKey,
        judged: RecordVersion?,
        with record: Record,
        attempt: AttemptID,
        on loop: any EventLoop
    ) -> Eventual<Replacement>

    /// Ends the record in any version. Succeeds also if the record does not exist.
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

    /// Writes a new record. Returns `.changed` if a record exists already.
    package func create<Record: ReplaceableRecord>(
        _ record: Record,
        key: RecordKey,
        attempt: AttemptID,
        on loop: any EventLoop
    ) -> EventLoopFuture<Replacement> {
        self.replace(key, judged: nil, with: record, attempt: attempt, on: loop)
    }
}
