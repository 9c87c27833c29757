package import NIOCore
package import Vocabulary

/// A kind of record that is used once, such as a transfer token or a code. A use replaces the record with a marker.
///
/// If there are replicas, a use is acknowledged only after a replica has it. A record from an earlier reign of the
/// store's primary is never used.
package protocol SingleUseRecord: StoredRecord {
    /// True if the store reads the record and its parent session together (`RecordStore.singleUseWithParent`).
    static var isReadWithParent: Bool { get }
}

extension SingleUseRecord {
    package static var isReadWithParent: Bool { false }
}

/// Constants of all single-use records.
package enum SingleUse {
    /// The lifetime of a marker. It is at least that of every single-use record, so every replay is recognised.
    package static let markerLife = Duration.seconds(3600)
}

/// One attempt to use or replace a record. After a lost answer, the caller repeats the attempt with the same id.
package struct AttemptID: Sendable, Hashable {
    package let value: String

    package init(value: String) {
        self.value = value
    }
}

/// The marker that replaces a used or burned single-use record.
package enum Marker: Sendable, Hashable {
    /// Used by this attempt. `session` is the key of the session that the attempt made; `nil` if it made none.
    case used(AttemptID, session: RecordKey?)
    /// Burned by this attempt, for this reason.
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
    /// The parent session; `nil` if it is not live, or if the record cannot be used.
    package let parent: Stored<Session>?

    package init(_ lookup: SingleUseLookup<Record>, parent: Stored<Session>? = nil) {
        self.lookup = lookup
        self.parent = parent
    }
}

/// The result of a compare-and-act on a single-use record.
package enum Consumption: Sendable, Equatable {
    /// This attempt consumed the record, now or in an earlier try.
    case done
    /// Another attempt had consumed or burned the record.
    case spent(Marker)
    /// The record has changed, or the record or its parent session is gone. The caller judges again.
    case changed
    /// The record was written under an earlier reign of the store's primary, so it is unknown whether it was used. It
    /// is never used. Nothing was written.
    case quarantined
}

/// A record to write in the same atomic step as a use.
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
    /// Stores a record until it is used or expires. Stores nothing if its lineage has ended. Fails with `.full` if
    /// there is no room.
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

    /// Consumes the record under `key` (compare-and-act). If there is no marker and the record's present version is
    /// `judged`, one atomic step deletes the record, writes `marker` and writes the records `creating`, which are in
    /// the same lineage. A repeated attempt gets `.done` again.
    ///
    /// If `creating` is not empty, the session `RecordTerms.parent` must exist in this step. If it has ended, the
    /// answer is `.changed` and nothing is written, so a signed-out native session makes no web session.
    func consume(
        _ key: RecordKey,
        judged: RecordVersion,
        marker: Marker,
        creating: [NewRecord],
        on loop: any EventLoop
    ) -> EventLoopFuture<Consumption>

    /// Makes sure that the marker will not be lost. Call this before the result of an earlier attempt is reported: the
    /// attempt's answer may have been withheld because no replica had the marker.
    ///
    /// Fails with `.unavailable` if the marker may still be lost, or is gone.
    func confirm(_ marker: Marker, of key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void>
}

extension SingleUseStore {
    /// Consumes the record under `key`, and creates one session or none.
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
