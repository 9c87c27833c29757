import JOSE
package import NIOCore
package import Providers
package import Sessions
import Synchronization
package import Vocabulary

/// Keeps the tokens that a provider handed out with sign-ins, renews them while sessions are used, and revokes them at
/// sign-out.
///
/// A renewal is made by one gateway at a time (`ProviderGrant.Lease`) and once at a time in it. No request waits for it,
/// because the session goes on with what it has; only where an app needs the tokens and they have expired, a request
/// waits for a moment. A renewal stores the new tokens first and then replaces each session of the
/// lineage, so that all gateways read them again. One object lives as long as the process, across reloads.
package final class ProviderGrants: RecordCaller {
    /// How many renewals are made at once. A provider that returns after an outage is not asked for all sessions at the
    /// same time.
    static let mostRenewals = 32
    /// How often a record that others replace at the same time is read and judged again.
    static let mostWrites = 8

    /// State that all threads share.
    struct State {
        var providers: [any RefreshingProvider] = []
        /// The grants that are being renewed here, and the requests that wait for that.
        var underWay: [RecordKey: [EventLoopPromise<Void>]] = [:]
        /// When the next look at a grant is due.
        var rests: [RecordKey: UnixTime] = [:]
        /// No grant is renewed before: the provider asked for a pause.
        var restsUntil: UnixTime?
        /// Deletions and revocations under way.
        var deletions = 0
        var isDraining = false
    }

    let records: RecordAccess
    let journal: GrantJournal
    /// Names this process in leases.
    let holder: String
    /// The longest wait of a request for a renewal.
    let longestWait: TimeAmount
    let pause: @Sendable (Duration) async -> Void
    let state = Mutex(State())

    /// - Parameters:
    ///   - longestWait: Of a request for a renewal, in real time.
    ///   - pause: Waits between tries.
    package init(
        records: RecordAccess,
        journal: GrantJournal,
        longestWait: TimeAmount = .seconds(3),
        pause: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    ) {
        self.records = records
        self.journal = journal
        self.holder = records.authority.newAttempt().value
        self.longestWait = longestWait
        self.pause = pause
    }

    /// Uses these providers from now on; the tokens of others are kept but neither renewed nor revoked. A reload replaces
    /// them.
    package func adopt(_ providers: [any RefreshingProvider]) {
        self.state.withLock { $0.providers = providers }
    }

    /// The provider of this name, if it is configured.
    func provider(named name: String) -> (any RefreshingProvider)? {
        self.state.withLock { $0.providers.first { $0.name == name } }
    }

    /// Begins no further renewal.
    package func beginNoMore() {
        self.state.withLock { $0.isDraining = true }
    }

    /// Begins no further renewal, and waits for those under way, deletions and revocations, at most until `deadline`.
    package func drain(until deadline: ContinuousClock.Instant) async {
        self.beginNoMore()
        while ContinuousClock.now < deadline, self.isBusy { try? await Task.sleep(for: .milliseconds(20)) }
    }

    /// Whether a renewal, a deletion or a revocation is under way.
    package var isBusy: Bool { self.state.withLock { !$0.underWay.isEmpty || $0.deletions > 0 } }

    // MARK: The record

    /// Keeps the tokens of a sign-in, before its session is written.
    ///
    /// - Returns: The session's side of the provider, with the grant's key; without one when there are no tokens, or
    ///   when they are too large to be kept.
    func keep(
        _ evidence: ProviderEvidence,
        for session: Session,
        _ key: RecordKey
    ) async throws(NotDone) -> ProviderSession {
        var side = ProviderSession(name: evidence.provider, sessionID: evidence.sessionID)
        guard let tokens = evidence.tokens else { return side }
        let grantKey = self.authority.newKey(of: .grant, in: session.lineage)
        let epoch = try await self.ask { store, loop in store.epoch(of: session.subject, on: loop) }
        var grant = ProviderGrant(
            provider: evidence.provider,
            owner: RecordOwner(subject: session.subject, epoch: epoch),
            since: session.issuedAt,
            expiresAt: session.expiresAt,
            tokens: tokens,
            session: key
        )
        grant.renewAt = tokens.renewAt(from: session.issuedAt)
        switch try await self.write(grant, grantKey, judged: nil) {
        case .written: break
        case .tooLarge:
            self.journal.note(.tooLarge, session)
            return side
        // All sessions of the subject are being ended.
        case .other: throw NotDone(.storeUnavailable)
        }
        side.grant = grantKey
        side.renewAt = grant.renewAt
        return side
    }

    /// Adds a session of the same lineage, which is replaced with the others when the tokens are renewed. Nothing
    /// happens if there is no such grant any more.
    package func add(
        _ session: RecordKey,
        expiresAt: UnixTime,
        to key: RecordKey
    ) async throws(NotDone) {
        for _ in 0..<Self.mostWrites {
            guard let stored = try await self.grant(key) else { return }
            var next = stored.record
            next.add(session)
            next.expiresAt = max(next.expiresAt, expiresAt)
            if next == stored.record { return }
            if try await self.write(next, key, judged: stored.version) != .other { return }
        }
        throw NotDone(.storeUnavailable)
    }

    /// The grant under `key`; nil if its lineage has ended or no tokens were kept.
    package func grant(_ key: RecordKey) async throws(NotDone) -> Stored<ProviderGrant>? {
        try await self.ask { store, loop in store.replaceable(key, as: ProviderGrant.self, on: loop) }
    }

    /// Forgets a grant whose lineage has ended, and revokes its tokens in the background.
    ///
    /// - Parameter grant: As it was read before the end.
    package func revoke(_ grant: ProviderGrant, _ key: RecordKey) {
        self.state.withLock { $0.deletions += 1 }
        Task {
            await self.forget(key)
            await self.provider(named: grant.provider)?.revoke(grant.tokens)
            self.state.withLock { $0.deletions -= 1 }
        }
    }

    /// Forgets a grant whose lineage has ended, in the background, without revoking its tokens.
    package func discard(_ key: RecordKey) {
        self.state.withLock { $0.deletions += 1 }
        Task {
            await self.forget(key)
            self.state.withLock { $0.deletions -= 1 }
        }
    }

    /// Deletes the record, and with it the tokens and their key. Without this, they would remain sealed in the store,
    /// unreadable as those of an ended lineage, until they expire.
    func forget(_ key: RecordKey) async {
        try? await self.ask { store, loop in store.end(replaceable: key, on: loop) }
    }

    // MARK: Steps

    enum Writing: Equatable {
        case written
        case tooLarge
        /// The present grant is another one, or there is none.
        case other
    }

    func write(
        _ grant: ProviderGrant,
        _ key: RecordKey,
        judged: RecordVersion?,
        as attempt: AttemptID? = nil
    ) async throws(NotDone) -> Writing {
        let attempt = attempt ?? self.authority.newAttempt()
        let loop = self.loops.any()
        let store = self.store
        do {
            let answer = try await loop.flatSubmit {
                store.replace(key, judged: judged, with: grant, attempt: attempt, on: loop)
            }.get()
            return answer == .done ? .written : .other
        } catch is RecordTooLarge {
            return .tooLarge
        } catch {
            throw NotDone(asking: error)
        }
    }
}

extension ProviderGrants: SessionTokenReader {
    package func tokens(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<SessionTokens?> {
        self.store.replaceable(key, as: ProviderGrant.self, on: loop).map { stored in
            stored.map { stored in
                let tokens = stored.record.tokens
                let claims = tokens.idToken.flatMap { try? JWS.unverifiedClaims(of: $0.bytes) }
                return SessionTokens(
                    access: tokens.accessToken,
                    id: tokens.idToken,
                    expiresAt: tokens.expiresAt,
                    idExpiresAt: claims?.expiresAt
                )
            }
        }
    }
}
