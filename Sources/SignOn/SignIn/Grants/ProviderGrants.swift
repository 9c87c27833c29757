import JOSE
package import NIOCore
package import Providers
package import Sessions
package import Settings
import Synchronization
package import Vocabulary

/// Keeps the tokens that a provider handed out at sign-ins, renews them while sessions are used, and revokes them at
/// sign-out.
///
/// Only one gateway at a time renews a grant (`ProviderGrant.Lease`), with one renewal at a time. A request to an app
/// waits for a renewal only if the app needs tokens that have expired, and only briefly. Otherwise, the session
/// continues with its present tokens. Requests of clients may wait for the provider, too (`demand`). A renewal stores
/// the new tokens first and then replaces each session of the grant, so that all gateways read the sessions again. One
/// object lives as long as the process, across reloads.
///
/// If clients set `refresh_token.provider: follow`, the grants of sign-ins are shared (`ProviderGrant`). A renewal then
/// also asks the provider whether the user still has access.
package final class ProviderGrants: RecordCaller {
    /// The maximum number of renewals at once for one provider, so that it is not asked for all sessions after an
    /// outage, and a provider that does not answer delays no renewals of others.
    static let maxRenewals = 32
    /// The maximum number of tries to write a record while others replace it.
    static let maxWrites = 8

    /// A request that waits for a renewal.
    struct Waiter {
        /// Succeeds when the renewal is over.
        let promise: EventLoopPromise<Void>
        /// When the request stops waiting.
        let deadline: NIODeadline
    }

    /// A renewal in this process.
    struct RenewalUnderWay {
        /// The provider's name.
        let provider: String
        /// The requests that wait for the renewal.
        var waiting: [Waiter]
    }

    /// The state that all threads share.
    struct State {
        var providers: [any RefreshingProvider] = []
        /// Returns whether new sign-ins of native apps, or of browsers, get a shared grant.
        var sharesGrant: @Sendable (_ isNative: Bool) -> Bool = { _ in false }
        /// The grants that this process is renewing.
        var underWay: [RecordKey: RenewalUnderWay] = [:]
        /// The time of the next check whether a grant must be renewed.
        var rests: [RecordKey: UnixTime] = [:]
        /// The grants that became due earlier than the check under way may have found.
        var mustLookAgain: Set<RecordKey> = []
        /// The ends of pauses that providers asked for, by the provider's name. No grant is renewed earlier.
        var restsUntil: [String: UnixTime] = [:]
        /// The number of deletions and revocations under way.
        var deletions = 0
        var isDraining = false

        /// Forgets the checks that are due. If more than `limit` remain, forgets some of them, too. An early check does
        /// no harm.
        mutating func forgetRests(at now: UnixTime, keeping limit: Int) {
            self.rests = self.rests.filter { $0.value > now }
            guard self.rests.count > limit else { return }
            // Not all are forgotten at once, because each check costs calls to the store.
            self.rests = Dictionary(uniqueKeysWithValues: self.rests.prefix(limit).map { ($0.key, $0.value) })
        }
    }

    let records: RecordAccess
    let journal: GrantJournal
    /// The name of this process in leases.
    let holder: String
    /// The maximum wait of a request for a renewal.
    let longestWait: TimeAmount
    let pause: @Sendable (Duration) async -> Void
    let state = Mutex(State())

    /// - Parameters:
    ///   - longestWait: The maximum wait of a request for a renewal, in real time.
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

    /// Uses these providers until the next reload. Tokens of other providers are kept, but neither renewed nor revoked.
    ///
    /// - Parameter sharesGrant: Returns whether new sign-ins of native apps, or of browsers, get a shared grant.
    package func adopt(
        _ providers: [any RefreshingProvider],
        sharesGrant: @escaping @Sendable (_ isNative: Bool) -> Bool = { _ in false }
    ) {
        self.state.withLock { ($0.providers, $0.sharesGrant) = (providers, sharesGrant) }
    }

    /// Returns the check whether the provider can be asked with the grant's tokens at a time. `nil` if it never can.
    func timeCheck(of grant: ProviderGrant) -> ProviderGrant.TimeCheck? {
        guard let provider = self.provider(named: grant.provider), provider.canAsk(with: grant.tokens) else {
            return nil
        }
        return provider.isTimely
    }

    /// Returns the provider of this name. `nil` if it is not configured.
    func provider(named name: String) -> (any RefreshingProvider)? {
        self.state.withLock { $0.providers.first { $0.name == name } }
    }

    /// Stops beginning renewals.
    package func beginNoMore() {
        self.state.withLock { $0.isDraining = true }
    }

    /// Stops beginning renewals, and waits until `deadline` for renewals, deletions and revocations under way.
    package func drain(until deadline: ContinuousClock.Instant) async {
        self.beginNoMore()
        while ContinuousClock.now < deadline, self.isBusy { try? await Task.sleep(for: .milliseconds(20)) }
    }

    /// Whether a renewal, a deletion or a revocation is under way.
    package var isBusy: Bool { self.state.withLock { !$0.underWay.isEmpty || $0.deletions > 0 } }

    // MARK: The record

    /// Keeps the tokens of a sign-in before its session is written.
    ///
    /// - Parameters:
    ///   - key: The key of the session. `nil` for a native app's session. Its key is added later (`add`), and its
    ///     tokens are kept only if grants are shared.
    ///   - end: The expiry of the grant until a session is added. `nil` if the grant expires with `session`.
    /// - Returns: The session's provider data with the grant's key, but without a key if there are no tokens or they
    ///   are too large to keep.
    func keep(
        _ evidence: ProviderEvidence,
        for session: Session,
        _ key: RecordKey?,
        until end: UnixTime? = nil
    ) async throws(NotDone) -> ProviderSession {
        var side = ProviderSession(name: evidence.provider, sessionID: evidence.sessionID)
        let isShared = self.state.withLock { $0.sharesGrant }(key == nil)
        guard let tokens = evidence.tokens, isShared || key != nil else { return side }
        let lineage = isShared ? self.authority.newLineage() : session.lineage
        let grantKey = self.authority.newKey(of: .grant, in: lineage)
        let epoch = try await self.ask { store, loop in store.epoch(of: session.subject, on: loop) }
        var grant = ProviderGrant(
            provider: evidence.provider,
            owner: RecordOwner(subject: session.subject, epoch: epoch),
            since: session.issuedAt,
            expiresAt: end ?? session.expiresAt,
            tokens: tokens,
            session: key
        )
        grant.renewAt = tokens.renewAt(from: session.issuedAt)
        if isShared, let isTimely = self.timeCheck(of: grant) {
            grant.askWithinInterval(from: session.issuedAt, isTimely: isTimely)
        }
        switch try await self.write(grant, grantKey, judged: nil) {
        case .written: break
        case .tooLarge:
            self.journal.note(.tooLarge, session)
            return side
        // All sessions of the subject are being ended.
        case .other: throw NotDone(.storeUnavailable)
        }
        side.grant = grantKey
        if !isShared { side.renewAt = grant.renewAt }
        return side
    }

    /// Adds a session to the sessions that renewals replace. If the session is the first of its lineage, the lineage
    /// becomes a holder of the grant.
    ///
    /// - Parameters:
    ///   - settings: The settings of the session's client. `nil` if the session is not a client's.
    ///   - isAgain: True if the session was not written yet when it was added before. The grant is then written even if
    ///     it lists the session, so that a holder that leaves and has missed the session looks again.
    /// - Returns: False if the grant no longer exists or its last holder has left, so that the session is not added.
    @discardableResult
    package func add(
        _ session: RecordKey,
        expiresAt: UnixTime,
        to key: RecordKey,
        for settings: RefreshTokenSettings? = nil,
        isAgain: Bool = false
    ) async throws(NotDone) -> Bool {
        for _ in 0..<Self.maxWrites {
            guard let stored = try await self.grant(key) else { return false }
            // Only a native app's sign-in has a grant without holders, until its own session is added.
            if settings != nil, stored.record.sessions.isEmpty { return false }
            var next = stored.record
            next.add(session)
            if !next.sessions.contains(session) {
                // Only ended holders are removed. Removing a live holder would let one app sign out another app that is
                // in use.
                let holders = try await self.living(next.sessions)
                next.remove { !holders.contains($0.lineage) }
                next.add(session)
            }
            next.expiresAt = max(next.expiresAt, expiresAt)
            if let settings { next.follow(settings, isTimely: self.timeCheck(of: next)) }
            if next == stored.record, !isAgain { return true }
            if try await self.write(next, key, judged: stored.version) != .other {
                if next.renewAt != stored.record.renewAt { self.lookAgain(at: key) }
                return true
            }
        }
        throw NotDone(.storeUnavailable)
    }

    /// Makes the next use of the grant check it again, because it is due earlier than remembered.
    func lookAgain(at key: RecordKey) {
        self.state.withLock { state in
            state.rests[key] = nil
            if state.underWay[key] != nil { state.mustLookAgain.insert(key) }
        }
    }

    /// Returns the lineages of the live sessions among `sessions`.
    func living(_ sessions: [RecordKey]) async throws(NotDone) -> Set<Lineage> {
        let lineages = try await self.ask { store, loop in
            EventLoopFuture.whenAllSucceed(
                sessions.map { session -> EventLoopFuture<Lineage?> in
                    let isLive =
                        session.kind == .foreignSession
                        ? store.replaceable(session, as: ForeignSessionRecord.self, on: loop).map { $0 != nil }
                        : store.session(session, on: loop).map { $0 != nil }
                    return isLive.map { $0 ? session.lineage : nil }
                },
                on: loop
            )
        }
        return Set(lineages.compactMap(\.self))
    }

    /// Returns the grant under `key`. `nil` if its lineage has ended or no tokens were kept.
    package func grant(_ key: RecordKey) async throws(NotDone) -> Stored<ProviderGrant>? {
        try await self.ask { store, loop in store.replaceable(key, as: ProviderGrant.self, on: loop) }
    }

    /// Deletes the record with its tokens and their key. Otherwise, the tokens would stay in the store until they
    /// expire, sealed and unreadable like all tokens of an ended lineage.
    func forget(_ key: RecordKey) async {
        try? await self.ask { store, loop in store.end(replaceable: key, on: loop) }
    }

    // MARK: Steps

    enum Writing: Equatable {
        case written
        case tooLarge
        /// The store has another version of the grant, or none.
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
