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
    private let journal: HandoffJournal
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
        journal: HandoffJournal,
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
    package func mint(_ request: MintRequest, on loop: any EventLoop) -> EventLoopFuture<MintOutcome> {
        let device = self.observer.facts(address: request.address, userAgent: request.userAgent)
        guard request.client.canCreateTransferToken else {
            return loop.makeSucceededFuture(self.refuse(.handoffNotPermitted, request, device, parent: nil))
        }
        let key: RecordKey
        switch request.parent {
        case .session(let named):
            key = named
        case .token(let token):
            switch self.authority.readSession(token) {
            case .record(let named):
                key = named
            case .otherKey:
                return loop.makeSucceededFuture(self.refuse(.credentialOtherKey, request, device, parent: nil))
            case .malformed:
                return loop.makeSucceededFuture(self.refuse(.credentialMalformed, request, device, parent: nil))
            }
        }
        return self.judge(request, key: key, device: device, on: loop).flatMapErrorThrowing { error in
            self.journal.record(self.record(.mintUnavailable, request, device, parent: nil))
            return .unavailable(error as? StoreError ?? .unavailable)
        }
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

    /// Reads the session, judges it and counts; a request is only counted for the session if it may be granted.
    private func judge(
        _ request: MintRequest,
        key: RecordKey,
        device: DeviceFacts,
        on loop: any EventLoop
    ) -> EventLoopFuture<MintOutcome> {
        self.store.session(key, in: self.users, on: loop).flatMap { stored in
            guard let parent = stored?.record else {
                return loop.makeSucceededFuture(self.refuse(.sessionUnknown, request, device, parent: nil))
            }
            let now = self.clock.now()
            if let reason = Self.objection(to: parent, client: request.client, now: now)
                ?? Reason.objection(toKey: parent.keyThumbprint, provenBy: request.keyThumbprint)
            {
                return loop.makeSucceededFuture(self.refuse(reason, request, device, parent: parent))
            }
            let rules = self.judgement(of: parent, client: request.client, device, authority: request.authority)
            if let objection = rules.objection {
                var record = self.record(.mintRefused(objection.reason), request, device, parent: parent)
                record.rules = rules.findings
                self.journal.record(record)
                return loop.makeSucceededFuture(.denied(text: objection.text))
            }
            return self.counting(MintLimits.session(parent), request, device, parent: parent, on: loop) {
                self.issue(request, from: parent, key: key, device: device, rules.findings, now: now, on: loop)
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
        now: UnixTime,
        on loop: any EventLoop
    ) -> EventLoopFuture<MintOutcome> {
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
            guard self.journal.record(record) else {
                return .unavailable(.full)
            }
            // Minting is a use of the native session. The result is ignored: losing a note only ends the session early.
            _ = self.store.touch(parentKey, on: loop)
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
        _ outcome: HandoffRecord.Outcome,
        _ request: MintRequest,
        _ device: DeviceFacts,
        parent: Session?
    ) -> HandoffRecord {
        var record = HandoffRecord(
            outcome: outcome,
            requestID: request.requestID,
            clientID: request.client.clientID,
            device: device
        )
        record.audience = request.audience
        record.mintedHost = request.host
        record.subject = parent?.subject
        record.sessionID = parent?.id
        record.parentSessionID = parent?.id
        return record
    }
}
