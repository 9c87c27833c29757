import Foundation
import NIOCore
import NIOPosix
import RedisStore
import Vocabulary

/// The loops of all tests.
let loops: any EventLoopGroup = MultiThreadedEventLoopGroup(numberOfThreads: 2)

/// A real `redis-server` on a free loopback port, with a directory of its own.
final class RedisServer: @unchecked Sendable {
    let port: Int
    let directory: URL
    private let arguments: [String]
    private var process: Process?

    private init(arguments: [String]) async throws {
        self.port = try await Self.freePort()
        self.directory = URL(fileURLWithPath: NSTemporaryDirectory())
            .appendingPathComponent("redis-\(UInt64.random(in: 0...UInt64.max))")
        try FileManager.default.createDirectory(at: self.directory, withIntermediateDirectories: true)
        self.arguments = arguments
    }

    /// Runs `body` with a server that answers, and ends the server after it.
    @discardableResult
    static func with<Answer>(
        _ arguments: [String] = [],
        _ body: (RedisServer) async throws -> Answer
    ) async throws -> Answer {
        let server = try await RedisServer(arguments: arguments)
        defer {
            server.kill()
            try? FileManager.default.removeItem(at: server.directory)
        }
        try await server.start()
        return try await body(server)
    }

    var socketPath: String { self.directory.appendingPathComponent("s").path }

    /// How tests speak to it: with deadlines that a busy machine does not reach.
    func configuration(commandTimeout: Duration = .seconds(20)) -> RedisConfiguration {
        RedisConfiguration(
            endpoint: .tcp(host: "127.0.0.1", port: self.port),
            connectTimeout: .seconds(5),
            commandTimeout: commandTimeout
        )
    }

    func start() async throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/redis-server")
        process.arguments =
            [
                "--port", "\(self.port)", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir",
                self.directory.path, "--unixsocket", self.socketPath, "--loglevel", "warning",
            ] + self.arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        self.process = process
        // The port is open once the server serves.
        for _ in 0..<400 {
            if let channel = try? await ClientBootstrap(group: loops).connect(host: "127.0.0.1", port: self.port).get()
            {
                try? await channel.close()
                return
            }
            try await Task.sleep(for: .milliseconds(25))
        }
        throw ServerError.notStarted
    }

    func kill() {
        guard let process = self.process else { return }
        self.process = nil
        _ = Foundation.kill(process.processIdentifier, SIGCONT)
        _ = Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    func pause() { self.signal(SIGSTOP) }
    func resume() { self.signal(SIGCONT) }

    private func signal(_ number: Int32) {
        if let process = self.process { _ = Foundation.kill(process.processIdentifier, number) }
    }

    enum ServerError: Error { case notStarted }

    static func freePort() async throws -> Int {
        let channel = try await ServerBootstrap(group: loops).bind(host: "127.0.0.1", port: 0).get()
        let port = channel.localAddress?.port ?? 0
        try await channel.close()
        return port
    }
}

/// A started client, shut down after `body`.
@discardableResult
func withClient<Answer>(
    _ configuration: RedisConfiguration,
    _ body: (RedisClient) async throws -> Answer
) async throws -> Answer {
    let client = try RedisClient(configuration: configuration, group: loops)
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
        while self.connectedLoops < self.loopCount { try await Task.sleep(for: .milliseconds(5)) }
    }

    /// Waits until no loop has one.
    func waitUntilDisconnected() async throws {
        while self.connectedLoops > 0 { try await Task.sleep(for: .milliseconds(5)) }
    }

    /// Every key of the database with its value, where it is a string.
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

    /// Lets time pass for Redis: every TTL is shortened by so much, and what has none left goes.
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
