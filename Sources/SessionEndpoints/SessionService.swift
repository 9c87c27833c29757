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

    /// More cookies of our name than a browser could come to hold are not worth a look-up each.
    private static let mostCookies = 8
    private static let longestUserAgent = 512

    let sessions: SessionSettings
    let clock: Clock
    private let store: any SessionStore
    private let authority: TokenAuthority
    private let provider: any IdentityProvider
    private let loops: any EventLoopGroup
    private let asn: ASNDirectory?
    private let audit: @Sendable (SignInRecord) -> Bool
    private let limiter: any RateLimiter

    /// - Parameters:
    ///   - limiter: Counts tries to sign in (`SignInLimits`).
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
            loops: loops,
            asn: asn,
            audit: { audit.emit($0.auditEvent) },
            clock: clock
        )
    }

    /// Checks the password and begins a session, always under a new token and id: nothing that the client presented
    /// becomes one (T8, peers #46). A browser's old session ends first (CVE-2026-34454, peers #45).
    func signIn(identifier: String, password: Secret, kind: Session.Kind, request: EndpointRequest) async -> SignIn {
        var record = self.record(.refused(.signInRefused), kind, request)
        let limits = SignInLimits(address: request.address, identifier: identifier)
        do {
            if case .throttled(let wait) = try await self.count(limits) {
                record.event = .refused(.signInThrottled)
                _ = self.audit(record)
                return .throttled(wait)
            }
        } catch {
            return .unavailable(Self.reason(error))
        }
        switch await self.provider.authenticate(identifier: identifier, password: password) {
        case .unavailable:
            return .unavailable(.providerUnavailable)
        case .refused:
            _ = self.audit(record)
            return .refused
        case .authenticated(let identity, let aal, let methods):
            await self.forgive(limits)
            do {
                let ended = kind == .web ? try await self.end(self.presented(request)) : []
                let (token, found) = try await self.begin(kind, identity, aal, methods, request)
                record.event = .signedIn
                record.subject = found.session.subject
                record.sessionID = found.session.id
                record.endedSessionID = ended.first?.session.id
                guard self.audit(record) else {
                    // Nobody has the token, so that the session is dead even if the store does not end it now.
                    _ = try? await self.end([found])
                    return .unavailable(.gatewayOverloaded)
                }
                return .signedIn(token: token, session: found.session)
            } catch {
                return .unavailable(Self.reason(error))
            }
        }
    }

    /// Ends the sessions that the request's cookies present, on this host; true when there was one. When it returns,
    /// every loop of the process has forgotten them.
    func signOutBrowser(_ request: EndpointRequest) async throws(StoreError) -> Bool {
        var wasThere = false
        for value in self.cookieValues(request) where try await self.signOut(value, .web, request) { wasThere = true }
        return wasThere
    }

    /// Ends a native session with all that came of it; false when the token presents none.
    func signOutNative(_ token: String, _ request: EndpointRequest) async throws(StoreError) -> Bool {
        try await self.signOut(token, .native, request)
    }

    /// Ends what the token names, also where it was ended before: whoever was told that this is not sure asks again.
    private func signOut(
        _ token: String,
        _ kind: Session.Kind,
        _ request: EndpointRequest
    ) async throws(StoreError) -> Bool {
        guard let key = self.authority.key(.session, of: Array(token.utf8)) else { return false }
        let ended = try await self.ask { store, loop in
            store.end(
                presented: key,
                reaching: { session in
                    let isPresentable = kind == .web ? Self.isPresentable(session, by: request) : session.kind == kind
                    return isPresentable ? Self.reach(ofEnding: session) : .nothing
                },
                on: loop
            )
        }
        guard let ended else { return false }
        var record = self.record(.signedOut, kind, request)
        record.subject = ended.subject
        record.sessionID = ended.id
        // A sign-out happens in any case: a full queue must not keep anybody signed in.
        _ = self.audit(record)
        return true
    }

    /// The live session of a native app's token; a browser's session is none, wherever its token came from.
    func native(_ token: String) async throws(StoreError) -> Found? {
        guard let found = try await self.found(token), found.session.kind == .native else { return nil }
        return found
    }

    /// The live web session of the request's cookie on this host. Two cookies of different values present none.
    func web(_ request: EndpointRequest) async throws(StoreError) -> Found? {
        let values = self.cookieValues(request)
        guard values.count == 1, let found = try await self.found(values[0]) else { return nil }
        return Self.isPresentable(found.session, by: request) ? found : nil
    }

    /// The different values of our cookie, in the order in which they came.
    func cookieValues(_ request: EndpointRequest) -> [String] {
        var values: [String] = []
        for value in CookieField.values(of: self.cookie(request).name, in: request.fields)
        where values.count < Self.mostCookies && !values.contains(value) {
            values.append(value)
        }
        return values
    }

    /// Whether `token` could be one of our sessions; says nothing about its being one.
    func isSessionSyntax(_ token: String) -> Bool {
        self.authority.key(.session, of: Array(token.utf8)) != nil
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
    private func presented(_ request: EndpointRequest) async throws(StoreError) -> [Found] {
        var presented: [Found] = []
        for value in self.cookieValues(request) {
            guard let found = try await self.found(value), Self.isPresentable(found.session, by: request) else {
                continue
            }
            presented.append(found)
        }
        return presented
    }

    /// A web session counts on its own host only.
    private static func isPresentable(_ session: Session, by request: EndpointRequest) -> Bool {
        session.kind == .web && session.host == request.authority
    }

    private func found(_ token: String) async throws(StoreError) -> Found? {
        guard let key = self.authority.key(.session, of: Array(token.utf8)) else { return nil }
        return try await self.ask { store, loop in store.session(key, on: loop) }
            .map { Found(key: key, session: $0.record) }
    }

    /// A session born of a handoff ends alone, because the native app that it came from stays signed in; any other with
    /// its whole family.
    private static func reach(ofEnding session: Session) -> EndReach {
        session.origin == .transfer ? .session : .lineage
    }

    private func end(_ sessions: [Found]) async throws(StoreError) -> [Found] {
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

    private func begin(
        _ kind: Session.Kind,
        _ identity: Identity,
        _ aal: String,
        _ methods: [String],
        _ request: EndpointRequest
    ) async throws(StoreError) -> (Secret, Found) {
        let lifetimes = kind == .web ? self.sessions.browser : self.sessions.native
        let lineage = self.authority.newLineage()
        let (token, key) = self.authority.make(.session, in: lineage)
        let now = self.clock.now()
        let session = Session(
            id: self.authority.newSessionID(),
            kind: kind,
            origin: kind == .web ? .browser : .native,
            lineage: lineage,
            identity: identity,
            host: kind == .web ? request.authority : nil,
            aal: aal,
            methods: methods,
            authenticatedAt: now,
            issuedAt: now,
            expiresAt: now.advanced(by: lifetimes.absolute),
            idleLifetime: lifetimes.idle,
            device: self.device(request)
        )
        try await self.ask { store, loop in store.create(NewSession(key: key, session: session), on: loop) }
        return (token, Found(key: key, session: session))
    }

    /// Asks the store on one of its loops.
    private func ask<Answer: Sendable>(
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

    /// Counts a try, for its address first: one that tries many users fills no more buckets of theirs than it may.
    private func count(_ limits: SignInLimits) async throws(StoreError) -> RateDecision {
        let limiter = self.limiter
        let (address, user) = (limits.address, limits.user)
        return try await self.ask { _, loop in
            limiter.allow(address, cost: 1, on: loop).flatMap { decision in
                guard decision == .allowed else { return loop.makeSucceededFuture(decision) }
                return limiter.allow(user, cost: 1, on: loop)
            }
        }
    }

    /// The user's tries from this address count no more: the last one succeeded. When that is lost, they do.
    private func forgive(_ limits: SignInLimits) async {
        let limiter = self.limiter
        let user = limits.user
        try? await self.ask { _, loop in limiter.forgive(user, on: loop) }
    }

    private func device(_ request: EndpointRequest) -> DeviceFacts {
        DeviceFacts(
            address: request.address,
            asn: self.asn?.asn(of: request.address),
            userAgent: request.field("user-agent").map {
                String(decoding: $0.utf8.prefix(Self.longestUserAgent), as: UTF8.self)
            }
        )
    }

    private func record(_ event: SignInRecord.Event, _ kind: Session.Kind, _ request: EndpointRequest) -> SignInRecord {
        SignInRecord(
            event: event,
            kind: kind,
            requestID: request.requestID,
            host: request.authority,
            device: self.device(request)
        )
    }
}
