internal import AddressIntelligence
package import NIOCore
package import Providers
package import Sessions
package import Vocabulary

/// Signs users of native apps in with an id_token that a provider's kit gave to the app.
package struct IDTokenSignIns: Sendable {
    /// The result of a sign-in.
    package enum Outcome: Sendable {
        case signedIn(token: Secret, session: Session)
        case refused(Reason)
        /// A rule refused it (`rule.denied`), with what the user reads; nil: the gateway's own words.
        case denied(text: String?)
        /// Too many; the next one is allowed after this time.
        case throttled(Duration)
        case unavailable(Reason)
    }

    /// Sign-ins from one address that fail: fifty, then one a second.
    static let perAddress = RateLimit("signin.id_token", burst: 50, interval: .seconds(1))

    private let sessions: SessionService
    private let verifiers: SocialVerifiers
    private let proofs: SocialProofs
    private let limiter: any RateLimiter
    private let loops: any EventLoopGroup

    /// - Parameters:
    ///   - limiter: Counts sign-ins that fail.
    ///   - loops: The loops on which the limiter is called.
    package init(
        sessions: SessionService,
        verifiers: SocialVerifiers,
        proofs: SocialProofs,
        limiter: any RateLimiter,
        loops: any EventLoopGroup
    ) {
        self.sessions = sessions
        self.verifiers = verifiers
        self.proofs = proofs
        self.limiter = limiter
        self.loops = loops
    }

    /// Whether id_tokens of this provider are configured.
    package func accepts(_ kind: SocialIDToken) -> Bool { self.verifiers[idToken: kind] != nil }

    /// Begins a native session for the user of the id_token.
    ///
    /// - Parameter nonce: What the app sent to the provider; nil: nothing, and then the id_token must have none.
    package func signIn(
        _ kind: SocialIDToken,
        _ idToken: Secret,
        nonce: String?,
        for requester: Requester
    ) async -> Outcome {
        guard let verifier = self.verifiers[idToken: kind] else { return .refused(.signInMalformed) }
        let bucket = RateBucket(Self.perAddress, Array(requester.address.key.description.utf8))
        do throws(StoreError) {
            let decision = try await self.loops.ask(self.limiter) { limiter, loop in
                limiter.allow(bucket, cost: 1, on: loop)
            }
            if case .throttled(let wait) = decision {
                self.record(.signInThrottled, nil, kind, requester)
                return .throttled(wait)
            }
        } catch {
            return .unavailable(SessionService.reason(error))
        }
        let signIn = SocialSignIn(artefact: idToken, nonce: nonce, isNonceCompared: true)
        switch await self.proofs.prove(signIn, by: verifier) {
        case .refused(let reason, let detail):
            self.record(reason, detail, kind, requester)
            return .refused(reason)
        case .unavailable(let reason): return .unavailable(reason)
        case .proven(var user, let evidence):
            // The method by which Kratos knows it.
            user.methods = ["oidc"]
            // If this fails, the sign-in stays counted.
            _ = try? await self.loops.ask(self.limiter) { limiter, loop in
                limiter.giveBack([bucket], cost: 1, on: loop)
            }
            switch await self.sessions.begin(user, SessionTerms(.native), evidence: evidence, for: requester) {
            case .begun(let token, let session): return .signedIn(token: token, session: session)
            case .denied(let text): return .denied(text: text)
            case .unavailable(let reason): return .unavailable(reason)
            }
        }
    }

    private func record(_ reason: Reason, _ detail: String?, _ kind: SocialIDToken, _ requester: Requester) {
        var record = self.sessions.record(.refused(reason), .native, requester)
        record.provider = kind.rawValue
        record.detail = detail
        self.sessions.journal.record(record)
    }
}
