package import NIOCore
import Providers
package import Sessions
import Synchronization
import Vocabulary

extension ProviderGrants: SessionRenewer {
    /// The pause after a grant was not found.
    private static let absence = Duration.seconds(60)
    /// The pause after a failure of the store.
    private static let outage = Duration.seconds(1)
    /// The maximum time of retries after a lost answer. Providers that replace refresh tokens usually accept the
    /// previous one for half a minute.
    private static let overlap = Duration.seconds(5)
    /// The maximum pause that a provider's `Retry-After` imposes on all grants.
    private static let longestRest = Duration.seconds(300)

    /// How often a waiting request checks whether another gateway has finished.
    private static let look = Duration.milliseconds(100)

    package func renew(_ session: Session, _ key: RecordKey) {
        _ = self.renew(session, key, telling: nil)
    }

    package func renewed(_ session: Session, _ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.asked(session, key, on: loop).map { _ in }
    }

    /// Renews the grant of a session if a renewal is due, and waits briefly for its end.
    ///
    /// - Parameter deadline: The end of the wait. `nil` for the end of `longestWait`.
    /// - Returns: False if nothing is due, as far as this process knows, so that the session is unchanged.
    func asked(
        _ session: Session,
        _ key: RecordKey,
        until deadline: NIODeadline? = nil,
        on loop: any EventLoop
    ) -> EventLoopFuture<Bool> {
        let promise = loop.makePromise(of: Void.self)
        let deadline = deadline ?? .now() + self.longestWait
        guard self.renew(session, key, telling: Waiter(promise: promise, deadline: deadline)) else {
            promise.succeed()
            return loop.makeSucceededFuture(false)
        }
        let wait = loop.makePromise(of: Bool.self)
        let limit = loop.scheduleTask(deadline: deadline) { wait.succeed(true) }
        promise.futureResult.whenComplete { _ in
            limit.cancel()
            wait.succeed(true)
        }
        return wait.futureResult
    }

    /// - Parameter waiter: The request that waits for the renewal. `nil` if no request waits.
    /// - Returns: Whether a renewal is under way.
    private func renew(_ session: Session, _ key: RecordKey, telling waiter: Waiter?) -> Bool {
        guard let side = session.provider, let grant = side.grant, let provider = self.provider(named: side.name) else {
            return false
        }
        switch self.begin(grant, at: side.name, telling: waiter) {
        case .resting: return false
        case .underWay: return true
        case .begun: break
        }
        Task {
            let rest = await self.renew(Renewal(key: grant, session: session, sessionKey: key, provider: provider))
            self.end(grant, resting: rest)
        }
        return true
    }

    private struct Renewal {
        let key: RecordKey
        /// Whether the grant is shared.
        var isShared: Bool { self.key.lineage != self.session.lineage }
        /// The session whose use began the renewal.
        let session: Session
        let sessionKey: RecordKey
        let provider: any RefreshingProvider
    }

    // MARK: One at a time

    private enum Beginning { case begun, underWay, resting }

    /// - Parameter provider: The provider's name.
    private func begin(_ grant: RecordKey, at provider: String, telling waiter: Waiter?) -> Beginning {
        let now = self.clock.now()
        let waiters = waiter.map { [$0] } ?? []
        return self.state.withLock { state in
            if state.underWay[grant] != nil {
                state.underWay[grant]?.waiting += waiters
                return .underWay
            }
            guard !state.isDraining, now >= state.restsUntil[provider] ?? now, now >= state.rests[grant] ?? now,
                state.underWay.values.count(where: { $0.provider == provider }) < Self.maxRenewals
            else { return .resting }
            state.underWay[grant] = RenewalUnderWay(provider: provider, waiting: waiters)
            state.rests[grant] = nil
            return .begun
        }
    }

    private func end(_ grant: RecordKey, resting rest: UnixTime?) {
        let now = self.clock.now()
        let waiting = self.state.withLock { state in
            let waiting = state.underWay.removeValue(forKey: grant)?.waiting ?? []
            guard state.mustLookAgain.remove(grant) == nil, let rest else { return waiting }
            if state.rests.count >= Self.maxRests { state.forgetRests(at: now, keeping: Self.maxRests / 2) }
            state.rests[grant] = rest
            return waiting
        }
        for waiter in waiting { waiter.promise.succeed() }
    }

    private func isAwaited(_ grant: RecordKey) -> Bool {
        let now = NIODeadline.now()
        return self.state.withLock { $0.underWay[grant]?.waiting.contains { now < $0.deadline } == true }
    }

    /// The maximum number of grants with a remembered time of the next check. It equals the capacity of a loop's
    /// session cache, so that shared grants in use are not checked too often.
    private static let maxRests = 65_536

    // MARK: Steps

    /// - Returns: When the next look at the grant is due. `nil` if the grant's sessions determine that time.
    private func renew(_ renewal: Renewal) async -> UnixTime? {
        var writes = 0
        do {
            while writes < Self.maxWrites {
                guard let stored = try await self.grant(renewal.key) else {
                    // The holders of a shared grant end with it, even if ending them failed before.
                    if renewal.isShared { try await self.end(renewal.session.lineage) }
                    return self.later(Self.absence)
                }
                switch stored.record.renewalStep(
                    of: self.holder,
                    at: self.clock.now(),
                    isTimely: renewal.provider.isTimely
                ) {
                case .follow:
                    await self.update(renewal, stored.record)
                    return self.nextLook(renewal, stored.record)
                case .rest(let until):
                    guard stored.record.lease != nil else { return until }
                    // Another gateway asks. The next request must look again, because it may wait for the answer.
                    guard self.isAwaited(renewal.key) else { return nil }
                    await self.pause(Self.look)
                case .lose(let lost):
                    writes += 1
                    guard try await self.write(lost, renewal.key, judged: stored.version) == .written else { continue }
                    self.journal.note(.lost(detail: "the gateway that was refreshing has died"), renewal.session)
                    await self.update(renewal, lost)
                    return self.nextLook(renewal, lost)
                case .refresh(let leased):
                    writes += 1
                    guard try await self.write(leased, renewal.key, judged: stored.version) == .written else {
                        continue
                    }
                    return await self.refresh(leased, renewal)
                }
            }
        } catch {
            // Nothing was sent to the provider. If a lease was written, it belongs to this process.
        }
        return self.later(Self.outage)
    }

    /// Returns a time somewhat after the end of `pause`, so that gateways do not all look at once.
    private func later(_ pause: Duration) -> UnixTime {
        self.clock.now().advanced(by: pause * Double.random(in: 1...1.5))
    }

    /// Refreshes the tokens of a grant whose lease this process holds.
    private func refresh(_ leased: ProviderGrant, _ renewal: Renewal) async -> UnixTime? {
        let answer = await self.answer(leased, renewal)
        let user = renewal.session.identity
        if let answered = answer.authentication?.identity.inRealm(user.realm), !user.isCalled(answered.idAtProvider) {
            return await self.endHolders(renewal, detail: "the answer is for another user")
        }
        switch answer {
        case .refreshed(let tokens, let authentication):
            return await self.take(tokens, leased, renewal) { _ in
                authentication?.identity.named(as: user)
            }
        case .refreshedInPart(let tokens, let authentication):
            return await self.take(tokens, leased, renewal) { current in
                authentication.identity.completed(by: current.identity ?? user).named(as: user)
            }
        case .ended(let detail):
            return await self.endHolders(renewal, detail: detail)
        case .later(let pause, let detail):
            return await self.rest(leased, renewal, pause, detail: detail)
        case .ambiguous(let detail):
            return await self.lose(leased, renewal, detail: detail)
        }
    }

    /// - Parameter identity: Returns the user's present identity, for the stored grant. `nil` if the user is unchanged.
    private func take(
        _ tokens: ProviderTokenSet,
        _ leased: ProviderGrant,
        _ renewal: Renewal,
        _ identity: (ProviderGrant) -> Identity?
    ) async -> UnixTime? {
        let settlement = await self.settle(renewal.key) { current in
            // If another gateway also refreshed after the lease expired, its tokens are newer.
            guard current.generation == leased.generation else { return nil }
            let user = identity(current)
            let isAsked = renewal.isShared && renewal.provider.canAsk(with: tokens)
            let isTimely: ProviderGrant.TimeCheck? = isAsked ? renewal.provider.isTimely : nil
            return current.renewed(tokens, identity: user, isTimely: isTimely, at: self.clock.now())
        }
        switch settlement {
        case .stored(let grant):
            self.journal.note(.renewed, renewal.session)
            let changed = Self.changes(from: leased.identity ?? renewal.session.identity, to: grant.identity)
            if !changed.isEmpty { self.journal.note(.changed(traits: changed), renewal.session) }
            await self.update(renewal, grant)
            return self.nextLook(renewal, grant)
        case .absent:
            // The user has signed out meanwhile.
            await renewal.provider.revoke(tokens)
            return self.later(Self.absence)
        case .tooLarge:
            self.journal.note(.tooLarge, renewal.session)
            return await self.lose(leased, renewal, detail: "the new tokens are too large")
        case .unavailable:
            return self.later(Self.outage)
        }
    }

    private static func changes(from former: Identity, to present: Identity?) -> [String] {
        guard let present, present.traitsDocument != former.traitsDocument else { return [] }
        let (old, new) = (former.traits.members ?? [:], present.traits.members ?? [:])
        return Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }.sorted()
    }

    /// Returns the provider's answer. If the first answer is lost, the refresh token is sent again at once, and again
    /// after each answer `.later` until `overlap` is over.
    private func answer(_ leased: ProviderGrant, _ renewal: Renewal) async -> ProviderRefresh {
        func refresh() async -> ProviderRefresh {
            await renewal.provider.refresh(leased.tokens, of: renewal.session.identity)
        }
        var answer = await refresh()
        guard case .ambiguous = answer else { return answer }
        var waited = Duration.zero
        answer = await refresh()
        while case .later(let pause, _) = answer {
            let pause = max(pause ?? .zero, Self.outage)
            waited += pause
            guard waited <= Self.overlap else { break }
            await self.pause(pause)
            answer = await refresh()
        }
        switch answer {
        case .refreshed, .refreshedInPart: return answer
        // This provider's refresh tokens stay valid, so nothing is lost.
        case .ambiguous(let detail) where leased.rotates == false: return .later(after: nil, detail: detail)
        case _ where leased.rotates == false: return answer
        // `invalid_grant` only says that the first request used the token. That is no reason to sign the user out.
        case .ambiguous(let detail), .ended(let detail), .later(_, let detail): return .ambiguous(detail: detail)
        }
    }

    private func rest(
        _ leased: ProviderGrant,
        _ renewal: Renewal,
        _ pause: Duration?,
        detail: String
    ) async -> UnixTime? {
        self.journal.note(.later(detail: detail), renewal.session)
        let now = self.clock.now()
        if let pause {
            let until = now.advanced(by: min(pause, Self.longestRest))
            self.state.withLock { $0.restsUntil[leased.provider] = max($0.restsUntil[leased.provider] ?? until, until) }
        }
        let jitter = Double.random(in: 0...1)
        var wasLost = false
        let settlement = await self.settle(renewal.key) { current in
            guard current.generation == leased.generation else { return nil }
            // While this write failed, another gateway may have begun to ask.
            if let lease = current.lease, lease.holder != self.holder { return nil }
            var next = current
            // Another gateway may have assumed that the tokens are lost, because this lease expired. They are not.
            wasLost = current.tokensEndAt != nil
            (next.renewAt, next.tokensEndAt) = (leased.renewAt, nil)
            return next.resting(for: pause, jitter: jitter, at: now)
        }
        guard case .stored(let grant) = settlement else { return self.later(Self.outage) }
        if wasLost { await self.update(renewal, grant) }
        return grant.restsUntil
    }

    private func lose(_ leased: ProviderGrant, _ renewal: Renewal, detail: String) async -> UnixTime? {
        self.journal.note(.lost(detail: detail), renewal.session)
        let settlement = await self.settle(renewal.key) { current in
            current.generation == leased.generation ? current.lost(at: self.clock.now()) : nil
        }
        guard case .stored(let grant) = settlement else { return self.later(Self.outage) }
        await self.update(renewal, grant)
        return self.nextLook(renewal, grant)
    }

    /// Ends all holders of the grant, because the provider has ended its session.
    private func endHolders(_ renewal: Renewal, detail: String) async -> UnixTime? {
        var holders: Set<Lineage> = [renewal.session.lineage]
        let hasEnded: Void? = await self.persist { () async throws(NotDone) in
            if renewal.isShared {
                // The grant ends first. A holder that is not ended here, because it joins now or because this gateway
                // dies, ends when it finds no grant.
                if let grant = try await self.grant(renewal.key)?.record { holders.formUnion(grant.holders) }
                try await self.ask { [lineage = renewal.key.lineage] store, loop in store.end(lineage, on: loop) }
            }
            for lineage in holders { try await self.end(lineage) }
        }
        // If the store cannot be asked, the next use of the session asks the provider again.
        guard hasEnded != nil else { return self.later(Self.outage) }
        self.journal.note(.ended(detail: detail), renewal.session)
        await self.forget(renewal.key)
        return self.later(Self.absence)
    }

    func end(_ lineage: Lineage) async throws(NotDone) {
        try await self.ask { store, loop in store.end(lineage, on: loop) }
        self.notifyClients(of: [lineage])
    }

    /// Returns when the next look at a grant is due. `nil` if the grant's sessions determine that time.
    private func nextLook(_ renewal: Renewal, _ grant: ProviderGrant) -> UnixTime? {
        guard renewal.isShared else { return nil }
        let now = self.clock.now()
        let last = now.advanced(by: ProviderGrant.interval)
        guard let due = grant.renewAt, renewal.provider.isTimely(grant.tokens, at: now) else { return last }
        return min(due, last)
    }

    // MARK: Sessions

    /// Replaces the sessions that do not yet show the renewal. A failure is repaired when the session is used next.
    private func update(_ renewal: Renewal, _ grant: ProviderGrant) async {
        for key in Set(grant.sessions + [renewal.sessionKey]) where key.kind != .foreignSession {
            try? await self.update(key, renewal.key, grant)
        }
    }

    func update(_ key: RecordKey, _ grantKey: RecordKey, _ grant: ProviderGrant) async throws(NotDone) {
        for _ in 0..<Self.maxWrites {
            guard let stored = try await self.ask({ store, loop in store.session(key, on: loop) }),
                let next = grant.update(of: stored.record, grantKey)
            else { return }
            let answer = try await self.ask { store, loop in
                store.replace(key, judged: stored.version, with: next, on: loop)
            }
            guard answer == .changed else { return }
        }
    }
}
