package import NIOCore
import Synchronization
package import Vocabulary

/// An error of a store. An absent record is not an error.
package enum StoreError: Error, Sendable, Equatable {
    /// The store cannot be reached or does not know the answer. The gateway answers 503 with `Retry-After`, burns no
    /// token and clears no cookie.
    case unavailable
    /// There is no room for another record or marker. Sign-in and minting get 503; existing sessions continue.
    case full
}

/// A record and the version that was read. The version is compared when the record is replaced or used.
///
/// This is a class, because copying a record would retain each of its many parts.
@usableFromInline
package final class Stored<Record: Sendable>: Sendable {
    @usableFromInline package let record: Record
    package let version: RecordVersion
    /// The time of the last use in milliseconds. It is atomic, because several loops share the object.
    private let lastUse: Atomic<Int64>

    private static var unknownUse: Int64 { .min }

    package init(record: Record, version: RecordVersion, usedAt: UnixTime? = nil) {
        self.record = record
        self.version = version
        self.lastUse = Atomic(usedAt?.milliseconds ?? Self.unknownUse)
    }

    /// The last use that the store knows, or the time when the record was written; `nil` if neither is known.
    package var usedAt: UnixTime? {
        let time = self.lastUse.load(ordering: .relaxed)
        return time == Self.unknownUse ? nil : UnixTime(milliseconds: time)
    }

    /// Remembers a use in this object, unless it knows a later one.
    package func noteUse(at time: UnixTime) { self.lastUse.max(time.milliseconds, ordering: .relaxed) }
}

extension Session {
    /// The minimum time between two recorded uses in milliseconds. `Duration` arithmetic would be slower.
    var useMilliseconds: Int64 { min(60_000, self.idleLifetime.wholeMilliseconds / 10) }
}

extension Stored where Record == Session {
    /// Reports whether a use must be written to the store now. Not every use is written, to save writes.
    package func isUseDue(at now: UnixTime) -> Bool {
        let last = self.usedAt ?? self.record.issuedAt
        return now.milliseconds >= last.milliseconds + self.record.useMilliseconds
    }
}

/// Identifies the bytes of the record that were judged. Only the store that made a version can interpret it.
package struct RecordVersion: Sendable, Hashable {
    package let value: UInt64

    package init(value: UInt64) {
        self.value = value
    }
}

/// A new session and its key.
package struct NewSession: Sendable {
    package let key: RecordKey
    package var session: Session

    package init(key: RecordKey, session: Session) {
        self.key = key
        self.session = session
    }
}

/// What ends when a presented session is ended.
package enum EndReach: Sendable {
    /// Nothing: the presenter may not end the session.
    case nothing
    case session
    /// The whole lineage of the session.
    case lineage
}

/// The result of ending a presented session (`SessionStore.end(presented:)`).
package enum PresentedEnd: Sendable {
    /// The store no longer knows the session.
    case absent
    /// The presenter may not end the session. It continues.
    case kept
    /// The session has ended, by this call or before.
    case ended(Session)
}

/// An end or a change that caches must apply. All loops of a process get it before the process answers the request that
/// caused it.
package enum Invalidation: Sendable, Hashable {
    /// A session ended.
    case session(RecordKey)
    /// A session's record was replaced, removed or written. Caches read the session again before they use it.
    case sessionRecord(RecordKey)
    case lineage(Lineage)
    /// Every session of the subject with this name in the store (`SessionStore.names`).
    case subject(String)
    /// Everything that the client got before `before`. If that is `nil`, also everything that the client gets later.
    case client(String, before: UnixTime?)
    /// A replaceable record ended or changed.
    case record(RecordKey)
    /// A document was written or deleted.
    case document(DocumentName)
    /// Any cached entry may be wrong, after a reload or because the store lost data. Nothing ended.
    case all
}

/// The result of looking for a session.
package enum SessionFinding: Sendable {
    case live(Stored<Session>)
    /// There is no live session. The reason is `session.unknown`, or a more exact reason for the logs (`Reason.told`).
    case absent(Reason)

    /// The live session; `nil` if it was not found.
    package var session: Stored<Session>? {
        if case .live(let stored) = self { stored } else { nil }
    }
}

/// Receives the finding, or the store's error.
package typealias SessionReceiver = (Result<SessionFinding, StoreError>) -> Void

/// The store of all state. The gateway decides. The store compares and acts in one atomic step, over records that it
/// does not interpret.
///
/// Every method answers on the caller's loop. A failure is a `StoreError`, or `RecordTooLarge` for a record that is too
/// large.
package protocol RecordStore: SessionStore, SessionIndex, SingleUseStore, ReplaceableStore, OnceStore, DocumentStore {
    /// Finds the single-use record under `key` and its parent session.
    func singleUseWithParent<Record: SingleUseRecord>(
        _ key: RecordKey,
        as kind: Record.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<LookupWithParent<Record>>
}

extension RecordStore {
    package func singleUseWithParent<Record: SingleUseRecord>(
        _ key: RecordKey,
        as kind: Record.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<LookupWithParent<Record>> {
        self.singleUseThenParent(key, as: kind, on: loop)
    }

    /// Finds a single-use record and then its parent session, in two reads.
    package func singleUseThenParent<Record: SingleUseRecord>(
        _ key: RecordKey,
        as kind: Record.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<LookupWithParent<Record>> {
        self.singleUse(key, as: kind, on: loop).flatMap { lookup in
            guard case .live(let stored) = lookup, let parent = stored.record.terms.parent else {
                return loop.makeSucceededFuture(LookupWithParent(lookup))
            }
            return self.session(parent, on: loop).map { LookupWithParent(lookup, parent: $0) }
        }
    }
}

/// Stores, finds and ends sessions.
package protocol SessionStore: Sendable {
    /// Returns the session under `key`; `nil` if it is not live. A session is not live if it expired, idled out, was
    /// ended, or ended with its lineage or its subject's epoch.
    func session(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Stored<Session>?>

    /// Finds the live session under `key` without a future, or the reason for its absence. Used for every request whose
    /// session is not cached. Must be called on `loop`. Calls `receiver` once on `loop`, possibly before this returns.
    func session(_ key: RecordKey, on loop: any EventLoop, _ receiver: @escaping SessionReceiver)

    /// Writes a new session under the subject's current epoch. Fails with `.full` if there is no room.
    func create(_ session: NewSession, on loop: any EventLoop) -> EventLoopFuture<Void>

    /// Adds a session to its subject's list (`SessionIndex`), for stores that keep such a list. Never fails, and need
    /// not be awaited. After a crash, the list may lack the session.
    func note(_ session: NewSession, on loop: any EventLoop)

    /// Replaces the live session under `key` if its present version is `judged` (compare-and-swap). `session` must have
    /// the same subject, lineage and expiry. The idle deadline and the epoch stay the same. The result is `.absent` if
    /// the session is no longer live.
    ///
    /// The future succeeds after every loop of this process has dropped the former session. Streams stay open. After a
    /// lost answer, the caller reads and judges again.
    ///
    /// A failover may bring back the former session.
    func replace(
        _ key: RecordKey,
        judged: RecordVersion,
        with session: Session,
        on loop: any EventLoop
    ) -> EventLoopFuture<Replacement>

    /// Returns how many of these sessions of the subject are live. Access tokens are not counted.
    func liveCount(of subject: String, _ sessions: [RecordKey], on loop: any EventLoop) -> EventLoopFuture<Int>

    /// Records a use of the session now, which extends its idle deadline. Without the record, the session ends earlier.
    func touch(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void>

    /// Ends one session. Returns true if it existed.
    func end(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Bool>

    /// Ends every token and session of the lineage, including those made later from one of its tokens.
    func end(_ lineage: Lineage, on loop: any EventLoop) -> EventLoopFuture<Void>

    /// Ends the session that a presented token names, even if it seems to have ended already. Succeeds only when the
    /// session certainly cannot come back: an earlier call may have failed.
    ///
    /// - Parameter reach: Returns what ends together with the session, which may have ended before.
    func end(
        presented key: RecordKey,
        reaching reach: @escaping @Sendable (Session) -> EndReach,
        on loop: any EventLoop
    ) -> EventLoopFuture<PresentedEnd>

    /// Returns the names under which ends of a subject are reported (`Invalidation.subject`), without I/O. There are
    /// several names after a rotation of the secret, otherwise one.
    func names(of subject: String) -> [String]

    /// Ends every session of the subject that exists now ("log out everywhere").
    func end(subject: String, on loop: any EventLoop) -> EventLoopFuture<Void>

    /// Returns the subject's current epoch: the time when all of the subject's sessions last ended, in milliseconds by
    /// the store's clock. 0 if that never happened. After several ends in one millisecond, the epoch is a little later
    /// than the time.
    func eventualEpoch(of subject: String, on loop: any EventLoop) -> Eventual<UInt64>

    /// Returns the time of the store's clock, which sets epochs. Epochs of later ends are not earlier than this time.
    /// In a Redis Cluster, the primaries' clocks may differ.
    func now(on loop: any EventLoop) -> EventLoopFuture<UnixTime>
}

extension SessionStore {
    /// Returns the answer of `eventualEpoch` as a future.
    package func epoch(of subject: String, on loop: any EventLoop) -> EventLoopFuture<UInt64> {
        self.eventualEpoch(of: subject, on: loop).future(on: loop)
    }

    package func liveCount(
        of subject: String,
        _ sessions: [RecordKey],
        on loop: any EventLoop
    ) -> EventLoopFuture<Int> {
        EventLoopFuture.whenAllSucceed(sessions.map { self.session($0, on: loop) }, on: loop).map { found in
            found.count { $0?.record.isListed ?? false }
        }
    }

    /// Does nothing, because most stores keep no such list.
    package func note(_ session: NewSession, on loop: any EventLoop) {}

    /// Ends the presented session, for stores that never lose an acknowledged write.
    package func end(
        presented key: RecordKey,
        reaching reach: @escaping @Sendable (Session) -> EndReach,
        on loop: any EventLoop
    ) -> EventLoopFuture<PresentedEnd> {
        self.session(key, on: loop).flatMap { stored in
            guard let session = stored?.record else { return self.end(key, on: loop).map { _ in .absent } }
            switch reach(session) {
            case .nothing: return loop.makeSucceededFuture(.kept)
            case .session: return self.end(key, on: loop).map { _ in .ended(session) }
            case .lineage: return self.end(session.lineage, on: loop).map { .ended(session) }
            }
        }
    }

    package func session(_ key: RecordKey, on loop: any EventLoop, _ receiver: @escaping SessionReceiver) {
        self.session(key, on: loop).assumeIsolated().whenComplete { result in
            receiver(
                result.map { $0.map { .live($0) } ?? .absent(.sessionUnknown) }
                    .mapError { $0 as? StoreError ?? .unavailable }
            )
        }
    }
}
