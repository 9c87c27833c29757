import NIOCore
package import Sessions
import Settings
package import Vocabulary

/// The answer to a presented ticket.
package enum TicketUse: Sendable {
    /// The ticket was used, and the browser gets a new session on this host.
    case signedIn(token: Secret, session: Session)
    /// The browser keeps its session.
    ///
    /// - Parameter reason: The reason why the ticket was not used. `nil` if it was used.
    case sessionStays(Reason?)
    /// The browser has another user's session. Only a new sign-in may replace it.
    case signInAgain
}

extension HostTickets {
    /// Returns whether the browser has exactly one session on this host and it is live.
    package func hasSession(_ requester: Requester) async throws(NotDone) -> Bool {
        guard requester.cookies.count == 1 else { return false }
        return try await !self.sessions.presented(by: requester).isEmpty
    }

    /// Uses the ticket `token`: begins a session on the requester's host, in the lineage of the session that issued the
    /// ticket. The browser's old sessions on this host end first.
    ///
    /// - Parameter nonce: The nonce in the browser's cookie, from its request for the ticket.
    /// - Throws: A refusal unless the browser keeps a live session on this host, or an outage. After an outage of the
    ///   store, the ticket may have been used, and repeating the request completes the attempt.
    package func use(
        _ token: Secret,
        _ nonce: TicketNonce,
        for requester: Requester
    ) async throws(NotDone) -> TicketUse {
        do throws(NotDone) {
            let existing = try await self.sessions.presented(by: requester)
            // The host would also reject the new session because of the other cookies, and request a ticket again.
            guard requester.cookies.count <= 1 else {
                return try self.refuse(.credentialAmbiguousCookie, requester, hasSession: false)
            }
            let hasSession = !existing.isEmpty
            guard !nonce.isExpired(at: self.sessions.clock.now()) else {
                return try self.refuse(.ticketExpired, requester, hasSession: hasSession)
            }
            guard case .record(let key) = self.sessions.authority.read(.hostTicket, token.bytes) else {
                return try self.refuse(.ticketUnknown, requester, hasSession: hasSession)
            }
            let attempt = Attempt(
                key: key,
                nonce: nonce,
                session: self.sessions.authority.attempt(
                    nonce.secret,
                    with: key,
                    of: token.bytes,
                    on: requester.authority
                ),
                existing: existing,
                requester: requester
            )
            return try await self.use(
                key,
                as: HostTicket.self,
                unknown: { () throws(NotDone) in try self.refuse(.ticketUnknown, requester, hasSession: hasSession) },
                spent: { marker throws(NotDone) in try await self.answerSpent(marker, attempt) },
                judge: { stored throws(NotDone) in try await self.verdict(on: stored.record, attempt) }
            )
        } catch {
            if error.isOfStore { self.journal.record(self.record(.unavailable, requester)) }
            throw error
        }
    }

    /// An attempt of a browser to use a ticket. Requests with the same nonce and ticket are one attempt.
    private struct Attempt: Sendable {
        let key: RecordKey
        let nonce: TicketNonce
        /// The session that the attempt makes.
        let session: SessionAttempt
        /// The browser's live sessions on this host.
        let existing: [FoundSession]
        let requester: Requester

        var hasSession: Bool { !self.existing.isEmpty }
    }

    private func verdict(
        on ticket: HostTicket,
        _ attempt: Attempt
    ) async throws(NotDone) -> SingleUseVerdict<TicketUse> {
        let requester = attempt.requester
        let parent = try await self.sessions.living(ticket.parent)?.session
        let verdict = TicketUseCase(
            ticket: ticket,
            parent: parent,
            host: requester.authority,
            challenge: attempt.nonce.challenge,
            begunAt: attempt.nonce.begunAt,
            existing: attempt.existing,
            bindings: self.hosts.host(requester.authority)?.bindings ?? [],
            device: self.sessions.device(requester),
            now: self.sessions.clock.now()
        ).verdict
        switch verdict {
        case .refuse(let reason):
            let subject = ticket.owner.subject
            return .leave(try self.refuse(reason, requester, hasSession: attempt.hasSession, subject: subject))
        case .askAgain:
            _ = try self.refuse(.ticketOtherUser, requester, hasSession: true, subject: ticket.owner.subject)
            return .leave(.signInAgain)
        case .keep(let key):
            return .use(
                .used(attempt.session.id, session: key),
                creating: [],
                quarantined: { () throws(NotDone) in try self.refuse(.ticketQuarantined, requester, hasSession: true) },
                done: {
                    self.note(.sessionStays, attempt, attempt.existing.first?.session, parent)
                    return .sessionStays(nil)
                }
            )
        case .make:
            guard let parent else {
                return .leave(try self.refuse(.ticketUnknown, requester, hasSession: attempt.hasSession))
            }
            let new = try await self.prepare(attempt, parent, ticket.parent)
            return .use(
                attempt.session.success,
                creating: [.session(new)],
                // The browser's old sessions have already ended (`prepare`).
                quarantined: { () throws(NotDone) in try self.refuse(.ticketQuarantined, requester, hasSession: false)
                },
                done: { () throws(NotDone) in try await self.complete(attempt, new.session, parent) }
            )
        }
    }

    /// Ends the browser's old sessions on this host. Returns the new session, already added to its family and grant.
    private func prepare(
        _ attempt: Attempt,
        _ parent: Session,
        _ parentKey: RecordKey
    ) async throws(NotDone) -> NewSession {
        let key = attempt.session.sessionKey
        let session = Session.onAnotherHost(
            from: parent,
            parentKey,
            id: attempt.session.sessionID,
            host: attempt.requester.authority,
            device: self.sessions.device(attempt.requester),
            now: self.sessions.clock.now()
        )
        let root = session.familyRoot(key)
        var replaced: RecordKey?
        for former in attempt.existing {
            if former.session.lineage == parent.lineage, former.session.familyRoot(former.key) == root {
                // This session is from the ticket's own sign-in, so only this session ends.
                try await self.sessions.endOne(former.key)
                replaced = former.key
            } else {
                try await self.sessions.endReplaced(former)
                self.moveClients(of: [former.stored], to: NewSession(key: key, session: session))
            }
        }
        if let root {
            try await self.ask { [replaced] store, loop in
                HandoffFamily.add(key, root: root, parent: parent, former: replaced, to: store, on: loop)
            }
        }
        if let grant = session.provider?.grant {
            try await self.sessions.grants?.add(key, expiresAt: session.expiresAt, to: grant)
        }
        return NewSession(key: key, session: session)
    }

    /// Hands out the session of this attempt, unless the audit stream cannot record it.
    private func complete(
        _ attempt: Attempt,
        _ session: Session,
        _ parent: Session?
    ) async throws(NotDone) -> TicketUse {
        guard self.note(.used, attempt, session, parent) else {
            // If ending fails, the session is harmless, because nobody has its token.
            _ = try? await self.sessions.endOne(attempt.session.sessionKey)
            throw NotDone(.gatewayOverloaded)
        }
        return .signedIn(token: attempt.session.token, session: session)
    }

    /// Answers a used ticket. If this attempt used it, its answer was lost, and the attempt is completed within
    /// `SessionAttempt.lifetime`. Otherwise, the request is a replay.
    private func answerSpent(_ marker: Marker, _ attempt: Attempt) async throws(NotDone) -> TicketUse {
        let requester = attempt.requester
        guard case .used(attempt.session.id, session: let key?) = marker else {
            return try self.refuse(.ticketReplayed, requester, hasSession: attempt.hasSession)
        }
        try await self.ask { store, loop in store.confirm(marker, of: attempt.key, on: loop) }
        if attempt.existing.contains(where: { $0.key == key }) { return .sessionStays(nil) }
        let made = try await self.sessions.living(key)
        guard marker == attempt.session.success, let session = made?.session,
            self.sessions.clock.now().since(session.issuedAt) < SessionAttempt.lifetime
        else { return try self.refuse(.ticketReplayed, requester, hasSession: attempt.hasSession) }
        await self.sessions.list(session, key)
        return try await self.complete(attempt, session, nil)
    }

    @discardableResult
    private func note(
        _ act: TicketAct,
        _ attempt: Attempt,
        _ session: Session?,
        _ parent: Session?
    ) -> Bool {
        var record = self.record(act, attempt.requester)
        record.validHost = attempt.requester.authority
        record.subject = session?.subject
        record.sessionID = session?.id
        let key = act == .used ? attempt.session.sessionKey : attempt.existing.first?.key
        record.fingerprint = session == nil ? nil : key?.fingerprint
        record.tokenFingerprint = attempt.key.fingerprint
        record.parentSessionID = parent?.id
        if act == .used { record.endedSessionID = attempt.existing.first?.session.id }
        return self.journal.record(record)
    }

    /// Refuses the ticket. Throws the reason if the browser has no live session.
    private func refuse(
        _ reason: Reason,
        _ requester: Requester,
        hasSession: Bool,
        subject: String? = nil
    ) throws(NotDone) -> TicketUse {
        var record = self.record(.refused(reason), requester)
        record.subject = subject
        self.journal.record(record)
        guard hasSession else { throw NotDone(reason) }
        return .sessionStays(reason)
    }
}
