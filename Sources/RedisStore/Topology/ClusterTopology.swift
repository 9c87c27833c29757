import NIOCore
import Synchronization

/// The primaries of a cluster and their slots, as one of its nodes sees them.
///
/// Nodes agree after a moment, so one view is enough. `MOVED` corrects an outdated view. A node that has just joined,
/// or has lost its configuration, knows few slots. A view with fewer slots than are known is therefore accepted only if
/// the view before it also had fewer. Primaries in use are asked before the seeds, because a seed may be a former
/// primary that does not know yet that it was replaced.
final class ClusterTopology: TopologySource {
    private struct State {
        /// The node with the view that was accepted last. It is asked first while it is a primary.
        var guide: RedisEndpoint?
        /// True if the last answer had fewer slots than are known.
        var hadFewer = false
    }

    /// The interval at which the cluster is asked if nothing triggers a look.
    private static let interval = Duration.seconds(10)
    /// The maximum number of primaries that are asked in one round besides `guide`, and the maximum number of seeds.
    private static let attempts = 4

    private let seeds: [RedisEndpoint]
    private let connector: RedisConnector
    private let loop: any EventLoop
    private let lookout: Lookout
    private let state = Mutex(State())

    init(seeds: [RedisEndpoint], over connector: RedisConnector, on loop: any EventLoop) {
        self.seeds = seeds
        self.connector = connector
        self.loop = loop
        self.lookout = Lookout(every: Self.interval, on: loop)
    }

    func start(for client: RedisClient) {
        self.lookout.start(for: client) { current in await self.look(current, for: client) }
    }

    func lookAgain() { self.lookout.lookAgain() }

    /// Returns `nil`: in a cluster the primaries themselves decide, and the subscriptions show which of them are heard.
    func heard(within time: Duration) -> Quorum? { nil }

    func shutDown() async { await self.lookout.shutDown() }

    // MARK: A round

    private func look(_ current: Topology?, for client: RedisClient) async -> Topology? {
        let known = current?.coveredSlots ?? 0
        for node in self.nodes(current) {
            guard !Task.isCancelled else { return nil }
            guard let view = await self.view(of: node, for: client) else { continue }
            let isTaken = self.state.withLock { state in
                let hasFewer = view.coveredSlots < known
                let isTaken = !hasFewer || state.hadFewer
                state.hadFewer = !isTaken
                if isTaken { state.guide = node }
                return isTaken
            }
            if isTaken { return view }
        }
        return nil
    }

    /// Returns the nodes to ask, in this order.
    private func nodes(_ current: Topology?) -> [RedisEndpoint] {
        let primaries = (current?.shards ?? []).map(\.endpoint)
        var nodes = self.state.withLock { $0.guide }.map { primaries.contains($0) ? [$0] : [] } ?? []
        for node in primaries.shuffled().prefix(Self.attempts) + self.seeds.shuffled().prefix(Self.attempts)
        where !nodes.contains(node) {
            nodes.append(node)
        }
        return nodes
    }

    private func view(of node: RedisEndpoint, for client: RedisClient) async -> Topology? {
        do {
            let replies = try await RedisProbe.ask(
                [RedisCommand("CLUSTER", "SLOTS")],
                of: node,
                over: self.connector,
                limits: ClusterSlots.limits,
                on: self.loop
            ).get()
            if case .error(let error) = replies.first { throw RedisError.server(error) }
            return replies.first.flatMap { ClusterSlots.topology($0, from: node) }
        } catch RedisError.server(let refusal) {
            client.refused(node, refusal)
            return nil
        } catch {
            return nil
        }
    }
}
