import NIOCore
import Sessions
import Settings
import Vocabulary

/// Answers tokens that were already used or burned. If this attempt itself did that, its answer was lost. Otherwise,
/// the request is a replay, unless the browser still has the session that it kept (`answerKept`).
extension HandoffConsumer {
    /// Answers a token that has a marker.
    ///
    /// The browser that the token signed in does not get here: `Attempt.isRepeated` recognises its session.
    func answerSpent(
        _ marker: Marker,
        _ attempt: Attempt,
        minted: TransferToken? = nil,
        on loop: any EventLoop
    ) -> EventLoopFuture<JudgedHandoff> {
        let replayed = HandoffOutcome.refused(.handoffReplayed, endsExisting: false)
        var record = self.record(replayed.act, attempt.request)
        if let minted { record.note(minted) }
        // A first attempt cannot have left a marker.
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

    /// Answers a browser that kept its own session when the token was used up.
    ///
    /// - Parameter isThisAttempt: True if this attempt used up the token and its answer was lost.
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

    /// Gives the browser a new session token for the session that it keeps. The transfer token is already used up. If
    /// the store fails, the browser can repeat the attempt.
    ///
    /// - Parameter isRepeated: True if an earlier attempt used up the transfer token. The browser then gets only a
    ///   session token that was already issued for that attempt.
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
            onlyIfIssuedBefore: isRepeated,
            now: self.clock.now(),
            in: self.store,
            on: loop
        ).map { issued in
            self.journal.record(record)
            // `issued` is `nil` if the session has ended, or if the browser already has its latest token.
            let renewed = issued.map {
                HandoffOutcome.renewed(token: $0.token, session: $0.session, isRepeated: isRepeated)
            }
            return JudgedHandoff(renewed ?? .alreadySignedIn(isRepeated: isRepeated), record)
        }
    }

    // MARK: A marker of this attempt, confirmed by the store

    /// Gives the browser the session that this attempt made earlier, if the token would still be accepted. If the token
    /// would now be burned, ends the session. After `SessionAttempt.lifetime`, the request is a replay.
    private func completeSignIn(
        _ attempt: Attempt,
        late record: AuditRecord,
        on loop: any EventLoop
    ) -> EventLoopFuture<JudgedHandoff> {
        let key = attempt.session.sessionKey
        return self.store.session(key, in: self.directory, on: loop).flatMap { stored in
            guard let session = stored?.record, let token = TransferToken(behind: session) else {
                // The session has ended meanwhile.
                return loop.makeSucceededFuture(self.refuse(.sessionRevoked, attempt.request))
            }
            guard self.clock.now().since(session.issuedAt) < SessionAttempt.lifetime else {
                return self.answerReplay(of: key, record, attempt, on: loop)
            }
            // The operator's rules are not asked again, because the session lacks facts that the rules use.
            let judgement = self.handoffCase(token, parent: session, attempt).judged()
            var plan = self.plan(for: token, judgement, attempt, made: session)
            plan.record.subject = session.subject
            plan.record.sessionID = session.id
            plan.record.fingerprint = key.fingerprint
            plan.record.firstDevice = session.device
            guard case .refused = plan.outcome, plan.marker != nil else {
                // The first attempt may have ended before the session was added to its user's list.
                self.store.note(NewSession(key: key, session: session), on: loop)
                return self.finish(plan, attempt.request, on: loop)
            }
            return self.store.end(key, on: loop).flatMap { [plan] _ in self.finish(plan, attempt.request, on: loop) }
        }
    }

    /// Repeats the refusal of this attempt, and ends another user's session if the refusal requires it.
    private func completeRefusal(
        _ reason: Reason,
        _ record: AuditRecord,
        _ request: HandoffRequest,
        on loop: any EventLoop
    ) -> EventLoopFuture<JudgedHandoff> {
        let ended = reason == .handoffOtherUser && request.endsOtherUser ? request.endable : nil
        // The marker does not contain the rule's text for the user.
        let outcome = HandoffOutcome.refusal(reason, text: nil, endsExisting: ended != nil)
        var record = record
        record.act = .handoff(outcome.act)
        record.burns = true
        record.endedSessionID = ended?.session.id
        return self.finish(Plan(outcome: outcome, record: record), request, on: loop)
    }

    // MARK: A marker of another attempt

    /// Refuses a replay, and records the devices of the first use and of the replay. If the client revokes on replay
    /// and revoking fails, the request fails, because the failure must not look like a revocation (CVE-2020-15223).
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
            // The marker may name a session that the browser kept. The token did not make that session.
            let isDerived = first?.record.sourceKey == attempt.key
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
    /// Rebuilds the used token from the session that it created, for judging it again. Its device is the one that used
    /// the token, not the one that minted it. `nil` if no token created `session`.
    fileprivate init?(behind session: Session) {
        guard session.origin == .transfer, let key = session.sourceKey, let device = session.device else { return nil }
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
