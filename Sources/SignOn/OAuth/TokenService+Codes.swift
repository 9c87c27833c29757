import Cryptography
import NIOCore
import Providers
package import Sessions
package import Settings
package import Vocabulary

/// A validated authorization request.
package struct CodeWish: Sendable {
    package var client: ClientSettings
    /// The requested API. `nil` if the request is for no API.
    package var api: APISettings?
    package var scopes: [String]
    package var redirectURI: String?
    package var challenge: String?
    package var nonce: String?
    package var keyThumbprint: String?

    package init(
        client: ClientSettings,
        api: APISettings?,
        scopes: [String],
        redirectURI: String?,
        challenge: String?,
        nonce: String?,
        keyThumbprint: String?
    ) {
        self.client = client
        self.api = api
        self.scopes = scopes
        self.redirectURI = redirectURI
        self.challenge = challenge
        self.nonce = nonce
        self.keyThumbprint = keyThumbprint
    }
}

/// A client's request to redeem a code (RFC 6749 4.1.3).
package struct CodeRedemption: Sendable {
    package var code: Secret
    package var redirectURI: String?
    /// `code_verifier` (RFC 7636 4.5).
    package var verifier: String?

    package init(code: Secret, redirectURI: String?, verifier: String?) {
        self.code = code
        self.redirectURI = redirectURI
        self.verifier = verifier
    }

    /// Returns whether the request comes from the client that requested the code (RFC 7636 4.6).
    func fits(_ code: AuthorizationCode) -> Bool {
        guard code.redirectURI == nil || code.redirectURI == self.redirectURI else { return false }
        guard let challenge = code.challenge else { return self.verifier == nil }
        guard let verifier = self.verifier else { return false }
        let presented = SHA256.digest(Array(verifier.utf8)).base64URL
        return constantTimeEqual(Array(presented.utf8), Array(challenge.utf8))
    }
}

extension TokenService {
    /// Issues a code to a signed-in user. All its tokens end when all of the user's sessions end.
    ///
    /// If a transfer token made the user's session, the tokens also end with the native session, and refresh tokens end
    /// with the browser's session if `endsRefreshAfterTransfer`. In other cases, only online tokens (`isOnline`) end
    /// with the browser's session.
    ///
    /// - Parameters:
    ///   - user: The user's session and its key. The session is the gateway's or the provider's.
    ///   - isOfBrowser: True if the browser has the session; false if a transfer token made the session for this
    ///     request.
    ///   - cookie: The provider's cookie, if the session is the provider's. `nil` otherwise.
    package func issueCode(
        _ wish: CodeWish,
        to user: NewSession,
        isOfBrowser: Bool,
        cookie: Secret? = nil
    ) async throws(NotDone) -> Secret {
        let now = self.clock.now()
        let web = user.session
        let isTransferred = web.origin == .transfer
        let settings = wish.client.refreshToken
        let hasRefresh =
            wish.client.getsRefreshToken(wish.scopes) && (!isTransferred || wish.client.allowsRefreshAfterTransfer)
            // A delegate acts for a user only for a limited time, so it gets no refresh token.
            && web.actor == nil
        let isOnline = !isTransferred && hasRefresh && settings.isOnline
        let isBound = isTransferred || isOnline
        let isProviders = user.key.kind == .foreignSession
        // Issuing a code is a use of the browser's session, so it may be time to ask the provider about the user.
        if web.sharedGrant != nil { self.grants?.renew(web, user.key) }
        let lineage = isBound ? web.lineage : self.authority.newLineage()
        var session = web
        session.id = self.authority.newSessionID()
        session.kind = .native
        session.origin = isTransferred ? .transfer : isOnline ? .browser : .native
        session.lineage = lineage
        session.clientID = wish.client.clientID
        session.host = nil
        session.scopes = hasRefresh ? wish.scopes : wish.scopes.filter { $0 != APIDirectory.offlineAccess }
        session.issuedAt = now
        session.expiresAt = now.advanced(by: settings.lifetime ?? self.lifetimes.absolute)
        if isBound { session.expiresAt = min(session.expiresAt, web.expiresAt) }
        session.idleLifetime = settings.idleLifetime ?? self.lifetimes.idle
        session.device = nil
        session.sourceKey = nil
        session.succession = nil
        session.endsAlone = !isBound && !wish.client.cascades
        session.provider = web.provider.map { ProviderSession(name: $0.name, sessionID: $0.sessionID) }
        if hasRefresh, !isOnline, settings.follows { session.provider?.grant = web.sharedGrant }
        if hasRefresh, let cookie {
            session.provider?.grant = try await self.grants?.keep(cookie, of: user, confirmedAt: now, for: settings)
        }
        if isBound, isProviders, let provider = web.provider {
            try await self.foreign?.note(lineage, session, provider)
        }
        try await self.ends?.keepNames(of: session)
        var noted = session
        if !hasRefresh {
            // The note is needed only until the last access token of the code has expired.
            let end = now.advanced(by: AuthorizationCode.lifetime + self.apis.lifetime(wish.api?.audience))
            noted.expiresAt = min(noted.expiresAt, end)
        }
        try await self.note(wish.client, gets: noted, in: user)
        let (token, key) = self.authority.make(.code, in: lineage)
        let code = AuthorizationCode(
            session: session,
            audience: wish.api?.audience,
            scopes: session.scopes,
            hasRefresh: hasRefresh,
            redirectURI: wish.redirectURI,
            challenge: wish.challenge,
            nonce: wish.nonce,
            keyThumbprint: wish.keyThumbprint,
            issuedAt: now,
            parent: isBound && !isProviders ? user.key : nil,
            endsWithParent: isTransferred && isOfBrowser && hasRefresh && wish.client.endsRefreshAfterTransfer
        )
        try await self.ask { store, loop in store.create(code, key: key, on: loop) }
        return token
    }

    /// Notes that a client gets tokens in a user's session, if the client is to be notified of ends. Call this before
    /// the client gets the tokens.
    ///
    /// - Parameter own: The session whose id is the `sid` in the client's id_tokens.
    package func note(
        _ client: ClientSettings,
        gets own: Session,
        in user: NewSession
    ) async throws(NotDone) {
        guard client.backchannelLogoutURI != nil else { return }
        if user.key.kind == .foreignSession, let provider = user.session.provider {
            try await self.foreign?.note(user.session.lineage, user.session, provider)
        }
        try await self.noteClient(client.clientID, gets: own, in: user)
    }

    /// Records that the browser's own session answers an authorization request without asking the user (Auth0's silent
    /// authentication), or why it does not.
    ///
    /// - Returns: False if the audit queue is full and `log.audit_on_full` is `refuse`. The act must then not happen.
    package func recordSilentAnswer(
        of session: NewSession?,
        refusal reason: Reason? = nil,
        to requester: TokenRequester,
        for api: APISettings?
    ) -> Bool {
        var record = self.record(.authorized, refusal: reason, requester)
        if let session { record.note(session, audience: api?.audience) }
        record.audience = api?.audience
        return self.journal.record(record)
    }

    /// Returns tokens for a code, once. A second use ends everything that the first use yielded (RFC 6749 4.1.2).
    ///
    /// Refusals: `code.unknown` (forged, expired or ended), `credential.other_key`, `code.other_client`,
    /// `code.mismatch` (`redirect_uri` or `code_verifier`), `code.replayed`, `session.user_gone`,
    /// `session.client_gone`, `session.limit`, `proof.missing` and `proof.other_key` (`dpop_jkt`).
    package func redeem(
        _ redemption: CodeRedemption,
        for requester: TokenRequester
    ) async throws(NotDone) -> IssuedTokens {
        try await self.recording(self.record(.redeemed, requester)) { record throws(NotDone) in
            switch self.authority.read(.code, redemption.code.bytes) {
            case .malformed: throw NotDone(.codeUnknown)
            case .otherKey: throw NotDone(.credentialOtherKey)
            case .record(let key):
                record.tokenFingerprint = key.fingerprint
                return try await self.redeem(redemption, key, requester, &record)
            }
        }
    }

    private func redeem(
        _ redemption: CodeRedemption,
        _ key: RecordKey,
        _ requester: TokenRequester,
        _ record: inout AuditRecord
    ) async throws(NotDone) -> IssuedTokens {
        try await self.use(
            key,
            as: AuthorizationCode.self,
            asksAgain: true,
            unknown: { () throws(NotDone) in throw NotDone(.codeUnknown) },
            spent: { marker throws(NotDone) in try await self.refuseReplay(marker, &record) },
            judge: { stored throws(NotDone) in
                try await self.verdict(on: stored.record, redemption, requester, &record)
            }
        )
    }

    private func verdict(
        on code: AuthorizationCode,
        _ redemption: CodeRedemption,
        _ requester: TokenRequester,
        _ record: inout AuditRecord
    ) async throws(NotDone) -> SingleUseVerdict<IssuedTokens> {
        record.note(code.session, audience: code.audience)
        guard code.session.clientID == requester.client.clientID else { throw NotDone(.codeOtherClient) }
        guard redemption.fits(code) else { throw NotDone(.codeMismatch) }
        if let loss = self.loss(of: code.session) { throw NotDone(loss) }
        // RFC 9449 10
        if let reason = requester.objection(toKey: code.keyThumbprint) { throw NotDone(reason) }
        var session = try await self.confirmed(code)
        session.device = self.facts(requester)
        session.issuedAt = self.clock.now()
        let grant = Grant(
            session: session,
            audience: code.audience,
            scopes: code.scopes,
            keyThumbprint: requester.keyThumbprint,
            parent: session.isOnline || code.endsWithParent ? code.parent : nil
        )
        var (tokens, records) = self.first(grant, hasRefresh: code.hasRefresh)
        tokens.nonce = code.nonce
        if let key = session.sharedGrant, let grants = self.grants {
            let settings = requester.client.refreshToken
            // False if the provider has ended the sign-in since the code was issued.
            guard try await grants.add(tokens.root, expiresAt: session.expiresAt, to: key, for: settings) else {
                throw NotDone(.codeUnknown)
            }
        }
        return .use(
            .used(self.authority.newAttempt(), session: tokens.root),
            creating: records,
            quarantined: { () throws(NotDone) in throw NotDone(.codeUnknown) },
            done: { [tokens] () throws(NotDone) in
                try await self.hold(tokens, requester)
                return try await self.admitted(tokens, requester)
            }
        )
    }

    /// Returns the session of a code's tokens, with the claims that its user has now. If the provider is due to be
    /// asked about the user, asks it and waits briefly. For online tokens, the browser's session is checked.
    ///
    /// - Throws: `code.unknown` if the provider has ended the sign-in since the code was issued.
    private func confirmed(_ code: AuthorizationCode) async throws(NotDone) -> Session {
        var session = code.session
        guard let grants = self.grants else { return session }
        if let key = session.sharedGrant {
            _ = await grants.isAsked(session, self.authority.newKey(of: .session, in: session.lineage))
            guard let grant = try await grants.grant(key)?.record else { throw NotDone(.codeUnknown) }
            return grant.update(of: session, key) ?? session
        }
        guard session.isOnline, let key = code.parent, var browser = try await self.kept(key) else { return session }
        if await grants.isAsked(browser.session, key) {
            guard let present = try await self.kept(key) else { throw NotDone(.codeUnknown) }
            browser = present
        }
        session.identity = browser.session.identity
        return session
    }

    /// Adds a client's new tokens to its user's grant again. Before the tokens were written, a concurrent change of the
    /// grant may have removed them as ended.
    private func hold(_ tokens: IssuedTokens, _ requester: TokenRequester) async throws(NotDone) {
        let session = tokens.session.session
        guard let key = session.sharedGrant, let grants = self.grants else { return }
        let settings = requester.client.refreshToken
        // If the store cannot be asked, the grant does not list the tokens, and they are updated when they are used.
        let isHeld = try? await grants.add(
            tokens.root,
            expiresAt: session.expiresAt,
            to: key,
            for: settings,
            isAgain: true
        )
        guard isHeld == false else { return }
        try? await self.ask { store, loop in session.end(tokens.session.key, in: store, on: loop) }
        throw NotDone(.codeUnknown)
    }

    /// Ends everything that the first use of the code yielded.
    private func refuseReplay(_ marker: Marker, _ record: inout AuditRecord) async throws(NotDone) -> IssuedTokens {
        if case .used(_, let key?) = marker, let session = try await self.kept(key) {
            record.note(session, audience: session.session.access?.audience)
            try await self.end(session, &record)
            self.notifyClients(of: session)
        }
        throw NotDone(.codeReplayed)
    }
}
