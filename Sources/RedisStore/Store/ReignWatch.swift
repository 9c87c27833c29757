import Cryptography
import Sessions
import Synchronization
import Vocabulary

/// Follows the reigns of the primaries. When a reign begins, the store may have lost single-use ids of earlier reigns.
///
/// The epoch of `OnceMemory` is a hash of the reigns of all present primaries, so all gateways that know the same
/// primaries have the same epoch. While gateways learn of a failover, their epochs may differ, and one gateway may
/// reject another's nonce.
final class ReignWatch: Sendable {
    private struct State {
        var topology: Topology?
        /// The last reign of each primary.
        var reigns: [RedisEndpoint: String] = [:]
    }

    private let clock: Clock
    private let state = Mutex(State())
    // Every request with a DPoP proof reads both values, so there is no lock. `since` is written first, so that a
    // reader of a new epoch never gets the `since` of an earlier epoch.
    private let epoch = Atomic<UInt64>(0)
    private let since: Atomic<Int64>

    /// - Parameter clock: The clock of the store.
    init(clock: Clock) {
        self.clock = clock
        self.since = Atomic(clock.now().milliseconds)
    }

    /// The epoch, and the time since which ids are remembered.
    var memory: OnceMemory {
        let epoch = self.epoch.load(ordering: .acquiring)
        return OnceMemory(epoch: epoch, since: UnixTime(milliseconds: self.since.load(ordering: .acquiring)))
    }

    /// Begins to follow the client's primaries. Must be called once, before the client starts.
    func start(_ client: RedisClient) {
        client.follow(
            RedisClient.Follower(
                topology: { [weak self] topology in self?.note { $0.topology = topology } },
                reign: { [weak self] endpoint, reign in self?.note { $0.reigns[endpoint] = reign } }
            )
        )
    }

    private func note(_ change: (inout State) -> Void) {
        self.state.withLock { state in
            change(&state)
            let primaries = Set(state.topology?.shards.map(\.endpoint) ?? [])
            state.reigns = state.reigns.filter { primaries.contains($0.key) }
            guard !state.reigns.isEmpty else { return }
            let epoch = Self.epoch(of: state.reigns.values.sorted())
            guard epoch != self.epoch.load(ordering: .relaxed) else { return }
            self.since.store(self.clock.now().milliseconds, ordering: .releasing)
            self.epoch.store(epoch, ordering: .releasing)
        }
    }

    private static func epoch(of reigns: [String]) -> UInt64 {
        SHA256.digest(Array(reigns.joined(separator: " ").utf8)).bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
