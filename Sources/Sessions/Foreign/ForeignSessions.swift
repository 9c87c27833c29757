package import NIOCore
package import Vocabulary

/// The sessions of foreign tokens in the store. All loops and gateways share a provider's verdict about a token. The
/// gateway can end a token even if the provider still accepts it.
///
/// A signature stays valid after a sign-out, and the provider may not hear of the sign-out. So an ended token must be
/// recognised when it is presented again:
///
/// - **A sign-out** ends the token's lineage (`ForeignNames.lineages`). An ended lineage stays ended for as long
///   as the token could have lived, and nothing is ever written in it again (`Replacement.absent`).
/// - **The end of a subject, or of the provider's session** (`ProviderSession.endName`), raises an epoch. A token that
///   was accepted before has a record with the earlier epoch, so it is known to have ended. No clock is compared.
/// - **A token that was first presented after the end** has no record. It is rejected if the provider issued it at or
///   before the epoch, which is a time. Issue times are rounded down to seconds, so tokens of the same second are
///   rejected, too. The difference between the clocks of provider and store matters here. Without an `iat`, the
///   provider's answer decides.
///
/// Tokens of a later sign-in are younger than the end, so they are accepted, even under the same `sid`.
///
/// Caches ignore the keys of these records (`RecordKind.foreignSession`). Each kind of end above has its own report.
package final class ForeignSessions: Sendable {
    /// The state of a token in the store.
    package enum Standing: Sendable, Equatable {
        /// The token has no record. Either it is unknown, or its lineage has ended; `accept` tells the two apart.
        case none
        /// The token has ended.
        case ended
        /// The user of the token is blocked.
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

    /// - Parameter isBlocked: Asked whenever a provider accepts a token; `nil` if users cannot be blocked.
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

    /// Stores a session that the provider reported, unless the token has ended or its user is blocked. Returns the new
    /// state, never `none`. Fails with `StoreError`.
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
        // The epochs are read before the record is written, so an end in between has a later epoch. The block is read
        // after the epochs, because blocking a user writes the block before it raises the epoch.
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
                // Nothing can be written, because the token's lineage has ended.
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
        // The token has ended if the provider now reports another user or session for it.
        guard former.subject.isExactly(session.subject), former.provider?.sessionID == session.provider?.sessionID,
            standing.isCurrent(epochs)
        else { return nil }
        // An answer that is not newer than the stored one is ignored. Another gateway may have asked meanwhile.
        guard new.foreign.verdict.givenAt > standing.foreign.verdict.givenAt else { return standing }
        var record = standing
        record.foreign = new.foreign.with { session in
            session.epoch = former.epoch
            // The provider does not know the key to which the gateway bound the token.
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
