internal import NIOCore
package import Sessions
package import Settings
package import Vocabulary

/// What a user has granted to a client.
package struct Grant: Sendable {
    /// The user, and how the user signed in.
    package var session: Session
    /// The API's name; nil: no API.
    package var audience: String?
    package var scopes: [String]
    /// The thumbprint of the key that the tokens are bound to (RFC 9449 5); nil: none.
    package var keyThumbprint: String?

    package init(session: Session, audience: String?, scopes: [String], keyThumbprint: String? = nil) {
        self.session = session
        self.audience = audience
        self.scopes = scopes
        self.keyThumbprint = keyThumbprint
    }
}

extension ClientSettings {
    /// Whether the client gets a refresh token with these scopes.
    func getsRefreshToken(_ scopes: [String]) -> Bool {
        self.grantTypes.contains(.refreshToken)
            && (self.refreshToken.issuing == .always || scopes.contains(APIDirectory.offlineAccess))
    }
}

/// A user who has just authenticated.
package struct AuthenticatedUser: Sendable {
    package var identity: Identity
    package var aal: AssuranceLevel
    package var methods: [String]
    /// 1970 if the provider does not say.
    package var authenticatedAt: UnixTime

    package init(identity: Identity, aal: AssuranceLevel, methods: [String], authenticatedAt: UnixTime) {
        self.identity = identity
        self.aal = aal
        self.methods = methods
        self.authenticatedAt = authenticatedAt
    }
}

extension TokenService {
    /// Gives an access token for a native app's session token. It ends with the session.
    ///
    /// Refusals: `credential.malformed`, `credential.other_key`, `session.unknown` (ended, a browser's, or an access
    /// token, which gives no other), `session.other_client`.
    package func exchange(
        _ token: Secret,
        for api: APISettings?,
        scopes: [String],
        by requester: TokenRequester
    ) async -> TokenOutcome {
        var record = TokenRecord(.exchanged, requester, self.devices)
        record.audience = api?.audience
        let outcome: TokenOutcome
        do {
            outcome = try await self.exchange(token, api, scopes, requester, &record)
        } catch {
            outcome = Self.unavailable(error)
        }
        return self.journal.take(outcome, record)
    }

    private func exchange(
        _ token: Secret,
        _ api: APISettings?,
        _ scopes: [String],
        _ requester: TokenRequester,
        _ record: inout TokenRecord
    ) async throws(StoreError) -> TokenOutcome {
        let key: RecordKey
        switch self.authority.readSession(token.bytes) {
        case .record(let named): key = named
        case .otherKey: return .refused(.credentialOtherKey)
        case .malformed: return .refused(.credentialMalformed)
        }
        guard let session = try await self.session(key), session.session.kind == .native, session.session.access == nil
        else { return .refused(.sessionUnknown) }
        record.note(session.session, audience: api?.audience)
        guard session.session.clientID == nil || session.session.clientID == requester.client.clientID else {
            return .refused(.sessionOtherClient)
        }
        var owner = session
        owner.session.clientID = requester.client.clientID
        let access = self.access(of: owner, AccessTerms(audience: api?.audience), scopes: scopes)
        guard try await self.write(access.record, of: session) else { return .refused(.sessionUnknown) }
        return .issued(
            IssuedTokens(
                access: access.token,
                lifetime: access.record.session.expiresAt.since(access.record.session.issuedAt),
                audience: api?.audience,
                scopes: scopes,
                session: owner,
                root: key
            )
        )
    }

    /// Gives the first tokens to a client whose user has just authenticated, in a lineage of its own.
    ///
    /// - Parameters:
    ///   - user: The user, and how the user authenticated.
    ///   - scopes: With `offline_access` if a refresh token is wanted.
    package func begin(
        _ user: AuthenticatedUser,
        for api: APISettings?,
        scopes: [String],
        by requester: TokenRequester
    ) async -> TokenOutcome {
        var record = TokenRecord(.socialExchanged, requester, self.devices)
        let session = self.session(of: user, scopes: scopes, requester)
        record.note(session, audience: api?.audience)
        let hasRefresh = requester.client.getsRefreshToken(scopes)
        let granted = hasRefresh ? scopes : scopes.filter { $0 != APIDirectory.offlineAccess }
        let grant = Grant(session: session, audience: api?.audience, scopes: granted)
        let (tokens, records) = self.first(grant, hasRefresh: hasRefresh)
        let outcome: TokenOutcome
        do {
            // Nothing is handed out before all of them are written; what a failure leaves is known to nobody.
            for new in records { try await self.write(new) }
            outcome = .issued(tokens)
        } catch {
            outcome = Self.unavailable(error)
        }
        return self.journal.take(outcome, record)
    }

    /// Records that an artefact of a social provider was refused.
    package func refuseSocial(_ reason: Reason, detail: String, by requester: TokenRequester) {
        var record = TokenRecord(.socialExchanged, requester, self.devices)
        record.reason = reason
        record.detail = detail
        self.journal.record(record)
    }

    private func session(of user: AuthenticatedUser, scopes: [String], _ requester: TokenRequester) -> Session {
        let now = self.clock.now()
        let settings = requester.client.refreshToken
        return Session(
            id: self.authority.newSessionID(),
            kind: .native,
            origin: .native,
            lineage: self.authority.newLineage(),
            identity: user.identity,
            clientID: requester.client.clientID,
            aal: user.aal,
            methods: user.methods,
            scopes: scopes,
            authenticatedAt: user.authenticatedAt,
            issuedAt: now,
            expiresAt: now.advanced(by: settings.lifetime ?? self.lifetimes.absolute),
            idleLifetime: settings.idleLifetime ?? self.lifetimes.idle,
            device: self.devices.facts(address: requester.address, userAgent: requester.userAgent)
        )
    }

    private func write(_ record: NewRecord) async throws(StoreError) {
        switch record {
        case .session(let session):
            try await self.ask { store, loop in store.create(session, on: loop) }
        case .replaceable(let key, let family as RefreshFamily):
            let attempt = self.authority.newAttempt()
            let written = try await self.ask { store, loop in
                store.create(family, key: key, attempt: attempt, on: loop)
            }
            guard written == .done else { throw .unavailable }
        default: throw .unavailable
        }
    }

    /// The first tokens of a grant, and the records that have to be written, all in the session's lineage.
    ///
    /// - Parameter hasRefresh: Whether a refresh token belongs to it. Its session is kept until the family ends;
    ///   otherwise the access token's record is all.
    func first(_ grant: Grant, hasRefresh: Bool) -> (tokens: IssuedTokens, records: [NewRecord]) {
        let key = self.authority.newKey(of: .session, in: grant.session.lineage)
        let session = NewSession(key: key, session: grant.session)
        let terms = AccessTerms(audience: grant.audience, keyThumbprint: grant.keyThumbprint)
        let access = self.access(of: session, terms, scopes: grant.scopes)
        var tokens = IssuedTokens(
            access: access.token,
            lifetime: access.record.session.expiresAt.since(access.record.session.issuedAt),
            audience: terms.audience,
            scopes: grant.scopes,
            keyThumbprint: terms.keyThumbprint,
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
            audience: terms.audience,
            scopes: grant.scopes,
            keyThumbprint: terms.keyThumbprint
        )
        tokens.refresh = self.refreshTokens.make(token)
        var records: [NewRecord] = [.session(session), .replaceable(token.key, family), .session(access.record)]
        // The lineage is the native app's, which goes on when this family ends.
        if grant.session.origin == .transfer {
            records.append(HandoffFamily.record(of: access.record.key, root: session))
        }
        return (tokens, records)
    }
}
