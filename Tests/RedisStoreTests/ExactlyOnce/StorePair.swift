import RedisServers
import RedisStore
import TestSupport
import Testing
import Vocabulary

/// Two stores over the same Redis with clients of their own, started as two gateways start them.
struct StorePair: Sendable {
    let stores: [RedisStoreBench]
    let clients: [RedisClient]

    /// Runs `body` with two stores that are connected.
    static func with(
        _ configuration: RedisConfiguration,
        clock: Clock = .system,
        _ body: (StorePair) async throws -> Void
    ) async throws {
        let clients = try (0..<2).map { _ in
            try RedisClient(configuration: configuration, group: loops, localClock: .steady())
        }
        let pair = StorePair(stores: clients.map { RedisStoreBench($0, clock: clock) }, clients: clients)
        do {
            for store in pair.stores { try await store.store.start() }
            for client in clients { try await client.waitUntilConnected() }
            try await body(pair)
            try await pair.shutDown()
        } catch {
            try await pair.shutDown()
            throw error
        }
    }

    private func shutDown() async throws {
        for store in self.stores { try await store.store.shutDown() }
    }

    /// The store of the runner with this number.
    subscript(_ runner: Int) -> RedisStoreBench { self.stores[runner % self.stores.count] }
}

/// What counts once, with the traffic that tries to count it twice.
protocol OnceChecker: Sendable {
    /// Writes what the traffic needs, before a primary is lost.
    func prepare() async throws
    /// Makes one thing, lets many race for it at both stores, and notes what each was told. It fails nothing by itself
    /// while a primary is away.
    func step(_ worker: Int) async
    /// How many of them somebody was told to have got so far.
    var accepted: Int { get }
    /// Tries everything once more, expects that all of it counted once, and forgets it.
    func verify() async throws
}

/// A kind of deployment, in which primaries are lost and replaced.
enum Deployment {
    case standalone, sentinel, cluster
    /// One server, which comes back without its data.
    case forgetful

    /// Those that keep what they have acknowledged, but for what a failover loses.
    static let keeping: [Deployment] = [.standalone, .sentinel, .cluster]

    /// A running deployment.
    struct Running: Sendable {
        let configuration: RedisConfiguration
        /// Waits until what was written so far survives the loss of a primary.
        let settle: @Sendable () async throws -> Void
        /// Kills a primary, the next one each time, and returns when its place is taken.
        let strike: @Sendable (_ round: Int) async throws -> Void
        /// Brings the killed server back.
        let fix: @Sendable () async throws -> Void
    }

    /// How many tasks make the traffic.
    static let workers = 4
    /// How long a command may take: a killed primary answers none.
    private static let commandTimeout = Duration.milliseconds(500)

    func with(_ body: (Running) async throws -> Void) async throws {
        switch self {
        case .standalone:
            // Every acknowledged write is in the file.
            let file = ["--appendonly", "yes", "--appendfsync", "always"]
            try await RedisServer.with(file) { try await body(Self.single($0)) }
        case .forgetful:
            try await RedisServer.with { try await body(Self.single($0)) }
        case .sentinel:
            try await RedisSentinelGroup.with { group in
                let killed = Killed()
                try await body(
                    Running(
                        configuration: group.configuration(commandTimeout: Self.commandTimeout),
                        settle: { try await Self.waitForCopies(group.nodes) },
                        strike: { _ in
                            let old = try group.killPrimary()
                            await killed.note(old)
                            _ = try await group.waitForPrimary(otherThan: old)
                        },
                        fix: {
                            try await killed.restart()
                            try await group.waitUntilComplete()
                        }
                    )
                )
            }
        case .cluster:
            try await RedisCluster.with(replicated: true) { cluster in
                let killed = Killed()
                try await body(
                    Running(
                        configuration: cluster.configuration(commandTimeout: Self.commandTimeout),
                        settle: {
                            for pair in zip(cluster.primaries, cluster.replicas) {
                                try await Self.waitForCopies([pair.0, pair.1])
                            }
                        },
                        strike: { round in await killed.note(try await cluster.killPrimary(of: round % 3)) },
                        fix: {
                            try await killed.restart()
                            try await cluster.waitUntilComplete()
                        }
                    )
                )
            }
        }
    }

    private static func single(_ server: RedisServer) -> Running {
        Running(
            configuration: server.configuration(commandTimeout: Self.commandTimeout),
            settle: {},
            strike: { _ in
                server.kill()
                try await server.start()
            },
            fix: {}
        )
    }

    /// The server that was killed last.
    private actor Killed {
        private var server: RedisServer?

        func note(_ server: RedisServer) { self.server = server }

        func restart() async throws {
            try await self.server?.start()
            self.server = nil
        }
    }

    /// Waits until these servers, of which one is the primary, have the same keys. Nothing may be written meanwhile.
    private static func waitForCopies(_ servers: [RedisServer]) async throws {
        try await waitUntil("copies") { Set(try servers.map { try $0.keys("sp:*").sorted() }).count == 1 }
    }

    /// Lets the traffic run while primaries are lost: once, or often in a soak.
    ///
    /// - Parameter make: Makes the checker over two stores.
    func strain(
        clock: Clock = .system,
        _ make: (StorePair) -> some OnceChecker
    ) async throws {
        try await self.with { deployment in
            try await StorePair.with(deployment.configuration, clock: clock) { pair in
                let checker = make(pair)
                for round in 0..<(isSoak ? 20 : 1) {
                    try await checker.prepare()
                    try await deployment.settle()
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for worker in 0..<Self.workers {
                            group.addTask { while !Task.isCancelled { await checker.step(worker) } }
                        }
                        let first = checker.accepted
                        try await waitUntil("traffic") { checker.accepted > first + 20 }
                        try await deployment.strike(round)
                        let second = checker.accepted
                        try await waitUntil("traffic afterwards") {
                            checker.accepted > second + 20
                        }
                        group.cancelAll()
                    }
                    try await checker.verify()
                    try await deployment.fix()
                }
            }
        }
    }
}
