import AddressIntelligence
package import Providers
package import Sessions
package import Vocabulary

/// Signs in users of native apps with an id_token that a provider's native SDK gave to the app.
package struct IDTokenSignIns: Sendable {
    /// The limit of failed sign-ins from one address: 50 at once, then one per second.
    static let perAddress = RateLimit("signin.id_token", burst: 50, interval: .seconds(1))

    private let sessions: SessionService
    private let verifiers: SocialVerifiers
    private let proofs: SocialProofs
    private let owners: SocialOwners
    private let tries: TryCounter

    /// - Parameters:
    ///   - owners: The configured providers whose users also sign in with native SDKs. `nil` if all users are in the
    ///     realm of `sessions`.
    ///   - limiter: The limiter for failed sign-ins.
    package init(
        sessions: SessionService,
        verifiers: SocialVerifiers,
        proofs: SocialProofs,
        owners: SocialOwners? = nil,
        limiter: any RateLimiter
    ) {
        self.sessions = sessions
        self.verifiers = verifiers
        self.proofs = proofs
        self.owners = owners ?? SocialOwners(others: sessions.realm)
        self.tries = TryCounter(store: limiter, loops: sessions.loops)
    }

    /// Returns whether id_tokens of this provider are configured.
    package func accepts(_ kind: SocialIDToken) -> Bool { self.verifiers[idToken: kind] != nil }

    /// Begins a native session for the user of the id_token.
    ///
    /// - Parameter nonce: The nonce that the app sent. `nil` if it sent none. The id_token must then have none, too.
    /// - Throws: A refusal of the id_token, `signin.throttled`, or the errors of `SessionService.begin`.
    package func signIn(
        _ kind: SocialIDToken,
        _ idToken: Secret,
        nonce: String?,
        for requester: Requester
    ) async throws(NotDone) -> (token: Secret, session: Session) {
        guard let verifier = self.verifiers[idToken: kind] else { throw NotDone(.signInMalformed) }
        let bucket = RateBucket(Self.perAddress, Array(requester.address.key.description.utf8))
        var user: SocialUser
        do throws(NotDone) {
            try await self.tries.count([bucket], or: .signInThrottled)
            let signIn = SocialSignIn(artefact: idToken, nonce: nonce, isNonceCompared: true)
            user = try await self.proofs.prove(signIn, by: verifier, among: self.owners)
        } catch {
            if !error.isUnavailable { self.record(error.reason, error.detail, kind, requester) }
            throw error
        }
        // Kratos's name for a sign-in with an id_token.
        user.proven.authentication.methods = ["oidc"]
        await self.tries.giveBack([bucket])
        return try await self.sessions.signing(in: user.realm).begin(
            user.proven.authentication,
            SessionTerms(.native),
            evidence: user.proven.evidence,
            for: requester
        )
    }

    private func record(_ reason: Reason, _ detail: String?, _ kind: SocialIDToken, _ requester: Requester) {
        var record = self.sessions.record(.refused(reason), .native, requester)
        record.provider = kind.rawValue
        record.detail = detail
        self.sessions.journal.record(record)
    }
}
