import NIOCore
import Sessions
import Settings
import Vocabulary

/// Handling of a token that already has a marker. If another attempt left the marker, this attempt is a replay.
/// Otherwise, this attempt left the marker itself and its answer was lost.
extension HandoffConsumer {
    /// Answers a spent token, depending on the attempt that left the marker.
    ///
    /// A token that another attempt used is a replay. The browser that the token signed in is recognized earlier, by
    /// its session. A browser that was asked to retry presents the attempt that it made before.
    func answerSpent(
        _ marker: Marker,
        _ attempt: Attempt,
        minted: TransferToken? = nil,
        on loop: any EventLoop
    ) -> EventLoopFuture<JudgedHandoff> {
        let replayed = HandoffOutcome.refused(.handoffReplayed, endsExisting: false)
        var record = self.record(replayed.act, attempt.request)
        if let minted { record.note(minted) }
        // A first attempt has left no marker yet, so another attempt spent the token.
        let own = attempt.request.isFirstAttempt ? nil : attempt.session
        switch marker {
        case .used(let id, session: let kept?) where kept == attempt.request.existing?.key:
            return self.answerKept(isThisAttempt: id == own?.id, marker, attempt, on: loop)
        case own?.success:
            return self.store.confirm(marker, of: attempt.key, on: loop).flatMap { [record] in
                self.completeSignIn(attempt, late: record, on: loop)
            }
        case .burned(own?.id, let reason):
            return self.store.confirm(marker, of: attempt.key, on: loop).flatMap { [record] in
                self.completeRefusal(reason, record, attempt.request, on: loop)
            }
        case .burned(_, let reason):
            let burned = HandoffOutcome.refused(.handoffBurned, endsExisting: false)
            record.act = .handoff(burned.act)
            record.burnedFor = reason
            self.journal.record(record)
            return loop.makeSucceededFuture(JudgedHandoff(burned))
        case .used(_, session: nil):
            self.journal.record(record)
            return loop.makeSucceededFuture(JudgedHandoff(replayed))
        case .used(_, session: .some(let derived)):
            return self.answerReplay(of: derived, record, attempt, on: loop)
        }
    }

    /// Answers a browser that kept its own session when the token was used up. Either an earlier navigation used up the
    /// token, or this navigation did and its answer was lost before the event was written.
    private func answerKept(
        isThisAttempt: Bool,
        _ marker: Marker,
        _ attempt: Attempt,
        on loop: any EventLoop
    ) -> EventLoopFuture<JudgedHandoff> {
        let outcome = HandoffOutcome.alreadySignedIn(isRepeated: !isThisAttempt)
        var record = self.record(outcome.act, attempt.request)
        record.sessionID = attempt.request.existing?.session.id
        record.fingerprint = attempt.request.existing?.key.fingerprint
        record.subject = attempt.request.existing?.session.subject
        let promised =
            isThisAttempt
            ? self.store.confirm(marker, of: attempt.key, on: loop) : loop.makeSucceededVoidFuture()
        return promised.flatMap { [record] in self.renew(record, attempt, isRepeated: !isThisAttempt, on: loop) }
    }

    /// Gives the browser a new token for the session that it keeps. The transfer token is used up by now. If the store
    /// fails here, repeating the attempt continues from this step.
    ///
    /// - Parameter isRepeated: True if an earlier attempt used up the transfer token. The browser then only gets a
    ///   session token that it should already have, because the answer was lost or two requests overtook each other.
    func renew(
        _ record: AuditRecord,
        _ attempt: Attempt,
        isRepeated: Bool,
        on loop: any EventLoop
    ) -> EventLoopFuture<JudgedHandoff> {
        guard let existing = attempt.request.endable, let token = attempt.request.existingToken else {
            self.journal.record(record)
            return loop.makeSucceededFuture(JudgedHandoff(.alreadySignedIn(isRepeated: isRepeated), record))
        }
        return SuccessorToken.issue(
            for: existing.key,
            after: token,
            by: self.authority,
            onlyAgain: isRepeated,
            now: self.clock.now(),
            in: self.store,
            on: loop
        ).map { issued in
            self.journal.record(record)
            // `nil` if the session has ended meanwhile. The request that ended it has informed the browser.
            let renewed = issued.map {
                HandoffOutcome.renewed(token: $0.token, session: $0.session, isRepeated: isRepeated)
            }
            return JudgedHandoff(renewed ?? .alreadySignedIn(isRepeated: isRepeated), record)
        }
    }

    // MARK: A marker of this attempt, confirmed by the store

    /// Gives the browser the session that this attempt made earlier, if the session would be permitted now. The device
    /// is checked against the binding again, and another user's session in the cookie jar ends. A refusal that would
    /// burn the token ends the session instead. After the lifetime of the attempt cookie, the request is a replay.
    private func completeSignIn(
        _ attempt: Attempt,
        late record: AuditRecord,
        on loop: any EventLoop
    ) -> EventLoopFuture<JudgedHandoff> {
        let key = attempt.session.sessionKey
        return self.store.session(key, in: self.directory, on: loop).flatMap { stored in
            guard let session = stored?.record, let token = TransferToken(behind: session) else {
                // The session has ended since, for example because it was revoked.
                return loop.makeSucceededFuture(self.refuse(.sessionRevoked, attempt.request))
            }
            guard self.clock.now().since(session.issuedAt) < SessionAttempt.lifetime else {
                return self.answerReplay(of: key, record, attempt, on: loop)
            }
            // The operator's rules accepted the token then and are not asked again, because the session lacks facts
            // that the rules use.
            let judgement = self.handoffCase(token, parent: session, attempt).judged()
            var plan = self.plan(for: token, judgement, attempt, made: session)
            plan.record.subject = session.subject
            plan.record.sessionID = session.id
            plan.record.fingerprint = key.fingerprint
            plan.record.firstDevice = session.device
            guard case .refused = plan.outcome, plan.marker != nil else {
                // The answer of the first attempt was lost, so the session may be missing from its user's list.
                self.store.note(NewSession(key: key, session: session), on: loop)
                return self.finish(plan, attempt.request, on: loop)
            }
            return self.store.end(key, on: loop).flatMap { [plan] _ in self.finish(plan, attempt.request, on: loop) }
        }
    }

    /// Repeats the refusal of this attempt, and ends the browser's session if the earlier refusal was to end it.
    private func completeRefusal(
        _ reason: Reason,
        _ record: AuditRecord,
        _ request: HandoffRequest,
        on loop: any EventLoop
    ) -> EventLoopFuture<JudgedHandoff> {
        let ended = reason == .handoffOtherUser && request.endsOtherUser ? request.endable : nil
        // The rule that refused is no longer known.
        let outcome = HandoffOutcome.refusal(reason, text: nil, endsExisting: ended != nil)
        var record = record
        record.act = .handoff(outcome.act)
        record.burns = true
        record.endedSessionID = ended?.session.id
        return self.finish(Plan(outcome: outcome, record: record), request, on: loop)
    }

    // MARK: A marker of another attempt

    /// Refuses a replay, and records the address of the first use next to the address of the replay. If revoking fails,
    /// the whole step fails, because a failure must not look like a revocation (CVE-2020-15223).
    private func answerReplay(
        of derived: RecordKey,
        _ record: AuditRecord,
        _ attempt: Attempt,
        on loop: any EventLoop
    ) -> EventLoopFuture<JudgedHandoff> {
        let replayed = JudgedHandoff(.refused(.handoffReplayed, endsExisting: false))
        return self.store.session(derived, on: loop).flatMap { first in
            var record = record
            record.sessionID = first?.record.id
            record.fingerprint = first == nil ? nil : derived.fingerprint
            record.subject = first?.record.subject
            // A session that the browser kept when the token was used up was not made from the token.
            let isDerived = first?.record.bornOf == attempt.key
            record.firstDevice = isDerived ? first?.record.device : nil
            guard isDerived, attempt.request.client.revokesDerivedOnReplay else {
                self.journal.record(record)
                return loop.makeSucceededFuture(replayed)
            }
            return self.store.end(derived, on: loop).flatMap { ended in
                HandoffFamily.end(root: derived, in: self.store, on: loop).map { ended }
            }.map { [record] ended in
                self.notifyClients(of: [derived.lineage]) { $0.root == derived }
                var record = record
                record.revokedDerived = ended
                self.journal.record(record)
                return replayed
            }
        }
    }
}

extension TransferToken {
    /// Rebuilds the token that created `session` from the session's record, so that it can be judged again. It is bound
    /// to the device that used the token. Returns `nil` if `session` was not created from a token.
    fileprivate init?(behind session: Session) {
        guard session.origin == .transfer, let key = session.bornOf, let device = session.device else { return nil }
        self.init(
            parent: session,
            parentKey: key,
            clientID: session.clientID ?? "",
            device: device,
            scopes: session.scopes,
            issuedAt: session.issuedAt,
            expiresAt: session.expiresAt
        )
    }
}
