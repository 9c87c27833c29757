internal import NIOCore
internal import Sessions
internal import Settings
package import Vocabulary

/// What a client asks for with a refresh token.
package enum RefreshWish: Sendable {
    /// An access token.
    ///
    /// - audience: nil: the family's own.
    /// - scopes: nil: all that were granted. What goes beyond that is left out.
    case access(audience: String?, scopes: [String]?)
    /// A session-transfer token, which the caller mints.
    case transfer
}

extension TokenService {
    /// How often a family is read again that another request changes at the same time.
    private static let mostTries = 8

    /// Gives new tokens for a refresh token.
    ///
    /// The store is not asked about a token that this gateway did not make. The rotation is one compare-and-swap; the
    /// access token is written before it and handed out only after it.
    ///
    /// Refusals: `refresh.unknown` (forged, expired or ended), `refresh.other_client`, `refresh.replayed` (the family has
    /// ended with everything that came of it), `oauth.invalid_target`.
    package func refresh(
        _ presented: Secret,
        _ wish: RefreshWish,
        for requester: TokenRequester
    ) async -> TokenOutcome {
        var record = TokenRecord(.refreshed, requester, self.devices)
        let outcome: TokenOutcome
        switch self.refreshTokens.read(presented.bytes) {
        case .malformed: outcome = .refused(.refreshUnknown)
        case .otherKey: outcome = .refused(.credentialOtherKey)
        case .genuine(let token):
            do {
                outcome = try await self.refresh(token, wish, requester, &record)
            } catch {
                outcome = Self.unavailable(error)
            }
        }
        return self.journal.take(outcome, record)
    }

    private func refresh(
        _ token: RefreshToken,
        _ wish: RefreshWish,
        _ requester: TokenRequester,
        _ record: inout TokenRecord
    ) async throws(StoreError) -> TokenOutcome {
        for _ in 0..<Self.mostTries {
            let key = token.key
            guard let stored = try await self.family(key),
                let session = try await self.session(stored.record.session)
            else { return .refused(.refreshUnknown) }
            let family = stored.record
            record.note(session.session, audience: family.audience)
            guard family.clientID == requester.client.clientID else { return .refused(.refreshOtherClient) }
            let settings = requester.client.refreshToken
            let now = self.clock.now()
            let place = family.place(of: token.generation, leeway: settings.leeway, at: now)
            if place == .replayed {
                try await self.end(session)
                return .refused(.refreshReplayed)
            }
            if case .access(let audience?, _) = wish, audience != family.audience {
                return .refused(.oauthInvalidTarget)
            }
            let access = self.access(wish, family, session)
            if let access, try await !self.write(access.record, of: session) { return .refused(.refreshUnknown) }
            var present = family
            if place == .present, settings.rotation == .rotating {
                present = family.rotated(from: token.generation, at: now)
                switch try await self.replace(key, stored.version, with: present) {
                case .done: break
                case .changed:
                    if let access { await self.discard(access.record) }
                    continue
                case .absent, .quarantined:
                    if let access { await self.discard(access.record) }
                    return .refused(.refreshUnknown)
                }
            }
            // A use of the family. The result is ignored: losing a note only ends it early.
            _ = try? await self.ask { store, loop in store.touch(session.key, on: loop) }
            let rotates = settings.rotation == .rotating
            return .issued(
                IssuedTokens(
                    access: access?.token,
                    lifetime: access.map { $0.record.session.expiresAt.since(now) } ?? .zero,
                    refresh: rotates ? self.refreshTokens.make(token.of(generation: present.generation)) : nil,
                    audience: family.audience,
                    scopes: access?.record.session.scopes ?? family.scopes,
                    keyThumbprint: family.keyThumbprint,
                    session: session,
                    root: session.key
                )
            )
        }
        return .unavailable(.storeUnavailable)
    }

    private func access(
        _ wish: RefreshWish,
        _ family: RefreshFamily,
        _ session: NewSession
    ) -> (token: Secret, record: NewSession)? {
        guard case .access(_, let wanted) = wish else { return nil }
        let scopes = wanted.map { wanted in family.scopes.filter(wanted.contains) } ?? family.scopes
        return self.access(
            of: session,
            AccessTerms(audience: family.audience, keyThumbprint: family.keyThumbprint),
            scopes: scopes
        )
    }

    /// The family of a refresh token; nil if it has ended.
    func family(_ key: RecordKey) async throws(StoreError) -> Stored<RefreshFamily>? {
        try await self.ask { store, loop in store.replaceable(key, as: RefreshFamily.self, on: loop) }
    }

    /// A live session.
    func session(_ key: RecordKey) async throws(StoreError) -> NewSession? {
        let stored = try await self.ask { store, loop in store.session(key, on: loop) }
        return stored.map { NewSession(key: key, session: $0.record) }
    }

    /// Ends a session and everything that came of it.
    func end(_ session: NewSession) async throws(StoreError) {
        try await self.ask { store, loop in session.session.end(session.key, in: store, on: loop) }
    }

    private func replace(
        _ key: RecordKey,
        _ judged: RecordVersion,
        with family: RefreshFamily
    ) async throws(StoreError) -> Replacement {
        let attempt = self.authority.newAttempt()
        return try await self.ask { store, loop in
            store.replace(key, judged: judged, with: family, attempt: attempt, on: loop)
        }
    }
}
