package import AddressIntelligence
internal import Endpoints
package import NIOCore
package import Observability
package import Providers
package import Sessions
package import Settings
package import Vocabulary

/// Begins and ends sessions for the endpoints of browsers and native apps, which differ in their wire shapes only.
package struct SessionService: Sendable {
    /// What came of a sign-in.
    enum SignIn: Sendable {
        case signedIn(token: Secret, session: Session)
        /// Unknown user or wrong password.
        case refused
        /// Too many tries; the next one is allowed after so long.
        case throttled(Duration)
        /// The provider or the store cannot answer.
        case unavailable(Reason)
    }

    /// A session and where it lies.
    struct Found: Sendable {
        let key: RecordKey
        let session: Session
    }

    /// What a credential presents.
    enum Presented: Sendable {
        case session(Found)
        /// No live session; why, for the log.
        case nobody(Reason)
    }

    private static let longestUserAgent = 512

    let sessions: SessionSettings
    let clock: Clock
    let store: any SessionStore
    let authority: TokenAuthority
    let provider: any IdentityProvider
    private let loops: any EventLoopGroup
    private let asn: ASNDirectory?
    let audit: @Sendable (SignInRecord) -> Bool
    let limiter: any RateLimiter
    let familiar: FamiliarAddresses
    private let accounts: AccountNames

    /// - Parameters:
    ///   - limiter: Counts tries to sign in (`SignInLimits`).
    ///   - familiar: The addresses that users have signed in from; it outlives a reload.
    ///   - accounts: Names the accounts that are tried in the audit stream.
    ///   - loops: The loops on which store and limiter are asked.
    ///   - asn: Names the network of a new session's device, for live binding.
    ///   - audit: Told of every sign-in, refusal and sign-out before it is answered; false when it has no room and
    ///     nothing may happen unrecorded (`log.audit_on_full: refuse`).
    package init(
        store: any SessionStore,
        authority: TokenAuthority,
        provider: any IdentityProvider,
        sessions: SessionSettings,
        limiter: any RateLimiter,
        familiar: FamiliarAddresses,
        accounts: AccountNames,
        loops: any EventLoopGroup,
        asn: ASNDirectory?,
        audit: @escaping @Sendable (SignInRecord) -> Bool,
        clock: Clock
    ) {
        self.store = store
        self.authority = authority
        self.provider = provider
        self.sessions = sessions
        self.limiter = limiter
        self.familiar = familiar
        self.accounts = accounts
        self.loops = loops
        self.asn = asn
        self.audit = audit
        self.clock = clock
    }

    /// The same, writing to the audit stream.
    package init(
        store: any SessionStore,
        authority: TokenAuthority,
        provider: any IdentityProvider,
        sessions: SessionSettings,
        limiter: any RateLimiter,
        familiar: FamiliarAddresses,
        accounts: AccountNames,
        loops: any EventLoopGroup,
        asn: ASNDirectory?,
        audit: AuditStream,
        clock: Clock
    ) {
        self.init(
            store: store,
            authority: authority,
            provider: provider,
            sessions: sessions,
            limiter: limiter,
            familiar: familiar,
            accounts: accounts,
            loops: loops,
            asn: asn,
            audit: { audit.emit($0.auditEvent) },
            clock: clock
        )
    }

    /// Records that a form came from another site, as far as can be told: whom it would have signed in or out.
    func denyCrossSite(_ request: EndpointRequest, identifier: String?) async {
        var record = self.record(
            .denied(.requestCrossSite),
            .web,
            request,
            account: identifier.flatMap(UserIdentifier.init)
        )
        let found = (try? await self.presented(request))?.first
        record.subject = found?.session.subject
        record.sessionID = found?.session.id
        _ = self.audit(record)
    }

    /// Ends the sessions that the request's cookies present, on this host; true when there was one. When it returns,
    /// every loop of the process has forgotten them.
    func signOutBrowser(_ request: EndpointRequest) async throws(StoreError) -> Bool {
        var wasThere = false
        for value in self.cookieValues(request) {
            guard let key = self.authority.key(.session, of: Array(value.utf8)) else { continue }
            if case .ended = try await self.signOut(key, .web, request) { wasThere = true }
        }
        return wasThere
    }

    /// Ends a native session with all that came of it.
    ///
    /// - Returns: Why the token never named a native session; nil when its session has ended, now or before: a client that
    ///   lost the answer may repeat the request and gets the same one.
    func signOutNative(_ token: String, _ request: EndpointRequest) async throws(StoreError) -> Reason? {
        switch self.authority.read(.session, Array(token.utf8)) {
        case .malformed: return .credentialMalformed
        case .otherKey: return .credentialOtherKey
        case .record(let key):
            if case .kept = try await self.signOut(key, .native, request) { return .sessionUnknown }
            return nil
        }
    }

    /// Ends what the token names, also where it was ended before: a client that got 503 because the end was not confirmed
    /// repeats its request.
    private func signOut(
        _ key: RecordKey,
        _ kind: Session.Kind,
        _ request: EndpointRequest
    ) async throws(StoreError) -> PresentedEnd {
        let end = try await self.ask { store, loop in
            store.end(
                presented: key,
                reaching: { session in
                    let isPresentable = kind == .web ? Self.isPresentable(session, by: request) : session.kind == kind
                    return isPresentable ? Self.reach(ofEnding: session) : .nothing
                },
                on: loop
            )
        }
        guard case .ended(let session) = end else { return end }
        var record = self.record(.signedOut, kind, request)
        record.subject = session.subject
        record.sessionID = session.id
        // A sign-out happens in any case: a full queue must not keep anybody signed in.
        _ = self.audit(record)
        return end
    }

    /// What a native app's token presents: never a browser's session, wherever its token came from.
    func native(_ token: String) async throws(StoreError) -> Presented {
        let presented = try await self.found(token)
        guard case .session(let found) = presented, found.session.kind != .native else { return presented }
        return .nobody(.sessionUnknown)
    }

    /// What the request's cookie presents on this host. Two cookies of different value sign nobody in, which is recorded:
    /// another site of the same domain may have planted one.
    func web(_ request: EndpointRequest) async throws(StoreError) -> Presented {
        let values = self.cookieValues(request)
        guard let value = values.first else { return .nobody(.credentialMissing) }
        guard values.count == 1 else {
            var record = self.record(.denied(.credentialAmbiguousCookie), .web, request)
            // When the cookies are of several users, it is not known which one is the browser's.
            let subjects = Set(((try? await self.presented(request)) ?? []).map(\.session.subject))
            record.subject = subjects.count == 1 ? subjects.first : nil
            _ = self.audit(record)
            return .nobody(.credentialAmbiguousCookie)
        }
        let presented = try await self.found(value)
        guard case .session(let found) = presented, !Self.isPresentable(found.session, by: request) else {
            return presented
        }
        return .nobody(found.session.kind == .web ? .sessionOtherHost : .sessionUnknown)
    }

    /// The different values of our cookie, in the order in which they came.
    func cookieValues(_ request: EndpointRequest) -> [String] {
        request.credentials.sessionCookies.map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    /// Whether `token` could be a session of this gateway or of one with another secret; says nothing about its being one.
    func isSessionSyntax(_ token: String) -> Bool {
        self.authority.read(.session, Array(token.utf8)) != .malformed
    }

    func cookie(_ request: EndpointRequest) -> SessionCookie {
        SessionCookie(name: self.sessions.cookieName, isSecure: request.isSecure)
    }

    /// The refusal that stands for a store that could not answer.
    static func reason(_ error: StoreError) -> Reason {
        switch error {
        case .unavailable: .storeUnavailable
        case .full: .storeFull
        }
    }

    /// Every live web session that the cookies present on this host; of several, the browser wants none to survive.
    func presented(_ request: EndpointRequest) async throws(StoreError) -> [Found] {
        var presented: [Found] = []
        for value in self.cookieValues(request) {
            if case .session(let found) = try await self.found(value), Self.isPresentable(found.session, by: request) {
                presented.append(found)
            }
        }
        return presented
    }

    /// A web session counts on its own host only.
    private static func isPresentable(_ session: Session, by request: EndpointRequest) -> Bool {
        session.kind == .web && session.host == request.authority
    }

    private func found(_ token: String) async throws(StoreError) -> Presented {
        switch self.authority.read(.session, Array(token.utf8)) {
        case .malformed: return .nobody(.credentialMalformed)
        case .otherKey: return .nobody(.credentialOtherKey)
        case .record(let key):
            let stored = try await self.ask { store, loop in store.session(key, on: loop) }
            return stored.map { .session(Found(key: key, session: $0.record)) } ?? .nobody(.sessionUnknown)
        }
    }

    /// A session born of a handoff ends alone, because the native app that it came from stays signed in; any other with
    /// its whole family.
    private static func reach(ofEnding session: Session) -> EndReach {
        session.origin == .transfer ? .session : .lineage
    }

    func end(_ sessions: [Found]) async throws(StoreError) -> [Found] {
        for found in sessions {
            let lineage = found.session.lineage
            switch Self.reach(ofEnding: found.session) {
            case .nothing: break
            case .session: _ = try await self.ask { store, loop in store.end(found.key, on: loop) }
            case .lineage: try await self.ask { store, loop in store.end(lineage, on: loop) }
            }
        }
        return sessions
    }

    /// Asks the store on one of its loops.
    func ask<Answer: Sendable>(
        _ question: @escaping @Sendable (any SessionStore, any EventLoop) -> EventLoopFuture<Answer>
    ) async throws(StoreError) -> Answer {
        let loop = self.loops.next()
        let store = self.store
        do {
            return try await loop.flatSubmit { question(store, loop) }.get()
        } catch {
            throw (error as? StoreError) ?? .unavailable
        }
    }

    func device(_ request: EndpointRequest) -> DeviceFacts {
        DeviceFacts(
            address: request.address,
            asn: self.asn?.asn(of: request.address),
            userAgent: request.field("user-agent").map {
                String(decoding: $0.utf8.prefix(Self.longestUserAgent), as: UTF8.self)
            }
        )
    }

    func record(
        _ event: SignInRecord.Event,
        _ kind: Session.Kind,
        _ request: EndpointRequest,
        account: UserIdentifier? = nil
    ) -> SignInRecord {
        var record = SignInRecord(
            event: event,
            kind: kind,
            requestID: request.requestID,
            host: request.authority,
            device: self.device(request)
        )
        record.account = account.map(self.accounts.name)
        return record
    }
}
