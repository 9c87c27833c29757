import Observability
import RedisStore
import Sessions
import Vocabulary

/// Where this process keeps its sessions, with what a store needs beside the protocol by which requests use it.
enum Backing: Sendable {
    case memory(MemoryStore)
    case redis(RedisBacking)

    var store: any SessionStore {
        switch self {
        case .memory(let store): store
        case .redis(let redis): redis.store
        }
    }

    /// Begins to connect. A store that is not there is no reason not to start: it is tried again and again.
    func start() async throws {
        if case .redis(let redis) = self { try await redis.start() }
    }

    /// Lets go of the store; no request is asking for anything any more.
    func stop() async {
        if case .redis(let redis) = self { await redis.shutDown() }
    }

    /// Removes what has ended; Redis does that by itself.
    func collectExpired() {
        if case .memory(let store) = self { store.sweep() }
    }

    /// What of it readiness depends on.
    var checks: [AdminServer.Check] {
        switch self {
        case .memory: [(name: "store", ok: true, detail: "in this process's memory")]
        case .redis(let redis): redis.checks
        }
    }

    /// Registers what is read at a scrape.
    ///
    /// - Parameter handoffLifetime: how long transfer tokens live under the settings in use.
    func register(in registry: MetricsRegistry, handoffLifetime: @escaping @Sendable () -> Duration) {
        if case .redis(let redis) = self { redis.register(in: registry, handoffLifetime: handoffLifetime) }
    }
}
