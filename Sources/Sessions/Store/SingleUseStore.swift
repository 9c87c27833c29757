package import NIOCore
package import Vocabulary

/// A kind of record that is used once: a transfer token, a code, a ticket. A use replaces the record with a marker.
///
/// Single use never fails open. If there are replicas, a use is acknowledged only after a replica has it. A record
/// written before the store's primary was replaced or restarted is never used.
package protocol SingleUseRecord: StoredRecord {
    /// True if records of the kind are read together with their parent session (`RecordStore.singleUseWithParent`).
    static var isReadWithParent: Bool { get }
}

extension SingleUseRecord {
    package static var isReadWithParent: Bool { false }
}

/// Rules for single-use records of every kind.
package enum SingleUse {
    /// The lifetime of a marker, at least that of every single-use record, so that a replay is recognised.
    package static let markerLife = Duration.seconds(3600)
}

/// One attempt to use or replace a record. If its answer was lost, it is repeated with the same id.
package struct AttemptID: Sendable, Hashable {
    package let value: String

    package init(value: String) {
        self.value = value
    }
}

/// The marker that replaces a used or burned single-use record.
package enum Marker: Sendable, Hashable {
    /// Used by this attempt, which made the session with this key; `nil` if the attempt made no session.
    case used(AttemptID, session: RecordKey?)
    /// Burned by a rejection, for this reason.
    case burned(AttemptID, Reason)

    /// The attempt that left the marker.
    package var attempt: AttemptID {
        switch self {
        case .used(let attempt, session: _), .burned(let attempt, _): attempt
        }
    }
}

/// The result of looking up a single-use record.
package enum SingleUseLookup<Record: SingleUseRecord>: Sendable {
    case live(Stored<Record>)
    case spent(Marker)
    case absent
}

/// A single-use record, and the session under its `RecordTerms.parent`.
package struct LookupWithParent<Record: SingleUseRecord>: Sendable {
    package let lookup: SingleUseLookup<Record>
    /// The parent session; `nil` if it is not live, or if there is no record that could be used.
    package let parent: Stored<Session>?

    package init(_ lookup: SingleUseLookup<Record>, parent: Stored<Session>? = nil) {
        self.lookup = lookup
        self.parent = parent
    }
}

/// The answer to a compare-and-act on a single-use record.
package enum Consumption: Sendable, Equatable {
    /// This attempt consumed the record, now or in an earlier try.
    case done
    /// Another attempt had consumed or burned the record.
    case spent(Marker)
    /// The record has changed, or the record or its parent session is gone. The caller judges again or rejects.
    case changed
    /// The record was written under another reign of the store's primary. A failover or a restart has happened since,
    /// and it is unknown whether the record was used. It is never used, and nothing was written. Only a store that can
    /// lose acknowledged writes gives this answer.
    case quarantined
}

/// A record to write in the same step as the action that permits it.
package enum NewRecord: Sendable {
    case session(NewSession)
    case singleUse(RecordKey, any SingleUseRecord)
    case replaceable(RecordKey, any ReplaceableRecord)

    /// The key under which the record is written.
    package var key: RecordKey {
        switch self {
        case .session(let new): new.key
        case .singleUse(let key, _), .replaceable(let key, _): key
        }
    }
}

/// Stores single-use records of every kind.
package protocol SingleUseStore: Sendable {
    /// Stores a record until it is used or expires, or not at all if its lineage has ended. Fails with `.full` if there
    /// is no room.
    func create<Record: SingleUseRecord>(
        _ record: Record,
        key: RecordKey,
        on loop: any EventLoop
    ) -> EventLoopFuture<Void>

    /// Returns the record under `key`, or the marker that replaced it.
    func singleUse<Record: SingleUseRecord>(
        _ key: RecordKey,
        as kind: Record.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<SingleUseLookup<Record>>

    /// Consumes the record under `key` (compare-and-act). If there is no marker under `key` and the record is still
    /// `judged`, one atomic step deletes it, leaves `marker` and writes all of `creating` (in the same lineage). A
    /// repeated attempt id gets `.done` again, even if the record and its parent are gone.
    ///
    /// If something is created, the session under the record's `RecordTerms.parent` must still exist in that step. If
    /// it ended after the judgement, the answer is `.changed` and nothing is written. So no web session is made from a
    /// native session that was signed out.
    func consume(
        _ key: RecordKey,
        judged: RecordVersion,
        marker: Marker,
        creating: [NewRecord],
        on loop: any EventLoop
    ) -> EventLoopFuture<Consumption>

    /// Makes sure that the marker will not be lost. This must be called before the result of the attempt that left the
    /// marker is reported: the attempt's first answer may have been withheld because the marker was not yet safe.
    ///
    /// Fails with `.unavailable` if the marker may still be lost, or is gone.
    func confirm(_ marker: Marker, of key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void>
}

extension SingleUseStore {
    /// Consumes the record under `key` for a use that creates one session, or nothing.
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
