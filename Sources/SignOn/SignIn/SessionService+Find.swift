internal import NIOCore
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

    /// The session of a native app's token: never a browser's session, wherever the token came from.
    package func native(_ token: Secret) async throws(NotDone) -> PresentedSession {
        let presented = try await self.found(token)
        if case .none(.credentialMalformed) = presented { return try await self.found(foreign: token) }
        guard case .session(let found) = presented, found.session.kind != .native else { return presented }
        return .none(.sessionUnknown)
    }

    /// The session of the request's cookie on this host. If there are two cookies with different values, there is no
    /// session, and this is recorded: another site of the same domain may have planted one.
    package func web(_ requester: Requester) async throws(NotDone) -> PresentedSession {
        guard let cookie = requester.cookies.first else { return .none(.credentialMissing) }
        guard requester.cookies.count == 1 else {
            var record = self.record(.denied(.credentialAmbiguousCookie), .web, requester)
            // When the cookies belong to several users, it is unknown which one is the browser's.
            let subjects = Set(((try? await self.presented(by: requester)) ?? []).map(\.session.subject))
            record.subject = subjects.count == 1 ? subjects.first : nil
            self.journal.record(record)
            return .none(.credentialAmbiguousCookie)
        }
        let presented = try await self.found(cookie)
        guard case .session(let found) = presented, !Self.isPresentable(found.session, by: requester) else {
            return presented
        }
        return .none(found.session.kind == .web ? .sessionOtherHost : .sessionUnknown)
    }

    /// The session of the request's cookies, of which the gateway's own comes first, as for requests to apps.
    package func browser(_ requester: Requester) async throws(NotDone) -> PresentedSession {
        let own = try await self.web(requester)
        guard case .none = own, let cookie = requester.providerCookies.first, requester.providerCookies.count == 1
        else {
            return own
        }
        return try await self.found(foreign: cookie, as: .web)
    }

    /// Every live session of the browser that a sign-out on this host ends: those of `presented`, and the provider's.
    package func signedIn(by requester: Requester) async throws(NotDone) -> [FoundSession] {
        var all = try await self.presented(by: requester)
        for cookie in requester.providerCookies {
            if case .session(let found) = try await self.found(foreign: cookie, as: .web) { all.append(found) }
        }
        return all
    }

    /// Every live web session that the cookies present on this host; if there are several, none is to survive a sign-in
    /// or sign-out.
    package func presented(by requester: Requester) async throws(NotDone) -> [FoundSession] {
        var presented: [FoundSession] = []
        for cookie in requester.cookies {
            if case .session(let found) = try await self.found(cookie), Self.isPresentable(found.session, by: requester)
            {
                presented.append(found)
            }
        }
        return presented
    }

    /// Whether `token` has the syntax of a session token of this gateway, under any secret; not whether there is such a
    /// session.
    package func isSessionSyntax(_ token: Secret) -> Bool {
        self.authority.read(.session, token.bytes) != .malformed
    }

    /// Whether the requester may present the session: a web session is valid on its own host only.
    static func isPresentable(_ session: Session, by requester: Requester) -> Bool {
        session.kind == .web && session.host == requester.authority
    }

    private func found(_ token: Secret) async throws(NotDone) -> PresentedSession {
        if let known = self.resolvers?.known(token, now: self.clock.now()) {
            return self.presented(known)
        }
        switch self.authority.read(.session, token.bytes) {
        case .malformed: return .none(.credentialMalformed)
        case .otherKey: return .none(.credentialOtherKey)
        case .record(let key):
            guard let read = self.resolvers?.read(token, key: key, now: self.clock.now()) else {
                return self.presented(try await self.presentation(by: key))
            }
            do {
                return self.presented(try await read.get())
            } catch {
                throw NotDone(asking: error)
            }
        }
    }

    private func presented(_ presentation: SessionPresentation?) -> PresentedSession {
        guard let presentation, let stored = presentation.accepted(at: self.clock.now()),
            self.users?.loss(of: stored.record) == nil
        else { return .none(.sessionUnknown) }
        return .session(
            FoundSession(
                key: presentation.key,
                session: stored.record,
                token: presentation.token,
                usedAt: stored.usedAt
            )
        )
    }

    /// What the token with this key names, whether or not it is good any more.
    func presentation(by token: RecordKey) async throws(NotDone) -> SessionPresentation {
        try await self.ask { store, loop in SuccessorToken.presentation(by: token, in: store, on: loop) }
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
