package import NIOCore
package import Vocabulary

/// What a store can fail with. Neither says anything about the token: absent is an answer, not an error.
package enum StoreError: Error, Sendable, Equatable {
    /// The store cannot be reached or cannot promise its answer: 503 with `Retry-After`, nothing burnt, nothing cleared.
    case unavailable
    /// No room for another record or marker: sign-in and mint are 503, what exists goes on.
    case full
}

/// A record together with the version that was read: a compare-and-act on it names what was judged.
///
/// A reference: it passes through many hands, and a record has many parts to count.
@usableFromInline
package final class Stored<Record: Sendable>: Sendable {
    @usableFromInline package let record: Record
    package let version: RecordVersion
    /// When the store was last told of a use (by whichever gateway) or the record was written; nil: it does not say.
    package let usedAt: UnixTime?

    package init(record: Record, version: RecordVersion, usedAt: UnixTime? = nil) {
        self.record = record
        self.version = version
        self.usedAt = usedAt
    }
}

/// Identifies the exact bytes (or value) that were judged; opaque to everyone but the store that made it.
package struct RecordVersion: Sendable, Hashable {
    package let value: UInt64

    package init(value: UInt64) {
        self.value = value
    }
}

/// A session to write together with the act that earns it.
package struct NewSession: Sendable {
    package let key: RecordKey
    package let session: Session

    package init(key: RecordKey, session: Session) {
        self.key = key
        self.session = session
    }
}

/// How far the end of a presented session reaches.
package enum EndReach: Sendable {
    /// The presenter may not end it.
    case nothing
    case session
    /// All of its family.
    case lineage
}

/// What became of a presented session that was to end.
package enum PresentedEnd: Sendable {
    /// Nothing is known of it any more.
    case absent
    /// The presenter may not end it: it lives on.
    case kept
    /// It ended now, or had ended and nothing brings it back.
    case ended(Session)
}

/// What ended or changed, told to every loop's cache before whoever caused it is answered.
package enum Invalidation: Sendable, Hashable {
    case session(RecordKey)
    case lineage(Lineage)
    /// Every session of the subject that the store calls so (`SessionStore.names`).
    case subject(String)
    /// A replaceable record.
    case record(RecordKey)
    /// A document was written or deleted.
    case document(DocumentName)
    /// Nothing by itself, but all that is known may be wrong: after a reload, or when the store lost or forgot something.
    case all
}

/// Whoever asked for a session: called with it, with nil when there is none, or with why the store cannot say.
package typealias SessionReceiver = (Result<Stored<Session>?, StoreError>) -> Void

/// Everything that a deployment keeps. The gateway judges in Swift; the store compares and acts in one atomic step over
/// records that it does not understand, and never replaces a session or a single-use record.
///
/// Every method answers on the caller's loop. A failure is a `StoreError`, or `RecordTooLarge` where a record is written;
/// "not there" is a value.
package protocol RecordStore: SessionStore, SingleUseStore, ReplaceableStore, OnceStore, DocumentStore {}

/// Keeps sessions.
package protocol SessionStore: Sendable {
    /// The live session under `key`: neither expired, idle too long, ended with its lineage, nor born before the
    /// subject's epoch. nil when there is none.
    func session(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Stored<Session>?>

    /// The same without a future, for every request whose session is not in the cache. To be called on `loop`, where
    /// `receiver` is called too: once, maybe before this returns.
    func session(_ key: RecordKey, on loop: any EventLoop, _ receiver: @escaping SessionReceiver)

    /// Writes a new session under the subject's current epoch; fails with `.full` when there is no room.
    func create(_ session: NewSession, on loop: any EventLoop) -> EventLoopFuture<Void>

    /// Notes that the session was used now, which moves its idle deadline on. Losing a note only ends a session early.
    func touch(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void>

    /// Ends one session; true when it was there.
    func end(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Bool>

    /// Ends every token and session of the family, those made later from a token of it included.
    func end(_ lineage: Lineage, on loop: any EventLoop) -> EventLoopFuture<Void>

    /// Ends what a presented token names, whatever has become of it by now: a sign-out whose first try was not confirmed is
    /// repeated, and must not succeed before it is certain that nothing brings the session back.
    ///
    /// - Parameter reach: What is to end with the session, which may have ended before.
    func end(
        presented key: RecordKey,
        reaching reach: @escaping @Sendable (Session) -> EndReach,
        on loop: any EventLoop
    ) -> EventLoopFuture<PresentedEnd>

    /// What the store calls a subject in `Invalidation.subject`: never none, and several while what was written under an
    /// older secret lives on. Answered from memory.
    func names(of subject: String) -> [String]

    /// Ends every session of the subject that exists now ("log out everywhere").
    func end(subject: String, on loop: any EventLoop) -> EventLoopFuture<Void>
}

extension SessionStore {
    /// For stores that forget nothing that they have acknowledged.
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
            receiver(result.mapError { $0 as? StoreError ?? .unavailable })
        }
    }
}
