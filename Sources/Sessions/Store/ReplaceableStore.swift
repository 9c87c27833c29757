package import NIOCore

/// A kind of record that is replaced by compare-and-swap: what stands there is only replaced by whoever has judged it.
package protocol ReplaceableRecord: StoredRecord {
    /// Whether nobody is told of a write before a replica has it, where there are replicas. Without it a failover may undo a
    /// write that was acknowledged, whenever it comes.
    static var isConfirmed: Bool { get }
    /// Whether a record is never replaced that was written before the store's primary was replaced or started again: it may
    /// have been replaced since, and that forgotten.
    static var isBoundToReign: Bool { get }
}

/// The answer to a compare-and-swap.
package enum Replacement: Sendable, Equatable {
    /// This attempt wrote it, now or when it was tried before.
    case done
    /// Another record stands there than the one that was judged: read and judge again.
    case changed
    /// Nothing stands there (any more), or its lineage or subject has ended; nothing was written.
    case absent
    /// As in `Consumption`; only for kinds that are bound to a reign.
    case quarantined
}

/// Keeps replaceable records of every kind. They end with their lineage.
package protocol ReplaceableStore: Sendable {
    /// The record under `key`; nil when there is none, or it has ended.
    func replaceable<Record: ReplaceableRecord>(
        _ key: RecordKey,
        as kind: Record.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<Stored<Record>?>

    /// Compare-and-swap: if what stands at `key` is still `judged`, `record` takes its place. Fails with `.full` when there
    /// is no room.
    ///
    /// An attempt is repeated with the same id: as long as what it wrote stands there, the answer is `.done` again. Its first
    /// answer may have been lost, or have been kept back because no replica had confirmed its work.
    ///
    /// - Parameter judged: The version that was read; nil: nothing may stand there yet.
    func replace<Record: ReplaceableRecord>(
        _ key: RecordKey,
        judged: RecordVersion?,
        with record: Record,
        attempt: AttemptID,
        on loop: any EventLoop
    ) -> EventLoopFuture<Replacement>

    /// Ends the record, whatever stands there. Succeeds when nothing is there any more; may be repeated.
    func end(replaceable key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void>
}

extension ReplaceableStore {
    /// Writes a record where nothing stands yet; `.changed` when something does.
    package func create<Record: ReplaceableRecord>(
        _ record: Record,
        key: RecordKey,
        attempt: AttemptID,
        on loop: any EventLoop
    ) -> EventLoopFuture<Replacement> {
        self.replace(key, judged: nil, with: record, attempt: attempt, on: loop)
    }
}
