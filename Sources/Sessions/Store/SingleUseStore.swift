package import NIOCore
package import Vocabulary

/// A kind of record that is used once: a transfer token, a code, a ticket. Its use leaves a marker in its place.
///
/// Single use never fails open: no use is told of before a replica has it, where there are replicas, and what was written
/// before the store's primary was replaced or started again is never used.
package protocol SingleUseRecord: StoredRecord {}

/// What holds for single-use records of every kind.
package enum SingleUse {
    /// How long a marker stays. It outlives every record (`StoredRecord.longestLife`) by a wide margin: a replay inside it is
    /// known as one.
    package static let markerLife = Duration.seconds(3600)
}

/// One try to use or replace a record. A try whose answer was lost is recognised by its id when it is repeated.
package struct AttemptID: Sendable, Hashable {
    package let value: String

    package init(value: String) {
        self.value = value
    }
}

/// What is left where a single-use record was.
package enum Marker: Sendable, Hashable {
    /// Used by this attempt, which made the session with this key (nil only in records that made none).
    case used(AttemptID, session: RecordKey?)
    /// Burned by a refusal.
    case burned(AttemptID, Reason)

    /// The try that left it.
    package var attempt: AttemptID {
        switch self {
        case .used(let attempt, session: _), .burned(let attempt, _): attempt
        }
    }
}

/// What a single-use record turned out to be when it was looked up.
package enum SingleUseLookup<Record: SingleUseRecord>: Sendable {
    case live(Stored<Record>)
    case spent(Marker)
    case absent
}

/// The answer to a compare-and-act on a single-use record.
package enum Consumption: Sendable, Equatable {
    /// This attempt consumed it, now or when it was tried before.
    case done
    /// It had been consumed or burned by another attempt.
    case spent(Marker)
    /// It is not what was judged any more, or gone, or the session that it depends on is gone: judge again or refuse.
    case changed
    /// It was written under another reign of the store's primary: a failover or a restart came between, and whether the
    /// record was used since cannot be known. It is never used; nothing was written. Only a store that can lose what it
    /// has acknowledged gives this answer.
    case quarantined
}

/// A record to write in the same step as the act that earns it.
package enum NewRecord: Sendable {
    case session(NewSession)
    case singleUse(RecordKey, any SingleUseRecord)
    case replaceable(RecordKey, any ReplaceableRecord)

    /// Where it is to lie.
    package var key: RecordKey {
        switch self {
        case .session(let new): new.key
        case .singleUse(let key, _), .replaceable(let key, _): key
        }
    }
}

/// Keeps single-use records of every kind.
package protocol SingleUseStore: Sendable {
    /// Keeps a record until it is used or expires; fails with `.full` when there is no room. Nothing is kept of a lineage
    /// that has ended.
    func create<Record: SingleUseRecord>(
        _ record: Record,
        key: RecordKey,
        on loop: any EventLoop
    ) -> EventLoopFuture<Void>

    /// The record under `key`, or what became of it.
    func singleUse<Record: SingleUseRecord>(
        _ key: RecordKey,
        as kind: Record.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<SingleUseLookup<Record>>

    /// Compare-and-act: if no marker stands at `key` and the record is still `judged`, then delete it, leave `marker` and
    /// write all of `creating` (in the same lineage), all at once. A repeated attempt id gets `.done` again, whatever became
    /// of the record and its parent.
    ///
    /// Where something is to be made, the session at the record's `RecordTerms.parent` must still be there in the same step:
    /// when it ended after the judgement, the answer is `.changed` and nothing is written. No web session is born of a
    /// native one that was signed out.
    func consume(
        _ key: RecordKey,
        judged: RecordVersion,
        marker: Marker,
        creating: [NewRecord],
        on loop: any EventLoop
    ) -> EventLoopFuture<Consumption>

    /// Makes sure that what left this marker will not be forgotten. To be asked by the attempt that left it, before anybody
    /// is told of its work: its first answer may have been lost for the very want of that certainty.
    ///
    /// Fails with `.unavailable` when that is still so, or when the marker is gone.
    func confirm(_ marker: Marker, of key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void>
}

extension SingleUseStore {
    /// The same for a use that makes one session, or nothing.
    package func consume(
        _ key: RecordKey,
        judged: RecordVersion,
        marker: Marker,
        creating session: NewSession?,
        on loop: any EventLoop
    ) -> EventLoopFuture<Consumption> {
        let creating = session.map { [NewRecord.session($0)] } ?? []
        return self.consume(key, judged: judged, marker: marker, creating: creating, on: loop)
    }
}
