internal import AddressIntelligence
package import NIOCore
package import Providers
package import Sessions
package import Vocabulary

/// Signs users in with a password: counts the try, lets the provider check the password, and begins a session.
package struct PasswordSignIn: Sendable {
    /// The result of a try.
    package enum Outcome: Sendable {
        case signedIn(token: Secret, session: Session)
        /// Unknown user or wrong password.
        case refused
        /// A rule refused it (`rule.denied`), with what the user reads; nil: the gateway's own words.
        case denied(text: String?)
        /// Too many tries; the next one is allowed after this time.
        case throttled(Duration)
        /// The provider or the store cannot answer.
        case unavailable(Reason)
    }

    package let sessions: SessionService
    private let provider: any PasswordProvider
    private let limiter: any RateLimiter
    private let familiar: FamiliarAddresses
    private let accounts: AccountNames
    private let loops: any EventLoopGroup

    /// - Parameters:
    ///   - limiter: Counts tries to sign in (`SignInLimits`).
    ///   - familiar: The addresses from which users have signed in; it survives a reload.
    ///   - accounts: Names the tried accounts in the audit stream.
    ///   - loops: The loops on which the limiter is called.
    package init(
        sessions: SessionService,
        provider: any PasswordProvider,
        limiter: any RateLimiter,
        familiar: FamiliarAddresses,
        accounts: AccountNames,
        loops: any EventLoopGroup
    ) {
        self.sessions = sessions
        self.provider = provider
        self.limiter = limiter
        self.familiar = familiar
        self.accounts = accounts
        self.loops = loops
    }

    /// What a try led to, if the password is right and `Value` could be made of it.
    package enum Try<Value: Sendable>: Sendable {
        case passed(Value)
        case refused
        case throttled(Duration)
        case unavailable(Reason)
    }

    /// Checks the password and begins a session. The browser's sessions on this host end first.
    package func signIn(
        identifier: String,
        password: Secret,
        kind: Session.Kind,
        staysSignedIn: Bool = false,
        for requester: Requester
    ) async -> Outcome {
        let tried = await self.check(identifier: identifier, password: password, kind: kind, for: requester) {
            authentication,
            account throws(PasswordSignInFailure) in
            let terms = SessionTerms(kind, staysSignedIn: staysSignedIn)
            let beginning = await self.begin(authentication, terms, account, requester)
            if case .unavailable(let reason) = beginning { throw PasswordSignInFailure(reason: reason) }
            return beginning
        }
        switch tried {
        case .passed(.begun(let token, let session)): return .signedIn(token: token, session: session)
        case .passed(.denied(let text)): return .denied(text: text)
        case .passed(.unavailable(let reason)): return .unavailable(reason)
        case .refused: return .refused
        case .throttled(let wait): return .throttled(wait)
        case .unavailable(let reason): return .unavailable(reason)
        }
    }

    /// Checks the password and does what is to follow.
    ///
    /// - Parameters:
    ///   - kind: What the session of this sign-in is to be, for the record of a refusal.
    ///   - begin: Begins what the user signs in for. `account` names the account in the audit stream.
    package func check<Value: Sendable>(
        identifier: String,
        password: Secret,
        kind: Session.Kind,
        for requester: Requester,
        begin:
            @Sendable (_ user: Authentication, _ account: String?) async throws(PasswordSignInFailure) -> Value
    ) async -> Try<Value> {
        let user = UserIdentifier(identifier)
        let account = user.map(self.accounts.name)
        let address = requester.address.key
        let limits = SignInLimits(
            address: requester.address,
            user: user,
            isFamiliar: user.map { self.familiar.contains(address, $0) } ?? false
        )
        let source = SignInSource(requester.address, isFamiliar: self.familiar.contains(address))
        guard self.provider.hasRoom(for: source) else { return .unavailable(.providerUnavailable) }
        do {
            if case .throttled(let wait) = try await self.count(limits) {
                self.record(.signInThrottled, kind, account, requester)
                return .throttled(wait)
            }
        } catch {
            return .unavailable(SessionService.reason(error))
        }
        switch await self.provider.authenticate(identifier: identifier, password: password, from: source) {
        case .unavailable:
            await self.giveBack(limits)
            return .unavailable(.providerUnavailable)
        case .refused:
            self.record(.signInRefused, kind, account, requester)
            return .refused
        case .authenticated(let authentication):
            await self.forgive(limits)
            do {
                let value = try await begin(authentication, account)
                if let user { self.familiar.add(address, user) }
                return .passed(value)
            } catch {
                await self.giveBack(limits)
                return .unavailable(error.reason)
            }
        }
    }

    /// The name of the account with this identifier in the audit stream; nil if no account can have the identifier.
    package func accountName(of identifier: String) -> String? {
        UserIdentifier(identifier).map(self.accounts.name)
    }

    private func begin(
        _ authentication: Authentication,
        _ terms: SessionTerms,
        _ account: String?,
        _ requester: Requester
    ) async -> SessionBeginning {
        guard terms.kind == .web else {
            return await self.sessions.begin(authentication, terms, account: account, for: requester)
        }
        let former: [FoundSession]
        do {
            former = try await self.sessions.presented(by: requester)
        } catch {
            return .unavailable(SessionService.reason(error))
        }
        return await self.sessions.replace(former, with: authentication, terms, account: account, for: requester)
    }

    private func record(_ reason: Reason, _ kind: Session.Kind, _ account: String?, _ requester: Requester) {
        var record = self.sessions.record(.refused(reason), kind, requester)
        record.account = account
        self.sessions.journal.record(record)
    }

    /// Removes a try that could not be served from the limits: it revealed nothing about the password.
    private func giveBack(_ limits: SignInLimits) async {
        // If this fails, the try stays counted.
        try? await self.ask { limiter, loop in limiter.giveBack(limits.tries, cost: 1, on: loop) }
    }

    /// Counts a try.
    private func count(_ limits: SignInLimits) async throws(StoreError) -> RateDecision {
        try await self.ask { limiter, loop in limiter.allow(limits.tries, cost: 1, on: loop) }
    }

    /// Removes the user's tries from this address from the limits, because the last one succeeded. If this fails, they
    /// stay counted.
    private func forgive(_ limits: SignInLimits) async {
        let user = limits.user
        try? await self.ask { limiter, loop in limiter.forgive(user, on: loop) }
    }

    /// Calls the limiter on one of its loops.
    private func ask<Answer: Sendable>(
        _ question: @escaping @Sendable (any RateLimiter, any EventLoop) -> EventLoopFuture<Answer>
    ) async throws(StoreError) -> Answer {
        try await self.loops.ask(self.limiter, question)
    }
}

/// What the user signs in for cannot begin now.
package struct PasswordSignInFailure: Error, Sendable {
    package let reason: Reason

    package init(reason: Reason) {
        self.reason = reason
    }
}
