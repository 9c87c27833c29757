import NIOCore
package import Providers
package import Sessions
package import Vocabulary

/// A session that has ended because its user signed out.
package struct SignedOutSession: Sendable {
    package let session: Session
    /// The provider's tokens, read before the end. `nil` if none were kept.
    package let tokens: ProviderTokenSet?
}

/// Ends sessions. When a method returns, no cache of the process contains the ended sessions.
extension SessionService {
    /// Ends only one session. Returns true if the session existed.
    @discardableResult
    package func endOne(_ key: RecordKey) async throws(NotDone) -> Bool {
        try await self.ask { store, loop in store.end(key, on: loop) }
    }

    /// Ends every token and session of the lineage.
    package func endLineage(_ lineage: Lineage) async throws(NotDone) {
        try await self.ask { store, loop in store.end(lineage, on: loop) }
        self.notifyClients(of: [lineage])
    }

    /// Ends a session and everything that ends together with it (`Session.endReach`).
    package func endWithDependents(_ found: FoundSession) async throws(NotDone) {
        try await self.endReplaced(found)
        self.notifyClients(of: found.stored)
    }

    /// Ends a session and everything that ends together with it, but notifies no clients. The caller moves the clients
    /// to the new session (`moveClients`).
    func endReplaced(_ found: FoundSession) async throws(NotDone) {
        try await self.ask { store, loop in found.session.end(found.key, in: store, on: loop) }
    }

    /// Ends the sessions that the request's cookies present on this host, and returns the gateway's sessions among
    /// them.
    @discardableResult
    package func signOutBrowser(of requester: Requester) async throws(NotDone) -> [SignedOutSession] {
        try await self.awaitingNotifications { () async throws(NotDone) in try await self.endCookies(of: requester) }
    }

    private func endCookies(of requester: Requester) async throws(NotDone) -> [SignedOutSession] {
        var ended: [SignedOutSession] = []
        for cookie in requester.cookies {
            guard let key = self.authority.key(.session, of: cookie.bytes) else { continue }
            let (end, tokens) = try await self.signOut(key, .web, requester)
            if case .ended(let session) = end { ended.append(SignedOutSession(session: session, tokens: tokens)) }
        }
        // The provider may no longer accept its cookie, so a refusal is ignored.
        for cookie in requester.providerCookies {
            _ = try await Self.ifAny(try await self.signOutForeign(cookie, as: .web, for: requester))
        }
        return ended
    }

    /// Ends the native session of a presented token and all sessions made from it.
    ///
    /// A provider's token also ends here, even if the provider still accepts it.
    ///
    /// - Throws: The reason why the token belongs to no native session. Does not throw if the session has just ended,
    ///   so that a client can repeat its request.
    package func signOutApp(_ token: Secret, for requester: Requester) async throws(NotDone) {
        try await self.awaitingNotifications { () async throws(NotDone) in try await self.endApp(token, requester) }
    }

    private func endApp(_ token: Secret, _ requester: Requester) async throws(NotDone) {
        switch self.authority.read(.session, token.bytes) {
        case .malformed: try await self.signOutForeign(token, for: requester)
        case .otherKey: throw NotDone(.credentialOtherKey)
        case .record(let key):
            switch try await self.signOut(key, .native, requester).end {
            case .ended: break
            case .kept: throw NotDone(.sessionUnknown)
            case .absent: guard try await self.knowsEnd(of: key) else { throw NotDone(.sessionUnknown) }
            }
        }
    }

    /// Returns whether the store still knows that the session under `key` has ended.
    private func knowsEnd(of key: RecordKey) async throws(NotDone) -> Bool {
        let finding = try await self.ask { store, loop in
            let promise = loop.makePromise(of: SessionFinding.self)
            store.session(key, on: loop) { promise.completeWith($0.mapError { $0 }) }
            return promise.futureResult
        }
        switch finding {
        case .live, .absent(.sessionUnknown), .absent(.sessionForgotten): return false
        case .absent: return true
        }
    }

    /// Ends the session that a token presents, with its dependents. An ended session is ended again, because the client
    /// may repeat its request after a 503. A replaced token is accepted only for `SuccessorToken.overlap`. The
    /// provider's tokens are revoked in the background.
    ///
    /// - Returns: The result, and the provider's tokens, read before the end. `tokens` is `nil` if none could be read.
    private func signOut(
        _ token: RecordKey,
        _ kind: Session.Kind,
        _ requester: Requester
    ) async throws(NotDone) -> (end: PresentedEnd, tokens: ProviderTokenSet?) {
        let presented = try await self.ask { store, loop in
            SuccessorToken.presentation(by: token, in: store, on: loop)
        }
        let key = presented.key
        let grantKey = presented.session?.record.provider?.grant
        var grant: ProviderGrant?
        if let grants = self.grants, let grantKey { grant = (try? await grants.grant(grantKey))?.record }
        let (number, now) = (presented.token.number, self.clock.now())
        let mayEnd: @Sendable (Session) -> Bool = {
            $0.accepts(tokenNumber: number, at: now) && Self.isPresentable($0, kind, by: requester)
        }
        let present = presented.session.flatMap { mayEnd($0.record) ? $0.record : nil }
        // The family ends first, because a repeated request cannot find it once the presented session has ended.
        let root = kind == .web ? present?.familyRoot(key) : nil
        var family: [RecordKey]?
        if let root { family = try await self.ask { HandoffFamily.members(of: root, in: $0, on: $1) } }
        let cascaded = await self.cascaded(with: present, key, family)
        if let root, family != [key] {
            try await self.ask { HandoffFamily.end(root: root, sparing: key, isLast: false, in: $0, on: $1) }
        }
        let end = try await self.endInStore(key, present, if: mayEnd)
        if let root { try await self.ask { HandoffFamily.end(root: root, sparing: key, in: $0, on: $1) } }
        guard case .ended(let session) = end else { return (end, grant?.tokens) }
        self.notifyClients(of: NewSession(key: key, session: session))
        var record = self.record(.signedOut, kind, requester)
        record.note(session, key)
        record.cascaded = cascaded
        // The result is ignored, because a full audit queue must not keep the user signed in.
        self.journal.record(record)
        if let grant { self.grants?.revoke(after: session, former: grant) }
        return (end, grant?.tokens)
    }

    /// - Parameters:
    ///   - present: The session. `nil` unless it is live and the requester may end it.
    ///   - mayEnd: Returns whether the requester may end a session.
    private func endInStore(
        _ key: RecordKey,
        _ present: Session?,
        if mayEnd: @escaping @Sendable (Session) -> Bool
    ) async throws(NotDone) -> PresentedEnd {
        guard let present else {
            // The session has ended, the store has lost it, or the requester may not end it.
            return try await self.ask { store, loop in
                store.end(
                    presented: key,
                    reaching: { mayEnd($0) ? $0.endReach : .nothing },
                    on: loop
                )
            }
        }
        switch present.endReach {
        case .nothing: return .kept
        // `absent` if another request has ended the session since it was read.
        case .session: return try await self.endOne(key) ? .ended(present) : .absent
        case .lineage:
            try await self.ask { store, loop in store.end(present.lineage, on: loop) }
            return .ended(present)
        }
    }

    /// Counts the other sessions that end with this session, for audit records. Returns 0 if the number is unknown.
    ///
    /// - Parameter family: The keys of the session's family. `nil` if they have not been read.
    func cascaded(with session: Session?, _ key: RecordKey, _ family: [RecordKey]? = nil) async -> Int {
        guard let session, let cascade = self.cascade else { return 0 }
        return (try? await self.ask { _, loop in cascade.count(with: session, key, family: family, on: loop) }) ?? 0
    }

    /// Counts the user's sessions that end with these lineages, for audit records. Returns 0 if the number is unknown.
    ///
    /// - Parameter lineages: The lineages that end. `nil` if all of the user's sessions end.
    func cascaded(of subject: String, in lineages: [Lineage]?) async -> Int {
        guard let cascade = self.cascade else { return 0 }
        return (try? await self.ask { _, loop in cascade.count(of: subject, in: lineages, on: loop) }) ?? 0
    }

    private static func isPresentable(_ session: Session, _ kind: Session.Kind, by requester: Requester) -> Bool {
        kind == .web ? self.isPresentable(session, by: requester) : session.kind == kind
    }
}
