import NIOCore
import NIOEmbedded
import Sessions
import StoreConformance
import Synchronization
import Testing
import Vocabulary

@Suite("Followers of documents")
struct FollowedDocumentTests {
    private let loop = EmbeddedEventLoop()
    private let told = Told()

    private final class Told: Sendable {
        private let changes = Mutex<[Invalidation]>([])

        func add(_ change: Invalidation) { self.changes.withLock { $0.append(change) } }

        /// What was told since the last call.
        func take() -> [Invalidation] {
            self.changes.withLock { changes in
                defer { changes = [] }
                return changes
            }
        }
    }

    @Test("They hear of every document that a store writes or deletes, and of nothing else")
    func changes() throws {
        let caches = SessionCaches()
        caches.followDocuments { self.told.add($0) }
        let store = MemoryStore(maxSessions: 10, maxMarkers: 10, clock: .system, caches: caches)
        let key = DocumentKey(collection: TestDocument.collection, id: "app")
        let named = store.names(of: key).map { Invalidation.document($0) }
        let attempt = AttemptID(value: "a")
        let put = store.put(TestDocument("1"), id: "app", judged: nil, attempt: attempt, on: self.loop)
        #expect(try put.wait() == .done && self.told.take() == named)
        #expect(try store.delete(key, on: self.loop).wait() && self.told.take() == named)
        try store.end(subject: "alice", on: self.loop).wait()
        #expect(self.told.take() == [])
    }

    @Test("They hear that changes may have been missed: after a doubt, and when the store says so")
    func missed() {
        let caches = SessionCaches(isDoubting: true)
        caches.followDocuments { self.told.add($0) }
        caches.trust()
        #expect(self.told.take() == [.all])
        caches.trust()
        caches.doubt()
        #expect(self.told.take() == [])
        caches.invalidate([.subject("alice"), .all])
        #expect(self.told.take() == [.all])
    }
}
