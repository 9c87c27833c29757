package import Providers
import Sessions
package import Vocabulary

/// Ends sessions because their provider says so: by a logout token from the provider itself (back-channel), or by a
/// browser that comes from one of the provider's pages (front-channel).
package struct ProviderLogout: Sendable {
    private let provider: any LogoutProvider
    private let ends: ProviderSessions
    private let users: UserSessions
    private var sessions: SessionService { self.users.sessions }

    /// - Parameter users: Finds the sessions of a subject that began with no session of the provider.
    package init(provider: any LogoutProvider, ends: ProviderSessions, users: UserSessions) {
        self.provider = provider
        self.ends = ends
        self.users = users
    }

    /// Whether this provider is meant by `iss`.
    package func isOf(_ issuer: String) -> Bool { issuer.isExactly(self.provider.name) }

    /// Obeys a logout token (OpenID Connect Back-Channel Logout 1.0 2.5 to 2.7), once. What it names has ended on every
    /// gateway then, now or before.
    ///
    /// - Throws: `logout.invalid_token`, `logout.replayed`. If the provider's keys or the store are not available, the
    ///   provider may repeat its request.
    package func obey(_ token: Secret, for requester: Requester) async throws(NotDone) {
        do throws(NotDone) {
            let logout = try await self.provider.logoutToken(token)
            guard try await !self.ends.wasObeyed(logout.id, of: self.provider.name) else {
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

    /// Ends the sessions of one session of the provider (OpenID Connect Front-Channel Logout 1.0 2). It revokes no token:
    /// the browser proves nothing but that it knows the `sid`.
    ///
    /// - Parameter issuer: `iss` of the request.
    package func end(_ sessionID: String, of issuer: String, for requester: Requester) async throws(NotDone) {
        guard self.isOf(issuer) else {
            let refusal = NotDone(.logoutInvalidToken, detail: "iss is not the issuer")
            self.record(refusal, requester)
            throw refusal
        }
        // Anyone may send any `sid`: one that is not known writes nothing.
        guard let ended = try await self.end(sessionID) else { return }
        self.record(subject: nil, sessionID: sessionID, ended, "front-channel", requester)
    }

    /// - Returns: How many sessions have ended, for the audit stream.
    private func end(_ logout: LogoutToken) async throws(NotDone) -> Int {
        if let sessionID = logout.sessionID {
            // First, so that a sign-in that is not found below finds this (`ProviderSessions.haveEnded`). It also ends the
            // provider's tokens.
            try await self.ends.end(subject: ProviderSession.endName(of: sessionID, at: self.provider.name))
            if let ended = try await self.end(sessionID) { return ended }
        }
        guard let ownID = logout.subject else { return 0 }
        // A provider may name a session in its logout tokens and not in its id_tokens. Then the subject decides.
        if logout.sessionID != nil, logout.namesEverySession { return try await self.endUnnamed(of: ownID) }
        // The user's own names first, so that a sign-in that is not found as an account below finds this.
        var ended = try await self.endAll(of: self.sessions.realm.subjects(of: ownID))
        // With an account end its codes, tokens and sessions, wherever they began, as those of any subject.
        ended += try await self.endAll(of: try await self.names(of: ownID).accounts)
        return ended
    }

    private func names(of ownID: String) async throws(NotDone) -> UserNames {
        try await self.ends.names(of: ownID, in: self.sessions.realm, at: self.provider.name)
    }

    /// - Returns: How many sessions have ended.
    private func endAll(of subjects: [String]) async throws(NotDone) -> Int {
        var ended = 0
        for subject in subjects {
            ended += await self.sessions.cascaded(of: subject, in: nil)
            try await self.ends.end(subject: subject)
        }
        return ended
    }

    /// Ends the sessions of a user for which the provider named no session of its own, whatever it says of its id_tokens: each
    /// may be the one that a `sid` means that is not known here. One with another `sid` is not. What an account of several
    /// providers began at another one goes on.
    ///
    /// - Returns: How many sessions have ended.
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

    /// Ends what began with one session of the provider.
    ///
    /// - Returns: How many sessions have ended; nil if none ever began with it, as far as it is still known.
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
