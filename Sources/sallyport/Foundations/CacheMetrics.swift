import NIOCore
import Observability
import Sessions
import Synchronization

/// The metrics of the event loops' session caches. Call `refresh` before each scrape.
final class CacheMetrics: Sendable {
    private let caches: SessionCaches
    private let loops: any EventLoopGroup
    private let latest = Mutex<SessionCacheCounters?>(nil)

    init(caches: SessionCaches, loops: any EventLoopGroup) {
        self.caches = caches
        self.loops = loops
    }

    func refresh() async throws {
        let counters = try await self.caches.counters(on: self.loops.any()).get()
        self.latest.withLock { $0 = counters }
    }

    func register(in registry: MetricsRegistry) {
        registry.read(MetricNames.l1Lookups, "hit") { self.value(\.hits) }
        registry.read(MetricNames.l1Lookups, "miss") { self.value(\.misses) }
        registry.read(MetricNames.l1Entries) { self.value(\.entries) }
        registry.read(MetricNames.l1Refreshes) { self.value(\.refreshes) }
        registry.read(MetricNames.l1Rereads) { self.value(\.rereads) }
        registry.read(MetricNames.l1Evictions) { self.value(\.evictions) }
        registry.read(MetricNames.l1Doubts) { self.value(\.doubts) }
        registry.read(MetricNames.l1DoubtedUses) { self.value(\.doubtedUses) }
    }

    private func value(_ counter: KeyPath<SessionCacheCounters, Int>) -> Double {
        Double(self.latest.withLock { $0 }?[keyPath: counter] ?? 0)
    }
}
