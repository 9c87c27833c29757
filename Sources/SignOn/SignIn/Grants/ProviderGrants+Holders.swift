import NIOCore
package import Providers
package import Sessions
import Settings
import Synchronization
import Vocabulary

/// Ends grants. A grant that is not shared ends with its lineage, and only its record remains to be deleted.
extension ProviderGrants {
    /// Revokes the provider's tokens after the end of a session, in the background, if its lineage has ended, too.
    /// Tokens with several holders are revoked after the end of the last holder.
    ///
    /// - Parameter former: The grant, read before the session ended. `nil` if it was not read. A grant that is not
    ///   shared cannot be read after the end, so its tokens are revoked only if it is given here.
    package func revoke(after session: Session, former: ProviderGrant? = nil) {
        guard session.endReach == .lineage || session.sharedGrant != nil else { return }
        self.leave(session) { last in
            guard let last = last ?? former else { return }
            await self.provider(named: last.provider)?.revoke(last.tokens)
        }
    }

    /// Deletes the provider's tokens after the end of a session, in the background, unless other lineages hold them,
    /// too. The tokens are not revoked, because the provider may treat them and newer tokens as one grant.
    package func discard(after session: Session) { self.leave(session) { _ in } }

    /// Completes the end of a session, in the background: notifies its clients, and revokes the provider's tokens in a
    /// shared grant if no other holder needs them.
    package func noteEnd(of ended: NewSession) {
        self.notifyClients(of: ended)
        if ended.session.sharedGrant != nil { self.revoke(after: ended.session) }
    }

    /// - Parameter andThen: Called when the grant was deleted, with the grant if it is shared.
    private func leave(_ session: Session, andThen: @escaping @Sendable (ProviderGrant?) async -> Void) {
        guard let key = session.provider?.grant else { return }
        self.state.withLock { $0.deletions += 1 }
        Task {
            if session.sharedGrant == nil {
                await self.forget(key)
                await andThen(nil)
            } else {
                // A session that ends alone, such as one from a handoff, leaves its lineage among the holders.
                let lineage = session.endReach == .lineage ? session.lineage : nil
                if let last = await self.leaveShared(key, lineage) { await andThen(last) }
            }
            self.state.withLock { $0.deletions -= 1 }
        }
    }

    /// Removes a lineage and all ended holders from the holders of a shared grant.
    ///
    /// - Parameter lineage: The lineage that has ended. `nil` if only some of its sessions have ended.
    /// - Returns: The grant if no holder is left, so that it was deleted or expires within a second. If the store
    ///   cannot be asked, the grant stays until it expires with its last session.
    private func leaveShared(_ key: RecordKey, _ lineage: Lineage?) async -> ProviderGrant? {
        for _ in 0..<Self.maxWrites {
            guard let stored = try? await self.grant(key) else { return nil }
            let others = stored.record.sessions.filter { $0.lineage != lineage }
            guard let holders = try? await self.living(others) else { return nil }
            var next = stored.record
            next.remove { !holders.contains($0.lineage) }
            // The provider may extend its session, whose token or cookie then gets a grant under the same key. A store
            // may refuse the key of a deleted record for a while, so the record expires instead.
            if holders.isEmpty, next.isOfProvidersSession {
                next.expiresAt = min(next.expiresAt, self.clock.now().advanced(by: .seconds(1)))
            }
            // If a client joins at this moment, the second of the two writes finds another version of the grant and is
            // retried. If the grant ends, the client finds no grant.
            switch try? await self.write(next, key, judged: stored.version) {
            case .other?: continue
            case .written? where holders.isEmpty:
                if !next.isOfProvidersSession { await self.end(shared: key) }
                return next
            case .written?, .tooLarge?, nil: return nil
            }
        }
        return nil
    }

    /// Ends a shared grant, so that nobody can join it any longer.
    func end(shared key: RecordKey) async {
        _ = await self.persist { () async throws(NotDone) in
            try await self.ask { store, loop in store.end(key.lineage, on: loop) }
        }
        await self.forget(key)
    }
}

// MARK: Following

extension ProviderGrant {
    /// Notes that a client with these settings uses the grant. The shortest interval of its clients applies.
    ///
    /// - Parameter isTimely: See `ProviderGrants.timeCheck`.
    mutating func follow(_ settings: RefreshTokenSettings, isTimely: TimeCheck?) {
        let isUsual = settings.confirmEvery == Self.interval && settings.confirmWithin == .zero
        guard settings.follows, self.following != nil || !isUsual else { return }
        // Clients with the default settings are not noted. If more than two lineages hold the grant, one of them may
        // belong to such a client, so the default interval is assumed.
        let usual = self.holders.count > 2 ? Self.interval : settings.confirmEvery
        let next = Following(
            confirmedAt: self.confirmedAt,
            interval: min(self.following?.interval ?? usual, settings.confirmEvery)
        )
        guard next != self.following else { return }
        self.following = next
        if let isTimely, self.tokensEndAt == nil { self.askWithinInterval(from: next.confirmedAt, isTimely: isTimely) }
    }

    /// Returns whether the provider is to be asked at `now`, and no failure demands a pause.
    fileprivate func isDue(at now: UnixTime, isTimely: TimeCheck?) -> Bool {
        guard let renewAt = self.renewAt, let isTimely else { return false }
        return now >= renewAt && now >= self.restsUntil ?? now && isTimely(self.tokens, now)
    }
}

extension ProviderGrants {
    /// Adds a session of a handoff to the shared grant of its lineage, in the background. Otherwise, the session would
    /// get new claims only when it looks at the grant itself.
    func hold(_ new: NewSession) {
        guard let key = new.session.sharedGrant else { return }
        self.state.withLock { $0.deletions += 1 }
        Task {
            _ = try? await self.add(new.key, expiresAt: new.session.expiresAt, to: key)
            self.state.withLock { $0.deletions -= 1 }
        }
    }

    /// Checks that the provider has confirmed the user of a session recently enough for a client. Must be called before
    /// the client gets anything for the session. If the provider is due to be asked, asks it and waits briefly. Without
    /// a shared grant, as after a sign-in with a kit of Google, Apple or Facebook, the sign-in counts as confirmation.
    ///
    /// - Parameter client: The client that uses the session.
    /// - Returns: True if the session must be read again, because it may have ended or have new claims.
    /// - Throws: If the last confirmation is older than `confirm_within`: `provider.unavailable`, or
    ///   `refresh.unconfirmed` if the provider cannot be asked; an outage of the store.
    func demand(_ session: Session, _ key: RecordKey, for client: ClientSettings) async throws(NotDone) -> Bool {
        let settings = client.refreshToken
        // The gateway itself knows the users of the settings, so no provider is asked.
        guard settings.follows, !StaticProvider.isOfOwn(session) else { return false }
        guard let grantKey = session.sharedGrant else {
            // If the provider does not report when the user authenticated, the start of the session is used.
            let isKnown = session.authenticatedAt != Authentication.unknownTime
            try self.check(isKnown ? session.authenticatedAt : session.issuedAt, canAsk: false, settings)
            return false
        }
        let deadline = NIODeadline.now() + self.longestWait
        var wasAsked = await self.isAsked(session, key, until: deadline)
        var stored = try await self.grant(grantKey)
        if let judged = stored {
            // The client may have joined the grant before these settings were configured, so they are noted now.
            var next = judged.record
            let isTimely = self.timeCheck(of: next)
            next.follow(settings, isTimely: isTimely)
            let isChanged = next != judged.record
            if isChanged { _ = try await self.write(next, grantKey, judged: judged.version) }
            // Another gateway may have made the grant due earlier than this one remembers.
            if isChanged || (!wasAsked && next.isDue(at: self.clock.now(), isTimely: isTimely)) {
                self.lookAgain(at: grantKey)
                wasAsked = await self.isAsked(session, key, until: deadline) || wasAsked
                stored = try await self.grant(grantKey)
            }
        }
        guard let grant = stored?.record else {
            // The grant has ended, perhaps before it listed this holder.
            if try await self.ask({ store, loop in store.session(key, on: loop) }) != nil {
                try await self.end(session.lineage)
            }
            return true
        }
        let provider = self.provider(named: grant.provider)
        let canAsk = grant.renewAt != nil && provider?.isTimely(grant.tokens, at: self.clock.now()) != false
        try self.check(grant.confirmedAt, canAsk: canAsk, settings)
        if wasAsked { return true }
        // The grant may not list this session, so the session is updated here.
        guard grant.update(of: session, grantKey) != nil else { return false }
        try await self.update(key, grantKey, grant)
        return true
    }

    /// Asks the provider about the user of a session if it is due to be asked, and waits briefly.
    ///
    /// - Parameter deadline: The end of the wait. `nil` for the end of `longestWait`.
    /// - Returns: False if nothing is due, as far as this process knows, so that the session is unchanged.
    func isAsked(_ session: Session, _ key: RecordKey, until deadline: NIODeadline? = nil) async -> Bool {
        let loop = self.loops.any()
        return (try? await loop.flatSubmit { self.asked(session, key, until: deadline, on: loop) }.get()) ?? false
    }

    private func check(
        _ confirmedAt: UnixTime,
        canAsk: Bool,
        _ settings: RefreshTokenSettings
    ) throws(NotDone) {
        guard settings.confirmWithin != .zero, self.clock.now().since(confirmedAt) > settings.confirmWithin else {
            return
        }
        throw NotDone(canAsk ? .providerUnavailable : .refreshUnconfirmed)
    }
}
