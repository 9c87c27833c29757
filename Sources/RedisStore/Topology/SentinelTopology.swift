internal import NIOCore
import Synchronization

/// The primary that sentinels name.
final class SentinelTopology: TopologySource {
    init(_ sentinels: RedisConfiguration.Sentinels, over connector: RedisConnector, on loop: any EventLoop) {
    }

    func start(adopt: @escaping @Sendable (Topology) -> Void) {}
    func lookAgain() {}
    func shutDown() async {}
}
