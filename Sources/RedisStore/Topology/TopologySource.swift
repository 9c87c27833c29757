/// Finds the primaries and keeps looking.
protocol TopologySource: Sendable {
    /// Begins to look.
    ///
    /// - Parameters:
    ///   - adopt: Called, from any thread and in order, with the first topology that is found and with each that differs
    ///     from the one before.
    ///   - refused: Called, from any thread and as often as it happens, when a server that was asked for the primaries
    ///     answered with an error.
    func start(
        adopt: @escaping @Sendable (Topology) -> Void,
        refused: @escaping @Sendable (RedisEndpoint, RedisServerError) -> Void
    )

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
        refused: @escaping @Sendable (RedisEndpoint, RedisServerError) -> Void
    ) { adopt(Topology(self.endpoint)) }
    func lookAgain() {}
    func shutDown() async {}
}
