import NIOCore
import NIOPosix
import Sessions
import StoreBench
import Testing
import Vocabulary

@Suite("The sessions of a subject")
struct SessionIndexTests {
    private let clock = MovableClock()
    private let authority = TokenAuthority(secret: Secret("a secret of at least thirty-two bytes, for tests"))
    private var loop: any EventLoop { MultiThreadedEventLoopGroup.singleton.next() }

    private func memory() -> MemoryStore {
        MemoryStore(maxSessions: 1000, maxMarkers: 100, clock: self.clock.clock, caches: SessionCaches())
    }

    private func draft(_ subject: String, access: AccessTerms? = nil, authority: TokenAuthority? = nil) -> NewSession {
        let authority = authority ?? self.authority
        let now = self.clock.clock.now()
        let lineage = authority.newLineage()
        let session = Session(
            id: authority.newSessionID(),
            kind: .native,
            origin: .native,
            lineage: lineage,
            identity: Identity(id: subject, traits: [:]),
            aal: .aal1,
            methods: ["password"],
            authenticatedAt: now,
            issuedAt: now,
            expiresAt: now.advanced(by: .seconds(1000)),
            idleLifetime: .seconds(1000),
            access: access
        )
        return NewSession(key: authority.make(.session, in: lineage).key, session: session)
    }

    @Test("The memory store knows the sessions that live")
    func inMemory() async throws {
        let store = self.memory()
        let (first, second, other) = (self.draft("ada"), self.draft("ada"), self.draft("grace"))
        for new in [first, second, other] { try await store.create(new, on: self.loop).get() }
        #expect(Set(try await store.sessions(of: "ada", on: self.loop).get()) == [first.key, second.key])
        _ = try await store.end(first.key, on: self.loop).get()
        #expect(try await store.sessions(of: "ada", on: self.loop).get() == [second.key])
        try await store.end(subject: "ada", on: self.loop).get()
        #expect(try await store.sessions(of: "ada", on: self.loop).get().isEmpty)
    }

    /// Thousands, of a robot that signs in again and again, would hold up the loop that lists or counts them.
    @Test("Of a user with very many sessions the memory store knows the latest")
    func inMemoryTheLatest() async throws {
        let store = self.memory()
        var latest: [RecordKey] = []
        for _ in 0..<600 {
            self.clock.advance(by: .milliseconds(1))
            let new = self.draft("ada")
            try await store.create(new, on: self.loop).get()
            latest.append(new.key)
        }
        let found = try await store.sessions(of: "ada", on: self.loop).get()
        #expect(found.count == SubjectSessions.capacity && Set(found) == Set(latest.suffix(found.count)))
        try await store.end(subject: "ada", on: self.loop).get()
        self.clock.advance(by: .milliseconds(1))
        let later = self.draft("ada")
        try await store.create(later, on: self.loop).get()
        #expect(try await store.sessions(of: "ada", on: self.loop).get().contains(later.key))
    }

    /// The noted sessions of Ada, once there are as many as these. The memory store answers at once, but on another loop.
    private func noted(_ store: IndexedStore, _ keys: Set<RecordKey>) async throws -> Bool {
        for _ in 0..<1000 {
            if Set(try await store.sessions(of: "ada", on: self.loop).get()) == keys { return true }
            await Task.yield()
        }
        return false
    }

    @Test("Another store notes them after the fact, without access tokens, and may be stale")
    func noted() async throws {
        let store = IndexedStore(self.memory(), authority: self.authority, clock: self.clock.clock)
        let (first, second) = (self.draft("ada"), self.draft("ada"))
        try await store.create(first, on: self.loop).get()
        #expect(try await self.noted(store, [first.key]))
        try await store.create(self.draft("ada", access: AccessTerms(audience: nil)), on: self.loop).get()
        try await store.create(self.draft("grace"), on: self.loop).get()
        try await store.create(second, on: self.loop).get()
        #expect(try await self.noted(store, [first.key, second.key]))
        _ = try await store.end(first.key, on: self.loop).get()
        #expect(try await self.noted(store, [first.key, second.key]))
        #expect(try await store.session(first.key, on: self.loop).get() == nil)
    }

    @Test("Sessions that begin at once are all noted")
    func race() async throws {
        let store = IndexedStore(self.memory(), authority: self.authority, clock: self.clock.clock)
        let drafts = (0..<4).map { _ in self.draft("ada") }
        let loop = self.loop
        try await EventLoopFuture.andAllSucceed(drafts.map { store.create($0, on: loop) }, on: loop).get()
        #expect(try await self.noted(store, Set(drafts.map(\.key))))
    }

    @Test("After a new secret the earlier sessions are found as well")
    func rotation() async throws {
        let memory = self.memory()
        let former = IndexedStore(memory, authority: self.authority, clock: self.clock.clock)
        let first = self.draft("ada")
        try await former.create(first, on: self.loop).get()
        #expect(try await self.noted(former, [first.key]))
        let next = TokenAuthority(
            current: Secret("the secret that followed, of thirty-two bytes too"),
            accepted: [Secret("a secret of at least thirty-two bytes, for tests")]
        )
        let store = IndexedStore(memory, authority: next, clock: self.clock.clock)
        let second = self.draft("ada", authority: next)
        try await store.create(second, on: self.loop).get()
        #expect(try await self.noted(store, [first.key, second.key]))
    }

    @Test("A record forgets what has expired and the oldest beyond its capacity, and is read as it was written")
    func record() throws {
        let now = self.clock.clock.now()
        var record = SubjectSessions(since: now)
        let keys = (0...SubjectSessions.capacity).map { _ in self.draft("ada").key }
        for key in keys { record.add(key, until: now.advanced(by: .seconds(60)), at: now) }
        #expect(record.entries.map(\.key) == Array(keys.dropFirst()))
        #expect(try SubjectSessions.decoded(try record.encoded()) == record)
        record.add(keys[0], until: now.advanced(by: .seconds(120)), at: now.advanced(by: .seconds(60)))
        #expect(record.entries.map(\.key) == [keys[0]])
        #expect(record.terms.expiresAt == now.advanced(by: .seconds(120)))
    }
}
