import NIOCore
import NIOEmbedded
import Sessions
import StoreBench
import Synchronization
import Testing
import Vocabulary

/// A session in use tells the renewer when its provider's tokens are due, and carries the tokens where an app needs
/// them.
@Suite struct RenewalHookTests {
    private final class Renewer: SessionRenewer {
        let told = Mutex<[RecordKey]>([])

        let promises = Mutex<[EventLoopPromise<Void>]>([])

        func renew(_ session: Session, _ key: RecordKey) { self.told.withLock { $0.append(key) } }

        func renewed(_ session: Session, _ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void> {
            let promise = loop.makePromise(of: Void.self)
            self.promises.withLock { $0.append(promise) }
            return promise.futureResult
        }
    }

    private final class Reader: SessionTokenReader {
        let answers = Mutex<[RecordKey: SessionTokens]>([:])
        let asked = Mutex(0)
        let isAway = Mutex(false)

        func tokens(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<SessionTokens?> {
            self.asked.withLock { $0 += 1 }
            if self.isAway.withLock({ $0 }) { return loop.makeFailedFuture(StoreError.unavailable) }
            return loop.makeSucceededFuture(self.answers.withLock { $0[key] })
        }
    }

    private let bench = ResolverBench()
    private let renewer = Renewer()
    private let reader = Reader()

    init() {
        self.bench.resolver.parties.renewer = self.renewer
    }

    private var told: Int { self.renewer.told.withLock { $0.count } }

    /// A session with a grant, due in `wait`.
    private func holder(renewalIn wait: Duration?, tokensEndIn end: Duration? = nil) -> ResolverBench.Holder {
        let holder = self.bench.holder()
        var session = holder.session
        session.provider = ProviderSession(
            name: "https://idp.example.com",
            grant: testAuthority.newKey(of: .grant, in: session.lineage),
            renewAt: wait.map { self.bench.clock.now.advanced(by: $0) },
            tokensEndAt: end.map { self.bench.clock.now.advanced(by: $0) }
        )
        return ResolverBench.Holder(token: holder.token, key: holder.key, session: session)
    }

    @Test("The renewer is told from the time of renewal on, once a second, and of no other session")
    func due() {
        let holder = self.holder(renewalIn: .seconds(2))
        let others = [self.holder(renewalIn: nil), self.bench.holder()]
        for one in [holder] + others { self.bench.warm(one) }
        self.bench.clock.advance(by: .milliseconds(1999))
        for one in [holder] + others { _ = self.bench.resolve(one.token) }
        #expect(self.told == 0)
        self.bench.clock.advance(by: .milliseconds(1))
        for _ in 0..<100 { for one in [holder] + others { _ = self.bench.resolve(one.token) } }
        #expect(self.told == 1)
        self.bench.clock.advance(by: .seconds(1))
        for _ in 0..<100 { _ = self.bench.resolve(holder.token) }
        #expect(self.renewer.told.withLock { $0 } == [holder.key, holder.key])
    }

    @Test("A session that is read because it is not cached is renewed too, and a replaced one no more")
    func miss() throws {
        let holder = self.holder(renewalIn: .seconds(-1))
        self.bench.warm(holder)
        #expect(self.told == 1)
        self.bench.clock.advance(by: .seconds(2))
        self.bench.cache.invalidate(.sessionRecord(holder.key))
        _ = self.bench.resolve(holder.token)
        var session = holder.session
        session.provider?.renewAt = self.bench.clock.now.advanced(by: .seconds(240))
        self.bench.answer(session, version: 2)
        _ = self.bench.resolve(holder.token)
        #expect(self.told == 1)
    }

    @Test("Only where an app needs them, the tokens are read with the session, once for each version")
    func tokens() throws {
        let holder = self.holder(renewalIn: nil, tokensEndIn: .seconds(60))
        self.bench.warm(holder)
        let bare = try #require(self.bench.resolve(holder.token).entry)
        #expect(bare.tokens == nil && self.reader.asked.withLock { $0 } == 0)
        #expect(bare.tokensEndAt > self.bench.clock.now.advanced(by: .seconds(86_400)))

        // A reload whose configuration needs them.
        let first = SessionTokens(access: Secret("a1"), id: Secret("i1"))
        let grant = try #require(holder.session.provider?.grant)
        self.reader.answers.withLock { $0[grant] = first }
        self.bench.resolver.parties.tokenReader = self.reader
        let waiting = self.bench.resolve(holder.token)
        self.bench.answer(holder.session, version: 1)
        #expect(waiting.entry?.tokens == first)
        #expect(waiting.entry?.tokensEndAt == holder.session.provider?.tokensEndAt)
        // The entry is read again in the background; the version is the same.
        for _ in 0..<3 {
            self.bench.clock.advance(by: .seconds(4))
            #expect(self.bench.resolve(holder.token).entry?.tokens == first)
            self.bench.answer(holder.session, version: 1)
        }
        #expect(self.reader.asked.withLock { $0 } == 1)
        // A renewal replaces the session.
        let second = SessionTokens(access: Secret("a2"), id: nil)
        self.reader.answers.withLock { $0[grant] = second }
        self.bench.cache.invalidate(.sessionRecord(holder.key))
        let next = self.bench.resolve(holder.token)
        self.bench.answer(holder.session, version: 2)
        #expect(next.entry?.tokens == second && self.reader.asked.withLock { $0 } == 2)
        // A reload whose configuration does not need them.
        self.bench.resolver.parties.tokenReader = nil
        let last = self.bench.resolve(holder.token)
        self.bench.answer(holder.session, version: 2)
        #expect(last.entry?.tokens == nil && last.outcome == .found("alice"))
    }

    @Test("An id_token that has expired is left out, in use as after a pause; the next renewal may bring another one")
    func expiredIDToken() throws {
        self.bench.resolver.parties.tokenReader = self.reader
        for pauses in [[Duration.seconds(4), .seconds(4), .seconds(2)], [.seconds(60)]] {
            let holder = self.holder(renewalIn: nil)
            let grant = try #require(holder.session.provider?.grant)
            let end = self.bench.clock.now.advanced(by: .seconds(10))
            let whole = SessionTokens(access: Secret("a1"), id: Secret("i1"), idExpiresAt: end)
            self.reader.answers.withLock { $0[grant] = whole }
            self.bench.warm(holder)
            let entry = try #require(self.bench.resolve(holder.token).entry)
            entry.setRendering([1], generation: 1)
            for pause in pauses {
                #expect(entry.tokens == whole && entry.rendering(generation: 1) == [1])
                self.bench.clock.advance(by: pause)
                let read = self.bench.resolve(holder.token)
                if self.bench.store.waiting > 0 { self.bench.answer(holder.session, version: 1) }
                #expect(read.entry === entry)
            }
            #expect(entry.tokens == SessionTokens(access: Secret("a1"), id: nil))
            #expect(entry.rendering(generation: 1) == nil)
            let next = SessionTokens(
                access: Secret("a2"),
                id: Secret("i2"),
                idExpiresAt: end.advanced(by: .seconds(600))
            )
            self.reader.answers.withLock { $0[grant] = next }
            self.bench.cache.invalidate(.sessionRecord(holder.key))
            let renewed = self.bench.resolve(holder.token)
            self.bench.answer(holder.session, version: 2)
            #expect(renewed.entry?.tokens == next)
        }
    }

    @Test("A session without grant, or whose grant is gone, has no tokens; if the store fails, it is unavailable")
    func missingTokens() throws {
        self.bench.resolver.parties.tokenReader = self.reader
        let plain = self.bench.holder()
        self.bench.warm(plain)
        #expect(try #require(self.bench.resolve(plain.token).entry).tokens == nil)
        #expect(self.reader.asked.withLock { $0 } == 0)
        let gone = self.holder(renewalIn: nil)
        self.bench.warm(gone)
        #expect(try #require(self.bench.resolve(gone.token).entry).tokens == nil)
        let holder = self.holder(renewalIn: nil)
        self.reader.isAway.withLock { $0 = true }
        let failing = self.bench.resolve(holder.token)
        self.bench.answer(holder.session)
        #expect(failing.outcome == .failed(.unavailable))
        self.reader.isAway.withLock { $0 = false }
        let again = self.bench.resolve(holder.token)
        self.bench.answer(holder.session)
        #expect(again.outcome == .found("alice"))
    }

    @Test("If the tokens expired while the session was not in use, the request waits for their renewal, once")
    func expired() throws {
        self.bench.resolver.parties.tokenReader = self.reader
        let holder = self.holder(renewalIn: .seconds(-60))
        let grant = try #require(holder.session.provider?.grant)
        let old = SessionTokens(access: Secret("a1"), id: nil, expiresAt: self.bench.clock.now)
        let new = SessionTokens(
            access: Secret("a2"),
            id: nil,
            expiresAt: self.bench.clock.now.advanced(by: .seconds(300))
        )
        for next in [new, old] {
            self.bench.cache.invalidate(.all)
            self.reader.answers.withLock { $0[grant] = old }
            let waiting = self.bench.resolve(holder.token)
            self.bench.answer(holder.session)
            #expect(waiting.outcome == .waiting && self.bench.store.waiting == 0)
            self.reader.answers.withLock { $0[grant] = next }
            self.renewer.promises.withLock { $0.removeFirst() }.succeed()
            self.bench.loop.run()
            self.bench.answer(holder.session, version: 2)
            #expect(waiting.entry?.tokens == next)
        }
        #expect(self.renewer.promises.withLock { $0.isEmpty })
        // Tokens that cannot be renewed are not waited for.
        let lost = self.holder(renewalIn: nil)
        self.reader.answers.withLock { $0[lost.session.provider?.grant ?? grant] = old }
        self.bench.warm(lost)
        #expect(self.bench.resolve(lost.token).outcome == .hit("alice"))
    }

    @Test("An end while the tokens are read is not overtaken")
    func endMeanwhile() throws {
        let holder = self.holder(renewalIn: nil)
        let promise = self.bench.loop.makePromise(of: SessionTokens?.self)
        struct Slow: SessionTokenReader {
            let answer: EventLoopFuture<SessionTokens?>
            func tokens(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<SessionTokens?> { self.answer }
        }
        self.bench.resolver.parties.tokenReader = Slow(answer: promise.futureResult)
        let waiting = self.bench.resolve(holder.token)
        self.bench.answer(holder.session)
        #expect(waiting.outcome == .waiting)
        self.bench.cache.invalidate(.lineage(holder.session.lineage))
        promise.succeed(nil)
        self.bench.loop.run()
        #expect(waiting.outcome == .waiting, "it is read again")
        self.bench.answer(nil)
        #expect(waiting.outcome == .noSession)
    }
}
