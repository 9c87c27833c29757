import NIOCore
import NIOEmbedded
import Sessions
import StoreBench
import Testing
import Vocabulary

/// Tokens that took the place of the one with which a session began.
@Suite struct SuccessorTokenTests {
    private let loop = EmbeddedEventLoop()
    private let clock = MovableClock()
    private let caches = SessionCaches()
    private let store: MemoryStore
    private let cache = SessionCache(capacity: 64)
    private let resolver: SessionResolver
    private let first: (token: Secret, key: RecordKey)

    init() throws {
        self.store = MemoryStore(maxSessions: 100, maxMarkers: 100, clock: self.clock.clock, caches: self.caches)
        self.caches.register(self.cache, on: self.loop)
        self.resolver = SessionResolver(
            loop: self.loop,
            cache: self.cache,
            store: self.store,
            authority: testAuthority,
            clock: self.clock.clock
        )
        let lineage = testAuthority.newLineage()
        self.first = testAuthority.make(.session, in: lineage)
        let session = makeSession(kind: .web, lineage: lineage, now: self.clock.now)
        try self.store.create(NewSession(key: self.first.key, session: session), on: self.loop).wait()
    }

    /// The entry of the session that `token` presents, and whether the loop knew it.
    private func entry(_ token: Secret) -> (entry: CachedSession, isHit: Bool)? {
        let resolution = token.bytes.withUnsafeBytes { self.resolver.resolve(.web, token: $0, now: self.clock.now) }
        switch resolution {
        case .hit(let entry): return (entry, true)
        case .miss(let read):
            var found: CachedSession?
            read.whenFound { found = (try? $0.get()) ?? nil }
            self.loop.run()
            #expect(read.result != nil)
            return found.map { ($0, false) }
        default: return nil
        }
    }

    private func refusal(of token: Secret) -> Reason? {
        guard
            case .miss(let read) = token.bytes.withUnsafeBytes({
                self.resolver.resolve(.web, token: $0, now: self.clock.now)
            })
        else { return nil }
        self.loop.run()
        return read.refusal
    }

    private func issued(after token: PresentedToken, onlyIfIssuedBefore: Bool = false) throws -> Secret? {
        let issued = SuccessorToken.issue(
            for: self.first.key,
            after: token,
            by: testAuthority,
            onlyIfIssuedBefore: onlyIfIssuedBefore,
            now: self.clock.now,
            in: self.store,
            on: self.loop
        )
        self.loop.run()
        return try issued.wait()?.token
    }

    @Test("A later token presents the session under the session's own key; what ends the session ends every token")
    func found() throws {
        let second = try #require(try self.issued(after: .first(self.first.key)))
        #expect(try self.issued(after: .first(self.first.key)) == second, "the same again while the former one serves")
        let (entry, isHit) = try #require(self.entry(second))
        #expect(!isHit && entry.key == self.first.key && entry.presentedToken.number == 1)
        #expect(entry.presentedToken.key == testAuthority.key(.session, of: second.bytes))
        #expect(self.entry(second)?.isHit == true)
        #expect(self.entry(self.first.token)?.entry.presentedToken == .first(self.first.key))
        #expect(try self.issued(after: entry.presentedToken, onlyIfIssuedBefore: true) == nil, "it is the latest")
        let third = try #require(try self.issued(after: entry.presentedToken))
        #expect(self.entry(third)?.entry.presentedToken.number == 2)
        #expect(self.entry(self.first.token) == nil && self.refusal(of: self.first.token) == .sessionTokenReplaced)
        #expect(self.entry(second)?.entry.key == self.first.key)
        #expect(try self.store.end(self.first.key, on: self.loop).wait())
        for token in [self.first.token, second, third] { #expect(self.entry(token) == nil) }
    }

    @Test(
        "A loop that knows the former token forgets it when its time is over, however it was read",
        arguments: [0, 29]
    )
    func overlap(readAfter seconds: Int) throws {
        _ = try #require(self.entry(self.first.token))
        _ = try #require(try self.issued(after: .first(self.first.key)))
        self.clock.advance(by: .seconds(seconds))
        _ = try #require(self.entry(self.first.token))
        self.clock.advance(by: .milliseconds(29_999 - seconds * 1000))
        #expect(self.entry(self.first.token) != nil)
        self.clock.advance(by: .milliseconds(1))
        #expect(self.entry(self.first.token) == nil)
    }

    @Test("Reads again of a later token's entry, as in the background, find the session")
    func refreshed() throws {
        let second = try #require(try self.issued(after: .first(self.first.key)))
        let entry = try #require(self.entry(second)).entry
        for _ in 0..<3 {
            self.clock.advance(by: .milliseconds(4500))
            #expect(self.entry(second)?.entry === entry)
            self.loop.run()
        }
        self.clock.advance(by: .seconds(60))
        #expect(self.entry(second)?.isHit == false)
    }

    @Test("A stream goes on when the token that opened it serves no more, and closes when the session ends")
    func stream() throws {
        let entry = try #require(self.entry(self.first.token)).entry
        _ = try #require(try self.issued(after: .first(self.first.key)))
        let streams = StreamSessions(loop: self.loop, resolver: self.resolver, clock: self.clock.clock)
        var gone: [RecordKey] = []
        streams.onGone = { gone.append($0) }
        func check() {
            streams.check(entry, now: self.clock.now)
            self.loop.advanceTime(by: .milliseconds(100))
        }
        for _ in 0..<3 {
            self.clock.advance(by: .seconds(400))
            #expect(self.entry(self.first.token) == nil)
            check()
            #expect(gone.isEmpty && entry.readAt == self.clock.now)
        }
        _ = try self.store.end(self.first.key, on: self.loop).wait()
        self.clock.advance(by: .seconds(400))
        check()
        #expect(gone == [self.first.key])
    }

    @Test("A session's record says which of its tokens it has; a number that it does not know yet is good")
    func judged() throws {
        var session = makeSession(kind: .web, lineage: testAuthority.newLineage(), now: self.clock.now)
        #expect(try Session.decoded(session.encoded) == session)
        #expect(session.accepts(tokenNumber: 0, at: self.clock.now))
        session.succession = TokenSuccession(number: 3, since: self.clock.now)
        #expect(try Session.decoded(session.encoded) == session)
        let end = self.clock.now.advanced(by: SuccessorToken.overlap)
        for (number, atOnce, later) in [
            (0, false, false), (1, false, false), (2, true, false), (3, true, true), (4, true, true),
        ]
            as [(UInt32, Bool, Bool)]
        {
            #expect(session.accepts(tokenNumber: number, at: self.clock.now) == atOnce)
            #expect(session.accepts(tokenNumber: number, at: end) == later)
        }
        let longest = TokenSuccession(number: .max, since: self.clock.now)
        session.succession = longest
        try self.store.create(NewSession(key: self.first.key, session: session), on: self.loop).wait()
        let last = PresentedToken(key: self.first.key, number: .max)
        #expect(try self.issued(after: last) == nil, "there is no number after it")
    }
}
