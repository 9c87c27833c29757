package import Providers
package import Sessions
internal import Settings
package import Vocabulary

/// The properties of a session apart from its user: what may present it, for which client and with which scopes.
package struct SessionTerms: Sendable {
    package var kind: Session.Kind
    /// The OAuth client for which it is made; nil if none.
    package var clientID: String?
    package var scopes: [String]

    package init(_ kind: Session.Kind, clientID: String? = nil, scopes: [String] = []) {
        self.kind = kind
        self.clientID = clientID
        self.scopes = scopes
    }
}

/// The result of beginning a session.
package enum SessionBeginning: Sendable {
    /// The token is shown once, to its user.
    case begun(token: Secret, session: Session)
    /// The store or the audit stream cannot record it: 503, nothing was handed out.
    case unavailable(Reason)
}

extension SessionService {
    /// Begins a session for an authenticated user, always under a new token and id, in a lineage of its own: nothing
    /// that the client presented becomes a session (session fixation).
    ///
    /// - Parameters:
    ///   - evidence: What the provider handed out with the sign-in; nil if the provider is never asked again.
    ///   - account: The account that was tried (`AccountNames`), for the record.
    package func begin(
        _ authentication: Authentication,
        _ terms: SessionTerms,
        evidence: ProviderEvidence? = nil,
        account: String? = nil,
        for requester: Requester
    ) async -> SessionBeginning {
        await self.replace([], with: authentication, terms, evidence: evidence, account: account, for: requester)
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
    ) async -> SessionBeginning {
        var record = self.record(.signedIn, terms.kind, requester)
        do {
            for session in former {
                try await self.end(session)
                // Not revoked: the provider may count the former tokens and the new ones as one grant.
                if let grant = session.session.provider?.grant { self.grants?.discard(grant) }
            }
            let (token, found) = try await self.create(authentication, terms, evidence, requester)
            record.account = account
            record.provider = evidence?.provider
            record.subject = found.session.subject
            record.sessionID = found.session.id
            record.endedSessionID = former.first?.session.id
            guard self.audit(record) else {
                // The token is never handed out, so the session is useless even if the store cannot end it now.
                try? await self.end(found)
                return .unavailable(.gatewayOverloaded)
            }
            return .begun(token: token, session: found.session)
        } catch {
            return .unavailable(Self.reason(error))
        }
    }

    private func create(
        _ authentication: Authentication,
        _ terms: SessionTerms,
        _ evidence: ProviderEvidence?,
        _ requester: Requester
    ) async throws(StoreError) -> (Secret, FoundSession) {
        let lifetimes = terms.kind == .web ? self.settings.browser : self.settings.native
        let lineage = self.authority.newLineage()
        let (token, key) = self.authority.make(.session, in: lineage)
        let now = self.clock.now()
        var session = Session(
            id: self.authority.newSessionID(),
            kind: terms.kind,
            origin: terms.kind == .web ? .browser : .native,
            lineage: lineage,
            identity: authentication.identity,
            clientID: terms.clientID,
            host: terms.kind == .web ? requester.authority : nil,
            aal: authentication.aal,
            methods: authentication.methods,
            scopes: terms.scopes,
            authenticatedAt: authentication.authenticatedAt ?? now,
            issuedAt: now,
            expiresAt: now.advanced(by: lifetimes.absolute),
            idleLifetime: lifetimes.idle,
            device: self.device(requester)
        )
        if let evidence {
            session.provider =
                try await self.grants?.keep(evidence, for: session, key)
                ?? ProviderSession(name: evidence.provider, sessionID: evidence.sessionID)
            if let id = evidence.sessionID {
                try await self.providerSessions?.note(
                    lineage,
                    of: id,
                    at: evidence.provider,
                    until: session.expiresAt
                )
            }
        }
        try await self.ask { [session] store, loop in
            store.create(NewSession(key: key, session: session), on: loop)
        }
        return (token, FoundSession(key: key, session: session))
    }
}
