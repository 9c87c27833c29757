internal import AddressIntelligence
internal import Endpoints
internal import Providers
internal import Sessions
internal import Settings
internal import Vocabulary

/// Sign-in with a password: count the try, check the password, begin the session.
extension SessionService {
    /// Checks the password and begins a session, always under a new token and id: nothing that the client presented
    /// becomes one (session fixation). A browser's old session ends first (CVE-2026-34454).
    func signIn(identifier: String, password: Secret, kind: Session.Kind, request: EndpointRequest) async -> SignIn {
        let user = UserIdentifier(identifier)
        var record = self.record(.refused(.signInRefused), kind, request, account: user)
        let address = request.address.key
        let limits = SignInLimits(
            address: request.address,
            user: user,
            isFamiliar: user.map { self.familiar.contains(address, $0) } ?? false
        )
        let source = SignInSource(request.address, isFamiliar: self.familiar.contains(address))
        guard self.provider.hasRoom(for: source) else { return .unavailable(.providerUnavailable) }
        do {
            if case .throttled(let wait) = try await self.count(limits) {
                record.event = .refused(.signInThrottled)
                _ = self.audit(record)
                return .throttled(wait)
            }
        } catch {
            return .unavailable(Self.reason(error))
        }
        switch await self.provider.authenticate(identifier: identifier, password: password, from: source) {
        case .unavailable:
            return await self.unavailable(.providerUnavailable, limits)
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
                    // The token is never handed out, so the session is of no use even if the store does not end it now.
                    _ = try? await self.end([found])
                    return await self.unavailable(.gatewayOverloaded, limits)
                }
                if let user { self.familiar.add(address, user) }
                return .signedIn(token: token, session: found.session)
            } catch {
                return await self.unavailable(Self.reason(error), limits)
            }
        }
    }

    /// Says that a try could not be served, and takes it out of the limits again: it told nothing about the password.
    private func unavailable(_ reason: Reason, _ limits: SignInLimits) async -> SignIn {
        let limiter = self.limiter
        // When that is lost, the try counts.
        try? await self.ask { _, loop in limiter.giveBack(limits.tries, cost: 1, on: loop) }
        return .unavailable(reason)
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

    /// Counts a try.
    private func count(_ limits: SignInLimits) async throws(StoreError) -> RateDecision {
        let limiter = self.limiter
        return try await self.ask { _, loop in limiter.allow(limits.tries, cost: 1, on: loop) }
    }

    /// The user's tries from this address count no more: the last one succeeded. When that is lost, they do.
    private func forgive(_ limits: SignInLimits) async {
        let limiter = self.limiter
        let user = limits.user
        try? await self.ask { _, loop in limiter.forgive(user, on: loop) }
    }
}
