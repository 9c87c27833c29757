import GatewayBench
import RedisServers
import TestSupport
import Testing

/// Whether regions have secrets of their own, and so what one of them says of the tokens of another.
enum RegionSecrets: Sendable, CaseIterable {
    /// The front can tell their tokens apart by the id of the key.
    case own
    /// Their tokens look alike; only the Redis of one has them.
    case shared

    /// Why a transfer token of another region is refused.
    var handoffReason: String { self == .own ? "credential.other_key" : "handoff.unknown" }

    /// Why a session of another region is refused.
    var sessionReason: String { self == .own ? "credential.other_key" : "session.unknown" }
}

/// A Redis, and two gateways that alone use it. Each reaches it by a proxy, so that it can be cut off by itself.
struct Region: Sendable {
    let redis: RedisServer
    /// The way of each gateway to Redis.
    let links: [FaultProxy]
    let fleet: Fleet

    /// Browsers that keep a connection to each of its gateways, `count` to each.
    func consumers(_ count: Int = 1) -> [Consumer] {
        (0..<self.fleet.count * count).map { number in
            Consumer { [fleet] in fleet[number % fleet.count].port }
        }
    }

    /// Applies a fault to the ways of all its gateways.
    func set(_ fault: FaultProxy.Fault) async throws {
        for link in self.links { try await link.set(fault) }
    }

    /// The keys in its Redis of transfer tokens, of sessions, and of markers of used tokens.
    func tokenKeys() throws -> [String] {
        try self.redis.keys("sp:*").filter { key in ["sp:t:", "sp:s:", "sp:m:"].contains { key.hasPrefix($0) } }
    }

    /// Whether one of its gateways has refused a token for this reason; audit lines are written behind the answer.
    func hasRefused(_ token: String, _ reason: String) -> Bool {
        eventually { self.fleet.refusals()[Consumer.label(of: token)]?.contains(reason) == true }
    }

    /// Runs `body` with two regions. They share nothing but the settings, and the secret if `secrets` says so.
    ///
    /// - Parameters:
    ///     - arguments: Additional arguments of each `redis-server`.
    ///     - lifetime: The lifetime of transfer tokens.
    static func pair(
        _ secrets: RegionSecrets,
        arguments: [String] = [],
        lifetime: String = "60s",
        _ body: (Region, Region) async throws -> Void
    ) async throws {
        let secret = Fleet.newSecret()
        try await self.with(secret, arguments: arguments, lifetime: lifetime) { first in
            let other = secrets == .own ? Fleet.newSecret() : secret
            try await self.with(other, arguments: arguments, lifetime: lifetime) { second in
                try await body(first, second)
            }
        }
    }

    private static func with(
        _ secret: String,
        arguments: [String],
        lifetime: String,
        _ body: (Region) async throws -> Void
    ) async throws {
        try await RedisServer.with(arguments) { redis in
            try await FaultProxy.with(to: redis.port) { one in
                try await FaultProxy.with(to: redis.port) { two in
                    let urls = [one, two].map { RedisURLs.standalone($0.port) }
                    try await Fleet.with(urls, secret: secret, lifetime: lifetime) { fleet in
                        try await fleet.waitUntilReady()
                        try await body(Region(redis: redis, links: [one, two], fleet: fleet))
                    }
                }
            }
        }
    }
}

/// Two regions with one gateway each, whose settings have all that apps can do.
enum RegionGateways {
    /// Runs `body` with both gateways. They take the client's address from a proxy on this machine.
    static func with(
        _ secrets: RegionSecrets,
        _ body: @Sendable (_ home: Gateway, _ away: Gateway) async throws -> Void
    ) async throws {
        let app = try FakeUpstream { link in
            while let request = link.nextHead() { link.answer(body: request.text) }
        }
        defer { app.stop() }
        let secret = Fleet.newSecret()
        let other = secrets == .own ? Fleet.newSecret() : secret
        for text in [secret, other] { Secrets.shared.note(text) }
        func start(_ redis: RedisServer, _ secret: String) throws -> Gateway {
            let more = """
                secret_file: secret
                trusted_proxies: [127.0.0.1/32]
                store: {redis: {url: "\(RedisURLs.standalone(redis.port))"}}

                """
            let settings = AppJourney.settings(upstream: app.port, more: more)
            return try Gateway(settings, files: ["secret": secret + "\n"])
        }
        try await RedisServer.with { first in
            try await RedisServer.with { second in
                let home = try start(first, secret)
                defer { home.stop() }
                let away = try start(second, other)
                defer { away.stop() }
                for gateway in [home, away] {
                    #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
                }
                try await body(home, away)
            }
        }
    }
}
