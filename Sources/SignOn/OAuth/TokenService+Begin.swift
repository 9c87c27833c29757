import NIOCore
package import Providers
import Rules
import Sessions
package import Settings
package import Vocabulary

/// What a user has granted to a client.
struct Grant: Sendable {
    /// The user, and how the user signed in.
    var session: Session
    /// The API's name; nil: no API.
    var audience: String?
    var scopes: [String]
    /// The thumbprint of the key that the tokens are bound to (RFC 9449 5); nil: none.
    var keyThumbprint: String?
    /// The browser's session with which the refresh tokens end; nil: they outlive it.
    var parent: RecordKey?
}

extension ClientSettings {
    /// Whether the client gets a refresh token with these scopes.
    func getsRefreshToken(_ scopes: [String]) -> Bool {
        self.grantTypes.contains(.refreshToken)
            && (self.refreshToken.issuing == .always || scopes.contains(APIDirectory.offlineAccess))
    }
}

extension TokenService {
    /// Gives an access token for a native app's session token, or for a provider's token that the gateway accepts. It ends
    /// with the session.
    ///
    /// Refusals: `credential.malformed`, `credential.other_key`, `session.unknown` (ended, a browser's, or an access
    /// token, which gives no other), `session.other_client`, `proof.missing` and `proof.other_key` (a provider's token that
    /// is bound to a key), `rule.denied`, and those of providers.
    ///
    /// - Parameter forTransfer: Whether the client gets no access token, but a session-transfer token that is minted from it.
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

    /// Whether a provider may have made the token. Then `exchange` gives an access token, which ends with the provider's
    /// session; nothing that a token of this gateway can come from is kept of it otherwise.
    package func isForeign(_ token: Secret) -> Bool {
        self.authority.readSession(token.bytes) == .malformed
            && self.foreign?.tokens.candidates(for: token).isEmpty == false
    }

    /// Whether a provider may have made the refresh token, and is asked about it by `exchange(refreshToken:)`.
    package func isForeign(refreshToken token: Secret) -> Bool {
        self.refreshTokens.read(token.bytes) == .malformed
            && self.foreign?.refreshTokens.candidates(for: token).isEmpty == false
    }

    /// Gives an access token for a provider's refresh token, so that a session-transfer token can be minted. The refresh
    /// token stays as it is: the provider is asked about it, and does not see it used.
    ///
    /// The access token has the scopes that are about the user, `openid` always: the token is of an OpenID provider, and
    /// SDKs demand an id_token.
    ///
    /// Refusals: those of `exchange` for a provider's token.
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
        return try await self.issue(session, for: api, scopes: scopes, to: requester, &record)
    }

    /// The first provider that knows the token, and what it says; the last one if none does.
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

    /// Exchanges a token that a provider made. A proof binds that token to its key as well: whoever steals it cannot
    /// exchange it, nor use it without the key.
    ///
    /// - Parameter scopes: nil: `openid`, and those of the token that are about the user.
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
        let session: Session
        switch answer {
        case .none(let reason): throw NotDone(reason)
        case .insufficient: throw NotDone(.requireAAL)
        case .live(let found):
            session = found.session
            record.note(NewSession(key: key, session: session), audience: api?.audience)
            // What comes of the token can sign its user in, which the provider's `allow` forbids.
            guard found.verdict.isAdmitted else { throw NotDone(.signInNotAllowed) }
        }
        // What came of it would be bound to no certificate.
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
        let granted =
            scopes ?? APIDirectory.granted([APIDirectory.openID] + session.scopes, of: nil, hasRefresh: false)
        return try await self.issue(
            NewSession(key: key, session: session),
            for: api,
            scopes: granted,
            to: requester,
            &record
        )
    }

    /// An access token of a session for the requester, if the rules allow it, with the scopes that they leave.
    private func issue(
        _ session: NewSession,
        for api: APISettings?,
        scopes: [String],
        to requester: TokenRequester,
        _ record: inout AuditRecord
    ) async throws(NotDone) -> IssuedTokens {
        // What it got would end at once: the client is not there for these users.
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

    /// Gives the first tokens to a client whose user a kit has just signed in, in a lineage of its own. They end with the user's
    /// sessions, and when the user's provider ends these.
    ///
    /// - Parameters:
    ///   - scopes: With `offline_access` if a refresh token is wanted.
    package func begin(
        _ user: SocialUser,
        for api: APISettings?,
        scopes: [String],
        by requester: TokenRequester
    ) async throws(NotDone) -> IssuedTokens {
        try await self.recording(self.record(.socialExchanged, requester)) { record throws(NotDone) in
            let (authentication, evidence, realm) = (user.proven.authentication, user.proven.evidence, user.realm)
            // No provider vouches for a user whom a kit without one names.
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
            // Nothing is handed out before all of them are written; what a failure leaves is known to nobody.
            for new in records { try await self.write(new) }
            return tokens
        }
    }

    /// What rules may know of an access token that would be issued.
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

    /// Records that a request was refused before anything was looked up for it.
    ///
    /// - Parameter detail: The check that failed; nil: the reason says it.
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

    /// The first tokens of a grant, and the records that have to be written, all in the session's lineage.
    ///
    /// - Parameter hasRefresh: Whether a refresh token belongs to it. Its session is kept until the family ends;
    ///   otherwise the access token's record is all.
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
            record.session.bornOf = nil
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
        // The lineage is the native app's or the browser's, which goes on when this family ends.
        if grant.session.endReach == .session {
            records.append(HandoffFamily.record(of: access.record.key, root: session))
        }
        return (tokens, records)
    }
}
