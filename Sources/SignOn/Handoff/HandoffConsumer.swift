package import AddressIntelligence
package import NIOCore
package import Rules
package import Sessions
package import Settings
package import Vocabulary

/// Consumes session-transfer tokens: looks up the token, judges it (`HandoffCase`), and carries out the verdict in one
/// atomic step of the store.
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
/// If another request uses the token after the lookup, the store answers `spent`. If the token has changed, it is
/// judged once more. If it changes again, it is refused.
///
/// If the store's answer is lost, the outcome is `unavailable`, and the browser repeats the same `SessionAttempt`. If
/// the repetition finds its own marker, it waits until the store confirms the marker, and completes the attempt with
/// the session that was made the first time.
package struct HandoffConsumer: RecordCaller {
    let records: RecordAccess
    private let lifetimes: SessionSettings.Lifetimes
    let observer: DeviceObserver
    /// Knows which users and clients no longer exist. `nil` if all exist.
    let directory: (any UserDirectory)?
    /// Knows which clients exist and may mint tokens. `nil` if every client may.
    let clients: (any ClientDirectory)?
    /// Asks providers whether users still have access. `nil` to ask none.
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

    /// Consumes the token, or returns why it was not consumed. The future never fails.
    package func consume(_ request: HandoffRequest, on loop: any EventLoop) -> EventLoopFuture<JudgedHandoff> {
        switch self.begin(request) {
        case .ended(let ended): loop.makeSucceededFuture(ended)
        case .attempt(let attempt):
            self.lookUp(attempt, isLast: false, on: loop).flatMapErrorThrowing { self.report($0, attempt.request) }
        }
    }

    /// The result of the checks that need no store.
    enum Beginning {
        case attempt(Attempt)
        /// The token is malformed, made under another secret, or has already signed the browser in.
        case ended(JudgedHandoff)
    }

    /// Completes the facts about the device, and reads the token.
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

    /// Records that a token is rejected without a lookup, for example because the client does not accept the token's
    /// transport. The token in `request` may be empty.
    package func recordRejection(_ reason: Reason, _ request: HandoffRequest) {
        var request = request
        request.device = self.observer.completed(request.device)
        _ = self.refuse(reason, request)
    }

    /// Records that the user is asked to confirm a request's token.
    ///
    /// - Parameter reason: Why the user is asked. `nil` if the settings always ask.
    package func ask(_ reason: Reason?, _ request: HandoffRequest) {
        var request = request
        request.device = self.observer.completed(request.device)
        self.journal.record(self.record(.asked(reason), request))
    }

    /// The attempt of one request to use its token. A class, because many steps pass it on.
    final class Attempt: Sendable {
        let request: HandoffRequest
        let key: RecordKey
        private let authority: TokenAuthority

        fileprivate init(_ request: HandoffRequest, _ key: RecordKey, by authority: TokenAuthority) {
            self.request = request
            self.key = key
            self.authority = authority
        }

        /// The session that this attempt makes. Computed on demand, because it costs six HMACs.
        var session: SessionAttempt {
            self.authority.attempt(
                self.request.attempt,
                with: self.key,
                of: self.request.token,
                on: self.request.authority
            )
        }

        /// True if this token already signed the browser in.
        var isRepeated: Bool { self.request.existing?.session.sourceKey == self.key }
    }

    /// Returns the attempt of a request whose device facts are complete.
    ///
    /// - Throws: `handoff.malformed`, or `credential.other_key` for a token made under a secret that is not accepted.
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

    /// Returns the token under `key` and its native session. The session is omitted if its user is gone.
    func find(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<LookupWithParent<TransferToken>> {
        self.findKept(key, on: loop).flatMap { found in
            // Only a usable token is worth a request to the provider.
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

    /// The steps for a live token. `marker` replaces the token in the store. If it is `nil`, the token stays unchanged.
    struct Plan: Sendable {
        var marker: Marker?
        var creating: NewSession?
        /// Whether the browser gets a new session token for the session that it keeps.
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

    /// Carries out the plan if the token has not changed since it was judged.
    ///
    /// - Parameter isLast: Whether a changed token is refused. If false, it is judged again.
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

    /// Returns the input for judging the token that `attempt` presents.
    ///
    /// - Parameter clientLoss: The reason to reject every token of the minting client. `nil` if the client is in order.
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
    /// - Parameter made: The session that this attempt made earlier. If set, no new session is created.
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
            // The session always has a new id and token, never a value that the browser presented (session fixation).
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
            if made == nil, let existing = request.existing, request.mayKeepSession,
                existing.session.isKeptInsteadOf(session)
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

    /// Returns the reason to reject every token of the minting client. `nil` if the client exists and may mint tokens.
    private func loss(of token: TransferToken) -> Reason? {
        guard let clients = self.clients else { return nil }
        let realm = token.parent.identity.realm
        guard clients.hasExisted(token.clientID, of: realm, since: token.issuedAt) else { return .sessionClientGone }
        return clients.createsTransferTokens(token.clientID, of: realm) ? nil : .handoffNotPermitted
    }

    /// Returns whether the user must confirm the token, because the browser has no session and last used another
    /// account. Otherwise, an attacker could plant a token, by a link or from a sibling domain (login CSRF).
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

    /// Ends the session that the plan replaces, also on other hosts, and records the outcome.
    ///
    /// The token is already used up. Ending the old session is therefore tried twice, and a failure is ignored. If the
    /// audit stream cannot record a sign-in, the new session ends, and the outcome is `unavailable`.
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

    /// Records an outage of the store, and returns it as the outcome.
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

    /// Returns the fingerprint of a presented token for logs. `nil` if this gateway did not make the token.
    package func fingerprint(of token: [UInt8]) -> Fingerprint? {
        self.authority.key(.transfer, of: token)?.fingerprint
    }
}
