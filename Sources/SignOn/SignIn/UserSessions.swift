import NIOCore
package import Sessions
package import Vocabulary

/// The sessions of one user, as users and operators see and end them.
package struct UserSessions: RecordCaller {
    package let sessions: SessionService
    var records: RecordAccess { self.sessions.records }

    package init(sessions: SessionService) {
        self.sessions = sessions
    }

    var directory: ProviderSessions { ProviderSessions(records: self.records) }

    /// Returns the names of a provider's user.
    ///
    /// - Parameters:
    ///   - ownID: The provider's own id of the user, without the provider's name before it.
    ///   - provider: The provider's name in sessions. `nil` if the provider has no name there.
    package func names(
        of ownID: String,
        in realm: Realm,
        at provider: String?
    ) async throws(NotDone) -> UserNames {
        try await self.directory.names(of: ownID, in: realm, at: provider)
    }

    /// Returns the names of the user of this account, as far as the account's live sessions show them.
    package func names(ofAccount id: String) async throws(NotDone) -> UserNames {
        var names = UserNames(account: id)
        for found in try await self.all(of: id) {
            names.add(try await self.directory.names(of: found.session.identity, at: found.session.provider?.name))
        }
        return names
    }

    /// Returns the live sessions of the current session's user, under all of the user's names, the latest first.
    package func all(withUserOf current: FoundSession) async throws(NotDone) -> [FoundSession] {
        let session = current.session
        let names = try await self.directory.names(of: session.identity, at: session.provider?.name)
        // Another user's id at the provider may equal one of the names.
        return try await self.all(of: names.all).filter { $0.session.identity.isSamePerson(as: session.identity) }
    }

    /// Returns the user's live sessions that do not belong to the current session's sign-in (`FoundSession.isSignIn`),
    /// the latest first.
    package func others(than current: FoundSession) async throws(NotDone) -> [FoundSession] {
        try await self.all(withUserOf: current).filter { !$0.isSignIn(of: current) }
    }

    /// Returns the live sessions of the subject, the latest first.
    package func all(of subject: String) async throws(NotDone) -> [FoundSession] { try await self.all(of: [subject]) }

    /// Returns the live sessions of all the subjects, the latest first.
    package func all(of subjects: [String]) async throws(NotDone) -> [FoundSession] {
        let keys = try await self.ask { store, loop in
            EventLoopFuture.whenAllSucceed(subjects.map { store.sessions(of: $0, on: loop) }, on: loop)
        }
        return try await self.live(Array(Set(keys.joined()))) { session in
            subjects.contains { session.subject.isExactly($0) }
        }
    }

    /// Returns the live sessions whose users have this email address, verified or not, the latest first.
    package func all(with address: EmailAddress) async throws(NotDone) -> [FoundSession] {
        let keys = try await self.ask { store, loop in store.sessions(with: address, on: loop) }
        return try await self.live(keys) { $0.address == address }
    }

    /// Returns a page of all live sessions, and the start of the next page. `next` is `nil` after the last page. A page
    /// may be empty although more pages follow.
    package func some(from place: IndexPlace?) async throws(NotDone) -> (found: [FoundSession], next: IndexPlace?) {
        let page = try await self.ask { store, loop in store.sessions(from: place, on: loop) }
        return (try await self.live(Array(Set(page.keys))) { _ in true }, page.next)
    }

    private func live(
        _ keys: [RecordKey],
        where isWanted: (Session) -> Bool
    ) async throws(NotDone) -> [FoundSession] {
        let found = try await self.ask { store, loop in
            EventLoopFuture.whenAllSucceed(
                keys.map { key in
                    store.session(key, on: loop).map { stored in
                        stored.map { FoundSession(key: key, session: $0.record, usedAt: $0.usedAt) }
                    }
                },
                on: loop
            )
        }
        return found.compactMap(\.self).filter { $0.session.isListed && isWanted($0.session) }
            .sorted { $0.session.issuedAt > $1.session.issuedAt }
    }

    /// Returns the live session with this key. `nil` if none exists.
    package func session(_ key: RecordKey) async throws(NotDone) -> FoundSession? {
        let stored = try await self.ask { store, loop in store.session(key, on: loop) }
        return stored.map { FoundSession(key: key, session: $0.record, usedAt: $0.usedAt) }
    }

    /// Ends one of the user's sessions and everything that ends together with it, on behalf of the user.
    package func endOne(_ found: FoundSession, for requester: Requester) async throws(NotDone) {
        try await self.awaitingNotifications { () async throws(NotDone) in
            try await self.end(found, for: requester)
        }
    }

    /// Ends all sessions of the user that do not belong to the current session's sign-in, on behalf of the user.
    ///
    /// The index lists only the latest sessions of a user. If it is full, older sessions may exist that it does not
    /// list. Then everything of the user ends, and the user signs in again.
    ///
    /// - Returns: The number of listed sessions that ended.
    package func endOthers(than current: FoundSession, for requester: Requester) async throws(NotDone) -> Int {
        let others = try await self.others(than: current)
        var unlisted: [String] = []
        for subject in Set(others.map(\.session.subject) + [current.session.subject]) {
            if try await self.mayLackSessions(of: subject) { unlisted.append(subject) }
        }
        try await self.awaitingNotifications { [unlisted] () async throws(NotDone) in
            for found in others { try await self.end(found, for: requester) }
            for subject in unlisted {
                try await self.directory.end(subject: subject)
                self.record(subject, nil, 0, nil, requester)
            }
        }
        return others.count
    }

    private func mayLackSessions(of subject: String) async throws(NotDone) -> Bool {
        try await self.ask { store, loop in
            store.sessions(of: subject, on: loop).map { $0.count >= type(of: store).listCapacity }
        }
    }

    /// Ends a session and everything that ends together with it.
    ///
    /// - Parameters:
    ///   - new: The new session that exceeds the limit (`SessionService.admit`). `nil` if a person ends the session.
    ///   - operator: The operator who ends the session. `nil` if no operator does.
    package func end(
        _ found: FoundSession,
        admitting new: FoundSession? = nil,
        by operator: String? = nil,
        for requester: Requester
    ) async throws(NotDone) {
        let cascaded = await self.sessions.cascaded(with: found.session, found.key)
        try await self.sessions.endWithDependents(found)
        if found.session.sharedGrant != nil { self.sessions.grants?.revoke(after: found.session) }
        self.record(found.session.subject, found, cascaded, `operator`, admitting: new, requester)
    }

    /// Ends all sessions under these names, even if no index lists them.
    ///
    /// - Parameter operator: The operator who ends the sessions. `nil` if their user ends them.
    /// - Returns: False if the user is known to have had no session.
    package func endAll(
        of names: UserNames,
        by operator: String? = nil,
        for requester: Requester
    ) async throws(NotDone) -> Bool {
        // The sessions end even if they cannot be listed.
        let known = try? await self.all(of: names.all)
        for name in names.all { try await self.directory.end(subject: name) }
        guard let known else {
            for name in names.all { self.record(name, nil, 0, `operator`, requester) }
            return true
        }
        for (name, found) in Dictionary(grouping: known, by: \.session.subject) {
            self.record(name, nil, found.count, `operator`, requester)
        }
        return !known.isEmpty
    }

    /// Notes that the session was used now.
    package func touch(_ found: FoundSession) async throws(NotDone) {
        try await self.sessions.ask { store, loop in store.touch(found.key, on: loop) }
    }

    /// - Parameters:
    ///   - found: The session that ended. `nil` if all sessions of the subject ended.
    ///   - cascaded: The number of other sessions that ended.
    private func record(
        _ subject: String,
        _ found: FoundSession?,
        _ cascaded: Int,
        _ operator: String?,
        admitting new: FoundSession? = nil,
        _ requester: Requester
    ) {
        var record = self.sessions.record(.signedOut, found?.session.kind ?? .web, requester)
        record.subject = subject
        if let found { record.note(found.session, found.key) }
        if `operator` != nil { record.cause = .sessionOperatorEnded }
        if new != nil { record.cause = .sessionLimit }
        record.cascaded = cascaded
        record.detail = `operator`.map { "operator \($0)" } ?? new.map { "sign-in \($0.session.id)" } ?? "by its user"
        // The result is ignored, because a full audit queue must not keep a thief signed in.
        self.sessions.journal.record(record)
    }
}
