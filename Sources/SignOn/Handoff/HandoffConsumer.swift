package import AddressIntelligence
package import NIOCore
package import Rules
package import Sessions
package import Settings
package import Vocabulary

/// Consumes session-transfer tokens: looks up a token, judges it (`HandoffCase`), then acts in one atomic step of the
/// store.
///
/// ```
/// presented -> syntax -> own session? -> lookup -+-> live  -> judged -+-> consume, create session -> signedIn
///                |            |                  |                    +-> consume, keep session   -> renewed
///                |            |                  |                    +-> leave, ask the user     -> unconfirmed
///                |            |                  |                    +-> burn or leave           -> refused
///             refused   alreadySignedIn          +-> spent  -+-> by this attempt -> completed -> signedIn, refused
///                                                |           +-> by another      -> replay or burned -> refused
///                                                +-> absent                                       -> refused
/// ```
/// Another request may use the token between the lookup and the act. The store then answers `spent` (a replay) or
/// `changed`. After `changed`, the token is judged again. If the token changes again, it is refused.
///
/// If the answer of an attempt is lost, the outcome is `unavailable`. The attempt may have succeeded, so the browser
/// repeats it as the same `SessionAttempt`. The repetition finds its own marker. It completes the attempt as soon as
/// the store guarantees that the marker will not be lost, and uses the session made the first time.
package struct HandoffConsumer: RecordCaller {
    let records: RecordAccess
    private let lifetimes: SessionSettings.Lifetimes
    let observer: DeviceObserver
    /// Reports which users and clients are gone. `nil` if users and clients are never gone.
    let directory: (any UserDirectory)?
    /// Knows the clients that get tokens. `nil` if every client exists and may have tokens.
    let clients: (any ClientDirectory)?
    /// Asks providers about their users. `nil` if no session follows its provider.
    private let grants: ProviderGrants?
    private let rules: RuleBook
    let journal: AuditJournal

    package init(
        records: RecordAccess,
        sessions: SessionSettings,
        asn: ASNDirectory?,
        directory: (any UserDirectory)? = nil,
        clients: (any ClientDirectory)? = nil,
        grants: ProviderGrants? = nil,
        rules: RuleBook = RuleBook(),
        journal: AuditJournal
    ) {
        self.records = records
        self.lifetimes = sessions.transfer
        self.observer = DeviceObserver(directory: asn)
        self.directory = directory
        self.clients = clients
        self.grants = grants
        self.rules = rules
        self.journal = journal
    }

    /// Consumes the token, or returns why the token is not consumed. The future never fails.
    package func consume(_ request: HandoffRequest, on loop: any EventLoop) -> EventLoopFuture<JudgedHandoff> {
        switch self.begin(request) {
        case .ended(let ended): loop.makeSucceededFuture(ended)
        case .attempt(let attempt):
            self.lookUp(attempt, isLast: false, on: loop).flatMapErrorThrowing { self.report($0, attempt.request) }
        }
    }

    /// The first step of a request, before the store is asked.
    enum Beginning {
        case attempt(Attempt)
        /// The syntax rules the token out, or the token already signed the browser in.
        case ended(JudgedHandoff)
    }

    /// Completes the device of a request and reads its token.
    func begin(_ request: HandoffRequest) -> Beginning {
        var request = request
        request.device = self.observer.completed(request.device)
        do throws(Reason) {
            let attempt = try self.attempt(request)
            return attempt.isRepeated
                ? .ended(self.report(.alreadySignedIn(isRepeated: true), attempt.request)) : .attempt(attempt)
        } catch {
            return .ended(self.refuse(error, request))
        }
    }

    /// Records that a request's token is not tried, because it is repeated, in a link on another site, or in a place
    /// where the client accepts no tokens. The token stays unchanged. The token of `request` may be empty.
    package func turnAway(_ reason: Reason, _ request: HandoffRequest) {
        var request = request
        request.device = self.observer.completed(request.device)
        _ = self.refuse(reason, request)
    }

    /// Records that the user is asked to confirm a request's token.
    ///
    /// - Parameter reason: Why the user is asked. `nil` if users are always asked.
    package func ask(_ reason: Reason?, _ request: HandoffRequest) {
        var request = request
        request.device = self.observer.completed(request.device)
        self.journal.record(self.record(.asked(reason), request))
    }

    /// One attempt to use one token, including a second judgement. A class, because each step passes the attempt on.
    final class Attempt: Sendable {
        let request: HandoffRequest
        let key: RecordKey
        private let authority: TokenAuthority

        fileprivate init(_ request: HandoffRequest, _ key: RecordKey, by authority: TokenAuthority) {
            self.request = request
            self.key = key
            self.authority = authority
        }

        /// The session that this attempt makes. Derived only on demand, because deriving it costs six HMACs.
        var session: SessionAttempt {
            self.authority.attempt(
                self.request.attempt,
                with: self.key,
                of: self.request.token,
                on: self.request.authority
            )
        }

        /// True if this token already signed the browser in.
        var isRepeated: Bool { self.request.existing?.session.bornOf == self.key }
    }

    /// Returns the attempt that a request with a complete device makes.
    ///
    /// - Throws: The reason if the token's syntax shows that the gateway's present keys did not make it.
    func attempt(_ request: HandoffRequest) throws(Reason) -> Attempt {
        switch self.authority.read(.transfer, request.token) {
        case .record(let key): return Attempt(request, key, by: self.authority)
        case .otherKey: throw .credentialOtherKey
        case .malformed: throw .handoffMalformed
        }
    }

    private func lookUp(_ attempt: Attempt, isLast: Bool, on loop: any EventLoop) -> EventLoopFuture<JudgedHandoff> {
        self.find(attempt.key, on: loop).flatMap { found in
            switch found.lookup {
            case .absent:
                return loop.makeSucceededFuture(self.refuse(.handoffUnknown, attempt.request))
            case .spent(let marker):
                return self.answerSpent(marker, attempt, on: loop)
            case .live(let stored):
                return self.act(on: stored, parent: found.parent?.record, attempt, isLast: isLast, on: loop)
            }
        }
    }

    /// Returns the token under `key` with its parent session. The parent is left out if its user is gone.
    func find(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<LookupWithParent<TransferToken>> {
        self.findKept(key, on: loop).flatMap { found in
            // The provider is asked about a user only for a token that can be used.
            guard case .live(let token) = found.lookup, let parent = found.parent?.record,
                parent.sharedGrant != nil, let grants = self.grants
            else { return loop.makeSucceededFuture(found) }
            return grants.asked(parent, token.record.parentKey, on: loop).flatMap { wasAsked in
                wasAsked ? self.findKept(key, on: loop) : loop.makeSucceededFuture(found)
            }
        }
    }

    private func findKept(
        _ key: RecordKey,
        on loop: any EventLoop
    ) -> EventLoopFuture<LookupWithParent<TransferToken>> {
        self.store.singleUseWithParent(key, as: TransferToken.self, on: loop).map { [directory] found in
            guard let parent = found.parent, directory?.loss(of: parent.record) == nil else {
                return LookupWithParent(found.lookup)
            }
            return LookupWithParent(found.lookup, parent: parent.updated(by: directory))
        }
    }

    /// The plan for a live token. Without a marker, the token stays unchanged; otherwise, the marker replaces it.
    struct Plan: Sendable {
        var marker: Marker?
        var creating: NewSession?
        /// True if the browser gets a new token for the session that it keeps.
        var renews = false
        var outcome: HandoffOutcome
        var record: AuditRecord
    }

    private func act(
        on stored: Stored<TransferToken>,
        parent: Session?,
        _ attempt: Attempt,
        isLast: Bool,
        on loop: any EventLoop
    ) -> EventLoopFuture<JudgedHandoff> {
        self.judgement(of: stored.record, parent: parent, attempt, on: loop).flatMap { judgement in
            self.act(on: stored, self.plan(for: stored.record, judgement, attempt), attempt, isLast: isLast, on: loop)
        }
    }

    /// Carries out the plan, if the store still has the token in the judged version.
    ///
    /// - Parameter isLast: True if a token that has changed is refused, and not judged again.
    func act(
        on stored: Stored<TransferToken>,
        _ plan: Plan,
        _ attempt: Attempt,
        isLast: Bool,
        on loop: any EventLoop
    ) -> EventLoopFuture<JudgedHandoff> {
        if case .unconfirmed = plan.outcome { return loop.makeSucceededFuture(JudgedHandoff(plan.outcome)) }
        guard let marker = plan.marker else {
            self.journal.record(plan.record)
            return loop.makeSucceededFuture(JudgedHandoff(plan.outcome, plan.record))
        }
        return self.store.consume(
            attempt.key,
            judged: stored.version,
            marker: marker,
            creating: plan.creating,
            on: loop
        ).flatMap { consumption in
            switch consumption {
            case .done where plan.renews:
                return self.renew(plan.record, attempt, isRepeated: false, on: loop)
            case .done:
                if let new = plan.creating { self.grants?.hold(new) }
                return self.finish(plan, attempt.request, on: loop)
            case .spent(let marker):
                return self.answerSpent(marker, attempt, minted: stored.record, on: loop)
            case .quarantined:
                let outcome = HandoffOutcome.refused(.handoffQuarantined, endsExisting: false)
                var record = self.record(outcome.act, attempt.request)
                record.note(stored.record)
                self.journal.record(record)
                return loop.makeSucceededFuture(JudgedHandoff(outcome))
            case .changed where isLast:
                return loop.makeSucceededFuture(self.refuse(.handoffUnknown, attempt.request))
            case .changed:
                return self.lookUp(attempt, isLast: true, on: loop)
            }
        }
    }

    /// Judges the token, and asks the operator's rules if the token is accepted.
    func judgement(
        of token: TransferToken,
        parent: Session?,
        _ attempt: Attempt,
        on loop: any EventLoop
    ) -> EventLoopFuture<HandoffJudgement> {
        let handoff = self.handoffCase(token, parent: parent, attempt, clientLoss: self.loss(of: token))
        let judgement = handoff.judged()
        guard case .accept = judgement.verdict, let parent, self.rules.hasRules(for: .consume) else {
            return loop.makeSucceededFuture(judgement)
        }
        return loop.makeFutureWithTask { [rules] in
            judgement.judged(by: await rules.judge(.consume, handoff.facts(of: parent)))
        }
    }

    /// Returns the case of a token that `attempt` presents now.
    ///
    /// - Parameter clientLoss: The reason if the token's client is gone or may no longer get tokens. `nil` otherwise.
    func handoffCase(
        _ token: TransferToken,
        parent: Session?,
        _ attempt: Attempt,
        clientLoss: Reason? = nil
    ) -> HandoffCase {
        let request = attempt.request
        return HandoffCase(
            token: token,
            parent: parent,
            host: request.authority,
            client: request.client,
            device: request.device,
            certificate: request.certificate,
            realms: request.realms,
            existing: request.existing?.session,
            organization: request.organization,
            clientLoss: clientLoss,
            now: self.clock.now()
        )
    }

    /// Returns the plan for a judged token.
    ///
    /// - Parameter made: The session that this attempt made earlier. It is kept, and no session is created.
    func plan(
        for token: TransferToken,
        _ judgement: HandoffJudgement,
        _ attempt: Attempt,
        made: Session? = nil
    ) -> Plan {
        let request = attempt.request
        let now = self.clock.now()

        func record(of outcome: HandoffOutcome) -> AuditRecord {
            var record = self.record(outcome.act, request)
            record.actor = token.actor
            if made == nil {
                record.note(token)
                record.age = now.since(token.issuedAt)
            }
            record.binding = judgement.binding
            record.passedInDryRun = judgement.passedInDryRun
            record.rules = judgement.rules.findings
            return record
        }

        switch judgement.verdict {
        case .refuse(let reason, let burns, let isOtherUser):
            let ended = isOtherUser && request.endsOtherUser ? request.endable : nil
            let text = judgement.rules.objection?.text
            let outcome = HandoffOutcome.refusal(reason, text: text, endsExisting: ended != nil)
            var record = record(of: outcome)
            record.burns = burns
            record.endedSessionID = ended?.session.id
            return Plan(
                marker: burns ? .burned(attempt.session.id, reason) : nil,
                outcome: outcome,
                record: record
            )
        case .accept(let parent):
            if made == nil, self.needsConfirmation(request, for: parent.subject) {
                return Plan(marker: nil, outcome: .unconfirmed, record: record(of: .unconfirmed))
            }
            // Always a new id and a new token: nothing that the browser presents becomes the session (session
            // fixation).
            let transfer = attempt.session
            let session =
                made
                ?? Session.transferred(
                    from: parent,
                    through: attempt.key,
                    id: transfer.sessionID,
                    client: request.client,
                    host: request.authority,
                    device: request.device,
                    lifetimes: self.lifetimes,
                    now: now
                )
            if made == nil, let existing = request.existing, request.existingSuffices,
                existing.session.outranks(session)
            {
                let outcome = HandoffOutcome.alreadySignedIn(isRepeated: false)
                var record = record(of: outcome)
                record.sessionID = existing.session.id
                record.fingerprint = existing.key.fingerprint
                return Plan(
                    marker: .used(transfer.id, session: existing.key),
                    renews: true,
                    outcome: outcome,
                    record: record
                )
            }
            let former = request.replacesExisting ? request.endable : nil
            let outcome = HandoffOutcome.signedIn(token: transfer.token, session: session, replaces: former?.key)
            var record = record(of: outcome)
            record.sessionID = session.id
            record.fingerprint = transfer.sessionKey.fingerprint
            record.endedSessionID = former?.session.id
            return Plan(
                marker: transfer.success,
                creating: NewSession(key: transfer.sessionKey, session: session),
                outcome: outcome,
                record: record
            )
        }
    }

    /// Returns the reason if the token's client is gone or may no longer get tokens. `nil` otherwise.
    private func loss(of token: TransferToken) -> Reason? {
        guard let clients = self.clients else { return nil }
        let realm = token.parent.identity.realm
        guard clients.hasKept(token.clientID, of: realm, since: token.issuedAt) else { return .sessionClientGone }
        return clients.createsTransferTokens(token.clientID, of: realm) ? nil : .handoffNotPermitted
    }

    /// Returns whether the token is for an account that this browser did not use last. An attacker who can plant a
    /// token, by a link or from a sibling domain, must not choose the account that the user works in (login CSRF).
    private func needsConfirmation(_ request: HandoffRequest, for subject: String) -> Bool {
        guard request.existing == nil, let mark = request.lastAccount, !self.isConfirmed(request) else { return false }
        return !self.authority.isMark(mark, ofAccountOf: subject)
    }

    private func isConfirmed(_ request: HandoffRequest) -> Bool {
        guard let mark = request.confirmationMark else { return false }
        return self.authority.isConfirmationMark(
            mark,
            of: request.token,
            attempt: request.attempt.value,
            on: request.authority
        )
    }

    /// If the plan replaces a session of the browser, ends that session, also on other hosts. Records the outcome.
    ///
    /// The token is consumed by now, so a failing store cannot undo the sign-in. Ending is retried once, and the answer
    /// replaces or clears the browser's cookie in any case. Only a sign-in that the audit stream cannot record must not
    /// happen: the token of its session is not handed out, and the session ends.
    func finish(
        _ plan: Plan,
        _ request: HandoffRequest,
        on loop: any EventLoop
    ) -> EventLoopFuture<JudgedHandoff> {
        guard plan.record.endedSessionID != nil, let former = request.existing else {
            return loop.makeSucceededFuture(self.take(plan.record, plan, on: loop))
        }
        return former.session.end(former.key, in: self.store, on: loop).flatMapError { _ in
            former.session.end(former.key, in: self.store, on: loop)
        }.map { _ in
            self.moveClients(of: [NewSession(key: former.key, session: former.session)], to: plan.creating)
            return plan.record
        }.flatMapErrorThrowing { _ in
            var record = plan.record
            record.endedSessionID = nil
            return record
        }.map { record in
            self.take(record, plan, on: loop)
        }
    }

    private func take(_ record: AuditRecord, _ plan: Plan, on loop: any EventLoop) -> JudgedHandoff {
        let judged = JudgedHandoff(plan.outcome, record)
        if self.journal.record(record) { return judged }
        guard let unrecorded = plan.creating else { return judged }
        _ = self.store.end(unrecorded.key, on: loop)
        return JudgedHandoff(.unavailable(.full))
    }

    func refuse(_ reason: Reason, _ request: HandoffRequest) -> JudgedHandoff {
        self.report(.refused(reason, endsExisting: false), request)
    }

    /// Records that the store failed, and returns this outcome.
    func report(_ error: any Error, _ request: HandoffRequest) -> JudgedHandoff {
        self.report(.unavailable(error as? StoreError ?? .unavailable), request)
    }

    private func report(_ outcome: HandoffOutcome, _ request: HandoffRequest) -> JudgedHandoff {
        self.journal.record(self.record(outcome.act, request))
        return JudgedHandoff(outcome)
    }

    func record(_ act: HandoffAct, _ request: HandoffRequest) -> AuditRecord {
        var record = AuditRecord(
            act: .handoff(act),
            requestID: request.requestID,
            device: request.device,
            host: request.authority,
            clientID: request.client.clientID
        )
        record.transport = request.transport
        record.hadSession = request.existing != nil
        record.isConfirmed = self.isConfirmed(request)
        record.tokenFingerprint = self.fingerprint(of: request.token)
        return record
    }

    /// Returns the name of a presented token in the logs. `nil` if the token does not come from this gateway.
    package func fingerprint(of token: [UInt8]) -> Fingerprint? {
        self.authority.key(.transfer, of: token)?.fingerprint
    }
}
