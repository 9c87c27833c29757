package import NIOCore
package import RedisStore
package import Settings
import Transport
import Vocabulary

/// Connects to the configured Redis as the gateway would, and reports problems.
///
/// Does not read or change the gateways' data. Writes only an empty test key at each primary, and deletes it.
package struct RedisCheck: Sendable {
    let configuration: RedisConfiguration
    /// Makes connections with the user and password that are currently valid.
    package let connector: RedisConnector
    private let settings: RedisSettings
    private let usual: RedisConfiguration
    let loop: any EventLoop

    /// Prepares a check, without connecting.
    ///
    /// - Parameter patience: The time limit for connecting. The limit for each answer is half of it. The default is
    ///   longer than the gateway's limit, to distinguish slow servers from missing ones.
    /// - Throws: An error of NIOSSL if a certificate, key or authority file cannot be used.
    package init(
        _ configuration: RedisConfiguration,
        _ settings: RedisSettings,
        patience: Duration = .seconds(2),
        loop: any EventLoop
    ) throws {
        self.usual = configuration
        var patient = configuration
        patient.connectTimeout = patience
        patient.commandTimeout = patience / 2
        self.configuration = patient
        self.connector = try RedisConnector(patient)
        self.settings = settings
        self.loop = loop
    }

    /// Checks the Redis in validated settings.
    ///
    /// - Returns: One verdict for each check.
    package static func verdicts(on settings: RedisSettings) async throws -> [Verdict] {
        do {
            let configuration = try RedisConfiguration(url: settings.url)
            let faults = configuration.tls.map(Self.faults) ?? []
            guard faults.isEmpty else { return faults }
            let loop = try TransportGroup(count: 1).next()
            return try await RedisCheck(configuration, settings, loop: loop).run()
        } catch {
            return [.error("certificates", "ca=, cert= or key= of the URL cannot be used: \(error)")]
        }
    }

    /// Runs all checks.
    private func run() async -> [Verdict] {
        var verdicts = self.judgeEncryption() + self.judgeFiles()
        guard !verdicts.contains(where: { $0.level == .error }) else { return verdicts }
        let (found, primaries) = await self.primaries()
        verdicts += found
        for (endpoint, tag) in primaries { verdicts += await self.check(endpoint, tag: tag) }
        return verdicts
    }

    /// Returns the errors that keep the gateway from using the primaries. Empty if the gateway can use them.
    package func obstacles() async -> [Verdict] {
        let (found, primaries) = await self.primaries()
        var verdicts = self.judgeFiles() + found
        for (endpoint, _) in primaries { verdicts += await self.meet(endpoint).verdicts }
        return verdicts.filter { $0.level == .error }
    }

    /// The rights that the gateway's user lacks.
    package struct MissingRights: Sendable {
        /// Errors about rights that the gateway needs.
        package var needed: [Verdict] = []
        /// True if a right is missing without which the gateway still works (`RedisNeeds.OptionalUse`).
        package var lacksCourtesy = false
    }

    /// Looks for missing rights at all primaries.
    ///
    /// - Returns: `nil` if no primary was found, or a primary does not answer.
    package func missingRights() async -> MissingRights? {
        let (_, primaries) = await self.primaries()
        guard !primaries.isEmpty else { return nil }
        var missing = MissingRights()
        for (endpoint, tag) in primaries {
            guard let lacks = try? await self.lacks(at: endpoint, tag: tag) else { return nil }
            if let finding = lacks.obstacle { missing.needed.append(self.error(endpoint, "commands", finding)) }
            if !lacks.courtesies.isEmpty { missing.lacksCourtesy = true }
        }
        return missing
    }

    /// Finds the primaries, each with a hash tag whose keys are stored there.
    private func primaries() async -> (verdicts: [Verdict], primaries: [(endpoint: RedisEndpoint, tag: String)]) {
        switch self.configuration.deployment {
        case .standalone(let endpoint): return ([], [(endpoint, "check")])
        case .sentinel(let sentinels):
            let (verdicts, primary) = await self.check(sentinels)
            return (verdicts, primary.map { [($0, "check")] } ?? [])
        case .cluster(let seeds):
            let (verdicts, topology) = await self.check(seeds: seeds)
            return (verdicts, (topology?.shards ?? []).map { ($0.endpoint, RedisNeeds.tag(in: $0.slots) ?? "check") })
        }
    }

    /// Sends commands to `endpoint` on a new connection.
    ///
    /// - Parameter greeting: The handshake; `nil` to only authenticate. The check sends the other commands of a
    ///   handshake itself, to find out which of them are refused.
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
                    user: self.connector.current.user,
                    password: self.connector.current.password
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
        let finding = "passwords cross the network unencrypted (records do not): use rediss:// or tls=true, unless the "
        return [.warning("encryption", finding + "network is private")]
    }

    // MARK: One server

    private func check(_ endpoint: RedisEndpoint, tag: String) async -> [Verdict] {
        var (verdicts, acquaintance) = await self.meet(endpoint)
        guard let acquaintance else {
            // Without a verdict, `INFO` is denied or unknown. Other missing rights are still reported.
            return verdicts.isEmpty ? await self.rights(endpoint, tag: tag) : verdicts
        }
        let facts = acquaintance.facts
        // For a wrong server or version, missing rights do not matter.
        guard verdicts.allSatisfy({ $0.level != .error }) else { return verdicts }
        verdicts += self.safety(facts, endpoint)
        verdicts.append(self.clock(facts, endpoint, roundTrip: acquaintance.took))
        verdicts += await self.rights(endpoint, tag: tag)
        return verdicts
    }

    /// Connects and reads facts about the server. Returns a verdict but no facts if that fails. Returns neither if
    /// `INFO` is denied or unknown.
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
        if !choice.isEmpty, case .error(let error)? = replies.first,
            error.message.lowercased().utf8.contains("db index".utf8)
        {
            return failed(RedisMessages.refusal(error), of: "database")
        }
        if case .error(let error)? = replies.last {
            return error.code == "NOPERM" || error.isUnknownCommand ? ([], nil) : failed(RedisMessages.refusal(error))
        }
        guard let facts = RedisFacts(replies.last) else {
            return failed(
                "it answers, but not as a server with data: if it is a sentinel, write redis+sentinel://"
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

    /// The end of a message about an address that is not in the URL: who reports it.
    private var origin: String {
        switch self.configuration.deployment {
        case .standalone: ""
        case .sentinel: " (the sentinels report this address)"
        case .cluster: " (the cluster reports this address)"
        }
    }

    /// Checks the server's version. `CLIENT TRACKING` needs Redis 6.0.
    private func version(_ facts: RedisFacts, _ endpoint: RedisEndpoint) -> Verdict {
        let major = facts.version.split(separator: ".").first.flatMap { Int($0) }
        guard let major, major < 6 else { return self.ok(endpoint, "version", facts.version) }
        return self.error(endpoint, "version", "\(facts.version) cannot announce ended sessions: use 6.0 or later")
    }

    private func role(_ facts: RedisFacts, _ endpoint: RedisEndpoint) -> Verdict {
        guard facts.isPrimary else {
            if case .sentinel = self.configuration.deployment {
                let finding = "the sentinels report it, but it is a replica: a failover is running"
                return self.error(endpoint, "role", finding)
            }
            return self.error(endpoint, "role", "it is a replica: use the primary, or the sentinels that know it")
        }
        switch (facts.isCluster, self.configuration.isCluster) {
        case (true, false):
            return self.error(endpoint, "role", "it is a node of a cluster: write redis+cluster:// into the URL")
        case (false, true):
            return self.error(endpoint, "role", "it is not a node of a cluster: write redis:// into the URL")
        default: break
        }
        let replicas = facts.connectedReplicas
        let words = replicas == 1 ? "1 replica" : "\(replicas) replicas"
        let waits = replicas == 0 ? "" : "; writes for single use wait for one of them"
        return self.ok(endpoint, "role", "primary with \(words)\(waits)")
    }

    private func safety(_ facts: RedisFacts, _ endpoint: RedisEndpoint) -> [Verdict] {
        var verdicts = RedisMessages.dangers(facts).map { danger in
            Verdict(
                level: self.settings.requireSafe ? .error : .warning,
                subject: "\(endpoint) safety",
                finding: danger
            )
        }
        if verdicts.isEmpty {
            let limit = facts.maxMemory == 0 ? "no maxmemory" : "maxmemory-policy \(facts.maxMemoryPolicy)"
            verdicts.append(self.ok(endpoint, "safety", "no keys are evicted (\(limit))"))
        }
        if facts.writesAppendOnlyFile {
            verdicts.append(self.ok(endpoint, "persistence", "append-only file"))
        } else {
            let level = self.settings.requireAppendOnly ? Verdict.Level.error : .warning
            let subject = "\(endpoint) persistence"
            verdicts.append(Verdict(level: level, subject: subject, finding: RedisMessages.snapshotsOnly))
        }
        return verdicts
    }

    /// Compares Redis's clock with this machine's. Lifetimes use Redis's clock, logs use the machine's.
    private func clock(_ facts: RedisFacts, _ endpoint: RedisEndpoint, roundTrip: Duration) -> Verdict {
        func warning(_ finding: String) -> Verdict { .warning("\(endpoint) clock", finding) }
        guard let time = facts.time else {
            return warning(
                "it does not report its time (6.2 and later do): keep the clocks of all gateways in step with NTP"
            )
        }
        let ahead = time.since(Clock.system.now().advanced(by: .zero - roundTrip / 2)).wholeMilliseconds / 1000
        guard abs(ahead) > 2 else { return self.ok(endpoint, "clock", "it agrees with this machine's clock") }
        return warning(
            "it is \(abs(ahead)) s \(ahead > 0 ? "ahead of" : "behind") this machine's clock. Sessions, tokens "
                + "and `expires_at` use Redis's clock; set both with NTP"
        )
    }

    // MARK: Verdicts

    func ok(_ endpoint: RedisEndpoint, _ subject: String, _ finding: String) -> Verdict {
        .ok("\(endpoint) \(subject)", finding)
    }

    func error(_ endpoint: RedisEndpoint, _ subject: String, _ finding: String) -> Verdict {
        .error("\(endpoint) \(subject)", finding)
    }
}

extension RedisEndpoint {
    /// True if connections stay on this machine.
    fileprivate var isLocal: Bool {
        switch self {
        case .unix: true
        case .tcp(let host, _): host == "localhost" || host == "::1" || host.hasPrefix("127.")
        }
    }
}
