import NIOCore
package import Providers
import Rules
import Sessions
package import Settings
package import Vocabulary

/// The permission that a user gave to a client.
struct Grant: Sendable {
    /// The user, and how the user signed in.
    var session: Session
    /// The audience of the API. `nil` if the grant is for no API.
    var audience: String?
    var scopes: [String]
    /// The thumbprint of the key to which the tokens are bound (RFC 9449 5). `nil` if they are bound to no key.
    var keyThumbprint: String?
    /// The browser's session with which the refresh tokens end. `nil` if the refresh tokens outlive that session.
    var parent: RecordKey?
}

extension ClientSettings {
    /// Returns whether the client gets a refresh token with these scopes.
    func getsRefreshToken(_ scopes: [String]) -> Bool {
        self.grantTypes.contains(.refreshToken)
            && (self.refreshToken.issuing == .always || scopes.contains(APIDirectory.offlineAccess))
    }
}

extension TokenService {
    /// Returns an access token for a native app's session token, or for a provider's token that the gateway accepts.
    /// The access token ends with the session.
    ///
    /// Refusals: `credential.malformed`, `credential.other_key`, `session.unknown` (the session has ended or is a
    /// browser's, or the token is an access token), `session.other_client`, `session.other_provider`,
    /// `credential.bound_to_certificate`, `proof.missing` and `proof.other_key` (a provider's token that is bound to a
    /// key), `rule.denied`, and the refusals of providers.
    ///
    /// - Parameter forTransfer: True if the client gets only a session-transfer token, minted from the access token.
    package func exchange(
        _ token: Secret,
        for api: APISettings?,
        scopes: [String],
        forTransfer: Bool = false,
        by requester: TokenRequester
    ) async throws(NotDone) -> IssuedTokens {
        var record = self.record(.exchanged, requester)
        record.audience = api?.audience
        record.isForTransfer = forTransfer
        return try await self.recording(record) { record throws(NotDone) in
            try await self.exchange(token, api, scopes, requester, &record)
        }
    }

    /// Returns whether a provider may have made the token. `exchange` then returns an access token that ends with the
    /// provider's session.
    package func isForeign(_ token: Secret) -> Bool {
        self.authority.readSession(token.bytes) == .malformed
            && self.foreign?.tokens.candidates(for: token).isEmpty == false
    }

    /// Returns whether a provider may have made the refresh token. If so, `exchange(refreshToken:)` asks the provider.
    package func isForeign(refreshToken token: Secret) -> Bool {
        self.refreshTokens.read(token.bytes) == .malformed
            && self.foreign?.refreshTokens.candidates(for: token).isEmpty == false
    }

    /// Returns an access token for a provider's refresh token, so that a session-transfer token can be minted. The
    /// refresh token stays valid: the gateway asks the provider about it without using it.
    ///
    /// The access token has the scopes that request claims about the user. `openid` is always included, because the
    /// token comes from an OpenID provider and SDKs demand an id_token.
    ///
    /// Refusals: the refusals of `exchange` for a provider's token.
    package func exchange(
        refreshToken token: Secret,
        by requester: TokenRequester
    ) async throws(NotDone) -> IssuedTokens {
        var record = self.record(.refreshed, requester)
        record.isForTransfer = true
        let tokens = self.foreign?.refreshTokens ?? []
        return try await self.recording(record) { record throws(NotDone) in
            try await self.exchange(foreign: token, in: tokens, nil, scopes: nil, requester, &record)
        }
    }

    private func exchange(
        _ token: Secret,
        _ api: APISettings?,
        _ scopes: [String],
        _ requester: TokenRequester,
        _ record: inout AuditRecord
    ) async throws(NotDone) -> IssuedTokens {
        let key: RecordKey
        switch self.authority.readSession(token.bytes) {
        case .record(let named): key = named
        case .otherKey: throw NotDone(.credentialOtherKey)
        case .malformed:
            let tokens = self.foreign?.tokens ?? []
            return try await self.exchange(foreign: token, in: tokens, api, scopes: scopes, requester, &record)
        }
        guard let session = try await self.session(key), session.session.kind == .native, session.session.access == nil
        else { throw NotDone(.sessionUnknown) }
        record.note(session, audience: api?.audience)
        guard session.session.clientID == nil || session.session.clientID == requester.client.clientID else {
            throw NotDone(.sessionOtherClient)
        }
        var current = session
        if try await self.grants?.demand(session.session, key, for: requester.client) == true {
            guard let session = try await self.session(key) else { throw NotDone(.sessionUnknown) }
            current = session
        }
        return try await self.issue(current, for: api, scopes: scopes, to: requester, &record)
    }

    /// Returns the answer of the first provider that knows the token. If no provider does, returns the last answer.
    private func answer(
        to token: Secret,
        in tokens: [any ForeignTokens]
    ) async throws(NotDone) -> (ForeignCandidate, ForeignAnswer) {
        var found: (ForeignCandidate, ForeignAnswer)?
        for candidate in tokens.candidates(for: token) {
            let answer = try await self.ask { _, loop in
                candidate.tokens.freshSession(token, key: candidate.key, on: loop)
            }
            found = (candidate, answer)
            guard case .none = answer else { break }
        }
        guard let found else { throw NotDone(.credentialMalformed) }
        return found
    }

    /// Exchanges a provider's token. If the request has a proof, the provider's token is also bound to the proof's key,
    /// so that a thief cannot use or exchange the token without that key.
    ///
    /// - Parameter scopes: The requested scopes. `nil` to grant `openid` and the token's scopes about the user.
    private func exchange(
        foreign token: Secret,
        in tokens: [any ForeignTokens],
        _ api: APISettings?,
        scopes: [String]?,
        _ requester: TokenRequester,
        _ record: inout AuditRecord
    ) async throws(NotDone) -> IssuedTokens {
        guard let foreign = self.foreign else { throw NotDone(.credentialMalformed) }
        let (candidate, answer) = try await self.answer(to: token, in: tokens)
        let key = candidate.key
        var session: Session
        let confirmedAt: UnixTime
        switch answer {
        case .none(let reason): throw NotDone(reason)
        case .insufficient: throw NotDone(.requireAAL)
        case .live(let found):
            (session, confirmedAt) = (found.session, found.verdict.givenAt)
            record.note(NewSession(key: key, session: session), audience: api?.audience)
            // Tokens made from this token could sign in a user whom the provider's `allow` excludes.
            guard found.verdict.isAdmitted else { throw NotDone(.signInNotAllowed) }
        }
        // Tokens made from this token would not be bound to the certificate.
        guard session.certificateHash == nil else { throw NotDone(.credentialBoundToCertificate) }
        if let reason = requester.objection(toKey: session.keyThumbprint) { throw NotDone(reason) }
        if let thumbprint = requester.keyThumbprint {
            switch try await self.ask({ _, loop in candidate.tokens.bind(key, to: thumbprint, on: loop) }) {
            case .bound: break
            case .otherKey: throw NotDone(.proofOtherKey)
            case .ended: throw NotDone(.sessionUnknown)
            }
        }
        if let provider = session.provider { try await foreign.note(key.lineage, session, provider) }
        let grant = try await self.grants?.keep(
            token,
            of: NewSession(key: key, session: session),
            confirmedAt: confirmedAt,
            for: requester.client.refreshToken
        )
        session.provider?.grant = grant
        let granted =
            scopes
            ?? APIDirectory.granted(
                [APIDirectory.openID] + session.scopes,
                of: nil,
                to: requester.client,
                hasRefresh: false
            )
        return try await self.issue(
            NewSession(key: key, session: session),
            for: api,
            scopes: granted,
            to: requester,
            &record
        )
    }

    /// Returns an access token of a session for the requester. The operator's rules may refuse it or remove scopes.
    private func issue(
        _ session: NewSession,
        for api: APISettings?,
        scopes: [String],
        to requester: TokenRequester,
        _ record: inout AuditRecord
    ) async throws(NotDone) -> IssuedTokens {
        // The token would end at once, because the client does not exist for these users.
        guard requester.client.isFor(session.session.identity.realm.name) else { throw NotDone(.sessionOtherProvider) }
        var rules = RuleJudgement()
        if !record.isForTransfer {
            let facts = Self.facts(of: session.session.identity, requester, record, for: api, scopes: scopes)
            rules = await self.rules.judge(.exchange, facts)
            record.rules += rules.findings
        }
        if let objection = rules.objection { throw NotDone(.ruleDenied, text: objection.text) }
        let left = rules.left(of: scopes)
        var owner = session
        owner.session.clientID = requester.client.clientID
        let access = self.access(of: owner, for: api?.audience, scopes: left, boundTo: requester.keyThumbprint)
        guard try await self.write(access.record, of: session) else { throw NotDone(.sessionUnknown) }
        return IssuedTokens(
            access: access.token,
            lifetime: access.record.session.expiresAt.since(access.record.session.issuedAt),
            audience: api?.audience,
            scopes: left,
            keyThumbprint: requester.keyThumbprint,
            session: owner,
            root: session.key
        )
    }

    /// Returns the first tokens for a client whose user just signed in with a provider's native SDK, in a new lineage.
    /// The tokens end with the user's sessions, also when a configured provider ends them.
    ///
    /// - Parameters:
    ///   - scopes: The requested scopes, with `offline_access` for a refresh token.
    package func begin(
        _ user: SocialUser,
        for api: APISettings?,
        scopes: [String],
        by requester: TokenRequester
    ) async throws(NotDone) -> IssuedTokens {
        try await self.recording(self.record(.socialExchanged, requester)) { record throws(NotDone) in
            let (authentication, evidence, realm) = (user.proven.authentication, user.proven.evidence, user.realm)
            // Without a configured provider, nobody is trusted to verify the address, so the account is not linked.
            let linked = user.isOfProvider ? self.accounts?.linked(authentication, of: realm) : nil
            var session = self.session(of: linked ?? authentication, in: realm, scopes: scopes, requester)
            if user.isOfProvider {
                session.provider = ProviderSession(name: evidence.provider, sessionID: evidence.sessionID)
            }
            record.note(session, audience: api?.audience)
            guard requester.client.isFor(realm.name) else {
                record.sessionID = nil
                throw NotDone(.sessionOtherProvider)
            }
            let facts = Self.facts(of: session.identity, requester, record, for: api, scopes: scopes)
            var rules = await self.rules.judge(.signIn, facts)
            record.rules = rules.findings
            if rules.objection == nil {
                rules = await self.rules.judge(.exchange, facts)
                record.rules += rules.findings
            }
            if let objection = rules.objection {
                record.sessionID = nil
                throw NotDone(.ruleDenied, text: objection.text)
            }
            let left = rules.left(of: scopes)
            session.scopes = left
            let hasRefresh = requester.client.getsRefreshToken(left)
            let granted = hasRefresh ? left : left.filter { $0 != APIDirectory.offlineAccess }
            let grant = Grant(
                session: session,
                audience: api?.audience,
                scopes: granted,
                keyThumbprint: requester.keyThumbprint
            )
            let (tokens, records) = self.first(grant, hasRefresh: hasRefresh)
            if user.isOfProvider { try await self.ends?.note(evidence, of: session) }
            do throws(NotDone) {
                // All records are written before a token is handed out. After a failure, nobody knows what was written.
                for new in records { try await self.write(new) }
                // Checked after the write, because only a later block ends the tokens.
                try await self.records.blocks.admit(session.identity)
            } catch {
                record.sessionID = nil
                await self.endUnclaimed(tokens.session)
                throw error
            }
            return try await self.admitted(tokens, requester)
        }
    }

    /// Returns the facts for the rules about an access token to be issued.
    private static func facts(
        of identity: Identity,
        _ requester: TokenRequester,
        _ record: AuditRecord,
        for api: APISettings?,
        scopes: [String]
    ) -> RuleFacts {
        RuleFacts(
            request: RuleFacts.Request(record.device, requester.sender.certificate),
            authority: requester.sender.authority,
            provider: identity.realm.name,
            userID: identity.id,
            traits: identity.traits,
            clientID: requester.client.clientID,
            exchange: RuleFacts.Exchange(audience: api?.audience, scopes: scopes)
        )
    }

    /// Records that a request was refused before any lookup.
    ///
    /// - Parameter detail: The check that failed. `nil` if the reason already names the check.
    package func refuse(
        _ act: TokenAct,
        _ reason: Reason,
        detail: String? = nil,
        by requester: TokenRequester
    ) {
        var record = self.record(act, refusal: reason, requester)
        record.detail = detail
        self.journal.record(record)
    }

    private func session(
        of user: Authentication,
        in realm: Realm,
        scopes: [String],
        _ requester: TokenRequester
    ) -> Session {
        let now = self.clock.now()
        let settings = requester.client.refreshToken
        return Session(
            id: self.authority.newSessionID(),
            kind: .native,
            origin: .native,
            lineage: self.authority.newLineage(),
            identity: user.identity.inRealm(realm),
            clientID: requester.client.clientID,
            aal: user.aal,
            methods: user.methods,
            scopes: scopes,
            authenticatedAt: user.authenticatedAt ?? now,
            issuedAt: now,
            expiresAt: now.advanced(by: settings.lifetime ?? self.lifetimes.absolute),
            idleLifetime: settings.idleLifetime ?? self.lifetimes.idle,
            device: self.facts(requester),
            endsAlone: !requester.client.cascades
        )
    }

    private func write(_ record: NewRecord) async throws(NotDone) {
        switch record {
        case .session(let session):
            try await self.ask { store, loop in store.create(session, on: loop) }
        case .replaceable(let key, let family as RefreshFamily):
            let attempt = self.authority.newAttempt()
            let written = try await self.ask { store, loop in
                store.create(family, key: key, attempt: attempt, on: loop)
            }
            guard written == .done else { throw NotDone(.storeUnavailable) }
        default: throw NotDone(.storeUnavailable)
        }
    }

    /// Applies the limit of the user's sessions to tokens that were just written, and returns the tokens. A new family
    /// of refresh tokens is one session. The family ends if it is refused or the limit cannot be checked.
    func admitted(_ tokens: IssuedTokens, _ requester: TokenRequester) async throws(NotDone) -> IssuedTokens {
        guard let sessions = self.sessions, tokens.refresh != nil else { return tokens }
        let family = FoundSession(key: tokens.session.key, session: tokens.session.session)
        do throws(NotDone) {
            try await sessions.admit(family, for: requester.sender)
            return tokens
        } catch {
            await self.endUnclaimed(tokens.session)
            self.grants?.revoke(after: family.session)
            throw error
        }
    }

    /// Returns the first tokens of a grant and the records that the caller must write, all in the session's lineage.
    ///
    /// - Parameter hasRefresh: Whether the client gets a refresh token. If so, the session is stored until the family
    ///   ends. Otherwise, only the access token's record is stored.
    func first(_ grant: Grant, hasRefresh: Bool) -> (tokens: IssuedTokens, records: [NewRecord]) {
        let key = self.authority.newKey(of: .session, in: grant.session.lineage)
        let session = NewSession(key: key, session: grant.session)
        let access = self.access(
            of: session,
            for: grant.audience,
            scopes: grant.scopes,
            boundTo: grant.keyThumbprint
        )
        var tokens = IssuedTokens(
            access: access.token,
            lifetime: access.record.session.expiresAt.since(access.record.session.issuedAt),
            audience: grant.audience,
            scopes: grant.scopes,
            keyThumbprint: grant.keyThumbprint,
            session: session,
            root: key
        )
        guard hasRefresh else {
            var record = access.record
            record.session.sourceKey = nil
            tokens.root = record.key
            return (tokens, [.session(record)])
        }
        let token = RefreshToken(newFamilyIn: grant.session.lineage)
        let family = RefreshFamily(
            clientID: grant.session.clientID ?? "",
            session: session,
            audience: grant.audience,
            scopes: grant.scopes,
            keyThumbprint: grant.keyThumbprint,
            parent: grant.parent
        )
        tokens.refresh = self.refreshTokens.make(token)
        var records: [NewRecord] = [.session(session), .replaceable(token.key, family), .session(access.record)]
        // The lineage belongs to the native app or the browser, and continues after this family ends. The access token
        // ends with the session as a member of its `HandoffFamily`.
        if grant.session.endReach == .session {
            records.append(HandoffFamily.record(of: access.record.key, root: session))
        }
        return (tokens, records)
    }
}
