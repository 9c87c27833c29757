package import NIOCore
package import Vocabulary

/// The sessions of foreign tokens in the store. All loops and gateways share a provider's verdict about a token, and a
/// token ends here even if its provider would still vouch for it.
///
/// A signature stays valid after a sign-out, and the provider may not know about the sign-out. So a token that is
/// presented again must not become a session again:
///
/// - **A sign-out** ends the token's lineage (`ForeignNames.lineages`). An ended lineage stays ended for as long
///   as the token could have lived, and nothing is ever written in it again (`Replacement.absent`).
/// - **The end of a subject, or of the provider's session** (`ProviderSession.endName`), raises an epoch. No session is
///   enumerated. A token that was accepted before has a record with the epochs under which it was accepted. The record
///   outlives the end, and an epoch earlier than the current one shows that the token ended. Clocks do not matter.
/// - **A token that was not presented before the end** has no record. It is judged by the time when the provider
///   issued it: epochs are times, and a token that is not younger than the current epoch is rejected. Providers state
///   whole seconds, rounded down, so a token issued in the same second as the end is rejected as well. Here the
///   difference between the clocks of provider and store matters. An opaque token without `iat` cannot be judged this
///   way: if it was never presented before the end, the provider's answer decides.
///
/// A later sign-in works in each case, even under the same `sid`, because its tokens are younger.
///
/// Caches do not follow the keys of these records (`RecordKind.foreignSession`). Writing a record is not reported to
/// caches, and each kind of end above has its own report.
package final class ForeignSessions: Sendable {
    /// The state of a token in the store.
    package enum Standing: Sendable, Equatable {
        /// The token is not known, or its lineage has ended; `accept` finds out which.
        case none
        /// The token has ended.
        case ended
        /// The user of the token is blocked, so the token has ended or is not accepted.
        case blocked
        /// The token was accepted and has not ended since. Its verdict may have expired.
        case live(ForeignSession)
    }

    /// Reports whether the user of a session is blocked.
    package typealias BlockCheck = @Sendable (Session, any EventLoop) -> EventLoopFuture<Bool>

    /// The maximum number of reads of a record that changes while it is being judged.
    private static let maxReads = 4

    private let store: any SessionStore & ReplaceableStore
    private let authority: TokenAuthority
    private let clock: Clock
    private let isBlocked: BlockCheck?

    /// - Parameter isBlocked: Asked whenever a provider vouches for a token. `nil` if no user is ever blocked.
    package init(
        store: any SessionStore & ReplaceableStore,
        authority: TokenAuthority,
        clock: Clock,
        isBlocked: BlockCheck? = nil
    ) {
        self.store = store
        self.authority = authority
        self.clock = clock
        self.isBlocked = isBlocked
    }

    /// Returns the state of the token with this key. Fails with `StoreError`.
    package func standing(_ key: RecordKey, on loop: any EventLoop) -> Eventual<Standing> {
        self.record(key, on: loop).flatMap { stored in
            guard let record = stored?.record else { return .success(.none) }
            return self.epochs(of: record.foreign.session, on: loop).flatMap { epochs in
                if record.isCurrent(epochs) { return .success(.live(record.foreign)) }
                return self.blocked(record.foreign.session, on: loop).map { $0 ? .blocked : .ended }
            }
        }
    }

    /// Stores a session that the provider vouches for, unless the token has ended or its user is blocked. Returns the
    /// new state of the token, which is never `none`. Fails with `StoreError`.
    ///
    /// - Parameter issuedAt: The issue time by the provider's clock; `nil` if the provider does not state it.
    package func accept(
        _ foreign: ForeignSession,
        issuedAt: UnixTime?,
        as key: RecordKey,
        on loop: any EventLoop
    ) -> Eventual<Standing> {
        self.accept(Candidate(foreign: foreign, issuedAt: issuedAt, key: key), reads: Self.maxReads, on: loop)
    }

    /// Binds an accepted token to a key (`ForeignTokens.bind`). Fails with `StoreError`.
    package func bind(_ key: RecordKey, to thumbprint: String, on loop: any EventLoop) -> EventLoopFuture<KeyBinding> {
        self.bind(key, to: thumbprint, reads: Self.maxReads, on: loop).future(on: loop)
    }

    // MARK: Steps

    private func bind(
        _ key: RecordKey,
        to thumbprint: String,
        reads: Int,
        on loop: any EventLoop
    ) -> Eventual<KeyBinding> {
        self.record(key, on: loop).flatMap { stored in
            guard let stored else { return .success(.ended) }
            var record = stored.record
            if let bound = record.foreign.session.keyThumbprint {
                return .success(bound == thumbprint ? .bound : .otherKey)
            }
            record.foreign = record.foreign.with { $0.keyThumbprint = thumbprint }
            return self.store.eventualReplace(
                key,
                judged: stored.version,
                with: record,
                attempt: self.authority.newAttempt(),
                on: loop
            ).flatMap { replacement in
                switch replacement {
                case .done: return .success(.bound)
                case .absent: return .success(.ended)
                case .changed where reads > 1:
                    return self.bind(key, to: thumbprint, reads: reads - 1, on: loop)
                case .changed, .quarantined: return .failure(StoreError.unavailable)
                }
            }
        }
    }

    private struct Candidate: Sendable {
        let foreign: ForeignSession
        let issuedAt: UnixTime?
        let key: RecordKey
    }

    /// The epochs of a session's subject and of the provider's session.
    fileprivate struct Epochs: Sendable {
        let subject: UInt64
        let providerSession: UInt64

        /// The time of the last end.
        var latest: UInt64 { max(self.subject, self.providerSession) }
    }

    private func accept(_ new: Candidate, reads: Int, on loop: any EventLoop) -> Eventual<Standing> {
        // The epochs are read before the record is written, so that an end in between has a later epoch. The block is
        // read after the epochs, because blocking a user writes the block first and then raises the epoch.
        let epochs = self.epochs(of: new.foreign.session, on: loop)
        let blocked = self.blocked(new.foreign.session, on: loop)
        return self.record(new.key, on: loop).and(epochs).and(blocked).flatMap { found, isBlocked in
            if isBlocked { return .success(.blocked) }
            let (stored, epochs) = found
            guard let record = self.record(for: new, in: stored?.record, epochs) else { return .success(.ended) }
            guard record != stored?.record else { return .success(.live(record.foreign)) }
            let replaced = self.store.eventualReplace(
                new.key,
                judged: stored?.version,
                with: record,
                attempt: self.authority.newAttempt(),
                on: loop
            )
            return replaced.flatMap { replacement in
                switch replacement {
                case .done: return .success(.live(record.foreign))
                // The token's lineage has ended.
                case .absent where stored == nil: return .success(.ended)
                case .absent, .changed:
                    guard reads > 1 else { return .failure(StoreError.unavailable) }
                    return self.accept(new, reads: reads - 1, on: loop)
                case .quarantined: return .failure(StoreError.unavailable)
                }
            }
        }
    }

    /// Returns the record that the token should have now; `nil` if the token has ended.
    private func record(
        for new: Candidate,
        in standing: ForeignSessionRecord?,
        _ epochs: Epochs
    ) -> ForeignSessionRecord? {
        guard let standing else {
            if let issuedAt = new.issuedAt, epochs.latest > 0,
                UInt64(clamping: issuedAt.milliseconds) <= epochs.latest
            {
                return nil
            }
            let isCurrent = new.foreign.session.epoch == epochs.subject
            return ForeignSessionRecord(
                foreign: isCurrent ? new.foreign : new.foreign.with { $0.epoch = epochs.subject },
                providerSessionEpoch: epochs.providerSession,
                acceptedAt: self.clock.now()
            )
        }
        let (former, session) = (standing.foreign.session, new.foreign.session)
        // If the provider now names another user or session for the token, the token is treated as ended.
        guard former.subject.isExactly(session.subject), former.provider?.sessionID == session.provider?.sessionID,
            standing.isCurrent(epochs)
        else { return nil }
        // An answer that is not newer than the stored one is ignored. Another gateway may have stored its own.
        guard new.foreign.verdict.givenAt > standing.foreign.verdict.givenAt else { return standing }
        var record = standing
        record.foreign = new.foreign.with { session in
            session.epoch = former.epoch
            // The provider does not know of a key that the token was bound to here.
            session.keyThumbprint = former.keyThumbprint ?? session.keyThumbprint
        }
        return record
    }

    private func record(
        _ key: RecordKey,
        on loop: any EventLoop
    ) -> Eventual<Stored<ForeignSessionRecord>?> {
        self.store.eventualReplaceable(key, as: ForeignSessionRecord.self, on: loop)
    }

    private func blocked(_ session: Session, on loop: any EventLoop) -> Eventual<Bool> {
        self.isBlocked.map { .later($0(session, loop)) } ?? .success(false)
    }

    private func epochs(of session: Session, on loop: any EventLoop) -> Eventual<Epochs> {
        let subject = self.store.eventualEpoch(of: session.subject, on: loop)
        guard let name = session.provider?.endName else {
            return subject.map { Epochs(subject: $0, providerSession: 0) }
        }
        return subject.and(self.store.eventualEpoch(of: name, on: loop)).map {
            Epochs(subject: $0, providerSession: $1)
        }
    }
}

extension ForeignSessionRecord {
    /// Reports whether neither the subject's sessions nor the provider's session ended since the token was accepted.
    fileprivate func isCurrent(_ epochs: ForeignSessions.Epochs) -> Bool {
        self.foreign.session.epoch >= epochs.subject && self.providerSessionEpoch >= epochs.providerSession
    }
}
