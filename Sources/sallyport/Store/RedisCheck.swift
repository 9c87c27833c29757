import Foundation
import NIOCore
import RedisStore
import Vocabulary

/// What `check --network` found out about one thing.
struct Verdict: Sendable {
    enum Level: String, Sendable {
        case ok, warning, error
    }

    var level: Level
    /// What was looked at, e.g. `127.0.0.1:6379 commands`.
    var subject: String
    /// What is so and, where something is wrong, the mend.
    var finding: String
}

/// Connects to the configured Redis as the gateway would and says precisely what is wrong with it.
///
/// Nothing of the gateways' is read or changed: the only key that is written is gone after a millisecond.
struct RedisCheck: Sendable {
    let configuration: RedisConfiguration
    let connector: RedisConnector
    private let requireSafe: Bool
    private let requireAppendOnly: Bool
    private let usual: RedisConfiguration
    let loop: any EventLoop

    /// - Parameter patience: For each connection, and half of it for the answers: long enough to tell what is slow from what
    ///   is not there.
    /// - Throws: what NIOSSL says of a certificate, key or authority file that cannot be used.
    init(
        _ configuration: RedisConfiguration,
        requireSafe: Bool,
        requireAppendOnly: Bool,
        patience: Duration = .seconds(2),
        loop: any EventLoop
    ) throws {
        self.usual = configuration
        var patient = configuration
        patient.connectTimeout = patience
        patient.commandTimeout = patience / 2
        self.configuration = patient
        self.connector = try RedisConnector(patient)
        self.requireSafe = requireSafe
        self.requireAppendOnly = requireAppendOnly
        self.loop = loop
    }

    /// One verdict a check, in the order in which they were made.
    func run() async -> [Verdict] {
        var verdicts = self.judgeEncryption() + self.judgeFiles()
        guard !verdicts.contains(where: { $0.level == .error }) else { return verdicts }
        switch self.configuration.deployment {
        case .standalone(let endpoint):
            verdicts += await self.check(endpoint, tag: "check")
        case .sentinel(let sentinels):
            let (found, primary) = await self.check(sentinels)
            verdicts += found
            if let primary { verdicts += await self.check(primary, tag: "check") }
        case .cluster(let seeds):
            let (found, topology) = await self.check(seeds: seeds)
            verdicts += found
            for shard in topology?.shards ?? [] {
                verdicts += await self.check(shard.endpoint, tag: RedisNeeds.tag(in: shard.slots) ?? "check")
            }
        }
        return verdicts
    }

    /// Why the primaries cannot be found, reached or used as such; none when they can. Tries nothing else.
    func obstacles() async -> [Verdict] {
        var verdicts = self.judgeFiles()
        switch self.configuration.deployment {
        case .standalone(let endpoint):
            verdicts += await self.meet(endpoint).verdicts
        case .sentinel(let sentinels):
            let (found, primary) = await self.check(sentinels)
            verdicts += found
            if let primary { verdicts += await self.meet(primary).verdicts }
        case .cluster(let seeds):
            let (found, topology) = await self.check(seeds: seeds)
            verdicts += found
            for shard in topology?.shards ?? [] { verdicts += await self.meet(shard.endpoint).verdicts }
        }
        return verdicts.filter { $0.level == .error }
    }

    /// Asks `endpoint` over a connection of its own, which has signed in.
    ///
    /// - Parameter greeting: Nil: the user and the password of the configuration. What the gateway sends beyond them is
    ///   tried like any other command, since here it matters which one is refused.
    func ask(
        _ commands: [RedisCommand],
        of endpoint: RedisEndpoint,
        greeting: [HandshakeStep]? = nil
    ) async throws -> [RedisReply] {
        try await RedisProbe.ask(
            commands,
            of: endpoint,
            over: self.connector,
            greeting: greeting
                ?? RedisConfiguration.authentication(
                    user: self.configuration.user,
                    password: self.configuration.password
                ),
            on: self.loop
        ).get()
    }

    private func judgeEncryption() -> [Verdict] {
        let endpoints: [RedisEndpoint] =
            switch self.configuration.deployment {
            case .standalone(let endpoint): [endpoint]
            case .sentinel(let sentinels): sentinels.endpoints
            case .cluster(let seeds): seeds
            }
        let isLocal = endpoints.allSatisfy(\.isLocal)
        guard self.configuration.tls == nil, !isLocal else { return [] }
        return [
            Verdict(
                level: .warning,
                subject: "encryption",
                finding: "passwords cross the network in clear (records do not): rediss:// or tls=true, unless the "
                    + "network is your own"
            )
        ]
    }

    // MARK: One server

    private func check(_ endpoint: RedisEndpoint, tag: String) async -> [Verdict] {
        var (verdicts, acquaintance) = await self.meet(endpoint)
        guard let acquaintance else {
            // Of a user who may not ask for it, what else he lacks is told all the same.
            return verdicts.isEmpty ? await self.rights(endpoint, tag: tag) : verdicts
        }
        let facts = acquaintance.facts
        // What is said of another server, and of one that is too old, would say nothing of the one that is meant.
        guard verdicts.allSatisfy({ $0.level != .error }) else { return verdicts }
        verdicts += self.safety(facts, endpoint)
        verdicts.append(self.clock(facts, endpoint, roundTrip: acquaintance.took))
        verdicts += await self.rights(endpoint, tag: tag)
        return verdicts
    }

    /// Connects and asks the server who it is; nil, with the reason among the verdicts, when it does not tell. Without any
    /// verdict its user may not ask, or the command has another name.
    private func meet(
        _ endpoint: RedisEndpoint
    ) async -> (verdicts: [Verdict], acquaintance: (facts: RedisFacts, took: Duration)?) {
        func failed(_ finding: String, of subject: String = "connection") -> ([Verdict], (RedisFacts, Duration)?) {
            ([self.error(endpoint, subject, finding + self.origin)], nil)
        }
        let database = self.configuration.database
        let choice = database == 0 ? [] : [RedisCommand("SELECT", "\(database)")]
        let began = ContinuousClock.now
        let replies: [RedisReply]
        do {
            replies = try await self.ask(choice + [RedisCommand("INFO")], of: endpoint)
        } catch {
            return failed(await self.explain(error, at: endpoint))
        }
        let took = ContinuousClock.now - began
        if !choice.isEmpty, case .error(let error)? = replies.first, error.message.lowercased().contains("db index") {
            return failed(RedisWords.refusal(error), of: "database")
        }
        if case .error(let error)? = replies.last {
            return error.code == "NOPERM" || error.isUnknownCommand ? ([], nil) : failed(RedisWords.refusal(error))
        }
        guard let facts = RedisFacts(replies.last) else {
            return failed(
                "it answers, but not as a server that keeps data: is it a sentinel? Then write redis+sentinel://"
            )
        }
        guard took < self.usual.connectTimeout else {
            return failed(
                "it takes \(took.wholeMilliseconds) ms to connect; the gateway gives up after "
                    + "\(self.usual.connectTimeout.wholeMilliseconds) ms"
            )
        }
        let verdicts = [
            self.ok(endpoint, "connection", "Redis \(facts.version) answers"), self.version(facts, endpoint),
            self.role(facts, endpoint),
        ]
        return (verdicts, (facts, took))
    }

    /// Who named an address that the URL does not hold.
    private var origin: String {
        switch self.configuration.deployment {
        case .standalone: ""
        case .sentinel: " (the sentinels name this address)"
        case .cluster: " (the cluster names this address)"
        }
    }

    /// `CLIENT TRACKING` is of 6.0.
    private func version(_ facts: RedisFacts, _ endpoint: RedisEndpoint) -> Verdict {
        let major = facts.version.split(separator: ".").first.flatMap { Int($0) }
        guard let major, major < 6 else { return self.ok(endpoint, "version", facts.version) }
        return self.error(endpoint, "version", "\(facts.version) cannot tell of ended sessions: 6.0 or later is needed")
    }

    private func role(_ facts: RedisFacts, _ endpoint: RedisEndpoint) -> Verdict {
        guard facts.isPrimary else {
            if case .sentinel = self.configuration.deployment {
                return self.error(
                    endpoint,
                    "role",
                    "the sentinels name it, and it is a replica: a failover is under way"
                )
            }
            return self.error(endpoint, "role", "it is a replica: name the primary, or the sentinels that know it")
        }
        switch (facts.isCluster, self.configuration.isCluster) {
        case (true, false):
            return self.error(endpoint, "role", "it is a node of a cluster: write redis+cluster:// into the URL")
        case (false, true):
            return self.error(endpoint, "role", "it is no node of a cluster: write redis:// into the URL")
        default: break
        }
        let replicas = facts.connectedReplicas
        let words = replicas == 1 ? "1 replica" : "\(replicas) replicas"
        let waits = replicas == 0 ? "" : "; single-use writes wait for one of them"
        return self.ok(endpoint, "role", "primary with \(words)\(waits)")
    }

    private func safety(_ facts: RedisFacts, _ endpoint: RedisEndpoint) -> [Verdict] {
        var verdicts = RedisWords.dangers(facts).map { danger in
            Verdict(level: self.requireSafe ? .error : .warning, subject: "\(endpoint) safety", finding: danger)
        }
        if verdicts.isEmpty {
            let limit = facts.maxMemory == 0 ? "no maxmemory" : "maxmemory-policy \(facts.maxMemoryPolicy)"
            verdicts.append(self.ok(endpoint, "safety", "nothing is pushed out (\(limit))"))
        }
        if facts.writesAppendOnlyFile {
            verdicts.append(self.ok(endpoint, "persistence", "append-only file"))
        } else {
            verdicts.append(
                Verdict(
                    level: self.requireAppendOnly ? .error : .warning,
                    subject: "\(endpoint) persistence",
                    finding: RedisWords.snapshotsOnly
                )
            )
        }
        return verdicts
    }

    /// Where clocks differ, gateways go by Redis's, but logs and other machines do not.
    private func clock(_ facts: RedisFacts, _ endpoint: RedisEndpoint, roundTrip: Duration) -> Verdict {
        func warning(_ finding: String) -> Verdict {
            Verdict(level: .warning, subject: "\(endpoint) clock", finding: finding)
        }
        guard let time = facts.time else {
            return warning("it does not tell the time (6.2 does): keep the clocks of all gateways in step by NTP")
        }
        let ahead = time.since(Clock.system.now().advanced(by: .zero - roundTrip / 2)).wholeMilliseconds / 1000
        guard abs(ahead) > 2 else { return self.ok(endpoint, "clock", "it shows what this machine's shows") }
        return warning(
            "it is \(abs(ahead)) s \(ahead > 0 ? "ahead of" : "behind") this machine's: sessions and tokens go by it all "
                + "the same, and so does `expires_at`; set both by NTP"
        )
    }

    // MARK: Verdicts

    func ok(_ endpoint: RedisEndpoint, _ subject: String, _ finding: String) -> Verdict {
        Verdict(level: .ok, subject: "\(endpoint) \(subject)", finding: finding)
    }

    func error(_ endpoint: RedisEndpoint, _ subject: String, _ finding: String) -> Verdict {
        Verdict(level: .error, subject: "\(endpoint) \(subject)", finding: finding)
    }
}

extension RedisEndpoint {
    /// Nobody else sees what passes.
    fileprivate var isLocal: Bool {
        switch self {
        case .unix: true
        case .tcp(let host, _): host == "localhost" || host == "::1" || host.hasPrefix("127.")
        }
    }
}
