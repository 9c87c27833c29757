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

    private func draft(_ subject: String) -> NewSession {
        let now = self.clock.clock.now()
        let lineage = self.authority.newLineage()
        let session = Session(
            id: self.authority.newSessionID(),
            kind: .native,
            origin: .native,
            lineage: lineage,
            identity: Identity(id: subject, traits: [:]),
            aal: .aal1,
            methods: ["password"],
            authenticatedAt: now,
            issuedAt: now,
            expiresAt: now.advanced(by: .seconds(1000)),
            idleLifetime: .seconds(1000)
        )
        return NewSession(key: self.authority.make(.session, in: lineage).key, session: session)
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
        #expect(found.count == MemoryStore.listCapacity && Set(found) == Set(latest.suffix(found.count)))
        try await store.end(subject: "ada", on: self.loop).get()
        self.clock.advance(by: .milliseconds(1))
        let later = self.draft("ada")
        try await store.create(later, on: self.loop).get()
        #expect(try await store.sessions(of: "ada", on: self.loop).get().contains(later.key))
    }
}
