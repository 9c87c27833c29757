package import Providers
import Rules
package import Sessions
import Settings
package import Vocabulary

/// The kind of a new session, and whether it outlives the browser.
package struct SessionTerms: Sendable {
    package var kind: Session.Kind
    /// True if the user wants to stay signed in after closing the browser. Ignored unless the settings let users
    /// choose.
    package var staysSignedIn: Bool

    package init(_ kind: Session.Kind, staysSignedIn: Bool = false) {
        self.kind = kind
        self.staysSignedIn = staysSignedIn
    }
}

extension SessionService {
    /// True if the settings let users choose to stay signed in after closing the browser.
    package var asksToStay: Bool { self.settings.browser.persistence == .ask }

    /// Returns the authentication with the id of the user's linked account. Unchanged if the user is not linked.
    func linked(_ authentication: Authentication) -> Authentication {
        self.accounts?.linked(authentication, of: self.realm) ?? authentication
    }

    /// The `Clear-Site-Data` field for the answer to a sign-out. Empty if the settings clear nothing.
    package var siteDataFields: [(name: String, value: String)] {
        let kinds = self.settings.clearedSiteData.map { "\"\($0.rawValue)\"" }
        return kinds.isEmpty ? [] : [("clear-site-data", kinds.joined(separator: ", "))]
    }

    /// Returns the idle timeout and the absolute lifetime of a browser's session, for display on pages. Each is `nil`
    /// if it differs for transferred sessions.
    ///
    /// - Parameter transfers: True if browsers may have transferred sessions.
    package func lifetimes(withTransfers transfers: Bool) -> (idle: Duration?, absolute: Duration?) {
        let (browser, transfer) = (self.settings.browser, self.settings.transfer)
        return (
            !transfers || browser.idle == transfer.idle ? browser.idle : nil,
            !transfers || browser.absolute == transfer.absolute ? browser.absolute : nil
        )
    }

    /// Begins a session for an authenticated user in a new lineage. Its token and id are always new, never values that
    /// the client presented (session fixation).
    ///
    /// - Parameter evidence: The provider's evidence of the sign-in. `nil` if the provider is never asked again.
    /// - Returns: The session and its token. The token is handed out only once.
    /// - Throws: `signin.blocked` and `rule.denied`, before anything changes; `signin.refused` and `signin.ended`
    ///   (`confirm`); `session.limit`; an outage of the store or the audit stream.
    package func begin(
        _ authentication: Authentication,
        _ terms: SessionTerms,
        evidence: ProviderEvidence? = nil,
        for requester: Requester
    ) async throws(NotDone) -> (token: Secret, session: Session) {
        try await self.replace([], with: authentication, terms, evidence: evidence, for: requester)
    }

    /// Judges the sign-in (`judge`), ends `former`, and begins a session that replaces them, for example after a
    /// step-up. The old sessions stay ended if the new session then cannot begin (CVE-2026-34454).
    ///
    /// - Parameters:
    ///   - former: Sessions of one client. The audit record names only the first session.
    ///   - evidence: The provider's evidence of the sign-in. `nil` if the provider is never asked again.
    ///   - account: The hash of the tried identifier (`AccountNames`), for the audit record.
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
        var next: NewSession?
        var ended: [NewSession] = []
        defer { self.moveClients(of: ended, to: next) }
        for session in former {
            try await self.endReplaced(session)
            ended.append(session.stored)
            // The tokens are not revoked, because the provider may treat the old and the new tokens as one grant.
            self.grants?.discard(after: session.session)
        }
        let lineage = self.authority.newLineage()
        let (token, key) = self.authority.make(.session, in: lineage)
        var session = self.draft(authentication, terms, in: lineage, device: record.device)
        if terms.kind == .web { session.host = requester.authority }
        if let evidence {
            session.provider =
                try await self.grants?.keep(evidence, for: session, key)
                ?? ProviderSession(name: evidence.provider, sessionID: evidence.sessionID)
            // Noted before the session is written, so that a logout at the provider finds the session.
            try await self.providerSessions?.note(evidence, of: session)
        }
        let found = FoundSession(key: key, session: session)
        do throws(NotDone) {
            try await self.ask { store, loop in store.create(found.stored, on: loop) }
            try await self.confirm(found.session, evidence)
            try await self.admit(found, replacing: former, for: requester)
            record.note(found.session, key)
            record.endedSessionID = former.first?.session.id
            guard self.journal.record(record) else { throw NotDone(.gatewayOverloaded) }
        } catch {
            await self.endUnclaimed(found.stored)
            self.grants?.discard(after: found.session)
            self.refuse(error, found.session.subject, terms.kind, &record)
            throw error
        }
        next = found.stored
        return (token, found.session)
    }

    /// Checks a sign-in again after its session or code was written, before it is handed out. A sign-out or block
    /// during the sign-in may have missed the new session. Later ones find it.
    ///
    /// - Parameter evidence: The provider's evidence of the sign-in. `nil` if none exists.
    /// - Throws: `signin.refused` if the user is gone or has another password; `signin.blocked`; `signin.ended` if the
    ///   provider's session or all sessions of the user have ended.
    func confirm(_ session: Session, _ evidence: ProviderEvidence?) async throws(NotDone) {
        guard self.users?.hasFormerPassword(session) != true else { throw NotDone(.signInRefused) }
        try await self.records.blocks.admit(session.identity)
        guard let evidence, let ends = self.providerSessions else { return }
        guard try await !ends.haveEnded(evidence, of: session.subject) else { throw NotDone(.signInEnded) }
        guard session.identity.isAccount else { return }
        let own = session.identity.subjectAtProvider
        guard try await !ends.haveEnded(evidence, of: own) else { throw NotDone(.signInEnded) }
    }

    /// Records that the sign-in of an authenticated user is refused, unless `error` is an outage.
    ///
    /// - Parameters:
    ///   - subject: The user's subject.
    ///   - record: The record of the sign-in.
    func refuse(_ error: NotDone, _ subject: String, _ kind: Session.Kind, _ record: inout AuditRecord) {
        guard !error.isUnavailable else { return }
        record.act = .session(.refused(error.reason), kind)
        record.subject = subject
        record.detail = error.detail
        self.journal.record(record)
    }

    /// Applies blocks and rules to a sign-in before anything changes, and records a refusal.
    ///
    /// - Parameter record: The record of the sign-in, to which the findings are added.
    /// - Throws: `signin.blocked`; `rule.denied` with the text for the user; an outage of the store.
    func judge(
        _ authentication: Authentication,
        _ terms: SessionTerms,
        _ record: inout AuditRecord,
        _ requester: Requester
    ) async throws(NotDone) {
        let user = authentication.identity.inRealm(self.realm)
        do throws(NotDone) {
            try await self.records.blocks.admit(user)
        } catch {
            self.refuse(error, user.subject, terms.kind, &record)
            throw error
        }
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
        record.subject = user.subject
        self.journal.record(record)
        throw NotDone(.ruleDenied, text: objection.text)
    }

    /// Returns a session of an authenticated user with a new id. It is not in the store and has no host yet.
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

    /// Returns a drafted native session with this id, beginning now on the requester's device.
    func begun(_ draft: Session, id: String, for requester: Requester) -> Session {
        var session = draft
        session.id = id
        session.issuedAt = self.clock.now()
        session.device = self.device(requester)
        return session
    }
}
