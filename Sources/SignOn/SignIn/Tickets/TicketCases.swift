package import Cryptography
package import Sessions
package import Vocabulary

/// Recognises sessions whose user signed in after the request. These users are not asked to sign in again, because that
/// would not meet more requirements.
enum FreshSignIn {
    /// Returns whether the user signed in on the host itself after `time`, neither by a handoff nor by a ticket.
    static func began(_ session: Session, after time: UnixTime) -> Bool {
        session.origin == .browser && session.sourceKey == nil && session.issuedAt >= time
    }
}

/// The input for deciding whether a session may issue the ticket of a request, without I/O.
package struct TicketIssueCase: Sendable {
    /// The browser's session on the issuing host.
    package var session: Session
    package var begunAt: UnixTime
    package var demand: SignInDemand
    /// The binding modes of the requesting host's routes.
    package var bindings: Set<BindingMode>
    /// The requesting device.
    package var device: DeviceFacts
    package var now: UnixTime

    package init(
        session: Session,
        begunAt: UnixTime,
        demand: SignInDemand,
        bindings: Set<BindingMode>,
        device: DeviceFacts,
        now: UnixTime
    ) {
        self.session = session
        self.begunAt = begunAt
        self.demand = demand
        self.bindings = bindings
        self.device = device
        self.now = now
    }

    /// The margin for `maxAge` on the issuing host. The requesting host checks the age a moment later, perhaps on
    /// another gateway, and must not reject the new session.
    private static let margin = Duration.seconds(1)

    /// True if the session may issue the ticket. A sign-in after the request always suffices: if it still misses a
    /// requirement, the requesting host shows an error page.
    ///
    /// The device is compared, because the new session is bound to the device that uses the ticket. A cookie stolen
    /// from this host must not open a host that binds its sessions to devices.
    package var suffices: Bool {
        // A delegated session is valid only for a client that permits delegation, so it issues no ticket.
        if self.session.actor != nil { return false }
        if FreshSignIn.began(self.session, after: self.begunAt) { return true }
        if self.demand.isAgain { return false }
        if let aal = self.demand.aal, self.session.aal < aal { return false }
        if let maxAge = self.demand.maxAge, self.now.since(self.session.authenticatedAt) > maxAge - Self.margin {
            return false
        }
        return BindingJudge.allows(self.bindings, self.session, self.device)
    }
}

/// The input for judging a presented ticket, without I/O.
package struct TicketUseCase: Sendable {
    package enum Verdict: Sendable, Equatable {
        /// Use the ticket, and create a session from the session that issued it.
        case make
        /// Use the ticket. The browser keeps its session under this key, because a new session would not be better.
        case keep(RecordKey)
        /// Leave the ticket unused. The browser has another user's session, so the user must confirm the change by
        /// signing in.
        case askAgain
        /// Refuse the ticket without using it up. It expires soon.
        case refuse(Reason)
    }

    /// The ticket's record in the store.
    package var ticket: HostTicket
    /// The current state of the session that issued the ticket. `nil` if it has ended.
    package var parent: Session?
    /// The public authority of the host on which the ticket is presented.
    package var host: String
    /// The SHA-256 of the browser's nonce.
    package var challenge: Digest256
    /// The time at which the browser got the nonce.
    package var begunAt: UnixTime
    /// The browser's live sessions on this host.
    package var existing: [FoundSession]
    /// The binding modes of the host's routes.
    package var bindings: Set<BindingMode>
    /// The device that presents the ticket.
    package var device: DeviceFacts
    package var now: UnixTime

    package init(
        ticket: HostTicket,
        parent: Session?,
        host: String,
        challenge: Digest256,
        begunAt: UnixTime,
        existing: [FoundSession],
        bindings: Set<BindingMode>,
        device: DeviceFacts,
        now: UnixTime
    ) {
        self.ticket = ticket
        self.parent = parent
        self.host = host
        self.challenge = challenge
        self.begunAt = begunAt
        self.existing = existing
        self.bindings = bindings
        self.device = device
        self.now = now
    }

    /// The verdict. The first check that fails determines the reason.
    package var verdict: Verdict {
        guard self.ticket.host == self.host else { return .refuse(.ticketOtherHost) }
        guard constantTimeEqual(self.ticket.challenge.bytes, self.challenge.bytes) else {
            return .refuse(.ticketOtherBrowser)
        }
        guard self.now < self.ticket.expiresAt else { return .refuse(.ticketExpired) }
        guard let parent = self.parent, self.now < parent.expiresAt else { return .refuse(.ticketUnknown) }
        // A link of another site to the sign-in page must not silently change the account that a user works in.
        if self.existing.contains(where: { !$0.session.identity.isSamePerson(as: parent.identity) }),
            !FreshSignIn.began(parent, after: self.begunAt)
        {
            return .askAgain
        }
        // If several tabs sign in at once, the later tabs keep the first tab's session.
        if self.existing.count == 1, self.isAsGood(self.existing[0].session, as: parent) {
            return .keep(self.existing[0].key)
        }
        return .make
    }

    /// Returns whether the browser's session is from the ticket's sign-in, and a new session would not be better.
    private func isAsGood(_ own: Session, as parent: Session) -> Bool {
        own.lineage == parent.lineage && own.subject.isExactly(parent.subject) && own.actor == parent.actor
            && own.aal >= parent.aal
            && own.authenticatedAt >= parent.authenticatedAt
            && own.expiresAt >= parent.expiresAt && BindingJudge.allows(self.bindings, own, self.device)
    }
}

extension BindingJudge {
    /// Returns whether the device matches the session's device in all of these binding modes.
    fileprivate static func allows(_ modes: Set<BindingMode>, _ session: Session, _ device: DeviceFacts) -> Bool {
        if modes.isEmpty { return true }
        guard let made = session.device else { return false }
        return modes.allSatisfy { Self.judge($0, minted: made, presented: device) == nil }
    }
}

extension Session {
    /// Returns the session that a ticket creates on another host. Its user, sign-in and expiry come from the session
    /// that issued the ticket.
    ///
    /// - Parameters:
    ///   - parentKey: The key of the session that issued the ticket.
    ///   - device: The device that used the ticket.
    package static func onAnotherHost(
        from parent: Session,
        _ parentKey: RecordKey,
        id: String,
        host: String,
        device: DeviceFacts,
        now: UnixTime
    ) -> Session {
        Session(
            id: id,
            kind: .web,
            origin: parent.origin,
            lineage: parent.lineage,
            identity: parent.identity,
            clientID: parent.clientID,
            host: host,
            aal: parent.aal,
            methods: parent.methods,
            scopes: parent.scopes,
            authenticatedAt: parent.authenticatedAt,
            issuedAt: now,
            expiresAt: parent.expiresAt,
            idleLifetime: parent.idleLifetime,
            device: device,
            sourceKey: parent.familyRoot(parentKey) ?? parentKey,
            epoch: parent.epoch,
            provider: parent.provider,
            actor: parent.actor,
            isPersistent: parent.isPersistent
        )
    }
}
