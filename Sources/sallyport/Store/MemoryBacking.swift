import Observability
import Operating
import Sessions
import Settings
import Vocabulary

/// The store in the process's memory.
struct MemoryBacking: StoreBacking {
    let limiter: any RateLimiter
    let clock: Clock
    private let memory: MemoryStore

    init(_ memory: MemoryStore, clock: Clock) {
        self.memory = memory
        self.limiter = LocalRateLimiter(clock: clock)
        self.clock = clock
    }

    var store: any RecordStore { self.memory }
    var databaseSystem: String? { nil }

    /// Passes even if the store is full: users who are signed in can continue, and only this gateway has their
    /// sessions.
    var checks: [ReadinessCheck] { [(name: "store", ok: true, detail: self.room)] }

    /// Says where the records are, and which limits are reached.
    private var room: String {
        var words = ["in this process's memory"]
        let store = self.memory
        if store.sessionCount >= store.sessionLimit {
            words.append("store full: \(store.sessionLimit) sessions (store.memory.max_sessions), nobody can sign in")
        }
        if store.markerCount >= store.markerLimit {
            words.append(
                "store full: \(store.markerLimit) tokens (store.memory.max_markers), transfers fail"
            )
        }
        return words.joined(separator: "; ")
    }

    func start() async throws {}
    func join() async {}
    func stop() async {}
    func mayReload(_ former: StoreSettings, _ new: StoreSettings) -> Bool { former == new }
    func adopt(_ settings: StoreSettings) {}
    func followClock(_ spread: @escaping @Sendable () async -> Void) {}

    func collectExpired() { self.memory.sweep() }

    func register(in registry: MetricsRegistry, handoffLifetime: @escaping @Sendable () -> Duration) {
        let store = self.memory
        registry.read(MetricNames.storeRecords, "sessions") { Double(store.sessionCount) }
        registry.read(MetricNames.storeRecords, "single_use") { Double(store.markerCount) }
        registry.read(MetricNames.storeLimit, "sessions") { Double(store.sessionLimit) }
        registry.read(MetricNames.storeLimit, "single_use") { Double(store.markerLimit) }
    }
}
