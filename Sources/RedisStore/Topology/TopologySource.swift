/// Finds the primaries and keeps looking.
protocol TopologySource: Sendable {
    /// Starts to look.
    ///
    /// - Parameters:
    ///   - adopt: Called, from any thread and in order, with the first topology and with each later one that differs
    ///     from the one before.
    ///   - refused: Called, from any thread, each time a server that was asked for the primaries answers with an error.
    ///   - replacing: Called, from any thread, with true when another server is being made the primary, and with false
    ///     when that was given up. If it succeeds, the next topology shows it.
    func start(
        adopt: @escaping @Sendable (Topology) -> Void,
        refused: @escaping @Sendable (RedisEndpoint, RedisServerError) -> Void,
        replacing: @escaping @Sendable (Bool) -> Void
    )

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

    func start(
        adopt: @escaping @Sendable (Topology) -> Void,
        refused: @escaping @Sendable (RedisEndpoint, RedisServerError) -> Void,
        replacing: @escaping @Sendable (Bool) -> Void
    ) { adopt(Topology(self.endpoint)) }
    func heard(within time: Duration) -> Quorum? { nil }
    func lookAgain() {}
    func shutDown() async {}
}
