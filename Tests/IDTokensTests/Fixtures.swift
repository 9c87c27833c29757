import Cryptography
import JOSE
import NIOCore
import NIOPosix
import Sessions
import SignOn
import StoreBench
import Synchronization
import Vocabulary

/// The documents of a memory store, which a test takes away, or changes in between.
final class UnsteadyDocuments: DocumentStore {
    struct Script: Sendable {
        var isAway = false
        /// Lists are refused, as a store does that cannot open one of the documents.
        var refusesLists = false
        /// The next list is refused, as its connection ends.
        var refusesNextList = false
        var refusesWrites = false
        /// Runs once, before the next write reaches the store.
        var beforePut: (@Sendable () async -> Void)?
    }

    let base: MemoryStore
    private let script = Mutex(Script())
    private let written = Mutex<[[UInt8]]>([])

    init(_ base: MemoryStore) {
        self.base = base
    }

    var puts: Int { self.written.withLock { $0.count } }
    /// What each write was to write, written or not.
    var attempts: [[UInt8]] { self.written.withLock { $0 } }

    func change(_ body: @Sendable (inout Script) -> Void) { self.script.withLock { body(&$0) } }

    private func guarded<Answer: Sendable>(
        _ loop: any EventLoop,
        _ body: () -> EventLoopFuture<Answer>
    ) -> EventLoopFuture<Answer> {
        self.script.withLock { $0.isAway } ? loop.makeFailedFuture(StoreError.unavailable) : body()
    }

    func document<Content: Document>(
        _ id: String,
        as kind: Content.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<Stored<Content>?> {
        self.guarded(loop) { self.base.document(id, as: kind, on: loop) }
    }

    func documents<Content: Document>(
        of kind: Content.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<[ListedDocument<Content>]> {
        self.guarded(loop) {
            self.script.withLock { script in
                defer { script.refusesNextList = false }
                return script.refusesLists || script.refusesNextList
            }
                ? loop.makeFailedFuture(StoreError.unavailable) : self.base.documents(of: kind, on: loop)
        }
    }

    func put<Content: Document>(
        _ document: Content,
        id: String,
        judged: RecordVersion?,
        attempt: AttemptID,
        on loop: any EventLoop
    ) -> EventLoopFuture<Replacement> {
        self.guarded(loop) {
            var writer = CompactWriter()
            document.write(to: &writer)
            self.written.withLock { $0.append(writer.bytes) }
            if self.script.withLock({ $0.refusesWrites }) { return loop.makeFailedFuture(StoreError.unavailable) }
            let before = self.script.withLock { script in
                defer { script.beforePut = nil }
                return script.beforePut
            }
            let ready = before.map { before in loop.makeFutureWithTask { await before() } }
            return (ready ?? loop.makeSucceededVoidFuture()).flatMap {
                self.base.put(document, id: id, judged: judged, attempt: attempt, on: loop)
            }
        }
    }

    func delete(_ key: DocumentKey, on loop: any EventLoop) -> EventLoopFuture<Bool> {
        self.guarded(loop) { self.base.delete(key, on: loop) }
    }

    func names(of key: DocumentKey) -> [DocumentName] { self.base.names(of: key) }
}

/// A store and gateways that share it.
struct KeyBench: Sendable {
    static let old = Secret("an old secret of the tests, 32 bytes")
    static let new = Secret("a new secret of the tests, 32 bytes.")

    let clock = MovableClock()
    let caches = SessionCaches()
    let store: UnsteadyDocuments
    let loops = MultiThreadedEventLoopGroup.singleton

    init() {
        self.store = UnsteadyDocuments(
            MemoryStore(maxSessions: 10, maxMarkers: 10, clock: self.clock.clock, caches: self.caches)
        )
    }

    /// The keys as another gateway has them, and what it reports.
    func gateway(_ current: Secret = Self.old, accepted: [Secret] = []) -> (keys: IDTokenKeys, notices: Notices) {
        let notices = Notices()
        let keys = IDTokenKeys(
            store: self.store,
            ring: SealingKeyRing(current: current, accepted: accepted),
            loops: self.loops,
            clock: self.clock.clock,
            report: { notices.add($0) }
        )
        return (keys, notices)
    }

    /// The bytes of the document.
    func bytes() async throws -> [UInt8] {
        let listed = try await self.store.base.documents(of: SigningKeyDocument.self, on: self.loops.next()).get()
        guard listed.count == 1 else { return [] }
        var writer = CompactWriter()
        listed[0].stored.record.write(to: &writer)
        return writer.bytes
    }
}

final class Notices: Sendable {
    private let notices = Mutex<[IDTokenKeys.Notice]>([])

    var all: [IDTokenKeys.Notice] { self.notices.withLock { $0 } }

    func add(_ notice: IDTokenKeys.Notice) { self.notices.withLock { $0.append(notice) } }
}

extension IDTokenKeys {
    /// The name of the key that signs.
    var signerID: String {
        get async throws { try await self.signer().publicKey.thumbprint }
    }

    /// The names of the published keys.
    var publishedIDs: [String]? { self.published?.keys.compactMap(\.keyID) }
}
