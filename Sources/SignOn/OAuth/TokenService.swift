import AddressIntelligence
import NIOCore
package import Rules
package import Sessions
package import Settings
package import Vocabulary

/// The client that requests tokens, and the facts about its request.
package struct TokenRequester: Sendable {
    /// The client, already authenticated.
    package var client: ClientSettings
    /// The sender of the request, with the user's address.
    package var sender: Requester
    /// The thumbprint of the key that the request proves, for binding new tokens (RFC 9449 5). `nil` without a proof.
    package var keyThumbprint: String?
    /// The audience that the request names, recorded also with refusals. `nil` if the request names none.
    package var audience: String?

    package init(client: ClientSettings, sender: Requester) {
        self.client = client
        self.sender = sender
    }

    /// Returns the reason why the requester may not use a session, code or refresh token that is bound to the key
    /// `bound` (RFC 9449 5). `nil` if the requester may use it, or if `bound` is `nil`.
    package func objection(toKey bound: String?) -> Reason? {
        guard let bound, bound != self.keyThumbprint else { return nil }
        return self.keyThumbprint == nil ? .proofMissing : .proofOtherKey
    }
}

/// The tokens that a client gets.
package struct IssuedTokens: Sendable {
    /// The access token. `nil` if the caller mints a session-transfer token from `session` instead.
    package var access: Secret?
    /// The remaining lifetime of the access token.
    package var lifetime: Duration
    package var refresh: Secret?
    package var audience: String?
    package var scopes: [String]
    package var keyThumbprint: String?
    /// The session of the tokens, and its key.
    package var session: NewSession
    /// The key of the record whose end ends all of the tokens.
    var root: RecordKey
    /// `nonce` of the authorization request, for the id_token.
    package var nonce: String?

    /// Whether the answer includes an id_token (OpenID Connect Core 3.1.2.1).
    package var hasIdentity: Bool { self.scopes.contains(APIDirectory.openID) }
}

/// Issues, refreshes, finds and ends the tokens of OAuth clients. Issued, refused and revoked tokens are audited before
/// the request is answered.
package struct TokenService: RecordCaller {
    let records: RecordAccess
    package let apis: APIDirectory
    let refreshTokens: RefreshTokenAuthority
    let lifetimes: SessionSettings.Lifetimes
    let devices: DeviceObserver
    let limiter: any RateLimiter
    /// The users who get tokens.
    let users: RealmUsers
    let journal: AuditJournal
    /// The operator's rules for sign-ins and for exchanges of tokens.
    let rules: RuleBook
    /// Counts the sessions that end with a session. `nil` to record no count.
    let cascade: SessionCascade?
    /// The providers' tokens that can be exchanged. `nil` if there are no such tokens.
    let foreign: ForeignGrants?
    /// Links the accounts of several providers into one. `nil` if accounts are never linked.
    let accounts: AccountLinks?
    /// Notes and finds the sessions of a provider's user. `nil` if no provider ends the gateway's sessions.
    let ends: ProviderSessions?
    /// Asks providers whether users still have access. `nil` to ask none.
    let grants: ProviderGrants?
    /// Limits the sessions of a user. `nil` if they are not limited.
    let sessions: SessionService?

    /// - Parameters:
    ///   - lifetimes: The lifetimes of native apps' sessions.
    ///   - devices: Finds the network of a device.
    ///   - limiter: The limiter for the uses of each family of refresh tokens.
    package init(
        records: RecordAccess,
        refreshTokens: RefreshTokenAuthority,
        apis: APIDirectory,
        lifetimes: SessionSettings.Lifetimes,
        devices: DeviceObserver,
        limiter: any RateLimiter,
        users: RealmUsers = RealmUsers(.default),
        journal: AuditJournal,
        rules: RuleBook = RuleBook(),
        cascade: SessionCascade? = nil,
        foreign: ForeignGrants? = nil,
        accounts: AccountLinks? = nil,
        ends: ProviderSessions? = nil,
        grants: ProviderGrants? = nil,
        sessions: SessionService? = nil
    ) {
        self.records = records
        self.refreshTokens = refreshTokens
        self.apis = apis
        self.lifetimes = lifetimes
        self.devices = devices
        self.limiter = limiter
        self.users = users
        self.journal = journal
        self.rules = rules
        self.cascade = cascade
        self.foreign = foreign
        self.accounts = accounts
        self.ends = ends
        self.grants = grants
        self.sessions = sessions
    }

    package var clock: Clock { self.records.clock }

    /// The realms whose users get tokens.
    package var realms: Realms { self.users.realms }

    /// Returns a new access token of `session`, and its record.
    ///
    /// - Parameters:
    ///   - audience: The audience of the API. `nil` if the token is for no API.
    ///   - thumbprint: The thumbprint of the key to which the token is bound. `nil` if it is bound to no key.
    func access(
        of session: NewSession,
        for audience: String?,
        scopes: [String],
        boundTo thumbprint: String?
    ) -> (token: Secret, record: NewSession) {
        let now = self.clock.now()
        let parent = session.session
        let (token, key) = self.authority.make(.access, in: parent.lineage)
        var record = parent
        record.access = AccessTerms(audience: audience)
        record.keyThumbprint = thumbprint
        record.scopes = scopes
        record.issuedAt = now
        record.expiresAt = min(now.advanced(by: self.apis.lifetime(audience)), parent.expiresAt)
        // An access token has no separate idle timeout.
        record.idleLifetime = max(.milliseconds(1), record.expiresAt.since(now))
        // The provider's tokens stay with the session. A shared grant is kept here, too, so that a use of this token
        // can ask the provider about the user.
        if parent.sharedGrant == nil { record.provider?.grant = nil }
        record.provider?.renewAt = nil
        record.provider?.tokensEndAt = nil
        record.sourceKey = session.key
        return (token, NewSession(key: key, session: record))
    }

    /// Writes the record of an access token.
    ///
    /// - Returns: False if the session has ended meanwhile, so that the token has no value.
    func write(_ access: NewSession, of session: NewSession) async throws(NotDone) -> Bool {
        if let root = access.session.familyRoot(access.key) {
            try await self.ask { store, loop in
                HandoffFamily.add(access.key, root: root, parent: session.session, former: nil, to: store, on: loop)
            }
        }
        try await self.ask { store, loop in store.create(access, on: loop) }
        // If the session ended before the write, the new record did not end with it. The session is therefore looked
        // up. A foreign token's session ends with its lineage. The new record is in this lineage, so it is looked up
        // instead.
        let witness = session.key.kind == .session ? session.key : access.key
        if try await self.session(witness) != nil { return true }
        await self.discard(access)
        return false
    }

    /// Ends an access token that is not handed out. If ending fails, nobody knows the token, and it expires.
    func discard(_ access: NewSession) async {
        _ = try? await self.ask { store, loop in store.end(access.key, on: loop) }
    }

    // MARK: Records

    func facts(_ requester: TokenRequester) -> DeviceFacts {
        self.devices.facts(address: requester.sender.address, userAgent: requester.sender.userAgent)
    }

    /// Returns the record of the requester's act, or of its refusal.
    func record(_ act: TokenAct, refusal: Reason? = nil, _ requester: TokenRequester) -> AuditRecord {
        var record = AuditRecord(
            act: .token(act, refusal: refusal),
            requestID: requester.sender.requestID,
            device: self.facts(requester),
            clientID: requester.client.clientID
        )
        record.wantedAudience = requester.audience
        return record
    }

    /// Issues tokens, and records the issue or the refusal. Without a record of the issue, no tokens are handed out.
    func recording(
        _ record: AuditRecord,
        _ issue: (inout AuditRecord) async throws(NotDone) -> IssuedTokens
    ) async throws(NotDone) -> IssuedTokens {
        var record = record
        let tokens: IssuedTokens
        do throws(NotDone) {
            tokens = try await issue(&record)
        } catch {
            guard !error.isUnavailable else { throw error }
            record.refuse(error.reason)
            self.journal.record(record)
            throw error
        }
        record.scopes = tokens.scopes
        record.fingerprint = tokens.root.fingerprint
        guard self.journal.record(record) else { throw NotDone(.gatewayOverloaded) }
        return tokens
    }
}
