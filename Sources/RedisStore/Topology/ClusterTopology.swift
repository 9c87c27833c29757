internal import NIOCore
import Synchronization

/// The primaries of a cluster and their slots.
final class ClusterTopology: TopologySource {
    init(seeds: [RedisEndpoint], over connector: RedisConnector, on loop: any EventLoop) {
    }

    func start(adopt: @escaping @Sendable (Topology) -> Void) {}
    func lookAgain() {}
    func shutDown() async {}
}
