import JOSE
package import NIOCore
package import Sessions
package import Vocabulary

/// Verifies foreign tokens for the event loops, and turns each verdict into a session in the store.
///
/// - A signed token is verified first. If it is valid, the store is asked whether it has ended. Each event loop
///   verifies the token itself.
/// - For any other token, the store is asked first. The provider is asked only if no gateway has a fresh verdict.
///
/// If the store cannot be reached, the result is an error, because the token may have been signed out.
package final class ProviderTokens: ForeignTokens {
    /// The lifetime of a verdict if the provider reports none.
    private static let usualCacheLifetime = Duration.seconds(5)

    /// A provider, and the keys of its tokens.
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
    /// The issuers of other providers, whose signed tokens are not accepted here.
    private let otherIssuers: Set<String>
    private let sessions: ForeignSessions
    private let clock: Clock
    private let observe: @Sendable (Session) -> Void
    private let end: End

    /// Ends everything that came from a token, because the provider has ended its session.
    ///
    /// - Throws: The error of the store.
    package typealias End = @Sendable (Secret, Session) async throws(NotDone) -> Void

    /// - Parameters:
    ///   - providers: The token providers. A token is judged by the first one that may know it.
    ///   - realm: The realm of the providers' users.
    ///   - otherIssuers: The issuers of other providers, whose signed tokens are not accepted here.
    ///   - clock: The clock of the store.
    ///   - isBlocked: Asked before a token is accepted; `nil` if users cannot be blocked.
    ///   - observe: Receives a session each time a provider confirms it.
    ///   - end: Called if the provider has ended a session that it confirmed before (`TokenVerdict.ended`). The request
    ///     is answered afterwards.
    package init(
        _ providers: [any TokenProvider],
        realm: Realm = .default,
        otherIssuers: Set<String> = [],
        authority: TokenAuthority,
        store: any SessionStore & ReplaceableStore,
        clock: Clock,
        isBlocked: ForeignSessions.BlockCheck? = nil,
        observe: @escaping @Sendable (Session) -> Void = { _ in },
        end: @escaping End = { (_, _) throws(NotDone) in }
    ) {
        self.sources = providers.map { provider in
            // Verdicts contain the realm, so a change of the realm must invalidate them.
            let configuration =
                realm == .default ? provider.configuration : "\(realm.name)\u{0}\(provider.configuration)"
            let names = ForeignNames(authority, provider: provider.name, configuration: configuration)
            return Source(provider, names)
        }
        self.realm = realm
        self.otherIssuers = otherIssuers
        self.sessions = ForeignSessions(store: store, authority: authority, clock: clock, isBlocked: isBlocked)
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
        /// The session that the provider confirmed before; `nil` if there is none.
        var former: Session?
        /// The trace that records the calls.
        let trace = CallTrace.current

        var provider: any TokenProvider { self.source.provider }

        /// Returns the question for a token whose session the provider confirmed before.
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

    /// Judges a signed token. The signature is verified again if this loop's verdict is no longer fresh, or if the
    /// store no longer knows the token.
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
            case .blocked: .success(.none(.signInBlocked))
            case .none: self.ask(question, on: loop)
            }
        }
    }

    /// Judges a token that only its provider can verify. A fresh verdict in the store is used first.
    private func shared(_ question: Question, on loop: any EventLoop) -> Eventual<ForeignAnswer> {
        self.standing(question, on: loop).flatMap { standing in
            let now = self.clock.now()
            switch standing {
            case .ended:
                return .success(.none(.sessionUnknown))
            case .blocked:
                return .success(.none(.signInBlocked))
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

    /// Returns the verdict to use while the provider cannot be reached: the last one until it expires, and then a stale
    /// one for `staleLifetime`. `nil` after that.
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
        // Gateways do not share verdicts on signed tokens, so the stored record stays the same.
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
        ).map { standing in
            switch standing {
            case .live(let session): .live(question.provider.verifiesLocally ? session.with(own) : session)
            case .none, .ended: .none(.sessionUnknown)
            case .blocked: .none(.signInBlocked)
            }
        }.flatMapErrorThrowing { throw Self.error($0) }
    }

    /// Ends everything that came from the token, and then rejects the token. If `end` fails, the result is an error,
    /// and the next request asks the provider again.
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
            // The provider enforces its own idle timeout.
            idleLifetime: max(.zero, expiresAt.since(authenticatedAt)),
            provider: ProviderSession(name: question.provider.name, sessionID: known.sessionID),
            keyThumbprint: known.confirmation?.keyThumbprint,
            certificateHash: known.confirmation?.certificateHash
        )
    }

    private static func error(_ error: any Error) -> ForeignTokenError {
        (error as? ForeignTokenError) ?? .store(error as? StoreError ?? .unavailable)
    }

    /// Returns the time within limits, so that differences of times cannot overflow.
    private static func bounded(_ time: UnixTime) -> UnixTime {
        min(max(time, UnixTime(seconds: 0)), UnixTime(seconds: 1 << 40))
    }
}

extension ForeignSession {
    /// Returns the session with the key binding of the stored session.
    fileprivate func bound(as kept: ForeignSession) -> ForeignSession {
        self.with { $0.keyThumbprint = kept.session.keyThumbprint }
    }
}
