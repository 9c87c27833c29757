import AddressIntelligence
package import Cryptography
import NIOCore
package import Providers
package import Sessions
package import Vocabulary

/// Redirects browsers to a provider for sign-in, and verifies the answer when they return. The caller begins the
/// session.
package struct BrowserSignInFlow: Sendable {
    /// The limit of failed sign-ins from one address: 50 at once, then one per second.
    static let perAddress = RateLimit("signin.callback", burst: 50, interval: .seconds(1))

    package let sessions: SessionService
    /// The provider's name. `nil` if the host has no other provider.
    package let name: String?
    private let provider: any BrowserProvider
    private let tries: TryCounter
    private let seal: KeptSignInSeal
    private let reportOutage: @Sendable (String) -> Void

    /// - Parameters:
    ///   - sessions: The service that begins the sessions of the provider's users.
    ///   - name: The provider's name. `nil` if the host has no other provider.
    ///   - limiter: The limiter for failed sign-ins.
    ///   - keys: The keys that seal the state of a sign-in for the browser.
    ///   - reportOutage: Called with the reason if the provider gives no answer. The reason contains no token or claim
    ///     value.
    package init(
        sessions: SessionService,
        name: String? = nil,
        provider: any BrowserProvider,
        limiter: any RateLimiter,
        keys: SealingKeyRing,
        reportOutage: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.sessions = sessions
        self.name = name
        self.provider = provider
        self.tries = TryCounter(store: limiter, loops: sessions.loops)
        self.seal = KeptSignInSeal(keys: keys)
        self.reportOutage = reportOutage
    }

    /// Begins a sign-in. Stores and records nothing, because anyone may call it.
    ///
    /// - Parameters:
    ///   - returnTo: A safe path on the host (`ReturnTo`).
    ///   - authority: `host[:port]` of the host on which the sign-in begins and ends.
    ///   - app: The native app for which the user signs in. `nil` if the browser itself gets the session.
    ///   - isRepeat: True if the sign-in replaces an earlier sign-in that could not be completed.
    /// - Returns: The URL for the browser, and the sealed state that the browser keeps under `id` until it returns.
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

    /// Returns whether a sign-in without a provider name began at this provider, while the host had no other provider.
    package func began(_ pending: KeptSignIn) -> Bool {
        pending.provider == nil && pending.atProvider?.provider.isExactly(self.provider.name) == true
    }

    /// Opens the sign-in that a browser has kept under `id`, even if it has expired. `nil` if it was not sealed for
    /// this host.
    package func pending(_ kept: Secret, id: String, on authority: String) -> KeptSignIn? {
        self.seal.open(kept, id: id, on: authority)
    }

    /// Seals a sign-in without the provider's state, for a browser without room for cookies. A shortened sign-in can
    /// only begin again. `nil` if it is already shortened.
    package func shortened(_ pending: KeptSignIn, id: String, on authority: String) -> Secret? {
        pending.atProvider == nil ? nil : self.seal.shortened(pending, id: id, on: authority)
    }

    /// True if the provider makes browsers post its answer to the callback.
    package var answersByForm: Bool { self.provider.answersByForm }

    /// Seals the answer that a browser posted to the callback at `path`, for the URL of a redirect to the same path.
    /// The cross-site post had no cookies. The redirected request has them.
    package func carry(_ posted: PostedAnswer, to path: String, on authority: String) -> Secret {
        posted.sealed(by: self.seal.keys, for: path, on: authority)
    }

    /// Opens an answer that `carry` sealed for this path and host. `nil` for any other text.
    package func carried(_ text: Secret, to path: String, on authority: String) -> PostedAnswer? {
        PostedAnswer(text, by: self.seal.keys, for: path, on: authority)
    }

    /// Returns the browser's sessions on this host. The completed sign-in replaces them. `nil` if the browser must keep
    /// its session instead: the sign-in has expired, or a sufficient session began later, for example in another tab.
    ///
    /// Call this before the provider is asked, so that an outage of the store does not use up the code.
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

    /// Asks the provider which user has returned. No session begins.
    ///
    /// - Parameter kind: The kind of the session to begin, for the record of a refusal.
    /// - Throws: A refusal, `signin.throttled`, or an outage of the provider or the store.
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
                if let outage = error.providerOutage { self.reportOutage(outage) }
                if error.isUnavailable { await self.tries.giveBack([bucket]) }
                throw error
            }
            let now = self.sessions.clock.now()
            if let unmet = pending.unmet(by: user.authentication, at: now) {
                throw NotDone(.signInInsufficient, detail: unmet)
            }
            // A provider whose clock is ahead must not make a sign-in seem recent for longer.
            user.authentication.authenticatedAt = user.authentication.authenticatedAt.map { min($0, now) }
            await self.tries.giveBack([bucket])
            user.evidence.askedAt = askedAt
            return user
        } catch {
            if !error.isOfStore { self.record(error, kind, requester) }
            throw error
        }
    }

    /// Refuses a browser that returned without the cookie of its sign-in. Does nothing if the browser is signed in,
    /// because it then returned twice or late.
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
