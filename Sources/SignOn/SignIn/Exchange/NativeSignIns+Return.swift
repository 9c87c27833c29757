import NIOCore
package import Providers
import Sessions
import Settings
package import Vocabulary

/// Makes the code with which a browser returns to the app.
extension NativeSignIns {
    /// Makes the return code for a signed-in user. The session begins later, at the exchange.
    ///
    /// - Parameters:
    ///   - id: The flow's id.
    ///   - evidence: The provider's evidence of the sign-in.
    ///   - account: The hash of the tried identifier (`AccountNames`), for the audit record.
    package func complete(
        _ id: String,
        _ flow: KeptFlow,
        with authentication: Authentication,
        evidence: ProviderEvidence?,
        account: String? = nil,
        for requester: Requester
    ) async throws(NotDone) -> Secret {
        guard !self.isExpired(flow) else { return try await self.fail(id, flow, NotDone(.signInFlowExpired)) }
        let authentication = self.sessions.linked(authentication)
        var record = self.sessions.record(.signedIn, .native, requester)
        record.provider = evidence?.provider
        record.account = account
        do throws(NotDone) {
            try await self.sessions.judge(authentication, SessionTerms(.native), &record, requester)
        } catch {
            guard !error.isUnavailable else { throw error }
            return try await self.fail(id, flow, error)
        }
        let subject = self.sessions.realm.subject(authentication.identity.id)
        let epoch = try await self.ask { store, loop in store.epoch(of: subject, on: loop) }
        var session = self.sessions.draft(
            authentication,
            SessionTerms(.native),
            in: flow.code.lineage,
            device: self.sessions.device(requester)
        )
        session.epoch = epoch
        if let evidence {
            let end = self.sessions.clock.now().advanced(by: self.settings.lifetime)
            session.provider =
                try await self.sessions.grants?.keep(evidence, for: session, nil, until: end)
                ?? ProviderSession(name: evidence.provider, sessionID: evidence.sessionID)
            try await self.sessions.providerSessions?.note(evidence, of: session)
        }
        try await self.note(nil, in: id)
        let code = try await self.keep(session, id, flow)
        do throws(NotDone) {
            try await self.sessions.confirm(session, evidence)
        } catch {
            // Nobody gets the code, so it is harmless.
            self.sessions.refuse(error, subject, .native, &record)
            guard [.signInBlocked, .signInEnded].contains(error.reason) else { throw error }
            return try await self.fail(id, flow, error)
        }
        // The session begins at the exchange. Only the results of rules are recorded now.
        record.act = .session(.judged, .native)
        record.subject = subject
        guard record.rules.isEmpty || self.sessions.journal.record(record) else { throw NotDone(.gatewayOverloaded) }
        return code
    }

    /// Makes the return code for a browser whose user did not sign in. The flow tells the app the reason.
    package func fail(_ id: String, _ flow: KeptFlow, _ failure: NotDone) async throws(NotDone) -> Secret {
        try await self.note(KeptFlow.Failure(reason: failure.reason, explanation: failure.text), in: id)
        return try await self.keep(nil, id, flow)
    }

    private func keep(_ session: Session?, _ id: String, _ flow: KeptFlow) async throws(NotDone) -> Secret {
        let (token, key) = self.sessions.authority.make(.returnCode, in: flow.code.lineage)
        let now = self.sessions.clock.now()
        let code = ReturnCode(
            code: flow.code.digest,
            flow: id,
            session: session,
            issuedAt: now,
            expiresAt: now.advanced(by: self.settings.lifetime)
        )
        try await self.ask { store, loop in store.create(code, key: key, on: loop) }
        return token
    }
}
