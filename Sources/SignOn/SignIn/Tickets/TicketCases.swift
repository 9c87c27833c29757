package import Cryptography
package import Sessions
package import Vocabulary

/// Detects sessions that began with a sign-in after a request. Their users are not asked to sign in again, because
/// another sign-in would not meet more requirements.
enum FreshSignIn {
    /// Returns whether the user signed in on the host itself after `time`, neither by a handoff nor by a ticket.
    static func began(_ session: Session, after time: UnixTime) -> Bool {
        session.origin == .browser && session.bornOf == nil && session.issuedAt >= time
    }
}

/// The input for deciding whether a session may issue the ticket of a request or its user must sign in first. It has
/// only values, so that a table of tests can cover every rule.
package struct TicketIssueCase: Sendable {
    /// The browser's session on the issuing host.
    package var session: Session
    package var begunAt: UnixTime
    package var demand: SignInDemand
    /// The device properties that the routes of the requesting host compare.
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

    /// The time by which `maxAge` is shortened on the issuing host. The requesting host checks the age a moment later,
    /// perhaps on another gateway, and must not reject a session that sufficed here.
    private static let margin = Duration.seconds(1)

    /// True if the session suffices. A new sign-in always suffices, because the requesting host checks its own session
    /// and shows an error page if a requirement is still not met.
    ///
    /// The device is compared because the new session is bound to the device that uses the ticket. A cookie stolen from
    /// this host must not open a host that binds its sessions to devices.
    package var suffices: Bool {
        // A delegated session is valid only for the client that allows it, so it issues no ticket.
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

/// The input for judging a ticket that a browser presents.
package struct TicketUseCase: Sendable {
    package enum Verdict: Sendable, Equatable {
        /// Use the ticket, and make a session from the session that issued it.
        case make
        /// Use the ticket. The browser keeps its session under this key, because it is as good as a new one.
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
    /// The device properties that the host's routes compare.
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

    /// The verdict. The reason of a refusal is the first check that fails.
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
        // If several tabs sign in at once, the later tabs keep the session of the first tab, which is still loading.
        if self.existing.count == 1, self.isAsGood(self.existing[0].session, as: parent) {
            return .keep(self.existing[0].key)
        }
        return .make
    }

    /// Returns whether the browser's session began with the ticket's sign-in and is as good as a new one.
    private func isAsGood(_ own: Session, as parent: Session) -> Bool {
        own.lineage == parent.lineage && own.subject.isExactly(parent.subject) && own.actor == parent.actor
            && own.aal >= parent.aal
            && own.authenticatedAt >= parent.authenticatedAt
            && own.expiresAt >= parent.expiresAt && BindingJudge.allows(self.bindings, own, self.device)
    }
}

extension BindingJudge {
    /// Returns whether a session's device matches the device that uses the session in all of these ways.
    fileprivate static func allows(_ modes: Set<BindingMode>, _ session: Session, _ device: DeviceFacts) -> Bool {
        if modes.isEmpty { return true }
        guard let made = session.device else { return false }
        return modes.allSatisfy { Self.judge($0, minted: made, presented: device) == nil }
    }
}

extension Session {
    /// Returns the session that a ticket begins on another host. Its user, sign-in and expiry come from the session
    /// that issued the ticket, so the new session never outlives that session.
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
            bornOf: parent.familyRoot(parentKey) ?? parentKey,
            epoch: parent.epoch,
            provider: parent.provider,
            actor: parent.actor,
            isPersistent: parent.isPersistent
        )
    }
}
