/// Finds the primaries and keeps looking.
protocol TopologySource: Sendable {
    /// Begins to look. `adopt` is called, from any thread and in order, with the first topology that is found and with
    /// each that differs from the one before.
    func start(adopt: @escaping @Sendable (Topology) -> Void)

    /// What was found may be out of date: look again, at once but not more often than makes sense.
    func lookAgain()

    /// Stops looking and closes what it opened.
    func shutDown() async
}

/// One server that is named once and for all.
struct FixedTopology: TopologySource {
    let endpoint: RedisEndpoint

    func start(adopt: @escaping @Sendable (Topology) -> Void) { adopt(Topology(self.endpoint)) }
    func lookAgain() {}
    func shutDown() async {}
}
