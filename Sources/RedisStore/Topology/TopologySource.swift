/// Finds the primaries and keeps looking.
protocol TopologySource: Sendable {
    /// Begins to look.
    ///
    /// - Parameters:
    ///   - adopt: Called, from any thread and in order, with the first topology that is found and with each that differs
    ///     from the one before.
    ///   - refused: Called, from any thread and as often as it happens, when a server that was asked for the primaries
    ///     answered with an error.
    ///   - replacing: Called, from any thread, with true when another server is being made the primary, and with false
    ///     when that was given up. If it succeeds, the next topology says so.
    func start(
        adopt: @escaping @Sendable (Topology) -> Void,
        refused: @escaping @Sendable (RedisEndpoint, RedisServerError) -> Void,
        replacing: @escaping @Sendable (Bool) -> Void
    )

    /// How many of the servers that choose the primary were heard within this time; nil where only the primaries
    /// themselves do. On the first loop.
    func heard(within time: Duration) -> Quorum?

    /// What was found may be out of date: look again, at once but not more often than makes sense.
    func lookAgain()

    /// Stops looking and closes what it opened.
    func shutDown() async
}

/// One server that is named once and for all.
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
