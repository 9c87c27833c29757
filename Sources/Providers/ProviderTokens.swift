import JOSE
package import NIOCore
package import Sessions
package import Vocabulary

/// The tokens of the providers that know tokens, for the resolvers of the event loops: it turns a provider's verdict
/// into a session, and shares it with other loops and gateways by the store.
///
/// - A token that proves itself is judged first, and only a genuine one is looked up in the store, which may know that
///   it has ended. An event loop judges it once, and relies on no other's judgement.
/// - For any other token the store is asked first, and the provider only when no gateway has a usable verdict.
///
/// When the store cannot be reached, it is unknown whether a token was signed out: that is an error, and no answer.
package final class ProviderTokens: ForeignTokens {
    /// How long a verdict is used if the provider does not say.
    private static let usualCacheLifetime = Duration.seconds(5)

    /// A provider, and the names of its tokens.
    private final class Source: Sendable {
        let provider: any TokenProvider
        let names: ForeignNames

        init(_ provider: any TokenProvider, _ names: ForeignNames) {
            self.provider = provider
            self.names = names
        }
    }

    private let sources: [Source]
    private let realm: Realm
    /// The issuers of other providers, whose signed tokens are none of these.
    private let otherIssuers: Set<String>
    private let sessions: ForeignSessions
    private let clock: Clock
    private let observe: @Sendable (Session) -> Void
    private let end: End

    /// Ends what came of a token whose session its provider has ended.
    ///
    /// - Throws: The store could not do it.
    package typealias End = @Sendable (Secret, Session) async throws(NotDone) -> Void

    /// - Parameters:
    ///   - providers: The first one that may know a token, in this order, is asked for it.
    ///   - realm: Whose users they vouch for.
    ///   - otherIssuers: Those of other providers: a token that names one of them is for that provider to judge.
    ///   - clock: The clock of the store.
    ///   - observe: Told of each session that a provider vouches for, each time that it does.
    ///   - end: Called when a provider says that a session has ended for which it vouched (`TokenVerdict.ended`), and
    ///     awaited before that is an answer.
    package init(
        _ providers: [any TokenProvider],
        realm: Realm = .default,
        otherIssuers: Set<String> = [],
        authority: TokenAuthority,
        store: any SessionStore & ReplaceableStore,
        clock: Clock,
        observe: @escaping @Sendable (Session) -> Void = { _ in },
        end: @escaping End = { (_, _) throws(NotDone) in }
    ) {
        self.sources = providers.map { provider in
            // A verdict says whose user it is, so that of a former realm is not used.
            let configuration =
                realm == .default ? provider.configuration : "\(realm.name)\u{0}\(provider.configuration)"
            let names = ForeignNames(authority, provider: provider.name, configuration: configuration)
            return Source(provider, names)
        }
        self.realm = realm
        self.otherIssuers = otherIssuers
        self.sessions = ForeignSessions(store: store, authority: authority, clock: clock)
        self.clock = clock
        self.observe = observe
        self.end = end
    }

    package func key(of token: UnsafeRawBufferPointer, as kind: Session.Kind) -> RecordKey? {
        self.source(of: token, as: kind)?.names.key(of: token, as: kind)
    }

    package func eventualSession(
        _ token: Secret,
        as kind: Session.Kind,
        key: RecordKey,
        known: ForeignSession?,
        for caller: ProviderCaller,
        on loop: any EventLoop
    ) -> Eventual<ForeignAnswer> {
        guard let source = token.bytes.withUnsafeBytes({ self.source(of: $0, as: kind) }) else {
            return .success(.none(.credentialMalformed))
        }
        let question = Question(token: PresentedToken(token, as: kind, for: caller), key: key, source: source)
        return source.provider.verifiesLocally
            ? self.judged(question, known, on: loop) : self.shared(question, on: loop)
    }

    package func kept(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<ForeignSession?> {
        self.sessions.standing(key, on: loop).map { standing in
            if case .live(let session) = standing { session } else { nil }
        }.flatMapErrorThrowing { throw Self.error($0) }.future(on: loop)
    }

    package func recheck(
        _ token: Secret,
        as kind: Session.Kind,
        key: RecordKey,
        on loop: any EventLoop
    ) -> EventLoopFuture<Void> {
        guard let source = token.bytes.withUnsafeBytes({ self.source(of: $0, as: kind) }),
            !source.provider.verifiesLocally
        else { return loop.makeSucceededVoidFuture() }
        var question = Question(token: PresentedToken(token, as: kind), key: key, source: source)
        question.token.isDoubted = true
        return self.standing(question, on: loop).flatMap { [question] standing -> Eventual<Void> in
            guard case .live(let session) = standing else { return .success(()) }
            return self.ask(question.ofGood(session.session), on: loop).map { _ in }
        }.future(on: loop)
    }

    package func bind(_ key: RecordKey, to thumbprint: String, on loop: any EventLoop) -> EventLoopFuture<KeyBinding> {
        self.sessions.bind(key, to: thumbprint, on: loop)
    }

    package func revoke(_ token: Secret, as kind: Session.Kind, sessionID: String?) async -> Bool {
        guard let source = token.bytes.withUnsafeBytes({ self.source(of: $0, as: kind) }) else { return true }
        return await source.provider.revoke(PresentedToken(token, as: kind), sessionID: sessionID)
    }

    // MARK: Steps

    private struct Question: Sendable {
        var token: PresentedToken
        let key: RecordKey
        let source: Source
        /// The session that the provider confirmed; `nil` if it has confirmed none.
        var former: Session?
        /// Where the calls are written.
        let trace = CallTrace.current

        var provider: any TokenProvider { self.source.provider }

        /// A question about a token whose session the provider has confirmed.
        func ofGood(_ session: Session) -> Question {
            var question = self
            question.token.wasGood = true
            question.former = session
            return question
        }
    }

    private func source(of token: UnsafeRawBufferPointer, as kind: Session.Kind) -> Source? {
        guard !TokenAuthority.hasOwnForm(token) else { return nil }
        if !self.otherIssuers.isEmpty, kind == .native, TokenSyntax.isJWT(token),
            let issuer = (try? JWS.unverifiedClaims(of: token))?.issuer, self.otherIssuers.contains(issuer)
        {
            return nil
        }
        return self.sources.first { $0.provider.mayKnow(token, as: kind) }
    }

    /// A token that proves itself: its signature is checked again only when this loop's verdict has run out.
    private func judged(
        _ question: Question,
        _ known: ForeignSession?,
        on loop: any EventLoop
    ) -> Eventual<ForeignAnswer> {
        guard let known, known.verdict.isFresh(at: self.clock.now()) else { return self.ask(question, on: loop) }
        return self.standing(question, on: loop).flatMap { standing in
            switch standing {
            case .live(let kept): .success(.live(known.bound(as: kept)))
            case .ended: .success(.none(.sessionUnknown))
            case .none: self.ask(question, on: loop)
            }
        }
    }

    /// A token that only its provider knows: any gateway's verdict is used.
    private func shared(_ question: Question, on loop: any EventLoop) -> Eventual<ForeignAnswer> {
        self.standing(question, on: loop).flatMap { standing in
            let now = self.clock.now()
            switch standing {
            case .ended:
                return .success(.none(.sessionUnknown))
            case .live(let session) where session.verdict.isFresh(at: now):
                return .success(.live(session))
            case .live(let session):
                return self.ask(question.ofGood(session.session), on: loop).flatMapErrorThrowing { error in
                    guard error as? ForeignTokenError == .providerUnavailable,
                        let bridge = self.bridge(session, for: question.provider)
                    else { throw error }
                    return .live(bridge)
                }
            case .none:
                return self.ask(question, on: loop)
            }
        }
    }

    /// What serves while the provider cannot be asked: the last verdict, to its end, and for a bounded time beyond it as a
    /// stale one.
    private func bridge(_ session: ForeignSession, for provider: any TokenProvider) -> ForeignSession? {
        let now = self.clock.now()
        guard !session.verdict.isUsable(at: now) else { return session }
        let stale = ForeignVerdict(
            givenAt: session.verdict.givenAt,
            usableUntil: session.verdict.usableUntil.advanced(by: provider.staleLifetime),
            isStale: true,
            isAdmitted: session.verdict.isAdmitted
        )
        return stale.isUsable(at: now) ? session.with(stale) : nil
    }

    private func standing(
        _ question: Question,
        on loop: any EventLoop
    ) -> Eventual<ForeignSessions.Standing> {
        self.sessions.standing(question.key, on: loop).flatMapErrorThrowing { throw Self.error($0) }
    }

    private func ask(_ question: Question, on loop: any EventLoop) -> Eventual<ForeignAnswer> {
        if let verdict = question.provider.judge(question.token.token) {
            return self.accept(verdict, question, on: loop)
        }
        let introspected = CallTrace.with(question.trace) {
            loop.makeFutureWithTask { await question.provider.introspect(question.token) }
        }
        return Eventual.later(introspected).flatMap { verdict in
            CallTrace.with(question.trace) { self.accept(verdict, question, on: loop) }
        }
    }

    private func accept(
        _ verdict: TokenVerdict,
        _ question: Question,
        on loop: any EventLoop
    ) -> Eventual<ForeignAnswer> {
        let known: KnownToken
        switch verdict {
        case .known(let token): known = token
        case .unknown(let reason): return .success(.none(reason))
        case .ended(let reason): return self.end(question, for: reason, on: loop)
        case .insufficient(let demand): return .success(.insufficient(demand))
        case .unavailable: return .failure(ForeignTokenError.providerUnavailable)
        }
        let now = self.clock.now()
        let session = self.session(known, question)
        self.observe(session)
        let lifetime = max(.zero, known.cacheLifetime ?? Self.usualCacheLifetime)
        let own = ForeignVerdict(
            givenAt: now,
            usableUntil: min(session.expiresAt, now.advanced(by: lifetime)),
            isAdmitted: known.isAdmitted
        )
        // No gateway relies on another's judgement of a token that proves itself, so its record never changes.
        let kept =
            question.provider.verifiesLocally
            ? ForeignVerdict(
                givenAt: session.issuedAt,
                usableUntil: session.expiresAt,
                isAdmitted: known.isAdmitted
            ) : own
        return self.sessions.accept(
            ForeignSession(session: session, verdict: kept),
            issuedAt: known.issuedAt,
            as: question.key,
            on: loop
        ).map { accepted in
            guard let accepted else { return .none(.sessionUnknown) }
            guard question.provider.verifiesLocally else { return .live(accepted) }
            return .live(accepted.with(own))
        }.flatMapErrorThrowing { throw Self.error($0) }
    }

    /// Ends what came of the token, and then says that it is not accepted. If that fails, nobody knows yet that it has ended, and
    /// the next request asks again.
    private func end(_ question: Question, for reason: Reason, on loop: any EventLoop) -> Eventual<ForeignAnswer> {
        guard let former = question.former else { return .success(.none(reason)) }
        let ended = loop.makeFutureWithTask { try await self.end(question.token.token, former) }
        return Eventual.later(ended).map { .none(reason) }.flatMapErrorThrowing { _ in
            throw ForeignTokenError.store(.unavailable)
        }
    }

    private func session(_ known: KnownToken, _ question: Question) -> Session {
        let names = question.source.names
        let authenticatedAt = Self.bounded(known.authenticatedAt)
        let expiresAt = Self.bounded(known.expiresAt)
        return Session(
            id: known.sessionID.map { names.sessionID(session: $0) }
                ?? names.sessionID(token: question.key.lineage),
            kind: question.token.kind,
            origin: question.token.kind == .web ? .browser : .native,
            lineage: question.key.lineage,
            identity: known.identity.inRealm(self.realm),
            clientID: known.clientID,
            aal: known.aal,
            methods: known.methods,
            scopes: known.scopes,
            authenticatedAt: authenticatedAt,
            issuedAt: known.issuedAt.map(Self.bounded) ?? authenticatedAt,
            expiresAt: expiresAt,
            // The provider decides on idle time.
            idleLifetime: max(.zero, expiresAt.since(authenticatedAt)),
            provider: ProviderSession(name: question.provider.name, sessionID: known.sessionID),
            keyThumbprint: known.confirmation?.keyThumbprint,
            certificateHash: known.confirmation?.certificateHash
        )
    }

    private static func error(_ error: any Error) -> ForeignTokenError {
        (error as? ForeignTokenError) ?? .store(error as? StoreError ?? .unavailable)
    }

    /// The time, limited so that the difference of two such times cannot overflow: no value from a provider can trap.
    private static func bounded(_ time: UnixTime) -> UnixTime {
        min(max(time, UnixTime(seconds: 0)), UnixTime(seconds: 1 << 40))
    }
}

extension ForeignSession {
    /// The same, bound to the key to which the store's record is bound.
    fileprivate func bound(as kept: ForeignSession) -> ForeignSession {
        self.with { $0.keyThumbprint = kept.session.keyThumbprint }
    }
}
