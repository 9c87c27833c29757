package import AddressIntelligence
import NIOCore
package import Rules
package import Sessions
package import Settings
package import Vocabulary

/// The native session from which a session-transfer token is minted.
package enum MintParent: Sendable {
    /// A session token or an access token, as presented.
    case token([UInt8])
    /// The session of a refresh token that the caller has already checked.
    case session(RecordKey)
}

/// A session-transfer token and its remaining lifetime.
package struct MintedToken: Sendable {
    package let token: Secret
    package let lifetime: Duration
}

/// Mints session-transfer tokens (`spt_`) in the lineage of a native session, bound to the requesting device.
package struct HandoffMint: RecordCaller {
    let records: RecordAccess
    private let tries: TryCounter
    private let lifetime: Duration
    private let observer: DeviceObserver
    private let users: RealmUsers
    /// Asks providers whether users still have access. `nil` to ask none.
    private let grants: ProviderGrants?
    private let rules: RuleBook
    private let journal: AuditJournal

    /// - Parameters:
    ///   - users: The users from whose sessions tokens may be minted.
    ///   - grants: Asks providers whether users still have access. `nil` to ask none.
    package init(
        records: RecordAccess,
        limiter: any RateLimiter,
        settings: HandoffSettings,
        asn: ASNDirectory?,
        users: RealmUsers = RealmUsers(.default),
        grants: ProviderGrants? = nil,
        rules: RuleBook = RuleBook(),
        journal: AuditJournal
    ) {
        self.records = records
        self.tries = TryCounter(store: limiter, loops: records.loops)
        self.lifetime = settings.lifetime
        self.observer = DeviceObserver(directory: asn)
        self.users = users
        self.grants = grants
        self.rules = rules
        self.journal = journal
    }

    /// Mints a token. Fails if the audit stream cannot record the event.
    ///
    /// The client's permission and the token's syntax are checked before the store is asked. Refusals:
    /// `handoff.not_permitted`, `credential.malformed`, `credential.other_key`, `session.unknown` (ended, expired,
    /// never existed, or a browser's), `session.other_client`, `handoff.nested`, `proof.missing` and `proof.other_key`
    /// (the parent is bound to a key), `rule.denied`, `handoff.throttled` (`MintLimits`), and the refusals of
    /// `ProviderGrants.demand`.
    ///
    /// A delegated token also needs the actor's token. The checks of the session and of its key apply to both sessions.
    /// A public client gets no delegated token. Otherwise, a thief of a user's token could choose any actor.
    ///
    /// - Parameters:
    ///   - actorToken: The token of the actor who is to act for the user. `nil` if nobody acts for the user.
    ///   - host: The only host (`host[:port]`) on which the token is valid. `nil` if the token is valid on every host.
    ///   - requester: The client. The caller has checked that its audience names this gateway.
    package func mint(
        _ parent: MintParent,
        actor actorToken: [UInt8]? = nil,
        host: String?,
        for requester: TokenRequester
    ) async throws(NotDone) -> MintedToken {
        var record = AuditRecord(
            act: .handoff(.minted),
            requestID: requester.sender.requestID,
            device: self.device(of: requester),
            clientID: requester.client.clientID
        )
        record.audience = requester.audience
        record.validHost = host
        let minted: MintedToken
        do throws(NotDone) {
            minted = try await self.mint(parent, actorToken, requester, &record)
        } catch {
            record.act = .handoff(error.isUnavailable ? .mintUnavailable : .mintRefused(error.reason))
            self.journal.record(record)
            throw error
        }
        guard self.journal.record(record) else { throw NotDone(.storeFull) }
        return minted
    }

    private func mint(
        _ named: MintParent,
        _ actorToken: [UInt8]?,
        _ requester: TokenRequester,
        _ record: inout AuditRecord
    ) async throws(NotDone) -> MintedToken {
        guard requester.client.canCreateTransferToken, actorToken == nil || !requester.client.isPublic else {
            throw NotDone(.handoffNotPermitted)
        }
        let key =
            switch named {
            case .session(let key): key
            case .token(let token): try self.key(of: token)
            }
        let actorKey = try actorToken.map { (token) throws(NotDone) in try self.key(of: token) }
        var actor: Session?
        if let actorKey {
            let session = try await self.session(actorKey).record
            try self.check(session, for: requester)
            actor = session
        }
        var stored = try await self.session(key)
        record.note(mintedFrom: stored.record)
        try self.check(stored.record, for: requester)
        if try await self.grants?.demand(stored.record, key, for: requester.client) == true {
            stored = try await self.session(key)
        }
        var parent = stored.record
        if let actor {
            parent.actor = actor.identity.id
            parent.expiresAt = min(parent.expiresAt, actor.expiresAt)
        }
        record.actor = parent.actor
        let rules = await self.judgement(of: parent, for: requester)
        if let objection = rules.objection {
            record.rules = rules.findings
            throw NotDone(objection.reason, text: objection.text)
        }
        let (token, tokenKey, transfer) = self.token(from: parent, key, requester, record)
        let isUseDue = stored.isUseDue(at: transfer.issuedAt)
        // The rate limit is checked last, so that refused requests do not use it up. The token is written in parallel,
        // but not handed out beyond the limit. If the store fails, the try is not counted.
        try await self.tries.count([MintLimits.session(parent)], or: .handoffThrottled) { [store] loop in
            let written = store.create(transfer, key: tokenKey, on: loop)
            // Minting is a use of the native session. If `touch` fails, the session only idles out earlier.
            if isUseDue { _ = store.touch(key, on: loop) }
            return written
        }
        record.rules = rules.findings
        record.fingerprint = key.fingerprint
        record.tokenFingerprint = tokenKey.fingerprint
        return MintedToken(token: token, lifetime: transfer.expiresAt.since(transfer.issuedAt))
    }

    /// Returns the key of the session to which a session token or access token belongs.
    private func key(of token: [UInt8]) throws(NotDone) -> RecordKey {
        switch self.authority.readSession(token) {
        case .record(let named): return named
        case .otherKey: throw NotDone(.credentialOtherKey)
        case .malformed: throw NotDone(.credentialMalformed)
        }
    }

    /// Returns the live session under `key`.
    private func session(_ key: RecordKey) async throws(NotDone) -> Stored<Session> {
        let stored = try await self.ask { [users] store, loop in store.session(key, in: users, on: loop) }
        guard let stored else { throw NotDone(.sessionUnknown) }
        return stored
    }

    private func check(_ session: Session, for requester: TokenRequester) throws(NotDone) {
        let objection = Self.objection(to: session, client: requester.client, now: self.clock.now())
        if let reason = objection ?? requester.objection(toKey: session.keyThumbprint) { throw NotDone(reason) }
    }

    /// Returns why no token may be minted from this session for this client. `nil` if a token may be minted.
    package static func objection(to parent: Session, client: ClientSettings, now: UnixTime) -> Reason? {
        // A handoff session must not yield further handoffs. An online session has no lineage of its own, so the token
        // would not end with it. A browser's session is refused, because a stolen cookie must not open other hosts.
        if parent.origin == .transfer || parent.isOnline { return .handoffNested }
        if parent.kind != .native || now >= parent.expiresAt { return .sessionUnknown }
        if let owner = parent.clientID, owner != client.clientID { return .sessionOtherClient }
        return nil
    }

    /// Asks the operator's rules whether the requester may mint a token from this session.
    package func judgement(of parent: Session, for requester: TokenRequester) async -> RuleJudgement {
        await self.rules.judge(
            .mint,
            RuleFacts(
                request: RuleFacts.Request(self.device(of: requester), requester.sender.certificate),
                authority: requester.sender.authority,
                provider: parent.identity.realm.name,
                userID: parent.identity.id,
                traits: parent.identity.traits,
                actor: parent.actor,
                clientID: requester.client.clientID
            )
        )
    }

    private func device(of requester: TokenRequester) -> DeviceFacts {
        self.observer.facts(address: requester.sender.address, userAgent: requester.sender.userAgent)
    }

    private func token(
        from parent: Session,
        _ parentKey: RecordKey,
        _ requester: TokenRequester,
        _ record: AuditRecord
    ) -> (token: Secret, key: RecordKey, record: TransferToken) {
        let now = self.clock.now()
        let (token, key) = self.authority.make(.transfer, in: parent.lineage)
        let transfer = TransferToken(
            parent: parent,
            parentKey: parentKey,
            clientID: requester.client.clientID,
            host: record.validHost,
            device: record.device,
            scopes: parent.scopes,
            issuedAt: now,
            expiresAt: min(now.advanced(by: self.lifetime), parent.expiresAt)
        )
        return (token, key, transfer)
    }
}
