import NIOCore
import NIOPosix
import Providers
import Sessions
import StoreBench
import Synchronization
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

    func introspect(_ token: Secret) async -> TokenVerdict {
        let text = String(decoding: token.bytes, as: UTF8.self)
        // The answer that is set when it is asked, however late it is given.
        let verdict: TokenVerdict = self.state.withLock { state in
            state.calls.append(text)
            return state.isAway ? .unavailable : state.verdicts[text] ?? .unknown
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
        while self.calls.count < count { try await Task.sleep(for: .milliseconds(1)) }
    }
}

/// The resolver of one event loop, with a memory store and scripted token providers.
struct TokenDesk {
    /// The result of a resolution.
    enum Outcome: Sendable, Equatable {
        case hit(Session)
        case found(Session)
        case none
        case unavailable(Reason)
        case malformed

        var session: Session? {
            switch self {
            case .hit(let session), .found(let session): session
            case .none, .unavailable, .malformed: nil
            }
        }
    }

    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let clock = MovableClock()
    let caches = SessionCaches()
    let authority = TokenAuthority(secret: Secret("a secret of the tests"))
    let store: MemoryStore
    private let resolver: NIOLoopBound<SessionResolver>

    init(_ providers: [any TokenProvider]) async throws {
        let (loop, clock, caches, authority) = (self.loop, self.clock.clock, self.caches, self.authority)
        let store = MemoryStore(maxSessions: 100, maxMarkers: 100, clock: clock, caches: caches)
        self.store = store
        self.resolver = try await loop.submit {
            let cache = SessionCache(capacity: 16)
            caches.register(cache, on: loop)
            let resolver = SessionResolver(loop: loop, cache: cache, store: store, authority: authority, clock: clock)
            if !providers.isEmpty { resolver.foreignTokens = ProviderTokens(providers, authority: authority) }
            return NIOLoopBound(resolver, eventLoop: loop)
        }.get()
    }

    /// Resolves the tokens in one turn of the loop.
    func resolve(_ tokens: [String], as kind: Session.Kind = .native) async throws -> [Outcome] {
        try await self.loop.flatSubmit {
            EventLoopFuture.whenAllSucceed(tokens.map { self.begin($0, kind) }, on: self.loop)
        }.get()
    }

    func resolve(_ token: String, as kind: Session.Kind = .native) async throws -> Outcome {
        try await self.resolve([token], as: kind)[0]
    }

    private func begin(_ token: String, _ kind: Session.Kind) -> EventLoopFuture<Outcome> {
        let promise = self.loop.makePromise(of: Outcome.self)
        let now = self.clock.now
        switch Array(token.utf8).withUnsafeBytes({ self.resolver.value.resolve(kind, token: $0, now: now) }) {
        case .hit(let entry): promise.succeed(.hit(entry.session))
        case .otherKind, .otherKey: promise.succeed(.none)
        case .malformed: promise.succeed(.malformed)
        case .miss(let read):
            read.whenFound { result in
                switch result {
                case .success(let entry): promise.succeed(entry.map { .found($0.session) } ?? .none)
                case .failure: promise.succeed(.unavailable(read.failure))
                }
            }
        }
        return promise.futureResult
    }

    /// Tells every loop of an end and waits until this one has processed it.
    func end(_ ended: Invalidation) async throws {
        try await self.loop.flatSubmit { self.caches.invalidate(ended, on: self.loop) }.get()
    }

    /// A verdict: the token is alice's and lasts for an hour.
    func alice(sessionID: String? = "ses-1", life: Duration = .seconds(3600), cached: Duration? = nil) -> KnownToken {
        KnownToken(
            identity: Identity(id: "alice", traits: ["email": "alice@example.com"]),
            aal: .aal1,
            methods: ["password"],
            authenticatedAt: self.clock.now.advanced(by: .seconds(-60)),
            expiresAt: self.clock.now.advanced(by: life),
            sessionID: sessionID,
            cacheLifetime: cached
        )
    }
}
