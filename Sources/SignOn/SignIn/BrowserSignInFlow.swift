internal import AddressIntelligence
package import Cryptography
package import NIOCore
package import Providers
package import Sessions
package import Vocabulary

/// Signs users in at a provider that redirects the browser: sends the browser there, and begins a session when it comes
/// back.
package struct BrowserSignInFlow: Sendable {
    /// The result of beginning a sign-in.
    package enum Beginning: Sendable {
        /// Send the browser to `url`, and let it keep `kept` under the name `id` until it comes back.
        case redirect(url: String, id: String, kept: Secret)
        /// The provider cannot be reached.
        case unavailable
    }

    /// The result of completing a sign-in.
    package enum Outcome: Sendable {
        case signedIn(token: Secret, session: Session)
        /// The browser has a session that began after this sign-in and suffices for it, because the browser came back
        /// twice or signed in in another tab. The provider was not asked.
        case alreadySignedIn
        /// The browser had no room for what completes this sign-in: it begins again, for the same page. The provider was not
        /// asked.
        case beginAgain
        /// No sign-in. The browser's session stays.
        case refused(Reason)
        /// A rule refused it (`rule.denied`), with what the user reads; nil: the gateway's own words. The browser's
        /// session stays.
        case denied(text: String?)
        /// Too many sign-ins failed; the next one is allowed after this time. The provider was not asked.
        case throttled(Duration)
        /// The provider or the store cannot answer. If the provider was not reached, the same sign-in may be completed
        /// later. The browser's session stays, unless the store failed while it was replaced.
        case unavailable(Reason)
    }

    /// Sign-ins from one address that fail: each costs a call to the provider. Fifty, then one a second.
    static let perAddress = RateLimit("signin.callback", burst: 50, interval: .seconds(1))

    package let sessions: SessionService
    private let provider: any BrowserProvider
    private let limiter: any RateLimiter
    private let seal: KeptSignInSeal
    private let loops: any EventLoopGroup

    /// - Parameters:
    ///   - limiter: Counts sign-ins that fail.
    ///   - keys: Seal what a browser keeps until it comes back.
    ///   - loops: The loops on which the limiter is called.
    package init(
        sessions: SessionService,
        provider: any BrowserProvider,
        limiter: any RateLimiter,
        keys: SealingKeyRing,
        loops: any EventLoopGroup
    ) {
        self.sessions = sessions
        self.provider = provider
        self.limiter = limiter
        self.seal = KeptSignInSeal(keys: keys)
        self.loops = loops
    }

    /// Begins a sign-in. It writes nothing to the store and records nothing: anyone may ask for it.
    ///
    /// - Parameters:
    ///   - returnTo: A safe path on the host (`ReturnTo`).
    ///   - authority: `host[:port]` of the host on which it begins and ends.
    ///   - app: The native app for which the user signs in; nil: the session will be the browser's.
    ///   - isRepeat: Whether it begins in place of one that could not be completed.
    package func begin(
        _ wish: BrowserSignIn,
        returnTo: String,
        on authority: String,
        for app: WaitingApp? = nil,
        isRepeat: Bool = false
    ) async -> Beginning {
        switch await self.provider.begin(wish) {
        case .unavailable: return .unavailable
        case .redirect(let url, let id, let state):
            let pending = KeptSignIn(
                providerState: state,
                returnTo: returnTo,
                demand: self.provider.demand(of: wish),
                begunAt: self.sessions.clock.now(),
                app: app,
                isRepeat: isRepeat
            )
            return .redirect(url: url, id: id, kept: self.seal.seal(pending, id: id, on: authority))
        }
    }

    /// The sign-in that a browser has kept under `id` on this host, whether or not it has expired; nil if this deployment
    /// did not begin it there.
    package func pending(_ kept: Secret, id: String, on authority: String) -> KeptSignIn? {
        self.seal.open(kept, id: id, on: authority)
    }

    /// What a browser keeps of a sign-in for which it has no room any more: where it leads, but not what completes it. nil
    /// if it keeps no more than that.
    package func shortened(_ pending: KeptSignIn, id: String, on authority: String) -> Secret? {
        pending.providerState == nil ? nil : self.seal.shortened(pending, id: id, on: authority)
    }

    /// Completes a sign-in with what the browser brought back. The browser's sessions on this host end first.
    package func complete(
        _ pending: KeptSignIn,
        _ parameters: [(name: String, value: String)],
        for requester: Requester
    ) async -> Outcome {
        let former: [FoundSession]
        let now = self.sessions.clock.now()
        do {
            // The store is asked before the provider, so that an outage of the store does not use up the code.
            former = try await self.sessions.presented(by: requester)
            if Self.isDone(pending, by: former, requester, now) { return .alreadySignedIn }
            if pending.isExpired(at: now), !former.isEmpty { return .alreadySignedIn }
        } catch {
            return .unavailable(SessionService.reason(error))
        }
        switch await self.prove(pending, parameters, .web, for: requester) {
        case .beginAgain: return .beginAgain
        case .refused(let reason): return .refused(reason)
        case .throttled(let wait): return .throttled(wait)
        case .unavailable(let reason): return .unavailable(reason)
        case .proven(let authentication, let evidence):
            switch await self.sessions.replace(
                former,
                with: authentication,
                SessionTerms(.web),
                evidence: evidence,
                for: requester
            ) {
            case .begun(let token, let session): return .signedIn(token: token, session: session)
            case .denied(let text): return .denied(text: text)
            case .unavailable(let reason): return .unavailable(reason)
            }
        }
    }

    /// What the provider says of a user who has come back.
    package enum Proof: Sendable {
        case proven(Authentication, ProviderEvidence)
        /// The browser had no room for what completes this sign-in: it begins again. The provider was not asked.
        case beginAgain
        case refused(Reason)
        /// Too many sign-ins failed; the next one is allowed after this time. The provider was not asked.
        case throttled(Duration)
        /// The provider or the store cannot answer. If the provider was not reached, the same sign-in may be completed
        /// later.
        case unavailable(Reason)
    }

    /// Asks the provider who has come back. No session begins.
    ///
    /// - Parameter kind: What the session of this sign-in is to be, for the record of a refusal.
    package func prove(
        _ pending: KeptSignIn,
        _ parameters: [(name: String, value: String)],
        _ kind: Session.Kind,
        for requester: Requester
    ) async -> Proof {
        func refuse(_ reason: Reason, _ detail: String?) -> Proof {
            self.record(reason, detail, kind, requester)
            return .refused(reason)
        }
        guard let state = pending.providerState else {
            return pending.isRepeat ? refuse(.signInStateMismatch, "not kept") : .beginAgain
        }
        guard !pending.isExpired(at: self.sessions.clock.now()) else { return refuse(.signInStateMismatch, "expired") }
        let bucket = RateBucket(Self.perAddress, Array(requester.address.key.description.utf8))
        do {
            let decision = try await self.ask { limiter, loop in limiter.allow(bucket, cost: 1, on: loop) }
            if case .throttled(let wait) = decision {
                self.record(.signInThrottled, nil, kind, requester)
                return .throttled(wait)
            }
        } catch {
            return .unavailable(SessionService.reason(error))
        }
        switch await self.provider.complete(parameters, state: state) {
        case .unavailable(let detail):
            await self.giveBack(bucket)
            self.record(.providerUnavailable, detail, kind, requester)
            return .unavailable(.providerUnavailable)
        case .refused(let refusal):
            return refuse(refusal.cause.reason, refusal.detail)
        case .authenticated(var authentication, let evidence):
            let now = self.sessions.clock.now()
            if let unmet = pending.unmet(by: authentication, at: now) { return refuse(.signInInsufficient, unmet) }
            // A provider whose clock is ahead must not make a sign-in count as recent for longer.
            authentication.authenticatedAt = authentication.authenticatedAt.map { min($0, now) }
            await self.giveBack(bucket)
            return .proven(authentication, evidence)
        }
    }

    /// Refuses a browser that came back without the sign-in that it began. If it is signed in, it came back twice or
    /// late, and is not refused.
    package func refuseUnknown(for requester: Requester) async -> Outcome {
        do {
            let live = try await self.sessions.presented(by: requester)
            if !live.isEmpty, requester.cookies.count == 1 { return .alreadySignedIn }
        } catch {
            return .unavailable(SessionService.reason(error))
        }
        self.record(.signInStateMismatch, "unknown", .web, requester)
        return .refused(.signInStateMismatch)
    }

    /// Whether the browser has signed in since this sign-in began, in a way that suffices for it. Then it gets no new
    /// session, which would end the one that its other tabs are using.
    private static func isDone(
        _ pending: KeptSignIn,
        by former: [FoundSession],
        _ requester: Requester,
        _ now: UnixTime
    ) -> Bool {
        guard let session = former.first?.session, requester.cookies.count == 1, !pending.demand.isAgain,
            session.issuedAt >= pending.begunAt
        else { return false }
        let unmet = pending.demand.unmet(
            level: session.aal,
            authenticatedAt: session.authenticatedAt,
            begunAt: pending.begunAt,
            now: now
        )
        return unmet == nil
    }

    private func record(_ reason: Reason, _ detail: String?, _ kind: Session.Kind, _ requester: Requester) {
        var record = self.sessions.record(.refused(reason), kind, requester)
        record.provider = self.provider.name
        record.detail = detail
        self.sessions.journal.record(record)
    }

    /// Removes a try from the limit. If this fails, it stays counted.
    private func giveBack(_ bucket: RateBucket) async {
        try? await self.ask { limiter, loop in limiter.giveBack([bucket], cost: 1, on: loop) }
    }

    /// Calls the limiter on one of its loops.
    private func ask<Answer: Sendable>(
        _ question: @escaping @Sendable (any RateLimiter, any EventLoop) -> EventLoopFuture<Answer>
    ) async throws(StoreError) -> Answer {
        try await self.loops.ask(self.limiter, question)
    }
}

extension BrowserRefusal.Cause {
    /// The id of the refusal in answers, logs and metrics.
    package var reason: Reason {
        switch self {
        case .cancelled: .signInCancelled
        case .interactionRequired: .signInInteractionRequired
        case .providerError: .signInProviderError
        case .mismatch: .signInStateMismatch
        case .invalidToken: .signInInvalidToken
        case .notAllowed: .signInNotAllowed
        case .insufficient: .signInInsufficient
        }
    }
}
