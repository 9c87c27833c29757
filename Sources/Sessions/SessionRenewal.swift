internal import Cryptography
package import NIOCore
package import Vocabulary

/// Where a session goes on whose token was renewed, kept under the key that it had before: what was made from the session
/// names that key.
///
/// A handoff that leaves a browser its better session gives it a new token, so that a copy of the cookie that somebody took
/// before is of no more use (session fixation, session theft). The session stays the same for apps and for its user.
package struct SessionRenewal: ReplaceableRecord, Hashable {
    package static var kind: RecordKind { RecordKind(letter: UInt8(ascii: "z")) }
    /// The longest that a session lives.
    package static var longestLife: Duration { .seconds(366 * 86_400) }
    package static var isConfirmed: Bool { true }
    package static var isBoundToReign: Bool { false }

    /// How long the former token serves requests that the browser had sent with it: nobody is signed out because two
    /// requests overtook each other.
    package static let overlap = Duration.seconds(30)
    /// How often a record that others replace at the same time is read and judged again.
    private static let mostTries = 8
    /// How many renewals are followed.
    private static let mostSteps = 256

    /// The key of the session since then.
    package let session: RecordKey
    package let terms: RecordTerms

    private init(session: RecordKey, terms: RecordTerms) {
        self.session = session
        self.terms = terms
    }

    package func write(to writer: inout CompactWriter) {
        writer.write(self.session)
        writer.write(self.terms.since)
        writer.write(self.terms.expiresAt)
        writer.write(optional: self.terms.owner) { writer, owner in
            writer.write(owner.subject)
            writer.write(owner.epoch)
        }
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> SessionRenewal {
        let session = try reader.key()
        let since = try reader.time()
        let expiresAt = try reader.time()
        let owner = try reader.optional { (reader) throws(CompactFormatError) in
            RecordOwner(subject: try reader.text(), epoch: try reader.unsigned())
        }
        return SessionRenewal(session: session, terms: RecordTerms(since: since, expiresAt: expiresAt, owner: owner))
    }

    private static func key(of former: RecordKey) -> RecordKey {
        RecordKey(kind: Self.kind, lineage: former.lineage, digest: former.digest)
    }
}

extension SessionRenewal {
    /// Lets the session under `former` go on under `key`. May be repeated.
    ///
    /// The new record is written before the former one is retired, and whatever ends the session meanwhile finds both: they
    /// are in one lineage, and in one family (`HandoffFamily`) if the session has one.
    ///
    /// - Returns: The session as it goes on; nil: it has ended meanwhile.
    package static func renew(
        _ former: RecordKey,
        as key: RecordKey,
        now: UnixTime,
        in store: any SessionStore & ReplaceableStore,
        on loop: any EventLoop
    ) -> EventLoopFuture<Session?> {
        store.session(former, on: loop).flatMap { standing in
            store.session(key, on: loop).flatMap { known in
                // It was renewed before, and has perhaps been used since.
                if let known { return loop.makeSucceededFuture(known.record) }
                guard let standing, !standing.record.isRetired else { return loop.makeSucceededFuture(nil) }
                return Self.renew(former, standing, as: key, now: now, in: store, on: loop)
            }
        }
    }

    private static func renew(
        _ former: RecordKey,
        _ standing: Stored<Session>,
        as key: RecordKey,
        now: UnixTime,
        in store: any SessionStore & ReplaceableStore,
        on loop: any EventLoop
    ) -> EventLoopFuture<Session?> {
        let root = standing.record.familyRoot(former)
        var session = standing.record
        if let root { session.bornOf = root }
        let entered =
            root.map {
                HandoffFamily.add(key, root: $0, parent: standing.record, former: nil, to: store, on: loop)
            } ?? loop.makeSucceededVoidFuture()
        return entered.flatMap { [session] in
            store.create(NewSession(key: key, session: session), on: loop)
        }.flatMap { [session] in
            store.replace(
                Self.key(of: former),
                judged: nil,
                with: SessionRenewal(session: key, terms: Self.terms(session)),
                attempt: AttemptID(value: key.digest.base64URL),
                on: loop
            )
        }.flatMap { _ in
            Self.retire(former, standing, now: now, in: store, on: loop)
        }.flatMap { [session] isRetired in
            // If it has ended between, what was made is not handed out.
            isRetired ? loop.makeSucceededFuture(session) : store.end(key, on: loop).map { _ in nil }
        }
    }

    /// - Returns: Whether the former record lived until now.
    private static func retire(
        _ former: RecordKey,
        _ standing: Stored<Session>,
        now: UnixTime,
        in store: any SessionStore & ReplaceableStore,
        on loop: any EventLoop,
        try number: Int = 1
    ) -> EventLoopFuture<Bool> {
        var retired = standing.record
        retired.isRetired = true
        retired.expiresAt = min(retired.expiresAt, now.advanced(by: Self.overlap))
        return store.replace(former, judged: standing.version, with: retired, on: loop).flatMap { replacement in
            switch replacement {
            case .done: return loop.makeSucceededFuture(true)
            case .absent, .quarantined: return loop.makeSucceededFuture(false)
            // Another request has renewed the provider's tokens, for example.
            case .changed where number < Self.mostTries:
                return store.session(former, on: loop).flatMap { standing in
                    guard let standing else { return loop.makeSucceededFuture(false) }
                    return Self.retire(former, standing, now: now, in: store, on: loop, try: number + 1)
                }
            case .changed: return loop.makeFailedFuture(StoreError.unavailable)
            }
        }
    }

    private static func terms(_ session: Session) -> RecordTerms {
        RecordTerms(
            since: session.issuedAt,
            expiresAt: session.expiresAt,
            owner: RecordOwner(subject: session.subject, epoch: session.epoch)
        )
    }

    /// The live session that was under `key` when something was made from it, wherever it goes on; nil: it has ended.
    package static func session(
        behind key: RecordKey,
        in store: any SessionStore & ReplaceableStore,
        on loop: any EventLoop
    ) -> EventLoopFuture<Stored<Session>?> {
        Self.session(behind: key, steps: Self.mostSteps, in: store, on: loop)
    }

    private static func session(
        behind key: RecordKey,
        steps: Int,
        in store: any SessionStore & ReplaceableStore,
        on loop: any EventLoop
    ) -> EventLoopFuture<Stored<Session>?> {
        store.session(key, on: loop).flatMap { stored in
            guard stored == nil, steps > 0 else { return loop.makeSucceededFuture(stored) }
            return store.replaceable(Self.key(of: key), as: SessionRenewal.self, on: loop).flatMap { renewal in
                guard let renewal else { return loop.makeSucceededFuture(nil) }
                return Self.session(behind: renewal.record.session, steps: steps - 1, in: store, on: loop)
            }
        }
    }
}
