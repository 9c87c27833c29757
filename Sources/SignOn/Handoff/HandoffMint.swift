package import AddressIntelligence
package import NIOCore
package import Rules
package import Sessions
package import Settings
package import Vocabulary

/// A client's request for a session-transfer token.
package struct MintRequest: Sendable {
    /// What names the native session.
    package enum Parent: Sendable {
        /// A session token or an access token, as it was presented.
        case token([UInt8])
        /// The session of a refresh token that was judged.
        case session(RecordKey)
    }

    package var parent: Parent
    /// The token of whoever is to act for the user; nil: nobody.
    package var actorToken: [UInt8]?
    /// The client, already authenticated.
    package var client: ClientSettings
    /// The audience as the client sent it, already known to name this gateway.
    package var audience: String
    /// The public authority of the one host that the audience names; nil if the token is valid on every host.
    package var host: String?
    package var address: IPAddress
    package var userAgent: String?
    package var requestID: String
    /// The public authority (`host[:port]`) of the request.
    package var authority: String
    /// The thumbprint of the key that the request proves; nil: none.
    package var keyThumbprint: String?

    package init(
        parent: Parent,
        actorToken: [UInt8]? = nil,
        client: ClientSettings,
        audience: String,
        host: String? = nil,
        address: IPAddress,
        userAgent: String?,
        requestID: String,
        authority: String,
        keyThumbprint: String? = nil
    ) {
        self.parent = parent
        self.actorToken = actorToken
        self.client = client
        self.audience = audience
        self.host = host
        self.address = address
        self.userAgent = userAgent
        self.requestID = requestID
        self.authority = authority
        self.keyThumbprint = keyThumbprint
    }
}

/// The result of a request for a session-transfer token.
package enum MintOutcome: Sendable {
    /// The token, and how long it can be used from now.
    case minted(token: Secret, lifetime: Duration)
    case refused(Reason)
    /// A rule refused it (`rule.denied`), with what the user reads; nil: the gateway's own words.
    case denied(text: String?)
    /// Too many were requested (`handoff.throttled`); the next is allowed after `retryAfter`.
    case throttled(retryAfter: Duration)
    /// The store cannot keep it: 503, nothing was handed out.
    case unavailable(StoreError)
}

/// Mints session-transfer tokens: `spt_` tokens in the lineage of a live native session, bound to the device that asks.
package struct HandoffMint: Sendable {
    private let store: any SessionStore & SingleUseStore
    private let authority: TokenAuthority
    private let limiter: any RateLimiter
    private let lifetime: Duration
    private let observer: DeviceObserver
    private let users: RealmUsers
    private let rules: RuleBook
    private let journal: AuditJournal
    private let clock: Clock

    /// - Parameter users: From whose sessions tokens are minted.
    package init(
        store: any SessionStore & SingleUseStore,
        authority: TokenAuthority,
        limiter: any RateLimiter,
        settings: HandoffSettings,
        asn: ASNDirectory?,
        users: RealmUsers = RealmUsers(.default),
        rules: RuleBook = RuleBook(),
        journal: AuditJournal,
        clock: Clock
    ) {
        self.store = store
        self.authority = authority
        self.limiter = limiter
        self.lifetime = settings.lifetime
        self.observer = DeviceObserver(directory: asn)
        self.users = users
        self.rules = rules
        self.journal = journal
        self.clock = clock
    }

    /// Mints a token, or returns why not. The future never fails.
    ///
    /// The client's permission and the token's syntax are judged before the store is asked. Refusals:
    /// `handoff.not_permitted`, `credential.malformed`, `credential.other_key`, `session.unknown` (ended, expired,
    /// never existed, or a browser's), `session.other_client`, `handoff.nested`, `proof.missing` and `proof.other_key`
    /// (the parent is bound to a key), and `handoff.throttled` (`MintLimits`). A token is not handed out when the audit
    /// stream has no room for its event.
    ///
    /// A delegated token takes two: the user's, and the actor's, both of this client and judged alike. A client that proves
    /// itself by nothing gets none: whoever stole a user's token could else give themselves any name.
    package func mint(_ request: MintRequest, on loop: any EventLoop) -> EventLoopFuture<MintOutcome> {
        let device = self.observer.facts(address: request.address, userAgent: request.userAgent)
        guard request.client.canCreateTransferToken, request.actorToken == nil || !request.client.isPublic else {
            return loop.makeSucceededFuture(self.refuse(.handoffNotPermitted, request, device, parent: nil))
        }
        let key: RecordKey
        let actorKey: RecordKey?
        do throws(Reason) {
            key =
                switch request.parent {
                case .session(let named): named
                case .token(let token): try self.key(of: token)
                }
            actorKey = try request.actorToken.map { (token) throws(Reason) in try self.key(of: token) }
        } catch {
            return loop.makeSucceededFuture(self.refuse(error, request, device, parent: nil))
        }
        return self.actor(actorKey, of: request, on: loop).flatMap { actor in
            switch actor {
            case .success(let actor): self.judge(request, key: key, actor: actor, device: device, on: loop)
            case .failure(let reason):
                loop.makeSucceededFuture(self.refuse(reason, request, device, parent: nil))
            }
        }.flatMapErrorThrowing { error in
            self.journal.record(self.record(.mintUnavailable, request, device, parent: nil))
            return .unavailable(error as? StoreError ?? .unavailable)
        }
    }

    /// The key of the session that a token names.
    private func key(of token: [UInt8]) throws(Reason) -> RecordKey {
        switch self.authority.readSession(token) {
        case .record(let named): return named
        case .otherKey: throw .credentialOtherKey
        case .malformed: throw .credentialMalformed
        }
    }

    /// The live session of the actor, or why it does not count; nil if there is no actor.
    private func actor(
        _ key: RecordKey?,
        of request: MintRequest,
        on loop: any EventLoop
    ) -> EventLoopFuture<Result<Session?, Reason>> {
        guard let key else { return loop.makeSucceededFuture(.success(nil)) }
        return self.store.session(key, in: self.users, on: loop).map { stored in
            guard let actor = stored?.record else { return .failure(.sessionUnknown) }
            if let reason = self.objection(to: actor, request) { return .failure(reason) }
            return .success(actor)
        }
    }

    private func objection(to session: Session, _ request: MintRequest) -> Reason? {
        Self.objection(to: session, client: request.client, now: self.clock.now())
            ?? Reason.objection(toKey: session.keyThumbprint, provenBy: request.keyThumbprint)
    }

    /// Why no token may be minted from this session for this client; nil when one may.
    package static func objection(to parent: Session, client: ClientSettings, now: UnixTime) -> Reason? {
        // A stolen browser cookie must not yield tokens for other hosts, and a session that came from a handoff must
        // not make further ones. What comes from a session must end with it, and an online one has no lineage of its own.
        if parent.origin == .transfer || parent.isOnline { return .handoffNested }
        if parent.kind != .native || now >= parent.expiresAt { return .sessionUnknown }
        if let owner = parent.clientID, owner != client.clientID { return .sessionOtherClient }
        return nil
    }

    /// Reads the session and judges it. Only a request that may be granted is counted against the session's limit.
    private func judge(
        _ request: MintRequest,
        key: RecordKey,
        actor: Session?,
        device: DeviceFacts,
        on loop: any EventLoop
    ) -> EventLoopFuture<MintOutcome> {
        self.store.session(key, in: self.users, on: loop).flatMap { stored in
            guard var parent = stored?.record else {
                return loop.makeSucceededFuture(self.refuse(.sessionUnknown, request, device, parent: nil))
            }
            if let reason = self.objection(to: parent, request) {
                return loop.makeSucceededFuture(self.refuse(reason, request, device, parent: parent))
            }
            if let actor {
                parent.actor = actor.identity.id
                parent.expiresAt = min(parent.expiresAt, actor.expiresAt)
            }
            let rules = self.judgement(of: parent, client: request.client, device, authority: request.authority)
            if let objection = rules.objection {
                var record = self.record(.mintRefused(objection.reason), request, device, parent: parent)
                record.rules = rules.findings
                self.journal.record(record)
                return loop.makeSucceededFuture(.denied(text: objection.text))
            }
            // Minting is a use of the native session.
            let isUseDue = stored?.isUseDue(at: self.clock.now()) ?? false
            return self.counting(MintLimits.session(parent), request, device, parent: parent, on: loop) { [parent] in
                let minted = self.issue(request, from: parent, key: key, device: device, rules.findings, on: loop)
                return minted.map { outcome in
                    // The result is ignored: losing a note only ends the session early.
                    if isUseDue, case .minted = outcome { _ = self.store.touch(key, on: loop) }
                    return outcome
                }
            }
        }
    }

    /// What the rules say of a token from this session, for a caller that has to know before it asks for one.
    package func judgement(
        of parent: Session,
        client: ClientSettings,
        address: IPAddress,
        userAgent: String?,
        authority: String
    ) -> RuleJudgement {
        let device = self.observer.facts(address: address, userAgent: userAgent)
        return self.judgement(of: parent, client: client, device, authority: authority)
    }

    private func judgement(
        of parent: Session,
        client: ClientSettings,
        _ device: DeviceFacts,
        authority: String
    ) -> RuleJudgement {
        self.rules.judge(
            .mint,
            RuleFacts(
                request: RuleFacts.Request(device),
                authority: authority,
                userID: parent.identity.id,
                traits: parent.identity.traits,
                actor: parent.actor,
                clientID: client.clientID
            )
        )
    }

    /// Continues if the bucket has room. When the store fails, the cost is given back, so that an outage does not
    /// become "too many requests" for a client that tries again as told.
    private func counting(
        _ bucket: RateBucket,
        _ request: MintRequest,
        _ device: DeviceFacts,
        parent: Session,
        on loop: any EventLoop,
        _ next: @escaping @Sendable () -> EventLoopFuture<MintOutcome>
    ) -> EventLoopFuture<MintOutcome> {
        self.limiter.allow(bucket, cost: 1, on: loop).flatMap { decision in
            if case .throttled(let wait) = decision {
                return loop.makeSucceededFuture(self.throttle(wait, request, device, parent: parent))
            }
            let outcome = next()
            outcome.whenFailure { _ in _ = self.limiter.giveBack([bucket], cost: 1, on: loop) }
            return outcome
        }
    }

    private func issue(
        _ request: MintRequest,
        from parent: Session,
        key parentKey: RecordKey,
        device: DeviceFacts,
        _ rules: [RuleFinding],
        on loop: any EventLoop
    ) -> EventLoopFuture<MintOutcome> {
        let now = self.clock.now()
        let (token, key) = self.authority.make(.transfer, in: parent.lineage)
        let transfer = TransferToken(
            parent: parent,
            parentKey: parentKey,
            clientID: request.client.clientID,
            host: request.host,
            device: device,
            scopes: parent.scopes,
            issuedAt: now,
            expiresAt: min(now.advanced(by: self.lifetime), parent.expiresAt)
        )
        return self.store.create(transfer, key: key, on: loop).map {
            var record = self.record(.minted, request, device, parent: parent)
            record.rules = rules
            record.fingerprint = parentKey.fingerprint
            record.tokenFingerprint = key.fingerprint
            guard self.journal.record(record) else {
                return .unavailable(.full)
            }
            return .minted(token: token, lifetime: transfer.expiresAt.since(now))
        }
    }

    private func refuse(
        _ reason: Reason,
        _ request: MintRequest,
        _ device: DeviceFacts,
        parent: Session?
    ) -> MintOutcome {
        self.journal.record(self.record(.mintRefused(reason), request, device, parent: parent))
        return .refused(reason)
    }

    private func throttle(
        _ wait: Duration,
        _ request: MintRequest,
        _ device: DeviceFacts,
        parent: Session
    ) -> MintOutcome {
        self.journal.record(self.record(.mintRefused(.handoffThrottled), request, device, parent: parent))
        return .throttled(retryAfter: wait)
    }

    private func record(
        _ act: HandoffAct,
        _ request: MintRequest,
        _ device: DeviceFacts,
        parent: Session?
    ) -> AuditRecord {
        var record = AuditRecord(
            .handoff(act),
            requestID: request.requestID,
            device: device,
            clientID: request.client.clientID
        )
        record.audience = request.audience
        record.validHost = request.host
        record.subject = parent?.subject
        record.sessionID = parent?.id
        record.parentSessionID = parent?.id
        record.actor = parent?.actor
        return record
    }
}
