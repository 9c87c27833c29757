import Cryptography
import NIOCore
package import Rules
package import Sessions
import Settings
package import Vocabulary

/// The purpose for which a client presents a refresh token.
package enum RefreshWish: Sendable {
    /// An access token.
    ///
    /// - audience: The requested audience. `nil` if the family's audience is requested.
    /// - scopes: The requested scopes; ungranted scopes are ignored. `nil` if all granted scopes are requested.
    case access(audience: String?, scopes: [String]?)
    /// A session-transfer token for this audience, minted by the caller if the rules allow it for the session.
    case transfer(audience: String, judged: @Sendable (Session) async -> RuleJudgement)
}

extension TokenService {
    /// The limit of one family. An app refreshes once in the life of an access token, and again if an answer was lost.
    /// The limit slows down an app in a loop and a thief of the app's token.
    private static let perFamily = RateLimit("refresh.family", burst: 60, interval: .seconds(1), isAwaited: false)

    /// The maximum number of reads of a family that other requests change at the same time.
    private static let maxTries = 8

    /// Returns new tokens for a refresh token.
    ///
    /// Neither the store nor the limiter is asked about a token that this gateway did not make. The rotation is one
    /// compare-and-swap. The access token is written before the rotation and handed out only after it.
    ///
    /// If a check is due, the provider is first asked whether the user still has access (`refresh_token.provider`). The
    /// presented token is judged first, so that a stolen old token costs no call.
    ///
    /// Refusals: `credential.other_key`, `oauth.throttled`, `rule.denied`, `refresh.unknown` (forged, expired or
    /// ended), `refresh.other_client`, `refresh.replayed` (the family has ended with everything made from it),
    /// `proof.missing` and `proof.other_key` (the family is bound to a key and unchanged), `refresh.user_gone`,
    /// `refresh.unconfirmed` and `provider.unavailable` (the provider's last answer is older than `confirm_within`),
    /// `session.client_gone`, `oauth.invalid_target`. The first rotation with a proof binds a family that is bound to
    /// no key.
    package func refresh(
        _ presented: Secret,
        _ wish: RefreshWish,
        for requester: TokenRequester
    ) async throws(NotDone) -> IssuedTokens {
        try await self.recording(self.record(.refreshed, requester)) { record throws(NotDone) in
            switch self.refreshTokens.read(presented.bytes) {
            case .malformed: throw NotDone(.refreshUnknown)
            case .otherKey: throw NotDone(.credentialOtherKey)
            case .genuine(let token):
                record.tokenFingerprint = token.key.fingerprint
                let uses = RateBucket(
                    Self.perFamily,
                    Array(token.key.lineage.tag.utf8),
                    Array(token.key.digest.bytes)
                )
                try await TryCounter(store: self.limiter, loops: self.loops).count([uses], or: .oauthThrottled)
                return try await self.refresh(token, wish, requester, &record)
            }
        }
    }

    private func refresh(
        _ token: RefreshToken,
        _ wish: RefreshWish,
        _ requester: TokenRequester,
        _ record: inout AuditRecord
    ) async throws(NotDone) -> IssuedTokens {
        var wasPresent = false
        var isConfirmed = false
        for _ in 0..<Self.maxTries {
            let key = token.key
            guard let stored = try await self.family(key),
                let session = try await self.kept(stored.record.session)
            else { throw NotDone(isConfirmed ? .refreshUserGone : .refreshUnknown) }
            let family = stored.record
            record.note(session, audience: family.audience)
            guard family.clientID == requester.client.clientID else { throw NotDone(.refreshOtherClient) }
            let settings = requester.client.refreshToken
            let now = self.clock.now()
            let leeway = settings.leeway(isBound: family.keyThumbprint != nil)
            let place = family.place(of: token.generation, leeway: leeway, at: now)
            // Checked before the key. Otherwise, a thief could bind the family to his own key and keep it.
            if place == .replayed {
                // The token was valid when this request presented it. The client did not wait for the answer, presented
                // the token again, and continued with the new token. This is not a replay.
                guard !wasPresent else { throw NotDone(.storeUnavailable) }
                try await self.end(session, &record)
                self.notifyClients(of: session)
                throw NotDone(.refreshReplayed)
            }
            if let parent = family.parent, try await self.kept(parent) == nil {
                try await self.end(session, &record)
                throw NotDone(.refreshUnknown)
            }
            // Nothing ends, because an operator may bring back a user who was removed by mistake.
            if let loss = self.loss(of: session.session) {
                throw NotDone(loss == .sessionUserGone ? .refreshUserGone : loss)
            }
            if let reason = requester.objection(toKey: family.keyThumbprint) { throw NotDone(reason) }
            if case .access(let audience?, _) = wish, audience != family.audience {
                throw NotDone(.oauthInvalidTarget)
            }
            if !isConfirmed, session.session.sharedGrant == nil || family.mustAskProvider(settings, at: now) {
                isConfirmed = true
                // The session may have ended, or have new claims.
                if try await self.grants?.demand(session.session, session.key, for: requester.client) == true {
                    // Another request with this token may have rotated the family meanwhile.
                    wasPresent = true
                    continue
                }
            }
            // A session of Kratos may end without a request of its browser. Online tokens do not wait for the answer.
            if session.session.isOnline { self.grants?.renew(session.session, session.key) }
            // Asked before the rotation, so that a client that is refused keeps its token.
            if case .transfer(let audience, let judged) = wish {
                let rules = await judged(session.session)
                if let objection = rules.objection {
                    record.audience = audience
                    record.rules = rules.findings
                    throw NotDone(.ruleDenied, text: objection.text)
                }
            }
            let access = self.access(wish, family, session, key: requester.keyThumbprint)
            if let access, try await !self.write(access.record, of: session) { throw NotDone(.refreshUnknown) }
            var present = family
            if place != .present || settings.rotation != .rotating {
                _ = try? await self.ask { store, loop in store.touch(session.key, on: loop) }
            } else {
                present = family.rotated(from: token.generation, at: now)
                present.keyThumbprint = requester.keyThumbprint
                let attempt = self.authority.newAttempt()
                let replacement = try await self.ask { [present] store, loop in
                    // Refreshing is a use of the family. If noting the use fails, the family only ends early.
                    _ = store.touch(session.key, on: loop)
                    return store.replace(key, judged: stored.version, with: present, attempt: attempt, on: loop)
                }
                switch replacement {
                case .done: break
                case .changed:
                    if let access { await self.discard(access.record) }
                    wasPresent = true
                    continue
                case .absent, .quarantined:
                    if let access { await self.discard(access.record) }
                    throw NotDone(.refreshUnknown)
                }
            }
            let rotates = settings.rotation == .rotating
            return IssuedTokens(
                access: access?.token,
                lifetime: access.map { $0.record.session.expiresAt.since(now) } ?? .zero,
                refresh: rotates ? self.refreshTokens.make(token.of(generation: present.generation)) : nil,
                audience: family.audience,
                scopes: access?.record.session.scopes ?? family.scopes,
                keyThumbprint: requester.keyThumbprint,
                session: session,
                root: session.key
            )
        }
        throw NotDone(.storeUnavailable)
    }

    private func access(
        _ wish: RefreshWish,
        _ family: RefreshFamily,
        _ session: NewSession,
        key thumbprint: String?
    ) -> (token: Secret, record: NewSession)? {
        guard case .access(_, let wanted) = wish else { return nil }
        let scopes = wanted.map { wanted in family.scopes.filter(wanted.contains) } ?? family.scopes
        return self.access(of: session, for: family.audience, scopes: scopes, boundTo: thumbprint)
    }

    /// Returns the family of a refresh token. `nil` if the family has ended.
    func family(_ key: RecordKey) async throws(NotDone) -> Stored<RefreshFamily>? {
        try await self.ask { store, loop in store.replaceable(key, as: RefreshFamily.self, on: loop) }
    }

    /// Returns the reason to treat the session as ended if its user or client is gone. `nil` otherwise.
    func loss(of session: Session) -> Reason? { self.users.loss(of: session) }

    /// Returns a live session whose user and client exist.
    func session(_ key: RecordKey) async throws(NotDone) -> NewSession? {
        let stored = try await self.ask { [users] store, loop in store.session(key, in: users, on: loop) }
        return stored.map { NewSession(key: key, session: $0.record) }
    }

    /// Returns a stored session, even if its user or client is gone.
    func kept(_ key: RecordKey) async throws(NotDone) -> NewSession? {
        let stored = try await self.ask { store, loop in store.session(key, on: loop) }
        return stored.map { NewSession(key: key, session: $0.updated(by: self.users).record) }
    }

    /// Ends a session with everything made from it, and notes the number of ended sessions.
    func end(_ session: NewSession, _ record: inout AuditRecord) async throws(NotDone) {
        if let cascade = self.cascade {
            // The sessions end even if counting them fails.
            let count = try? await self.ask { _, loop in cascade.count(with: session.session, session.key, on: loop) }
            record.cascaded = count ?? 0
        }
        try await self.ask { store, loop in session.session.end(session.key, in: store, on: loop) }
        if session.session.sharedGrant != nil { self.grants?.revoke(after: session.session) }
    }
}
