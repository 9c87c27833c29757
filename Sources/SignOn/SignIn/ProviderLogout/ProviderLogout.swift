package import Providers
import Sessions
package import Vocabulary

/// Ends sessions at the request of their provider: by a logout token from the provider (back-channel), or by a browser
/// on one of the provider's pages (front-channel).
package struct ProviderLogout: Sendable {
    private let provider: any LogoutProvider
    private let ends: ProviderSessions
    private let users: UserSessions
    private var sessions: SessionService { self.users.sessions }

    /// - Parameter users: Finds the sessions of users for which the provider gave no `sid`.
    package init(provider: any LogoutProvider, ends: ProviderSessions, users: UserSessions) {
        self.provider = provider
        self.ends = ends
        self.users = users
    }

    /// Returns whether `issuer` (`iss`) is exactly this provider's issuer.
    package func isOf(_ issuer: String) -> Bool { issuer.isExactly(self.provider.name) }

    /// Carries out a logout token once (OpenID Connect Back-Channel Logout 1.0 2.5 to 2.7). On return, the sessions
    /// have ended in the store.
    ///
    /// - Throws: `logout.invalid_token`, `logout.replayed`. Also an outage if the provider's keys or the store are
    ///   unavailable. The provider may then repeat its request.
    package func obey(_ token: Secret, for requester: Requester) async throws(NotDone) {
        do throws(NotDone) {
            let logout = try await self.provider.logoutToken(token)
            guard try await !self.ends.wasProcessed(logout.id, of: self.provider.name) else {
                throw NotDone(.logoutReplayed)
            }
            let ended = try await self.end(logout)
            try await self.ends.noteObeyed(logout.id, of: self.provider.name, until: logout.expiresAt)
            self.record(
                subject: logout.subject.map(self.sessions.realm.subject),
                sessionID: logout.sessionID,
                ended,
                "back-channel",
                requester
            )
        } catch {
            if !error.isUnavailable { self.record(error, requester) }
            throw error
        }
    }

    /// Ends everything here that began with one session of the provider (OpenID Connect Front-Channel Logout 1.0 2).
    /// Unlike a logout token, this does not end sign-ins in progress, because any browser may send a `sid`.
    ///
    /// - Parameter issuer: `iss` of the request.
    package func end(_ sessionID: String, of issuer: String, for requester: Requester) async throws(NotDone) {
        guard self.isOf(issuer) else {
            let refusal = NotDone(.logoutInvalidToken, detail: "iss is not the issuer")
            self.record(refusal, requester)
            throw refusal
        }
        // Anyone may send any `sid`, so nothing is written for an unknown one.
        guard let ended = try await self.end(sessionID) else { return }
        self.record(subject: nil, sessionID: sessionID, ended, "front-channel", requester)
    }

    /// - Returns: The number of ended sessions, for the audit stream.
    private func end(_ logout: LogoutToken) async throws(NotDone) -> Int {
        if let sessionID = logout.sessionID {
            // The end is published first, so that a sign-in in progress notices it (`ProviderSessions.haveEnded`). It
            // also ends the provider's tokens.
            try await self.ends.end(subject: ProviderSession.endName(of: sessionID, at: self.provider.name))
            if let ended = try await self.end(sessionID) { return ended }
        }
        guard let ownID = logout.subject else { return 0 }
        // Some providers send a `sid` in logout tokens but not in id_tokens. The subject then determines the sessions.
        if logout.sessionID != nil, logout.namesEverySession { return try await self.endUnnamed(of: ownID) }
        // The user's own names end first, so that a sign-in in progress notices it even if its account is not noted
        // yet.
        var ended = try await self.endAll(of: self.sessions.realm.subjects(of: ownID))
        // This also ends the account's sessions from other providers.
        ended += try await self.endAll(of: try await self.names(of: ownID).accounts)
        return ended
    }

    private func names(of ownID: String) async throws(NotDone) -> UserNames {
        try await self.ends.names(of: ownID, in: self.sessions.realm, at: self.provider.name)
    }

    /// - Returns: The number of ended sessions.
    private func endAll(of subjects: [String]) async throws(NotDone) -> Int {
        var ended = 0
        for subject in subjects {
            ended += await self.sessions.cascaded(of: subject, in: nil)
            try await self.ends.end(subject: subject)
        }
        return ended
    }

    /// Ends the user's sessions without a `sid`, because an unknown `sid` may mean any of them. Sessions with another
    /// `sid` and sessions from other providers continue.
    ///
    /// - Returns: The number of ended sessions.
    private func endUnnamed(of ownID: String) async throws(NotDone) -> Int {
        for subject in self.sessions.realm.subjects(of: ownID) {
            try await self.ends.end(subject: ProviderSession.endName(ofUnnamed: subject, at: self.provider.name))
        }
        let names = try await self.names(of: ownID)
        let unnamed = try await self.users.all(of: names.all).filter { found in
            let session = found.session
            return session.provider?.name == self.provider.name && session.provider?.sessionID == nil
                && (session.subject.isExactlyOne(of: names.own) || session.identity.isCalled(ownID))
        }
        var ended = 0
        for (subject, found) in Dictionary(grouping: unnamed, by: \.session.subject) {
            let lineages = Array(Set(found.map(\.session.lineage)))
            ended += await self.sessions.cascaded(of: subject, in: lineages)
            for lineage in lineages { try await self.sessions.endLineage(lineage) }
        }
        return ended
    }

    /// Ends everything that began with one session of the provider.
    ///
    /// - Returns: The number of ended sessions. `nil` if nothing here began with the provider's session.
    private func end(_ sessionID: String) async throws(NotDone) -> Int? {
        let records = try await self.ends.records(of: sessionID, at: self.provider.name)
        var ended = 0
        for record in records {
            for subject in record.subjects {
                ended += await self.sessions.cascaded(of: subject, in: record.lineages)
            }
            try await self.ends.end(record)
        }
        return records.isEmpty ? nil : ended
    }

    private func record(_ refusal: NotDone, _ requester: Requester) {
        var record = self.sessions.record(.denied(refusal.reason), .web, requester)
        record.provider = self.provider.name
        record.detail = refusal.detail
        self.sessions.journal.record(record)
    }

    private func record(
        subject: String?,
        sessionID: String?,
        _ ended: Int,
        _ channel: String,
        _ requester: Requester
    ) {
        var record = self.sessions.record(.signedOut, .web, requester)
        record.subject = subject
        record.cause = .sessionProviderSignedOut
        record.cascaded = ended
        record.provider = self.provider.name
        record.detail = channel
        self.sessions.journal.record(record)
    }
}
