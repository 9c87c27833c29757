package import Sessions
package import Vocabulary

/// The rules of renewal, without I/O.
///
/// ```
///   due ──lease──▶ leased ──refreshed──▶ renewed, due again before the access token expires
///    ▲               │ ├──later────────▶ resting ──▶ due
///    └─rest is over──┘ ├──ambiguous────▶ lost: never due again
///                      └──holder died──▶ due if refresh tokens stay valid, otherwise lost
/// ```
///
/// A shared grant is due within an interval, even if its tokens live longer, so that the provider is asked whether the
/// user still has access.
extension ProviderGrant {
    /// The duration of a lease, longer than a provider takes to answer. If the holder dies, renewal waits until the
    /// end.
    package static let leaseTime = Duration.seconds(15)

    /// The next step of a gateway when a session of the grant is used.
    package enum RenewalStep: Sendable, Equatable {
        /// Nothing is due, or the provider cannot be asked. The session may still lack the result of an earlier
        /// renewal.
        case follow
        /// Wait until this time.
        case rest(until: UnixTime)
        /// Write this grant, which holds the lease, then refresh its tokens.
        case refresh(ProviderGrant)
        /// Write this grant, which records that the refresh token is lost.
        case lose(ProviderGrant)
    }

    /// Returns whether the provider can be asked with tokens at a time (`RefreshingProvider.isTimely`).
    package typealias TimeCheck = @Sendable (ProviderTokenSet, UnixTime) -> Bool

    /// Returns the next step of the gateway `holder` at `now`.
    package func renewalStep(of holder: String, at now: UnixTime, isTimely: TimeCheck) -> RenewalStep {
        guard let renewAt = self.renewAt, now >= renewAt, isTimely(self.tokens, now) else { return .follow }
        if let lease = self.lease, lease.holder != holder {
            if now < lease.until { return .rest(until: lease.until) }
            // The holder may have sent the refresh token before it died. A provider that replaces it each time may
            // treat a second use as theft and end the user's session (RFC 9700 4.14.2).
            if self.rotates != false, self.tokens.refreshToken != nil { return .lose(self.lost(at: now)) }
        }
        if let restsUntil = self.restsUntil, now < restsUntil { return .rest(until: restsUntil) }
        var leased = self
        leased.lease = Lease(holder: holder, until: now.advanced(by: Self.leaseTime))
        return .refresh(leased)
    }

    /// Returns the grant after a refresh gave `tokens`. Values that the answer omits are unchanged (RFC 6749 6).
    ///
    /// - Parameter isTimely: If the provider is to be asked within an interval, returns whether it can be asked then.
    package func renewed(
        _ tokens: ProviderTokenSet,
        identity: Identity?,
        isTimely: TimeCheck? = nil,
        at now: UnixTime
    ) -> ProviderGrant {
        var next = self
        next.tokens = tokens
        next.tokens.refreshToken = tokens.refreshToken ?? self.tokens.refreshToken
        next.tokens.idToken = tokens.idToken ?? self.tokens.idToken
        next.tokens.dpopKey = tokens.dpopKey ?? self.tokens.dpopKey
        next.rotates = next.tokens.refreshToken != self.tokens.refreshToken
        next.generation &+= 1
        next.identity = identity ?? self.identity
        next.renewAt = next.tokens.renewAt(from: now)
        next.tokensEndAt = nil
        next.following?.confirmedAt = now
        if let isTimely { next.askWithinInterval(from: now, isTimely: isTimely) }
        return next.unleased()
    }

    /// Makes the grant due within an interval after the confirmation at `time`, unless the provider cannot be asked
    /// then.
    package mutating func askWithinInterval(from time: UnixTime, isTimely: TimeCheck) {
        let due = time.advanced(by: self.following?.interval ?? Self.interval)
        guard isTimely(self.tokens, due) else { return }
        self.renewAt = self.renewAt.map { min($0, due) } ?? due
    }

    /// When the provider last confirmed the user, or an earlier time if this is not known exactly.
    package var confirmedAt: UnixTime {
        if let following = self.following { return following.confirmedAt }
        // A confirmation makes the grant due within an interval.
        guard let renewAt = self.renewAt else { return self.since }
        return max(self.since, renewAt.advanced(by: .zero - Self.interval))
    }

    /// The interval if no client sets one (`refresh_token.confirm_every`).
    package static let interval = Duration.seconds(900)

    /// Returns the grant after a refresh that had no effect.
    ///
    /// - Parameters:
    ///   - pause: The time that the provider named (`Retry-After`). `nil` to double the pause at each failure.
    ///   - jitter: A number from 0 to 1 that spreads the retries of many grants.
    package func resting(for pause: Duration?, jitter: Double, at now: UnixTime) -> ProviderGrant {
        var next = self.unleased()
        next.failures = self.failures &+ 1
        let least = min(
            pause ?? Self.firstPause * (1 << Int(min(self.failures, 16))),
            pause == nil ? Self.longestPause : Self.longestRetryAfter
        )
        next.restsUntil = now.advanced(by: least + least / 2 * jitter)
        return next
    }

    /// Returns the grant after a refresh whose answer was lost, so that the refresh token may have been used. The
    /// access token is used until it expires.
    package func lost(at now: UnixTime) -> ProviderGrant {
        var next = self.unleased()
        next.renewAt = nil
        next.tokensEndAt = max(now, self.tokens.expiresAt ?? now)
        return next
    }

    private func unleased() -> ProviderGrant {
        var next = self
        next.lease = nil
        next.failures = 0
        next.restsUntil = nil
        return next
    }

    private static let firstPause = Duration.seconds(1)
    private static let longestPause = Duration.seconds(60)
    private static let longestRetryAfter = Duration.seconds(3600)

    // MARK: Sessions

    /// Returns the session updated from the grant under `key`. `nil` if the session is up to date or has another grant.
    ///
    /// A refresh is not an authentication (OpenID Connect Core 12.2). It does not change level, methods or time.
    package func update(of session: Session, _ key: RecordKey) -> Session? {
        guard session.provider?.grant == key, session.subject.isExactly(self.owner.subject) else { return nil }
        var next = session
        if let identity = self.identity { next.identity = identity.inRealm(session.identity.realm) }
        // A session with a shared grant looks at the grant instead. Otherwise, each renewal would change all sessions.
        if key.lineage == session.lineage { next.provider?.renewAt = self.renewAt }
        if session.showsProviderTokens { next.provider?.tokensEndAt = self.tokensEndAt }
        return next == session ? nil : next
    }
}

extension ProviderTokenSet {
    /// Returns whether the access token is still valid when the provider answers a refresh that begins at `time`.
    func outliveAnswer(at time: UnixTime) -> Bool {
        self.expiresAt.map { time.advanced(by: ProviderGrant.leaseTime * 2) < $0 } ?? true
    }

    /// Returns when tokens that were issued at `now` are due for renewal: a fifth of their lifetime, at most a minute,
    /// before they expire. Failures can then be retried in time. Without an expiry, they are due after an hour, to
    /// update the user's claims. `nil` if they cannot be renewed.
    package func renewAt(from now: UnixTime) -> UnixTime? {
        guard self.refreshToken != nil else { return nil }
        guard let expiresAt = self.expiresAt else { return now.advanced(by: .seconds(3600)) }
        let life = max(.zero, expiresAt.since(now))
        // A provider whose tokens expire at once must not be asked all the time.
        return now.advanced(by: max(life - min(life / 5, .seconds(60)), .seconds(1)))
    }
}
