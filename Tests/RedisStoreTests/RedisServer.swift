import NIOCore
import RedisServers
import RedisStore
import TestSupport
import Vocabulary

extension RedisConfiguration {
    /// The configuration of a good URL, with other deadlines.
    static func of(
        _ url: String,
        connectTimeout: Duration = .milliseconds(250),
        commandTimeout: Duration = .seconds(20)
    ) -> RedisConfiguration {
        do throws(RedisURLError) {
            var configuration = try RedisConfiguration(url: Secret(url))
            configuration.connectTimeout = connectTimeout
            configuration.commandTimeout = commandTimeout
            return configuration
        } catch {
            preconditionFailure("\(url): \(error)")
        }
    }
}

extension RedisServer {
    /// The clients' configuration in tests, with deadlines that a busy machine does not reach.
    func configuration(commandTimeout: Duration = .seconds(20)) -> RedisConfiguration {
        .of("redis://\(loopback):\(self.port)", connectTimeout: .seconds(5), commandTimeout: commandTimeout)
    }
}

extension RedisClient {
    /// Sends a command; the reply may be an error.
    func send(_ command: RedisCommand, on loop: any EventLoop) -> EventLoopFuture<RedisReply> {
        self.replying(on: loop) { self.send(command, on: loop, $0) }
    }

    /// Runs a script; the reply may be an error.
    func evaluate(_ call: ScriptCall, on loop: any EventLoop) -> EventLoopFuture<RedisReply> {
        self.replying(on: loop) { self.evaluate(call, on: loop, $0) }
    }

    private func replying(
        on loop: any EventLoop,
        _ send: @escaping @Sendable (@escaping RedisConnectionHandler.Receiver) -> Void
    ) -> EventLoopFuture<RedisReply> {
        loop.flatSubmit {
            let promise = loop.makePromise(of: RedisReply.self)
            send { promise.completeWith($0.mapError { $0 }) }
            return promise.futureResult
        }
    }
}

/// A started client, shut down after `body`.
@discardableResult
func withClient<Answer>(
    _ configuration: RedisConfiguration,
    localClock: Clock = .steady(),
    _ body: (RedisClient) async throws -> Answer
) async throws -> Answer {
    let client = try RedisClient(configuration: configuration, group: loops, localClock: localClock)
    try await client.start()
    do {
        let answer = try await body(client)
        try await client.shutDown()
        return answer
    } catch {
        try await client.shutDown()
        throw error
    }
}

extension RedisClient {
    /// One command on the next loop.
    func ask(_ name: StaticString, _ arguments: String...) async throws -> RedisReply {
        try await self.send(RedisCommand(name, arguments.map { Array($0.utf8) }), on: loops.next()).get()
    }

    /// Waits until every loop has a connection that serves.
    func waitUntilConnected() async throws {
        try await waitUntil("a connection for each loop") { self.connectedLoops == self.status.loops }
    }

    /// Waits until no loop has one.
    func waitUntilDisconnected() async throws {
        try await waitUntil("no loop has a connection") { self.connectedLoops == 0 }
    }

    /// Every key of the database, with its value if it is a string.
    func dump() async throws -> [[UInt8]: [UInt8]] {
        guard case .array(let keys) = try await self.ask("KEYS", "*") else { return [:] }
        var values: [[UInt8]: [UInt8]] = [:]
        for case .bulk(let key) in keys {
            if case .bulk(let value) = try await self.send(RedisCommand("GET", [key]), on: loops.next()).get() {
                values[key] = value
            }
        }
        return values
    }

    /// Simulates time for Redis: every TTL is shortened by this much, and expired keys are deleted.
    func age(by duration: Duration) async throws {
        let script = """
            for _, key in ipairs(redis.call('KEYS', '*')) do
              local left = redis.call('PTTL', key) - tonumber(ARGV[1])
              if left > 0 then redis.call('PEXPIRE', key, string.format('%.0f', left)) else redis.call('DEL', key) end
            end
            return 1
            """
        let reply = try await self.ask("EVAL", script, "0", "\(duration.wholeMilliseconds)")
        guard reply == .integer(1) else { throw RedisError.unexpected }
    }
}
