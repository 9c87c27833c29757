import NIOCore
import NIOEmbedded
import NIOPosix
import Sessions
import StoreBench
import Testing
import Vocabulary

/// Sessions that endpoints such as `whoami` show.
@Suite struct ShownSessionTests {
    private let bench = ResolverBench()
    private let resolvers = SessionResolvers()

    init() { self.resolvers.add(self.bench.resolver) }

    private func known(_ holder: ResolverBench.Holder) -> RecordKey? {
        self.resolvers.known(holder.token, now: self.bench.clock.now)?.key
    }

    /// What a read shows; nil: it is not over.
    private final class Shown {
        var result: Result<String?, any Error>?

        var subject: String? { (try? self.result?.get()) ?? nil }
        var hasFailed: Bool { if case .failure? = self.result { true } else { false } }
        /// Whether it is over and has found none.
        var isEmpty: Bool { if case .success(nil)? = self.result { true } else { false } }
    }

    private func read(_ holder: ResolverBench.Holder) throws -> Shown {
        let shown = Shown()
        let read = try #require(
            self.resolvers.read(holder.token, key: holder.key, now: self.bench.clock.now)
        )
        read.assumeIsolated().map { $0?.session?.record.subject }.whenComplete { shown.result = $0 }
        return shown
    }

    @Test(
        "A session that is shown is read once, and then known to requests as well",
        arguments: [Session.Kind.web, .native]
    )
    func kept(_ kind: Session.Kind) throws {
        let holder = self.bench.holder(kind: kind)
        #expect(self.known(holder) == nil)
        let (first, second) = (try self.read(holder), try self.read(holder))
        #expect(self.bench.store.waiting == 1)
        self.bench.answer(holder.session)
        #expect(first.subject == "alice" && second.subject == "alice")
        #expect(self.known(holder) == holder.key)
        #expect(self.bench.resolve(holder.token, as: kind).outcome == .hit("alice"))
        #expect(self.bench.store.waiting == 0)
    }

    @Test("Showing a session is no use of it, however often and however late")
    func noUse() throws {
        let holder = self.bench.holder(idle: .seconds(3600))
        for _ in 0..<10 {
            self.bench.clock.advance(by: .seconds(300))
            _ = try self.read(holder)
            self.bench.answer(holder.session)
            #expect(self.known(holder) == holder.key)
        }
        #expect(self.bench.store.touches.isEmpty)
        _ = self.bench.resolve(holder.token)
        #expect(self.bench.store.touches == [holder.key])
    }

    @Test("A session that is shown again and again is read in the background")
    func refreshed() throws {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        self.bench.clock.advance(by: .milliseconds(4100))
        #expect(self.known(holder) == holder.key)
        #expect(self.bench.store.waiting == 1)
        self.bench.answer(holder.session)
        self.bench.clock.advance(by: .milliseconds(4000))
        #expect(self.known(holder) == holder.key)
    }

    @Test("A session that has ended, or ends while it is read, is not shown")
    func ended() throws {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        self.bench.cache.invalidate(.session(holder.key))
        #expect(self.known(holder) == nil)
        let shown = try self.read(holder)
        self.bench.cache.invalidate(.session(holder.key))
        self.bench.answer(holder.session)
        #expect(shown.result == nil, "it is read again")
        self.bench.answer(nil)
        #expect(shown.isEmpty)
    }

    @Test("While the store is unavailable, a session is shown for as long as requests are served with it")
    func unavailable() throws {
        let holder = self.bench.holder()
        self.bench.warm(holder)
        self.bench.caches.doubt()
        #expect(self.known(holder) == nil)
        let young = try self.read(holder)
        self.bench.fail()
        #expect(young.subject == "alice")
        self.bench.clock.advance(by: SessionCache.hardAge)
        let old = try self.read(holder)
        self.bench.fail()
        #expect(old.hasFailed)
    }

    @Test("Where reads for requests also renew the tokens of providers, the store is to be asked")
    func withProviderTokens() {
        let holder = self.bench.holder()
        self.bench.resolver.parties.tokenReader = NoTokens()
        self.bench.warm(holder)
        #expect(self.bench.resolve(holder.token).outcome == .hit("alice"))
        #expect(self.known(holder) == nil)
        #expect(self.resolvers.read(holder.token, key: holder.key, now: self.bench.clock.now) == nil)
    }

    private struct NoTokens: SessionTokenReader {
        func tokens(_ grant: RecordKey, on loop: any EventLoop) -> EventLoopFuture<SessionTokens?> {
            loop.makeSucceededFuture(nil)
        }
    }

    @Test("A session that is only shown is read again at its idle end, and serves no request after it")
    func idleEnd() throws {
        let holder = self.bench.holder(idle: .seconds(10))
        let start = self.bench.clock.now
        _ = try self.read(holder)
        self.bench.answer(holder.session, usedAt: start)
        self.bench.clock.advance(by: .seconds(9))
        _ = try self.read(holder)
        self.bench.answer(holder.session, usedAt: start)
        #expect(self.known(holder) == holder.key)
        self.bench.clock.advance(by: .seconds(1))
        #expect(self.known(holder) == nil && !self.bench.serves(holder))
        // Another loop has noted a use, and this one is noted now.
        let used = self.bench.resolve(holder.token)
        self.bench.answer(holder.session, usedAt: start.advanced(by: .seconds(8)))
        #expect(used.outcome == .found("alice"))
        #expect(self.bench.store.touches == [holder.key])
        self.bench.clock.advance(by: .seconds(4))
        #expect(self.bench.serves(holder))
    }

    @Test("An access token is shown nothing that the loop knows")
    func accessTokens() {
        let holder = self.bench.holder()
        var session = holder.session
        session.access = AccessTerms(audience: nil)
        _ = self.bench.resolve(holder.token)
        self.bench.answer(session)
        #expect(self.known(holder) == nil)
    }

    @Test("A caller on no event loop of the gateway is to ask the store")
    func elsewhere() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let (store, clock, authority) = (self.bench.store, self.bench.clock.clock, testAuthority)
        let resolvers = SessionResolvers()
        try await loop.submit {
            resolvers.add(
                SessionResolver(
                    loop: loop,
                    cache: SessionCache(capacity: 8),
                    store: store,
                    authority: authority,
                    clock: clock
                )
            )
        }.get()
        let made = authority.make(.session, in: authority.newLineage())
        #expect(resolvers.read(made.token, key: made.key, now: clock.now()) == nil)
        let isRead = try await loop.submit { resolvers.read(made.token, key: made.key, now: clock.now()) != nil }.get()
        #expect(isRead)
        store.takeRead()?.answer.succeed(nil)
    }
}
