import NIOCore
import Sessions
import Synchronization
import Vocabulary

/// The memory store, which a test can make fail.
final class UnreliableStore: SessionStore {
    private let store: MemoryStore
    private let failing = Mutex<StoreError?>(nil)
    private let isForgetful = Mutex(false)

    init(clock: Clock) {
        self.store = MemoryStore(maxSessions: 1000, maxMarkers: 1000, clock: clock, caches: SessionCaches())
    }

    var sessionCount: Int { self.store.sessionCount }

    /// From now on every question fails with `error`; nil: none does.
    func fail(with error: StoreError?) {
        self.failing.withLock { $0 = error }
    }

    /// From now on no end of a presented session is certain.
    func failEnds() {
        self.isForgetful.withLock { $0 = true }
    }

    func end(
        presented key: RecordKey,
        reaching reach: @escaping @Sendable (Session) -> EndReach,
        on loop: any EventLoop
    ) -> EventLoopFuture<PresentedEnd> {
        if self.isForgetful.withLock({ $0 }) { return loop.makeFailedFuture(StoreError.unavailable) }
        return self.unless(loop) { self.store.end(presented: key, reaching: reach, on: loop) }
    }

    private func unless<Answer: Sendable>(
        _ loop: any EventLoop,
        _ answer: () -> EventLoopFuture<Answer>
    ) -> EventLoopFuture<Answer> {
        if let error = self.failing.withLock({ $0 }) { loop.makeFailedFuture(error) } else { answer() }
    }

    func session(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Stored<Session>?> {
        self.unless(loop) { self.store.session(key, on: loop) }
    }

    func create(_ session: NewSession, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.unless(loop) { self.store.create(session, on: loop) }
    }

    func touch(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.unless(loop) { self.store.touch(key, on: loop) }
    }

    func end(_ key: RecordKey, on loop: any EventLoop) -> EventLoopFuture<Bool> {
        self.unless(loop) { self.store.end(key, on: loop) }
    }

    func end(_ lineage: Lineage, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.unless(loop) { self.store.end(lineage, on: loop) }
    }

    func names(of subject: String) -> [String] { self.store.names(of: subject) }

    func end(subject: String, on loop: any EventLoop) -> EventLoopFuture<Void> {
        self.unless(loop) { self.store.end(subject: subject, on: loop) }
    }
}
