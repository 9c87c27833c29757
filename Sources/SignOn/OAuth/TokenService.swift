import AddressIntelligence
import NIOCore
package import Rules
package import Sessions
package import Settings
package import Vocabulary

/// Who asks for a token, as far as tokens and their records depend on it.
package struct TokenRequester: Sendable {
    /// The client, already authenticated.
    package var client: ClientSettings
    /// Who sends the request, with the user's address.
    package var sender: Requester
    /// The thumbprint of the key that the request proves; nil: none. What it gets is bound to that key (RFC 9449 5).
    package var keyThumbprint: String?
    /// The audience that the request names, whether or not it is served: a refusal is recorded with it. nil: none.
    package var audience: String?

    package init(client: ClientSettings, sender: Requester) {
        self.client = client
        self.sender = sender
    }

    /// Why a session, code or refresh token that is bound to this key is not accepted from the requester (RFC 9449 5); nil
    /// if it is, or if it is bound to none.
    package func objection(toKey bound: String?) -> Reason? {
        guard let bound, bound != self.keyThumbprint else { return nil }
        return self.keyThumbprint == nil ? .proofMissing : .proofOtherKey
    }
}

/// What a client gets.
package struct IssuedTokens: Sendable {
    /// nil if the request was for a session-transfer token, which is minted from `session`.
    package var access: Secret?
    /// How long the access token lives from now.
    package var lifetime: Duration
    package var refresh: Secret?
    package var audience: String?
    package var scopes: [String]
    package var keyThumbprint: String?
    /// The session that the tokens belong to, and its key.
    package var session: NewSession
    /// The key of the record whose end ends all of them.
    var root: RecordKey
    /// `nonce` of the authorization request, for the id_token.
    package var nonce: String?

    /// Whether an id_token belongs to the answer (OpenID Connect Core 3.1.2.1).
    package var hasIdentity: Bool { self.scopes.contains(APIDirectory.openID) }
}

/// Issues, refreshes, finds and ends the tokens of OAuth clients. Acts are recorded in the audit stream before they are
/// answered.
package struct TokenService: RecordCaller {
    let records: RecordAccess
    package let apis: APIDirectory
    let refreshTokens: RefreshTokenAuthority
    let lifetimes: SessionSettings.Lifetimes
    let devices: DeviceObserver
    let limiter: any RateLimiter
    /// Whose users get tokens.
    let users: RealmUsers
    let journal: AuditJournal
    /// Judged when a user signs in.
    let rules: RuleBook
    /// Counts what ends with a session; nil: that is not recorded.
    let cascade: SessionCascade?
    /// The providers' tokens that can be exchanged; nil: none.
    let foreign: ForeignGrants?
    /// Makes one account of several providers' users; nil: each is another one.
    let accounts: AccountLinks?
    /// Notes what a provider ends by its own id of a user; nil if no provider ends sessions here.
    let ends: ProviderSessions?

    /// - Parameters:
    ///   - lifetimes: Of the sessions of native apps.
    ///   - devices: Finds the network of a client's device.
    ///   - limiter: Counts the uses of each family of refresh tokens.
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
        ends: ProviderSessions? = nil
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
    }

    package var clock: Clock { self.records.clock }

    /// Whose users get tokens.
    package var realms: Realms { self.users.realms }

    /// A new access token of `session`, and its record.
    ///
    /// - Parameters:
    ///   - audience: The API's name; nil: none.
    ///   - thumbprint: The key to which it is bound; nil: none.
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
        // It ends by its age alone.
        record.idleLifetime = max(.milliseconds(1), record.expiresAt.since(now))
        // The provider's tokens are the session's, which outlives this token.
        record.provider?.grant = nil
        record.provider?.renewAt = nil
        record.provider?.tokensEndAt = nil
        record.bornOf = session.key
        return (token, NewSession(key: key, session: record))
    }

    /// Writes the record of an access token.
    ///
    /// - Returns: false when the session has ended meanwhile: the token is worthless then.
    func write(_ access: NewSession, of session: NewSession) async throws(NotDone) -> Bool {
        if let root = access.session.familyRoot(access.key) {
            try await self.ask { store, loop in
                HandoffFamily.add(access.key, root: root, parent: session.session, former: nil, to: store, on: loop)
            }
        }
        try await self.ask { store, loop in store.create(access, on: loop) }
        // An end of the user's sessions before the write does not concern the new record. The session of a foreign token
        // ends with its lineage, in which nothing is written any more then.
        let witness = session.key.kind == .session ? session.key : access.key
        if try await self.session(witness) != nil { return true }
        await self.discard(access)
        return false
    }

    /// Ends an access token that is not handed out. If this fails, nobody knows it, and it expires.
    func discard(_ access: NewSession) async {
        _ = try? await self.ask { store, loop in store.end(access.key, on: loop) }
    }

    // MARK: Records

    func facts(_ requester: TokenRequester) -> DeviceFacts {
        self.devices.facts(address: requester.sender.address, userAgent: requester.sender.userAgent)
    }

    /// The record of what the requester does, or of why it may not.
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

    /// Issues tokens, and records it or why they are refused. Tokens whose issue cannot be recorded are not handed out.
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
