package import NIOCore
import Synchronization
package import Vocabulary

/// The errors of a store. They say nothing about the token: absence is an answer, not an error.
package enum StoreError: Error, Sendable, Equatable {
    /// The store cannot be reached or cannot guarantee its answer. The gateway answers 503 with `Retry-After`. No token
    /// is burned, and no cookie is cleared.
    case unavailable
    /// There is no room for another record or marker. Sign-in and mint answer 503; existing sessions continue.
    case full
}

/// A record together with the version that was read. A compare-and-act names the version that was judged.
///
/// It is a class because it is often passed on, and copying a record would retain each of its many parts.
@usableFromInline
package final class Stored<Record: Sendable>: Sendable {
    @usableFromInline package let record: Record
    package let version: RecordVersion
    /// The time of the last use in milliseconds. It is atomic, because a store gives the same object to every loop.
    private let lastUse: Atomic<Int64>

    private static var unknownUse: Int64 { .min }

    package init(record: Record, version: RecordVersion, usedAt: UnixTime? = nil) {
        self.record = record
        self.version = version
        self.lastUse = Atomic(usedAt?.milliseconds ?? Self.unknownUse)
    }

    /// The last use that a gateway recorded in the store, or the time when the record was written; `nil` if unknown.
    package var usedAt: UnixTime? {
        let time = self.lastUse.load(ordering: .relaxed)
        return time == Self.unknownUse ? nil : UnixTime(milliseconds: time)
    }

    /// Records a use, unless a later one is known.
    package func noteUse(at time: UnixTime) { self.lastUse.max(time.milliseconds, ordering: .relaxed) }
}

extension Session {
    /// The milliseconds after a recorded use in which no further use is recorded. `Duration` arithmetic is slower.
    var useMilliseconds: Int64 { min(60_000, self.idleLifetime.wholeMilliseconds / 10) }
}

extension Stored where Record == Session {
    /// Reports whether a use must be recorded now. Recording every use would cost one write per request.
    package func isUseDue(at now: UnixTime) -> Bool {
        let last = self.usedAt ?? self.record.issuedAt
        return now.milliseconds >= last.milliseconds + self.record.useMilliseconds
    }
}

/// Identifies the exact bytes or value that were judged. Only the store that made a version can interpret it.
package struct RecordVersion: Sendable, Hashable {
    package let value: UInt64

    package init(value: UInt64) {
        self.value = value
    }
}

/// A session to write in the same step as the action that permits it.
package struct NewSession: Sendable {
    package let key: RecordKey
    package var session: Session

    package init(key: RecordKey, session: Session) {
        self.key = key
        self.session = session
    }
}

/// The part of a lineage that ends with a presented session.
package enum EndReach: Sendable {
    /// The presenter may not end the session.
    case nothing
    case session
    /// The whole lineage of the session.
    case lineage
}

/// The result of ending a presented session.
package enum PresentedEnd: Sendable {
    /// The store no longer knows the session.
    case absent
    /// The presenter may not end the session, so it continues.
    case kept
    /// The session ended now, or had ended before and cannot come back.
    case ended(Session)
}

/// An end or a change, reported to every loop's cache before the request that caused it is answered.
package enum Invalidation: Sendable, Hashable {
    /// A session ended.
    case session(RecordKey)
    /// A session's record was replaced, removed or written. The session is read again before it is used.
    case sessionRecord(RecordKey)
    case lineage(Lineage)
    /// Every session of the subject with this name in the store (`SessionStore.names`).
    case subject(String)
    /// Everything that the client got before `before`; if that is `nil`, also everything that the client gets later.
    case client(String, before: UnixTime?)
    /// A replaceable record ended or changed.
    case record(RecordKey)
    /// A document was written or deleted.
    case document(DocumentName)
    /// Nothing ended, but everything cached may be wrong, after a reload or because the store lost or forgot something.
    case all
}

/// The result of looking for a session.
package enum SessionFinding: Sendable {
    case live(Stored<Session>)
    /// There is no live session. The reason is the best that the store knows: `session.unknown`, or a reason that only
    /// the logs show (`Reason.told`).
    case absent(Reason)

    /// The live session; `nil` if it was not found.
    package var session: Stored<Session>? {
        if case .live(let stored) = self { stored } else { nil }
    }
}

/// Receives the finding, or the store's error.
package typealias SessionReceiver = (Result<SessionFinding, StoreError>) -> Void

/// The store of a deployment's whole state. The gateway makes the decisions. The store compares and acts in one atomic
/// step over records that it does not interpret, and never replaces a single-use record.
///
/// Every method answers on the caller's loop. A failure is a `StoreError`, or `RecordTooLarge` where a record is
/// written; absence is a value, not an error.
package protocol RecordStore: SessionStore, SessionIndex, SingleUseStore, ReplaceableStore, OnceStore, DocumentStore {
    /// Finds the single-use record under `key` and its parent session, as `singleUse` and then `session` would.
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

    /// Finds a single-use record and then its parent session, with two reads in a row.
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
    /// Returns the session under `key` if it is live: it has not expired, idled out or ended with its lineage, and was
    /// made in the subject's current epoch. Otherwise `nil`.
    func session(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Stored<Session>?>

    /// Finds the live session under `key` without a future, or the reason for its absence. Used for every request with
    /// a session that is not cached. Must be called on `loop`, where `receiver` is called once, maybe before this
    /// returns.
    func session(_ key: RecordKey, on loop: any EventLoop, _ receiver: @escaping SessionReceiver)

    /// Writes a new session under the subject's current epoch. Fails with `.full` if there is no room.
    func create(_ session: NewSession, on loop: any EventLoop) -> EventLoopFuture<Void>

    /// Adds a session to its subject's list (`SessionIndex`) if the store keeps the list apart from the sessions. A
    /// session whose creation was not answered may be missing there. Never fails, and need not be awaited.
    func note(_ session: NewSession, on loop: any EventLoop)

    /// Replaces the live session under `key` with `session` if it is still `judged` (compare-and-swap). The idle
    /// deadline and the epoch are kept. `session` must have the same subject, lineage and expiry. A session that has
    /// ended, idled out or expired, or whose subject's sessions ended since it began, is never written again:
    /// `.absent`.
    ///
    /// The future succeeds after every loop of this process has dropped the former session. Other processes drop it as
    /// they drop a session that ended. Streams stay open. If an answer is lost, the caller reads and judges again.
    ///
    /// If a failover undoes the replacement, the former session is back.
    func replace(
        _ key: RecordKey,
        judged: RecordVersion,
        with session: Session,
        on loop: any EventLoop
    ) -> EventLoopFuture<Replacement>

    /// Counts the live sessions among these sessions of the subject, without access tokens (`Session.isListed`).
    func liveCount(of subject: String, _ sessions: [RecordKey], on loop: any EventLoop) -> EventLoopFuture<Int>

    /// Records a use of the session now, to extend its idle deadline. If the call is lost, the session ends early.
    func touch(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void>

    /// Ends one session and returns true if it existed.
    func end(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Bool>

    /// Ends every token and session of the lineage, including those made later from one of its tokens.
    func end(_ lineage: Lineage, on loop: any EventLoop) -> EventLoopFuture<Void>

    /// Ends the session that a presented token names, whatever its state. A sign-out whose first try was not confirmed
    /// is repeated, and must not succeed before it is certain that the session cannot come back.
    ///
    /// - Parameter reach: Returns what ends together with the session. The session may have ended before.
    func end(
        presented key: RecordKey,
        reaching reach: @escaping @Sendable (Session) -> EndReach,
        on loop: any EventLoop
    ) -> EventLoopFuture<PresentedEnd>

    /// Returns the store's names of a subject in `Invalidation.subject`, from memory. There is at least one, and there
    /// are several while names made under an older secret are in use.
    func names(of subject: String) -> [String]

    /// Ends every session of the subject that exists now ("log out everywhere").
    func end(subject: String, on loop: any EventLoop) -> EventLoopFuture<Void>

    /// Returns the subject's current epoch, for records that end with the subject's sessions (`RecordOwner`). The epoch
    /// is the time when the subject's sessions last ended, in milliseconds by the store's clock. It is a little
    /// later if they ended several times at once, and 0 if they never ended.
    func eventualEpoch(of subject: String, on loop: any EventLoop) -> Eventual<UInt64>

    /// Returns the time of the clock that sets epochs. The epoch of an end that begins after this call is not earlier
    /// than this time. In a Redis Cluster, it may be earlier by as much as the clocks of the primaries differ.
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

    /// Does nothing, for stores that find a subject's sessions themselves.
    package func note(_ session: NewSession, on loop: any EventLoop) {}

    /// Ends the session that a presented token names, for stores that never lose what they have acknowledged.
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
