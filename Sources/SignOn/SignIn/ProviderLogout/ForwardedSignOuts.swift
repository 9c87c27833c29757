import NIOCore
package import Sessions
package import Vocabulary

/// Ends the gateway's sessions when a forwarded request signs their user out at the provider.
package struct ForwardedSignOuts: RecordCaller {
    private let users: UserSessions
    private let provider: String
    private var sessions: SessionService { self.users.sessions }
    private var ends: ProviderSessions { ProviderSessions(records: self.records) }
    var records: RecordAccess { self.sessions.records }

    /// - Parameters:
    ///   - sessions: The service for sign-ins of the provider's users.
    ///   - provider: The provider's name.
    package init(sessions: SessionService, provider: String) {
        self.users = UserSessions(sessions: sessions)
        self.provider = provider
    }

    // MARK: One token

    /// Returns the session of an app's token, as the provider last reported it. `nil` if it is unknown or has ended.
    package func kept(_ token: Secret) async throws(NotDone) -> Session? {
        for candidate in self.sessions.tokens.candidates(for: token) {
            let kept = try await self.ask { _, loop in candidate.tokens.kept(candidate.key, on: loop) }
            if let session = kept?.session, session.provider?.name == self.provider { return session }
        }
        return nil
    }

    /// Ends everything that began with an app's token, after the token has ended at the provider.
    ///
    /// - Parameter kept: The token's session from `kept(_:)`. `nil` if it is unknown here.
    package func end(_ token: Secret, of kept: Session?, for requester: Requester) async throws(NotDone) {
        try await self.awaitingNotifications { () async throws(NotDone) in
            guard let kept else { return try await self.ends.end(token: token, of: self.provider) }
            let cascaded = await self.sessions.cascaded(of: kept.subject, in: [kept.lineage])
            try await self.ends.end(kept, of: token)
            self.record(kept.subject, kept.id, cascaded, .native, requester)
        }
    }

    /// Asks the provider whether a token or cookie has ended. If so, ends everything that began with it here.
    package func recheck(_ token: Secret, as kind: Session.Kind) async throws(NotDone) {
        for candidate in self.sessions.tokens.candidates(for: token, as: kind) {
            try await self.ask { _, loop in
                candidate.tokens.recheck(token, as: kind, key: candidate.key, on: loop)
            }
        }
    }

    // MARK: The provider's sessions

    /// Returns whether the provider's session is this user's, as far as the sessions and tokens here show.
    ///
    /// - Parameter user: The user's id at the provider, with or without the provider's name before it.
    package func isKnown(_ session: String, of user: String) async throws(NotDone) -> Bool {
        let subjects = try await self.names(of: user).all
        return try await self.ends.records(of: session, at: self.provider).contains { record in
            record.subjects.contains { $0.isExactlyOne(of: subjects) }
        }
    }

    /// Returns the lineages of this user's sessions here, without those of one provider session that continues.
    ///
    /// - Parameters:
    ///   - user: The user's id at the provider, with or without the provider's name before it.
    ///   - session: The provider's id of the session that continues.
    ///   - tokens: The provider's tokens for the session that continues.
    package func lineages(
        of user: String,
        besides session: String,
        _ tokens: [Secret]
    ) async throws(NotDone) -> Set<Lineage> {
        let foreign = ForeignNames(self.authority, provider: self.provider)
        var spared = Set(tokens.flatMap { token in token.bytes.withUnsafeBytes { foreign.lineages(of: $0) } })
        for record in try await self.ends.records(of: session, at: self.provider) { spared.formUnion(record.lineages) }
        let names = try await self.names(of: user)
        // An account may also have sessions that began at other providers.
        let found = try await self.users.all(of: names.all).filter {
            $0.session.identity.subjectAtProvider.isExactlyOne(of: names.own)
        }
        spared.formUnion(found.filter { $0.session.provider?.sessionID == session }.map(\.session.lineage))
        return Set(found.map(\.session.lineage)).subtracting(spared)
    }

    /// Ends sessions of this user that have ended at the provider.
    ///
    /// - Parameters:
    ///   - sessions: The ids of the ended sessions at the provider.
    ///   - lineages: The lineages of sessions here that began with the ended sessions.
    ///   - user: The user's id at the provider, with or without the provider's name before it.
    ///   - kind: The kind of client that requested the sign-out, an app or a browser.
    package func end(
        _ sessions: Set<String>,
        lineages: Set<Lineage> = [],
        of user: String,
        as kind: Session.Kind = .native,
        for requester: Requester
    ) async throws(NotDone) {
        guard !sessions.isEmpty || !lineages.isEmpty else { return }
        var (all, count) = (lineages, 0)
        for session in sessions {
            for record in try await self.ends.records(of: session, at: self.provider) { all.formUnion(record.lineages) }
        }
        for subject in try await self.names(of: user).all {
            count += await self.sessions.cascaded(of: subject, in: Array(all))
        }
        try await self.awaitingNotifications { () async throws(NotDone) in
            for session in sessions.sorted() { try await self.ends.end(session: session, at: self.provider) }
            for lineage in lineages { try await self.sessions.endLineage(lineage) }
        }
        self.record(self.sessions.realm.subject(user), nil, count, kind, requester)
    }

    private func names(of user: String) async throws(NotDone) -> UserNames {
        let realm = self.sessions.realm
        return try await self.ends.names(of: realm.ownID(of: user), in: realm, at: self.provider)
    }

    private func record(
        _ subject: String,
        _ session: String?,
        _ cascaded: Int,
        _ kind: Session.Kind,
        _ requester: Requester
    ) {
        var record = self.sessions.record(.signedOut, kind, requester)
        record.subject = subject
        record.sessionID = session
        record.cascaded = cascaded
        record.provider = self.provider
        record.detail = "at the provider"
        // The result is ignored, because a full audit queue must not keep the user signed in.
        self.sessions.journal.record(record)
    }
}
