import Cryptography
import NIOCore
import RedisServers
import RedisStore
import Sessions
import Synchronization
import Testing
import Vocabulary

/// Caches are told of a subject's end by its names in Redis.
@Suite struct SubjectNameTests {
    /// What the cache of one loop was told.
    private final class Told: Sendable {
        private let ends = Mutex<[Invalidation]>([])

        func add(_ ended: Invalidation) { self.ends.withLock { $0.append(ended) } }

        func take() -> Set<Invalidation> {
            self.ends.withLock { ends in
                defer { ends = [] }
                return Set(ends)
            }
        }
    }

    @Test(
        "CVE-2020-15223: the end of a subject that Redis does not confirm fails, and is told here all the same"
    )
    func told() async throws {
        let ring = SealingKeyRing(current: Secret("the new secret"), accepted: [Secret("the old secret")])
        let (loop, told, caches) = (loops.next(), Told(), SessionCaches())
        try await loop.submit {
            let cache = SessionCache(capacity: 1)
            cache.onInvalidation = { for end in $0.invalidations { told.add(end) } }
            caches.register(cache, on: loop)
        }.get()
        try await RedisServer.with { server in
            try await withClient(server.configuration()) { client in
                let store = RedisStore(client: client, ring: ring, clock: .system, caches: caches)
                let names = store.names(of: "alice")
                #expect(names.count == 2 && !names.contains("alice"))
                try await store.end(subject: "alice", on: loop).get()
                #expect(told.take() == Set(names.map { .subject($0) }))
                server.kill()
                await #expect(throws: StoreError.unavailable) { try await store.end(subject: "alice", on: loop).get() }
                #expect(told.take() == Set(names.map { .subject($0) }))
            }
        }
    }
}
