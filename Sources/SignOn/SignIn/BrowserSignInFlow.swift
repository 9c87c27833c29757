import AddressIntelligence
package import Cryptography
import NIOCore
package import Providers
package import Sessions
package import Vocabulary

/// Signs users in at a provider that redirects the browser: sends the browser there, and begins a session when it comes
/// back.
package struct BrowserSignInFlow: Sendable {
    /// Sign-ins from one address that fail: each costs a call to the provider. Fifty, then one a second.
    static let perAddress = RateLimit("signin.callback", burst: 50, interval: .seconds(1))

    package let sessions: SessionService
    /// The provider's name on a host with several; nil: it is the only one.
    package let name: String?
    private let provider: any BrowserProvider
    private let tries: TryCounter
    private let seal: KeptSignInSeal
    private let tellOutage: @Sendable (String) -> Void

    /// - Parameters:
    ///   - sessions: Those that users of the provider begin.
    ///   - name: The provider's name on hosts with several; nil: it is the only one.
    ///   - limiter: Counts sign-ins that fail.
    ///   - keys: Seal what a browser keeps until it comes back.
    ///   - tellOutage: Told why the provider gave no answer, without a token or a claim's value: nobody was refused, so
    ///     nothing else says so.
    package init(
        sessions: SessionService,
        name: String? = nil,
        provider: any BrowserProvider,
        limiter: any RateLimiter,
        keys: SealingKeyRing,
        tellOutage: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.sessions = sessions
        self.name = name
        self.provider = provider
        self.tries = TryCounter(store: limiter, loops: sessions.loops)
        self.seal = KeptSignInSeal(keys: keys)
        self.tellOutage = tellOutage
    }

    /// Begins a sign-in. It writes nothing to the store and records nothing: anyone may ask for it.
    ///
    /// - Parameters:
    ///   - returnTo: A safe path on the host (`ReturnTo`).
    ///   - authority: `host[:port]` of the host on which it begins and ends.
    ///   - app: The native app for which the user signs in; nil: the session will be the browser's.
    ///   - isRepeat: Whether it begins in place of one that could not be completed.
    /// - Returns: Where the browser is sent, and what it keeps under the name `id` until it comes back.
    package func begin(
        _ wish: BrowserSignIn,
        returnTo: String,
        on authority: String,
        for app: WaitingApp? = nil,
        isRepeat: Bool = false
    ) async throws(NotDone) -> (url: String, id: String, kept: Secret) {
        let beginning = try await self.provider.begin(wish)
        var pending = KeptSignIn(
            atProvider: beginning.pending,
            returnTo: returnTo,
            demand: self.provider.demand(of: wish),
            begunAt: self.sessions.clock.now(),
            app: app,
            isRepeat: isRepeat
        )
        pending.provider = self.name
        let id = beginning.pending.id
        return (beginning.url, id, self.seal.seal(pending, id: id, on: authority))
    }

    /// Whether a sign-in that names no provider, as it began when the host had one, began at this one.
    package func began(_ pending: KeptSignIn) -> Bool {
        pending.provider == nil && pending.atProvider?.provider.isExactly(self.provider.name) == true
    }

    /// The sign-in that a browser has kept under `id` on this host, whether or not it has expired; nil if this deployment
    /// did not begin it there.
    package func pending(_ kept: Secret, id: String, on authority: String) -> KeptSignIn? {
        self.seal.open(kept, id: id, on: authority)
    }

    /// What a browser keeps of a sign-in for which it has no room any more: where it leads, but not what completes it. nil
    /// if it keeps no more than that.
    package func shortened(_ pending: KeptSignIn, id: String, on authority: String) -> Secret? {
        pending.atProvider == nil ? nil : self.seal.shortened(pending, id: id, on: authority)
    }

    /// True if the provider has browsers post its answer to the callback.
    package var answersByForm: Bool { self.provider.answersByForm }

    /// What the provider had posted to the callback at this path of the host, sealed for the URL by which the browser comes
    /// there again with its cookies.
    package func carry(_ posted: PostedAnswer, to path: String, on authority: String) -> Secret {
        posted.sealed(by: self.seal.keys, for: path, on: authority)
    }

    /// What `carry` sealed for this path of the host; `nil` for any other text.
    package func carried(_ text: Secret, to path: String, on authority: String) -> PostedAnswer? {
        PostedAnswer(text, by: self.seal.keys, for: path, on: authority)
    }

    /// The browser's sessions on this host, in place of which a completed sign-in begins one. nil: it completes none, because
    /// the browser has a session that suffices for it and began after it, or it took too long and is signed in: the browser
    /// came back twice or signed in in another tab. A new session would end the one that its other tabs are using.
    ///
    /// The store is asked before the provider, so that an outage of the store does not use up the code.
    package func former(
        _ pending: KeptSignIn,
        by requester: Requester
    ) async throws(NotDone) -> [FoundSession]? {
        let now = self.sessions.clock.now()
        let former = try await self.sessions.presented(by: requester)
        guard let session = former.first?.session else { return former }
        if pending.isExpired(at: now) { return nil }
        guard requester.cookies.count == 1, !pending.demand.isAgain, session.issuedAt >= pending.begunAt else {
            return former
        }
        let unmet = pending.demand.unmet(
            level: session.aal,
            authenticatedAt: session.authenticatedAt,
            begunAt: pending.begunAt,
            now: now
        )
        return unmet == nil ? nil : former
    }

    /// Asks the provider who has come back. No session begins.
    ///
    /// - Parameter kind: What the session of this sign-in is to be, for the record of a refusal.
    /// - Throws: A refusal, or what may pass: too many sign-ins failed and the provider was not asked, or the provider or
    ///   the store cannot answer. If the provider was not reached, the same sign-in may be completed later.
    package func prove(
        _ pending: KeptSignIn,
        _ parameters: [(name: String, value: String)],
        _ kind: Session.Kind,
        for requester: Requester
    ) async throws(NotDone) -> ProvenUser {
        do throws(NotDone) {
            guard let begun = pending.atProvider else { throw NotDone(.signInStateMismatch, detail: "not kept") }
            guard !pending.isExpired(at: self.sessions.clock.now()) else {
                throw NotDone(.signInStateMismatch, detail: "expired")
            }
            let bucket = RateBucket(Self.perAddress, Array(requester.address.key.description.utf8))
            let askedAt = try await self.tries.count([bucket], or: .signInThrottled) {
                [ends = self.sessions.providerSessions] loop -> EventLoopFuture<UnixTime?> in
                ends.map { $0.store.now(on: loop).map { Optional($0) } } ?? loop.makeSucceededFuture(nil)
            }
            var user: ProvenUser
            do throws(NotDone) {
                user = try await self.provider.complete(begun, parameters)
            } catch {
                if let outage = error.providerOutage { self.tellOutage(outage) }
                if error.isUnavailable { await self.tries.giveBack([bucket]) }
                throw error
            }
            let now = self.sessions.clock.now()
            if let unmet = pending.unmet(by: user.authentication, at: now) {
                throw NotDone(.signInInsufficient, detail: unmet)
            }
            // A provider whose clock is ahead must not make a sign-in count as recent for longer.
            user.authentication.authenticatedAt = user.authentication.authenticatedAt.map { min($0, now) }
            await self.tries.giveBack([bucket])
            user.evidence.askedAt = askedAt
            return user
        } catch {
            if !error.isOfStore { self.record(error, kind, requester) }
            throw error
        }
    }

    /// Refuses a browser that came back without the sign-in that it began. If it is signed in, it came back twice or
    /// late, and is not refused.
    package func refuseUnknown(for requester: Requester) async throws(NotDone) {
        let live = try await self.sessions.presented(by: requester)
        if !live.isEmpty, requester.cookies.count == 1 { return }
        self.record(NotDone(.signInStateMismatch, detail: "unknown"), .web, requester)
        throw NotDone(.signInStateMismatch)
    }

    /// Records that a sign-in at this provider was refused.
    package func record(_ refusal: NotDone, _ kind: Session.Kind, _ requester: Requester) {
        var record = self.sessions.record(.refused(refusal.reason), kind, requester)
        record.provider = self.provider.name
        record.detail = refusal.detail
        self.sessions.journal.record(record)
    }
}
