import NIOCore
import NIOPosix
import Providers
import Sessions
import StoreBench
import Synchronization
import TestSupport
import Testing
import Vocabulary

/// A provider of tokens with its prefix; a test scripts its answers and when it gives them.
final class ScriptedTokens: TokenProvider {
    private struct State {
        var verdicts: [String: TokenVerdict] = [:]
        var isAway = false
        var calls: [String] = []
        var isHeld = false
        var held: [CheckedContinuation<Void, Never>] = []
    }

    let name: String
    private let prefix: String
    private let state = Mutex(State())

    init(name: String = "kratos", prefix: String = "ory_st_") {
        self.name = name
        self.prefix = prefix
    }

    /// The tokens for which it was asked.
    var calls: [String] { self.state.withLock { $0.calls } }

    /// Sets its answer for `token`; nil: unknown.
    func say(_ known: KnownToken?, of token: String) {
        self.state.withLock { $0.verdicts[token] = known.map { .known($0) } }
    }

    func setAway(_ isAway: Bool) {
        self.state.withLock { $0.isAway = isAway }
    }

    /// From now on answers are held until `release`.
    func hold() {
        self.state.withLock { $0.isHeld = true }
    }

    func release() {
        let held = self.state.withLock { state in
            state.isHeld = false
            defer { state.held = [] }
            return state.held
        }
        for continuation in held { continuation.resume() }
    }

    func mayKnow(_ token: UnsafeRawBufferPointer) -> Bool { token.starts(with: self.prefix.utf8) }

    func introspect(_ presented: Providers.PresentedToken) async -> TokenVerdict {
        let text = String(decoding: presented.token.bytes, as: UTF8.self)
        // The answer that is set when it is asked, however late it is given.
        let verdict: TokenVerdict = self.state.withLock { state in
            state.calls.append(text)
            return state.isAway ? .unavailable : state.verdicts[text] ?? .unknown(.credentialInvalidToken)
        }
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let isHeld = self.state.withLock { state in
                if state.isHeld { state.held.append(continuation) }
                return state.isHeld
            }
            if !isHeld { continuation.resume() }
        }
        return verdict
    }

    /// Waits until it was asked this many times.
    func waitForCalls(_ count: Int) async throws {
        try await waitUntil("\(count) calls") { self.calls.count >= count }
    }
}

/// A provider whose tokens prove themselves, judged at once as a test says.
final class ScriptedSignatures: TokenProvider {
    private struct State {
        var verdict = TokenVerdict.unknown(.credentialInvalidToken)
        var count = 0
    }

    let name = "https://idp.example"
    let configuration: String
    let verifiesLocally = true
    private let state = Mutex(State())

    init(configuration: String = "") {
        self.configuration = configuration
    }

    /// How many tokens it has judged.
    var count: Int { self.state.withLock { $0.count } }

    func say(_ verdict: TokenVerdict) {
        self.state.withLock { $0.verdict = verdict }
    }

    func mayKnow(_ token: UnsafeRawBufferPointer) -> Bool { token.starts(with: "eyJ".utf8) }

    func judge(_ token: Secret) -> TokenVerdict? {
        self.state.withLock { state in
            state.count += 1
            return state.verdict
        }
    }

    func introspect(_ presented: Providers.PresentedToken) async -> TokenVerdict { .unavailable }
}

extension TokenProvider {
    /// Asks about a token of an app.
    func introspect(_ token: Secret) async -> TokenVerdict { await self.introspect(Providers.PresentedToken(token)) }
}

/// The resolver of one event loop, with a store and scripted token providers.
struct TokenEndpointBench {
    /// The result of a resolution.
    enum Outcome: Sendable, Equatable {
        case hit(Session)
        case found(Session)
        case none(Reason)
        case unavailable(Reason)
        case malformed

        var session: Session? {
            switch self {
            case .hit(let session), .found(let session): session
            case .none, .unavailable, .malformed: nil
            }
        }

        var isHit: Bool {
            if case .hit = self { true } else { false }
        }
    }

    let loop: any EventLoop
    let clock: MovableClock
    let caches: SessionCaches
    let authority = TokenAuthority(secret: Secret("a secret of the tests"))
    let base: MemoryStore
    let store: ScriptedStore
    private let resolver: NIOLoopBound<SessionResolver>

    init(_ providers: [any TokenProvider], room: Int = 100) async throws {
        let (clock, caches) = (MovableClock(), SessionCaches())
        let base = MemoryStore(maxSessions: room, maxMarkers: 100, clock: clock.clock, caches: caches)
        try await self.init(providers, clock, caches, base, ScriptedStore(base))
    }

    /// Another loop, with the same store and clock.
    func another(_ providers: [any TokenProvider]) async throws -> TokenEndpointBench {
        try await TokenEndpointBench(providers, self.clock, self.caches, self.base, self.store)
    }

    private init(
        _ providers: [any TokenProvider],
        _ clock: MovableClock,
        _ caches: SessionCaches,
        _ base: MemoryStore,
        _ store: ScriptedStore
    ) async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let authority = self.authority
        (self.loop, self.clock, self.caches, self.base, self.store) = (loop, clock, caches, base, store)
        self.resolver = try await loop.submit {
            let cache = SessionCache(capacity: 16)
            caches.register(cache, on: loop)
            let resolver = SessionResolver(
                loop: loop,
                cache: cache,
                store: store,
                authority: authority,
                clock: clock.clock
            )
            resolver.parties.foreignTokens = Self.tokens(providers, authority, store, clock)
            return NIOLoopBound(resolver, eventLoop: loop)
        }.get()
    }

    private static func tokens(
        _ providers: [any TokenProvider],
        _ authority: TokenAuthority,
        _ store: ScriptedStore,
        _ clock: MovableClock,
        of realm: Realm = .default
    ) -> [RealmTokens] {
        guard !providers.isEmpty else { return [] }
        let tokens = ProviderTokens(providers, realm: realm, authority: authority, store: store, clock: clock.clock)
        return [RealmTokens(realm, tokens)]
    }

    /// Replaces the providers, as a reload does.
    ///
    /// - Parameter realm: Whose they are; the bench resolves for the default realm.
    func reload(_ providers: [any TokenProvider], of realm: Realm = .default) async throws {
        let tokens = Self.tokens(providers, self.authority, self.store, self.clock, of: realm)
        try await self.loop.submit { self.resolver.value.parties.foreignTokens = tokens }.get()
    }

    /// Replaces the providers by those of several realms.
    func reload(realms providers: [(realm: Realm, provider: any TokenProvider)]) async throws {
        let tokens = providers.flatMap { realm, provider in
            Self.tokens([provider], self.authority, self.store, self.clock, of: realm)
        }
        try await self.loop.submit { self.resolver.value.parties.foreignTokens = tokens }.get()
    }

    /// Resolves the tokens in one turn of the loop.
    ///
    /// - Parameter realms: Those of the host of each.
    func resolve(
        _ tokens: [String],
        as kind: Session.Kind = .native,
        of realms: [Realms] = []
    ) async throws -> [Outcome] {
        try await self.loop.flatSubmit {
            EventLoopFuture.whenAllSucceed(
                tokens.enumerated().map { index, token in
                    self.begin(token, kind, of: realms.isEmpty ? .default : realms[index])
                },
                on: self.loop
            )
        }.get()
    }

    func resolve(_ token: String, as kind: Session.Kind = .native, of realms: Realms = .default) async throws -> Outcome
    {
        try await self.resolve([token], as: kind, of: [realms])[0]
    }

    /// Resolves the token on a loop whose time is behind the clock by this.
    func resolve(_ token: String, loopBehind lag: Duration) async throws -> Outcome {
        try await self.loop.flatSubmit { self.begin(token, .native, behind: lag) }.get()
    }

    func resolve(providerCookie cookie: String) async throws -> Outcome {
        try await self.loop.flatSubmit { self.begin(cookie, .web, isProviders: true) }.get()
    }

    /// What a loop that knows nothing of a token is told of it.
    enum Answer: Sendable, Equatable {
        case live(Session, isStale: Bool)
        case none(Reason)
        case unavailable
    }

    func answer(_ token: String) async throws -> Answer {
        let bytes = Array(token.utf8)
        return try await self.loop.flatSubmit {
            guard let tokens = self.resolver.value.parties.foreignTokens.first?.tokens,
                let key = bytes.withUnsafeBytes({ tokens.key(of: $0, as: .native) })
            else { return self.loop.makeSucceededFuture(Answer.none(.credentialMalformed)) }
            return tokens.session(Secret(bytes), as: .native, key: key, known: nil, on: self.loop).map { answer in
                switch answer {
                case .live(let found): .live(found.session, isStale: found.verdict.isStale)
                case .none(let reason): .none(reason)
                case .insufficient: .none(.requireAAL)
                }
            }.flatMapErrorThrowing { error in
                guard error as? ForeignTokenError == .providerUnavailable else { throw error }
                return .unavailable
            }
        }.get()
    }

    private func begin(
        _ token: String,
        _ kind: Session.Kind,
        of realms: Realms = .default,
        isProviders: Bool = false,
        behind lag: Duration = .zero
    ) -> EventLoopFuture<Outcome> {
        let promise = self.loop.makePromise(of: Outcome.self)
        let now = self.clock.now.advanced(by: .zero - lag)
        let resolution = Array(token.utf8).withUnsafeBytes {
            isProviders
                ? self.resolver.value.resolve(providerCookie: $0, now: now)
                : self.resolver.value.resolve(kind, token: $0, of: realms, now: now)
        }
        switch resolution {
        case .hit(let entry): promise.succeed(.hit(entry.session))
        case .otherKind, .otherKey: promise.succeed(.none(.credentialOtherKey))
        case .malformed: promise.succeed(.malformed)
        case .miss(let read):
            read.whenFound { result in
                switch result {
                case .success(let entry): promise.succeed(entry.map { .found($0.session) } ?? .none(read.refusal))
                case .failure: promise.succeed(.unavailable(read.failure))
                }
            }
        }
        return promise.futureResult
    }

    // MARK: Ends

    /// What can end a token's session.
    enum End: CaseIterable, Sendable {
        case signOut, subject, providerSession
    }

    /// Ends the session of alice's token, as the store does it for all loops.
    func end(_ end: End, token: String, of provider: String = "kratos") async throws {
        let lineage = self.lineage(of: token, provider)
        try await self.loop.flatSubmit {
            switch end {
            case .signOut: self.base.end(lineage, on: self.loop)
            case .subject: self.base.end(subject: "alice", on: self.loop)
            case .providerSession:
                self.base.end(subject: ProviderSession.endName(of: "sid-1", at: provider), on: self.loop)
            }
        }.get()
    }

    func lineage(of token: String, _ provider: String = "kratos") -> Lineage {
        Array(token.utf8).withUnsafeBytes { ForeignNames(self.authority, provider: provider).key(of: $0).lineage }
    }

    /// A verdict: the token is alice's and lasts for an hour.
    func alice(sessionID: String? = "sid-1", life: Duration = .seconds(3600), cached: Duration? = nil) -> KnownToken {
        KnownToken(
            identity: Identity(id: "alice", traits: ["email": "alice@example.com"]),
            aal: .aal1,
            methods: ["password"],
            authenticatedAt: self.clock.now.advanced(by: .seconds(-60)),
            issuedAt: self.clock.now.advanced(by: .seconds(-30)),
            expiresAt: self.clock.now.advanced(by: life),
            sessionID: sessionID,
            cacheLifetime: cached
        )
    }
}
