/// Finds the primaries and keeps looking.
protocol TopologySource: Sendable {
    /// Starts to look for `client`, which is told of the first topology and of each later one that differs from the one
    /// before, of every server that answers the question with an error, and of a primary that is being replaced.
    func start(for client: RedisClient)

    /// How many of the servers that choose the primary were heard within this time; nil where the primaries themselves
    /// choose. Called on the first loop.
    func heard(within time: Duration) -> Quorum?

    /// What is known may be out of date: looks again, at once but not too often.
    func lookAgain()

    /// Stops looking and closes what it opened.
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
