import NIOCore
package import Sessions
package import Vocabulary

/// Finds the sessions that tokens and cookies present.
extension SessionService {
    /// Returns this service for endpoints that only show sessions. It reads the event loops' caches first, like
    /// requests to apps.
    ///
    /// - Parameter resolvers: The resolvers of the event loops. `nil` if each session is read from the store.
    package func showing(_ resolvers: SessionResolvers?) -> SessionService {
        var service = self
        service.resolvers = resolvers
        return service
    }

    /// Returns the result of `find`, or `nil` if it throws a refusal. Outages are thrown.
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

    /// Returns the session of a native app's token. A browser's session is rejected, however the token was sent.
    ///
    /// - Throws: The reason why no live session was found, for the log.
    package func native(_ token: Secret) async throws(NotDone) -> FoundSession {
        guard self.isSessionSyntax(token) else { return try await self.found(foreign: token) }
        let found = try await self.found(token)
        guard found.session.kind == .native else { throw NotDone(.sessionUnknown) }
        return found
    }

    /// Returns the session of the request's cookie on this host. Session cookies with different values are rejected and
    /// recorded, because another site of the domain may have planted one.
    ///
    /// - Throws: The reason why no live session was found, for the log.
    package func web(_ requester: Requester) async throws(NotDone) -> FoundSession {
        guard let cookie = requester.cookies.first else { throw NotDone(.credentialMissing) }
        guard requester.cookies.count == 1 else {
            var record = self.record(.denied(.credentialAmbiguousCookie), .web, requester)
            // With sessions of several users, it is unknown which user is at the browser.
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

    /// Returns the session of the gateway's cookie. Without such a session, returns the session of the provider's
    /// cookie.
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

    /// Returns the browser's live sessions, of the gateway and of the provider, that a sign-out on this host ends.
    package func signedIn(by requester: Requester) async throws(NotDone) -> [FoundSession] {
        var all = try await self.presented(by: requester)
        for cookie in requester.providerCookies {
            if let found = try await Self.ifAny(try await self.found(foreign: cookie, as: .web)) { all.append(found) }
        }
        return all
    }

    /// Returns all live web sessions of the cookies on this host. A sign-in or sign-out must end them all.
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

    /// Returns whether `token` has the syntax of the gateway's session tokens, under any secret.
    package func isSessionSyntax(_ token: Secret) -> Bool {
        TokenAuthority.isWellFormed(.session, token.bytes)
    }

    /// Returns whether the requester may present the session. A web session is valid only on its own host.
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

    /// Adds a session to its user's list again, because the first request may have failed before it did so.
    func list(_ session: Session, _ key: RecordKey) async {
        _ = try? await self.ask { store, loop in
            store.note(NewSession(key: key, session: session), on: loop)
            return loop.makeSucceededVoidFuture()
        }
    }

    /// Returns the live session under `key`. `nil` if none exists or its user is gone.
    package func living(_ key: RecordKey) async throws(NotDone) -> FoundSession? {
        let stored = try await self.ask { [users] store, loop in store.session(key, in: users, on: loop) }
        return stored.map { FoundSession(key: key, session: $0.record, usedAt: $0.usedAt) }
    }
}
