import NIOCore
import RedisServers
import RedisStore
import Sessions
import StoreBench
import StoreConformance
import TestSupport
import Testing
import Vocabulary

extension RedisSentinelGroup {
    /// The clients' configuration in tests: deadlines that a busy machine does not reach, but connections that end.
    func configuration(commandTimeout: Duration = .seconds(5)) -> RedisConfiguration {
        .sentinel(self.sentinels.map(\.port), name: Self.name, commandTimeout: commandTimeout)
    }
}

extension RedisCluster {
    /// The clients' configuration in tests; two of the cluster's nodes are given.
    func configuration(commandTimeout: Duration = .seconds(5)) -> RedisConfiguration {
        let seeds = self.primaries.prefix(2).map { "\(loopback):\($0.port)" }.joined(separator: ",")
        var configuration = RedisConfiguration.of(
            "redis+cluster://\(seeds)",
            connectTimeout: .seconds(1),
            commandTimeout: commandTimeout
        )
        configuration.confirmationTimeout = .seconds(2)
        return configuration
    }

    /// A lineage whose slot this primary has at the start.
    func lineage(at primary: Int, _ bench: RedisStoreBench) -> Lineage {
        var lineage = bench.authority.newLineage()
        while self.firstOwner(of: HashSlot.of(Keyspace.lineage(lineage))) != primary {
            lineage = bench.authority.newLineage()
        }
        return lineage
    }
}

extension RedisConfiguration {
    static func sentinel(
        _ ports: [Int],
        name: String,
        password: Secret? = nil,
        commandTimeout: Duration = .seconds(5)
    ) -> RedisConfiguration {
        let sentinels = ports.map { "\(loopback):\($0)" }.joined(separator: ",")
        let query = password.map { "?sentinel_password=\(String(decoding: $0.bytes, as: UTF8.self))" } ?? ""
        var configuration = RedisConfiguration.of(
            "redis+sentinel://\(sentinels)/\(name)\(query)",
            connectTimeout: .seconds(1),
            commandTimeout: commandTimeout
        )
        configuration.confirmationTimeout = .seconds(2)
        return configuration
    }
}

extension RedisServer {
    /// Runs `body` with a replica of `primary`, which may not be in step yet.
    static func with(replicaOf primary: RedisServer, _ body: (RedisServer) async throws -> Void) async throws {
        try await Self.with(["--replicaof", loopback, "\(primary.port)"], body)
    }

    /// Simulates time for its keys: every TTL is shortened by this much, and expired keys are deleted.
    func age(by duration: Duration) throws {
        let script = """
            for _, key in ipairs(redis.call('KEYS', '*')) do
              local left = redis.call('PTTL', key) - tonumber(ARGV[1])
              if left > 0 then redis.call('PEXPIRE', key, string.format('%.0f', left)) else redis.call('DEL', key) end
            end
            return 1
            """
        try self.command("EVAL", script, "0", "\(duration.wholeMilliseconds)")
    }
}

/// Runs the conformance suite with one client whose data is on these primaries.
func conform(_ client: RedisClient, on primaries: [RedisServer]) async throws {
    let bench = ConformanceBench(
        group: loops,
        pass: { duration in for primary in primaries { try primary.age(by: duration) } },
        make: { _, clock in
            for primary in primaries { try primary.command("FLUSHALL") }
            return RedisStore(client: client, ring: RedisStoreBench.ring, clock: clock.clock, caches: SessionCaches())
        }
    )
    for behaviour in StoreConformance.cases {
        do {
            try await behaviour.run(bench)
        } catch {
            Issue.record("\(behaviour): \(error)")
        }
    }
}

extension RedisStoreBench {
    /// A session of this lineage.
    func signIn(in lineage: Lineage) async throws -> NewSession {
        let draft = self.draft(lineage: lineage)
        try await self.store.create(draft, on: loops.next()).get()
        return draft
    }

    /// Consumes with a new attempt and a new session; nil when the store is unavailable or the token is not live.
    func tryToConsume(_ key: RecordKey) async -> Consumption? { try? await self.consumeAnew(key) }

    /// The same; throws when the store is unavailable or the token is not live.
    func consumeAnew(_ key: RecordKey) async throws -> Consumption {
        let outcome = try await self.consume(
            key,
            creating: self.draft(lineage: key.lineage),
            attempt: self.authority.newAttempt()
        )
        guard let outcome else { throw NotLive() }
        return outcome
    }

    private struct NotLive: Error {}

    /// Tries until the store answers. The step throws when it does not, without reporting each try.
    func untilAnswered<Answer>(_ what: String, _ step: () async throws -> Answer) async throws -> Answer {
        var answer: Answer?
        try await waitUntil(what) {
            answer = try? await step()
            return answer != nil
        }
        guard let answer else { throw NotLive() }
        return answer
    }
}
