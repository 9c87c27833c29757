import NIOCore
package import Sessions
package import Vocabulary

/// Finds the sessions that tokens and cookies present.
extension SessionService {
    /// The same service for endpoints that only show sessions: it finds them as requests to apps do, for some seconds
    /// without the store.
    ///
    /// - Parameter resolvers: nil: each is read from the store.
    package func showing(_ resolvers: SessionResolvers?) -> SessionService {
        var service = self
        service.resolvers = resolvers
        return service
    }

    /// What `find` finds; nil where that is refused. Only what nobody can know now is thrown.
    package static func ifAny<Found>(
        _ find: @autoclosure () async throws(NotDone) -> Found
    ) async throws(NotDone) -> Found? {
        do throws(NotDone) {
            return try await find()
        } catch {
            if error.isUnavailable { throw error }
            return nil
        }
    }

    /// The session of a native app's token: never a browser's session, wherever the token came from.
    ///
    /// - Throws: Why there is no live session, for the log.
    package func native(_ token: Secret) async throws(NotDone) -> FoundSession {
        guard self.isSessionSyntax(token) else { return try await self.found(foreign: token) }
        let found = try await self.found(token)
        guard found.session.kind == .native else { throw NotDone(.sessionUnknown) }
        return found
    }

    /// The session of the request's cookie on this host. If there are two cookies with different values, there is no
    /// session, and this is recorded: another site of the same domain may have planted one.
    ///
    /// - Throws: Why there is no live session, for the log.
    package func web(_ requester: Requester) async throws(NotDone) -> FoundSession {
        guard let cookie = requester.cookies.first else { throw NotDone(.credentialMissing) }
        guard requester.cookies.count == 1 else {
            var record = self.record(.denied(.credentialAmbiguousCookie), .web, requester)
            // When the cookies belong to several users, it is unknown which one is the browser's.
            let subjects = Set(((try? await self.presented(by: requester)) ?? []).map(\.session.subject))
            record.subject = subjects.count == 1 ? subjects.first : nil
            self.journal.record(record)
            throw NotDone(.credentialAmbiguousCookie)
        }
        let found = try await self.found(cookie)
        guard Self.isPresentable(found.session, by: requester) else {
            throw NotDone(found.session.kind == .web ? .sessionOtherHost : .sessionUnknown)
        }
        return found
    }

    /// The session of the request's cookies, of which the gateway's own comes first, as for requests to apps.
    package func browser(_ requester: Requester) async throws(NotDone) -> FoundSession {
        do throws(NotDone) {
            return try await self.web(requester)
        } catch {
            guard !error.isUnavailable, let cookie = requester.providerCookies.first,
                requester.providerCookies.count == 1
            else { throw error }
            return try await self.found(foreign: cookie, as: .web)
        }
    }

    /// Every live session of the browser that a sign-out on this host ends: those of `presented`, and the provider's.
    package func signedIn(by requester: Requester) async throws(NotDone) -> [FoundSession] {
        var all = try await self.presented(by: requester)
        for cookie in requester.providerCookies {
            if let found = try await Self.ifAny(try await self.found(foreign: cookie, as: .web)) { all.append(found) }
        }
        return all
    }

    /// Every live web session that the cookies present on this host; if there are several, none is to survive a sign-in
    /// or sign-out.
    package func presented(by requester: Requester) async throws(NotDone) -> [FoundSession] {
        var presented: [FoundSession] = []
        for cookie in requester.cookies {
            if let found = try await Self.ifAny(try await self.found(cookie)),
                Self.isPresentable(found.session, by: requester)
            {
                presented.append(found)
            }
        }
        return presented
    }

    /// Whether `token` has the syntax of a session token of this gateway, under any secret; not whether there is such a
    /// session.
    package func isSessionSyntax(_ token: Secret) -> Bool {
        TokenAuthority.isWellFormed(.session, token.bytes)
    }

    /// Whether the requester may present the session: a web session is valid on its own host only.
    static func isPresentable(_ session: Session, by requester: Requester) -> Bool {
        session.kind == .web && session.host == requester.authority
    }

    private func found(_ token: Secret) async throws(NotDone) -> FoundSession {
        let presentation: SessionPresentation?
        if let known = self.resolvers?.known(token, now: self.clock.now()) {
            presentation = known
        } else {
            switch self.authority.read(.session, token.bytes) {
            case .malformed: throw NotDone(.credentialMalformed)
            case .otherKey: throw NotDone(.credentialOtherKey)
            case .record(let key): presentation = try await self.read(token, key)
            }
        }
        guard let presentation, let stored = presentation.accepted(at: self.clock.now()),
            self.users?.loss(of: stored.record) == nil
        else { throw NotDone(.sessionUnknown) }
        return FoundSession(
            key: presentation.key,
            session: stored.record,
            token: presentation.token,
            usedAt: stored.usedAt
        )
    }

    private func read(_ token: Secret, _ key: RecordKey) async throws(NotDone) -> SessionPresentation? {
        guard let read = self.resolvers?.read(token, key: key, now: self.clock.now()) else {
            return try await self.ask { store, loop in SuccessorToken.presentation(by: key, in: store, on: loop) }
        }
        do {
            return try await read.get()
        } catch {
            throw NotDone(asking: error)
        }
    }

    /// Puts a session that is handed out late into its user's list: where the answer of the attempt that made it was lost, it may
    /// not be there.
    func list(_ session: Session, _ key: RecordKey) async {
        _ = try? await self.ask { store, loop in
            store.note(NewSession(key: key, session: session), on: loop)
            return loop.makeSucceededVoidFuture()
        }
    }

    /// The live session under `key` whose user has not gone.
    func living(_ key: RecordKey) async throws(NotDone) -> FoundSession? {
        let stored = try await self.ask { [users] store, loop in store.session(key, in: users, on: loop) }
        return stored.map { FoundSession(key: key, session: $0.record, usedAt: $0.usedAt) }
    }
}
