package import Providers
import Rules
package import Sessions
import Settings
package import Vocabulary

/// The properties of a session apart from its user.
package struct SessionTerms: Sendable {
    package var kind: Session.Kind
    /// Whether the user wants to stay signed in when the browser closes, where the settings leave it to the user.
    package var staysSignedIn: Bool

    package init(_ kind: Session.Kind, staysSignedIn: Bool = false) {
        self.kind = kind
        self.staysSignedIn = staysSignedIn
    }
}

extension SessionService {
    /// Whether users choose to stay signed in when they close the browser.
    package var asksToStay: Bool { self.settings.browser.persistence == .ask }

    /// A user of this realm who has just authenticated, as the account that the user has at several providers, if it is one.
    func linked(_ authentication: Authentication) -> Authentication {
        self.accounts?.linked(authentication, of: self.realm) ?? authentication
    }

    /// What has a browser forget the pages that it has seen, in the answer to a sign-out.
    package var siteDataFields: [(name: String, value: String)] {
        let kinds = self.settings.clearedSiteData.map { "\"\($0.rawValue)\"" }
        return kinds.isEmpty ? [] : [("clear-site-data", kinds.joined(separator: ", "))]
    }

    /// How long a browser's session lasts without use, and at all; nil where another kind of session would have ended at
    /// another time.
    ///
    /// - Parameter transfers: Whether browsers may have sessions that a transfer made.
    package func lifetimes(withTransfers transfers: Bool) -> (idle: Duration?, absolute: Duration?) {
        let (browser, transfer) = (self.settings.browser, self.settings.transfer)
        return (
            !transfers || browser.idle == transfer.idle ? browser.idle : nil,
            !transfers || browser.absolute == transfer.absolute ? browser.absolute : nil
        )
    }

    /// Begins a session for an authenticated user, always under a new token and id, in a lineage of its own: nothing
    /// that the client presented becomes a session (session fixation).
    ///
    /// - Parameter evidence: What the provider handed out with the sign-in; nil if the provider is never asked again.
    /// - Returns: The session, and its token, which is shown once, to its user.
    /// - Throws: `rule.denied`, and then nothing has changed; an outage of the store or the audit stream, and then nothing
    ///   was handed out.
    package func begin(
        _ authentication: Authentication,
        _ terms: SessionTerms,
        evidence: ProviderEvidence? = nil,
        for requester: Requester
    ) async throws(NotDone) -> (token: Secret, session: Session) {
        try await self.replace([], with: authentication, terms, evidence: evidence, for: requester)
    }

    /// Ends `former` and begins a session in its place, for example after a repeated sign-in or a step-up. The former
    /// sessions end first (CVE-2026-34454), and stay ended when the new one cannot begin.
    ///
    /// - Parameters:
    ///   - former: Sessions of the same client; the record names the first.
    ///   - evidence: What the provider handed out with the sign-in; nil if the provider is never asked again.
    ///   - account: The account that was tried (`AccountNames`), for the record.
    package func replace(
        _ former: [FoundSession],
        with authentication: Authentication,
        _ terms: SessionTerms,
        evidence: ProviderEvidence? = nil,
        account: String? = nil,
        for requester: Requester
    ) async throws(NotDone) -> (token: Secret, session: Session) {
        let authentication = self.linked(authentication)
        var record = self.record(.signedIn, terms.kind, requester)
        record.account = account
        record.provider = evidence?.provider
        try await self.judge(authentication, terms, &record, requester)
        for session in former {
            try await self.endWithDependents(session)
            // Not revoked: the provider may count the former tokens and the new ones as one grant.
            if let grant = session.session.provider?.grant { self.grants?.discard(grant) }
        }
        let lineage = self.authority.newLineage()
        let (token, key) = self.authority.make(.session, in: lineage)
        var session = self.draft(authentication, terms, in: lineage, device: record.device)
        if terms.kind == .web { session.host = requester.authority }
        if let evidence {
            session.provider =
                try await self.grants?.keep(evidence, for: session, key)
                ?? ProviderSession(name: evidence.provider, sessionID: evidence.sessionID)
            // Before the session is written, so that the end of the provider's session finds it.
            try await self.providerSessions?.note(evidence, of: session)
        }
        let found = FoundSession(key: key, session: session)
        try await self.ask { store, loop in store.create(NewSession(key: key, session: found.session), on: loop) }
        do throws(NotDone) {
            try await self.confirm(found.session, evidence)
            record.note(found.session, key)
            record.endedSessionID = former.first?.session.id
            guard self.journal.record(record) else { throw NotDone(.gatewayOverloaded) }
        } catch {
            // The token is never handed out, so the session is useless even if the store cannot end it now.
            try? await self.endWithDependents(found)
            if let grant = found.session.provider?.grant { self.grants?.discard(grant) }
            self.refuse(error, found.session, &record)
            throw error
        }
        return (token, found.session)
    }

    /// Judges a sign-in once more, when what begins with it is written and before it is handed out. What ends the user's
    /// sessions while the sign-in is under way would miss this one; what does so later finds it.
    ///
    /// - Parameter evidence: What the provider handed out with the sign-in; nil: there was none.
    /// - Throws: `signin.refused` if the user has another password by now, or is gone; `signin.ended` if the provider's
    ///   session, or all sessions of the user, have ended.
    func confirm(_ session: Session, _ evidence: ProviderEvidence?) async throws(NotDone) {
        guard self.users?.hasFormerPassword(session) != true else { throw NotDone(.signInRefused) }
        guard let evidence, let ends = self.providerSessions else { return }
        guard try await !ends.haveEnded(evidence, of: session.subject) else { throw NotDone(.signInEnded) }
        guard session.identity.isAccount else { return }
        let own = session.identity.subjectAtProvider
        guard try await !ends.haveEnded(evidence, of: own) else { throw NotDone(.signInEnded) }
    }

    /// Records that a sign-in was refused that had been judged good, unless nobody was refused.
    ///
    /// - Parameter record: That of the sign-in.
    func refuse(_ error: NotDone, _ session: Session, _ record: inout AuditRecord) {
        guard !error.isUnavailable else { return }
        record.act = .session(.refused(error.reason), session.kind)
        record.subject = session.subject
        record.detail = error.detail
        self.journal.record(record)
    }

    /// Judges the rules on a sign-in, before anything changes. A refusal is written to the audit stream.
    ///
    /// - Parameter record: That of the sign-in, to which the findings are added.
    /// - Throws: `rule.denied`, with what the user reads.
    func judge(
        _ authentication: Authentication,
        _ terms: SessionTerms,
        _ record: inout AuditRecord,
        _ requester: Requester
    ) async throws(NotDone) {
        let facts = RuleFacts(
            request: RuleFacts.Request(record.device, requester.certificate),
            authority: requester.authority,
            provider: self.realm.name,
            userID: authentication.identity.id,
            traits: authentication.identity.traits,
            clientID: nil
        )
        let rules = await self.rules.judge(.signIn, facts)
        record.rules = rules.findings
        guard let objection = rules.objection else { return }
        record.act = .session(.refused(objection.reason), terms.kind)
        record.subject = authentication.identity.inRealm(self.realm).subject
        self.journal.record(record)
        throw NotDone(.ruleDenied, text: objection.text)
    }

    /// A session of an authenticated user, under a new id. It is not written, and valid on no host yet.
    func draft(
        _ authentication: Authentication,
        _ terms: SessionTerms,
        in lineage: Lineage,
        device: DeviceFacts
    ) -> Session {
        let lifetimes = terms.kind == .web ? self.settings.browser : self.settings.native
        let now = self.clock.now()
        let session = Session(
            id: self.authority.newSessionID(),
            kind: terms.kind,
            origin: terms.kind == .web ? .browser : .native,
            lineage: lineage,
            identity: authentication.identity.inRealm(self.realm),
            aal: authentication.aal,
            methods: authentication.methods,
            authenticatedAt: authentication.authenticatedAt ?? now,
            issuedAt: now,
            expiresAt: now.advanced(by: lifetimes.absolute),
            idleLifetime: lifetimes.idle,
            device: device,
            isPersistent: terms.kind == .web && lifetimes.persistence.applies(wished: terms.staysSignedIn)
        )
        self.observe(session)
        return session
    }

    /// The native session that begins now, on the device of the requester, for a user who has signed in a moment ago.
    func begun(_ draft: Session, id: String, for requester: Requester) -> Session {
        var session = draft
        session.id = id
        session.issuedAt = self.clock.now()
        session.device = self.device(requester)
        return session
    }
}
