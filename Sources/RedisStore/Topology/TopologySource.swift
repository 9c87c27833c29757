/// Finds the primaries, and keeps looking for changes.
protocol TopologySource: Sendable {
    /// Starts to look, and reports to `client` the first topology, each changed topology, every server that answers
    /// with an error, and a primary that is being replaced.
    func start(for client: RedisClient)

    /// Returns how many of the servers that choose the primary were heard within this time; `nil` if there are no such
    /// servers besides the primaries. Called on the first loop.
    func heard(within time: Duration) -> Quorum?

    /// Looks again, at once but not too often, because the known topology may be outdated.
    func lookAgain()

    /// Stops looking, and closes the connections of this source.
    func shutDown() async
}

/// One server that never changes.
struct FixedTopology: TopologySource {
    let endpoint: RedisEndpoint

    func start(for client: RedisClient) { client.adopt(Topology(self.endpoint)) }
    func heard(within time: Duration) -> Quorum? { nil }
    func lookAgain() {}
    func shutDown() async {}
}
