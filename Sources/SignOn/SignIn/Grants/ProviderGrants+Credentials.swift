import Providers
import Sessions
import Settings
import Vocabulary

/// Follows the sessions of providers that the gateway accepts as they are (Ory Kratos).
extension ProviderGrants {
    /// Keeps the token or cookie of a provider's session in a shared grant, so that the provider is asked about it
    /// while a client uses what the client got for it. Must be called before the client gets anything.
    ///
    /// - Parameters:
    ///   - user: The provider's session, and the key of its token or cookie.
    ///   - confirmedAt: When the provider last confirmed the session.
    ///   - settings: The client's settings.
    /// - Returns: The grant's key, for the sessions of the client. `nil` if they do not follow the provider, or the
    ///   credential is too large to keep.
    func keep(
        _ credential: Secret,
        of user: NewSession,
        confirmedAt: UnixTime,
        for settings: RefreshTokenSettings
    ) async throws(NotDone) -> RecordKey? {
        let session = user.session
        guard settings.provider == .follow, let name = session.provider?.name,
            let kept = self.provider(named: name)?.kept(
                PresentedToken(credential, as: session.kind),
                until: session.expiresAt
            )
        else { return nil }
        let key = self.authority.grantKey(ofForeign: user.key)
        var wasAbsent = false
        for _ in 0..<Self.maxWrites {
            let stored = try await self.grant(key)
            var next = stored?.record ?? self.grant(kept, of: user, confirmedAt: confirmedAt)
            // The provider may have extended its session.
            if let end = next.tokens.expiresAt, session.expiresAt > end { next.tokens = kept.tokens }
            next.expiresAt = max(next.expiresAt, session.expiresAt)
            let isTimely = self.timeCheck(of: next)
            next.follow(settings, isTimely: isTimely)
            if next.renewAt == nil, let isTimely {
                next.askWithinInterval(from: next.confirmedAt, isTimely: isTimely)
            }
            // Only the provider knows whether the grant's claims or the session's are the present ones, so it is asked
            // at once.
            if let known = next.identity, !known.hasClaims(of: session.identity) {
                let now = self.clock.now()
                next.renewAt = min(next.renewAt ?? now, now)
            }
            guard next != stored?.record else { return key }
            switch try await self.write(next, key, judged: stored?.version) {
            case .written:
                self.lookAgain(at: key)
                return key
            case .tooLarge:
                self.journal.note(.tooLarge, session)
                return nil
            case .other where stored == nil && wasAbsent:
                // Nothing is written in an ended lineage: the provider has ended its session, but the gateway that was
                // told could not end the token or cookie.
                try await self.end(user.key.lineage)
                throw NotDone(.sessionUnknown)
            case .other: wasAbsent = stored == nil
            }
        }
        throw NotDone(.storeUnavailable)
    }

    private func grant(
        _ kept: KeptCredential,
        of user: NewSession,
        confirmedAt: UnixTime
    ) -> ProviderGrant {
        let session = user.session
        var grant = ProviderGrant(
            provider: session.provider?.name ?? "",
            owner: RecordOwner(subject: session.subject, epoch: session.epoch),
            since: self.clock.now(),
            expiresAt: session.expiresAt,
            tokens: kept.tokens,
            session: user.key
        )
        grant.identity = session.identity
        grant.following = kept.interval.map { ProviderGrant.Following(confirmedAt: confirmedAt, interval: $0) }
        return grant
    }
}

extension Identity {
    fileprivate func hasClaims(of other: Identity) -> Bool {
        self.traitsDocument == other.traitsDocument && self.metadataPublicDocument == other.metadataPublicDocument
    }
}
