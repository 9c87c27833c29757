package import Cryptography
package import Sessions
package import Vocabulary

/// Whether a session was begun by a sign-in after a request, so that asking its user to sign in once more would lead
/// nowhere: what that sign-in has not reached, another one will not reach either.
enum FreshSignIn {
    /// Whether the user signed in on the host itself after `time`, neither by a handoff nor by a ticket.
    static func began(_ session: Session, after time: UnixTime) -> Bool {
        session.origin == .browser && session.bornOf == nil && session.issuedAt >= time
    }
}

/// The input for deciding whether a session may issue the ticket of a request, or its user must sign in first. Values
/// only, so that tests can list every rule as a row of a table.
package struct TicketIssueCase: Sendable {
    /// The browser's session on the host that is asked.
    package var session: Session
    package var begunAt: UnixTime
    package var demand: SignInDemand
    /// What the routes of the host that asks compare of a device.
    package var bindings: Set<BindingMode>
    /// The device that asks.
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

    /// How much earlier than on the host that asks an age counts as too long: what suffices here must suffice there,
    /// where it is judged a moment later, perhaps by another gateway.
    private static let margin = Duration.seconds(1)

    /// Whether the session suffices. A new sign-in always does: the host that asks judges its session itself, and
    /// refuses with a page what is still not enough.
    ///
    /// The device is compared because the new session is bound to the device that uses the ticket: a cookie stolen from
    /// this host must not be of more use on a host that binds its sessions.
    package var suffices: Bool {
        // Whoever acts for a user does so for the client that allows it.
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
        /// Use it and make a session from the one that issued it.
        case make
        /// Use it; the browser keeps the session under this key, which is as good.
        case keep(RecordKey)
        /// Leave it: the browser has a session of another user, who must confirm the change by signing in.
        case askAgain
        /// Leave it; it expires soon.
        case refuse(Reason)
    }

    /// The ticket as the store has it.
    package var ticket: HostTicket
    /// The session that issued it, as it is now; nil if it has ended.
    package var parent: Session?
    /// The public authority on which it is presented.
    package var host: String
    /// SHA-256 of the browser's nonce.
    package var challenge: Digest256
    /// When the browser got the nonce.
    package var begunAt: UnixTime
    /// The live sessions that the browser has on this host.
    package var existing: [FoundSession]
    /// What the host's routes compare of a device.
    package var bindings: Set<BindingMode>
    /// The device that presents it.
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

    /// The first broken rule is the reason.
    package var verdict: Verdict {
        guard self.ticket.host == self.host else { return .refuse(.ticketOtherHost) }
        guard constantTimeEqual(self.ticket.challenge.bytes, self.challenge.bytes) else {
            return .refuse(.ticketOtherBrowser)
        }
        guard self.now < self.ticket.expiresAt else { return .refuse(.ticketExpired) }
        guard let parent = self.parent, self.now < parent.expiresAt else { return .refuse(.ticketUnknown) }
        // A link of another site to the sign-in page must not silently change the account in which a user works.
        if self.existing.contains(where: { !$0.session.identity.isSamePerson(as: parent.identity) }),
            !FreshSignIn.began(parent, after: self.begunAt)
        {
            return .askAgain
        }
        // Of several tabs that sign in at once, the later ones keep the session of the first: ending it would refuse what
        // that tab is loading.
        if self.existing.count == 1, self.isAsGood(self.existing[0].session, as: parent) {
            return .keep(self.existing[0].key)
        }
        return .make
    }

    /// Whether the browser's session is of the same sign-in and would be no better if it were made now.
    private func isAsGood(_ own: Session, as parent: Session) -> Bool {
        own.lineage == parent.lineage && own.subject.isExactly(parent.subject) && own.actor == parent.actor
            && own.aal >= parent.aal
            && own.authenticatedAt >= parent.authenticatedAt
            && own.expiresAt >= parent.expiresAt && BindingJudge.allows(self.bindings, own, self.device)
    }
}

extension BindingJudge {
    /// Whether a session's device and the one that uses it now match in all of these ways.
    fileprivate static func allows(_ modes: Set<BindingMode>, _ session: Session, _ device: DeviceFacts) -> Bool {
        if modes.isEmpty { return true }
        guard let made = session.device else { return false }
        return modes.allSatisfy { Self.judge($0, minted: made, presented: device) == nil }
    }
}

extension Session {
    /// The session that a ticket makes on another host: user, sign-in and lifetime are those of the session that issued
    /// it, which it never outlives.
    ///
    /// - Parameters:
    ///   - parentKey: The key of that session.
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
