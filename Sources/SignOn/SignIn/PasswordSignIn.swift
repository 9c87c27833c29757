import AddressIntelligence
package import Providers
package import Sessions
package import Vocabulary

/// Signs users in with a password: counts the try, lets the provider check the password, and begins a session.
package struct PasswordSignIn: Sendable {
    package let sessions: SessionService
    private let provider: any PasswordProvider
    private let tries: TryCounter
    private let familiar: FamiliarAddresses
    private let accounts: AccountNames

    /// - Parameters:
    ///   - limiter: The limiter for tries to sign in (`SignInLimits`).
    ///   - familiar: The addresses from which users have signed in, kept across reloads.
    ///   - accounts: Hashes identifiers for the audit stream.
    package init(
        sessions: SessionService,
        provider: any PasswordProvider,
        limiter: any RateLimiter,
        familiar: FamiliarAddresses,
        accounts: AccountNames
    ) {
        self.sessions = sessions
        self.provider = provider
        self.tries = TryCounter(store: limiter, loops: sessions.loops)
        self.familiar = familiar
        self.accounts = accounts
    }

    /// Checks the password and begins a session. The browser's sessions on this host end first.
    ///
    /// - Throws: The errors of `check` and `SessionService.begin`.
    package func signIn(
        identifier: String,
        password: Secret,
        kind: Session.Kind,
        staysSignedIn: Bool = false,
        for requester: Requester
    ) async throws(NotDone) -> (token: Secret, session: Session) {
        try await self.check(identifier: identifier, password: password, kind: kind, for: requester) {
            authentication,
            account throws(NotDone) in
            try await self.sessions.replace(
                kind == .web ? self.sessions.presented(by: requester) : [],
                with: authentication,
                SessionTerms(kind, staysSignedIn: staysSignedIn),
                account: account,
                for: requester
            )
        }
    }

    /// Checks the password, and calls `begin` if it is right.
    ///
    /// - Parameters:
    ///   - kind: The kind of the session to begin, for the record of a refusal.
    ///   - begin: Begins a session or completes an app's flow. `account` is the account's hash for the audit stream.
    /// - Throws: `signin.refused` for an unknown user, a wrong password, or a password that changes during the sign-in;
    ///   `signin.throttled` for too many tries; an outage; `provider.unavailable` if the provider has no capacity for a
    ///   check; the errors of `begin`.
    package func check<Value: Sendable>(
        identifier: String,
        password: Secret,
        kind: Session.Kind,
        for requester: Requester,
        begin: @Sendable (_ user: Authentication, _ account: String?) async throws(NotDone) -> Value
    ) async throws(NotDone) -> Value {
        let user = UserIdentifier(identifier)
        let account = user.map(self.accounts.name)
        let address = requester.address.key
        let limits = SignInLimits(
            address: requester.address,
            user: user,
            isFamiliar: user.map { self.familiar.contains(address, $0) } ?? false
        )
        let source = SignInSource(requester.address, isFamiliar: self.familiar.contains(address))
        guard self.provider.hasRoom(for: source) else { throw NotDone(.providerUnavailable) }
        let authentication: Authentication
        do throws(NotDone) {
            try await self.tries.count(limits.tries, or: .signInThrottled)
            do throws(NotDone) {
                authentication = try await self.provider.authenticate(
                    identifier: identifier,
                    password: password,
                    from: source
                )
            } catch {
                // The check had no result, so the try is not counted.
                if error.isUnavailable { await self.tries.giveBack(limits.tries) }
                throw error
            }
        } catch {
            if !error.isUnavailable { self.record(error.reason, kind, account, requester) }
            throw error
        }
        async let forgiven: Void = self.forgive(limits)
        do throws(NotDone) {
            let value = try await begin(authentication, account)
            await forgiven
            if let user { self.familiar.add(address, user) }
            return value
        } catch {
            await forgiven
            if error.isUnavailable {
                await self.tries.giveBack(limits.tries)
            } else if let user, error.reason != .signInRefused {
                // The sign-in was refused for another reason. The password is right.
                self.familiar.add(address, user)
            }
            throw error
        }
    }

    /// Returns the account's keyed hash for the audit stream. `nil` if no account can have the identifier.
    package func accountName(of identifier: String) -> String? {
        UserIdentifier(identifier).map(self.accounts.name)
    }

    private func record(_ reason: Reason, _ kind: Session.Kind, _ account: String?, _ requester: Requester) {
        var record = self.sessions.record(.refused(reason), kind, requester)
        record.account = account
        self.sessions.journal.record(record)
    }

    /// Clears the user's tries from this address. If the limiter fails, the tries stay counted.
    private func forgive(_ limits: SignInLimits) async {
        let user = limits.user
        try? await self.tries.ask { limiter, loop in limiter.forgive(user, on: loop) }
    }
}
