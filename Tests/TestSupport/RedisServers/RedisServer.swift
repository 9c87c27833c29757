package import Foundation
import GatewayBench
package import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Transport

#if canImport(Glibc)
import Glibc
#endif

/// The loopback address that every server of the tests listens on.
package let loopback = "127.0.0.1"

/// The event loops of all tests with Redis.
package let loops: any EventLoopGroup = {
    do {
        return try TransportGroup(count: 2)
    } catch {
        preconditionFailure("no loops: \(error)")
    }
}()

/// A real `redis-server` on a loopback port, with its own directory.
package final class RedisServer: Sendable {
    /// How clients connect.
    package enum Access: Sendable {
        /// By a TCP port and a unix socket, without TLS.
        case plain
        /// By TLS, with a client certificate of the same authority, and by the unix socket.
        case tls(Certificates)
    }

    /// Its port, the same before and after every restart.
    package let port: Int
    /// Its working directory for a kept database, which is removed with the server.
    package let directory: URL
    private let arguments: [String]
    private let access: Access
    private let process = Mutex<Process?>(nil)

    /// A server that is not running yet.
    ///
    /// - Parameters:
    ///     - arguments: Additional arguments of `redis-server`. They come last and so take precedence.
    ///   - configuration: The text of a configuration file, which the server may rewrite.
    ///     - port: The port; nil for a free one.
    package init(
        _ arguments: [String] = [],
        configuration: String? = nil,
        access: Access = .plain,
        port: Int? = nil
    ) throws {
        self.port = try port ?? ServerPorts.take()
        self.directory = FileManager.default.temporaryDirectory
            .appending(path: "redis-\(UInt64.random(in: 0...UInt64.max))")
        try FileManager.default.createDirectory(at: self.directory, withIntermediateDirectories: true)
        self.access = access
        var own: [String] = []
        if let configuration {
            let file = self.directory.appending(path: "redis.conf")
            try configuration.write(to: file, atomically: true, encoding: .utf8)
            own = [file.path]
        }
        own += ["--bind", loopback, "--save", "", "--appendonly", "no", "--loglevel", "warning"]
        // Protected mode knows only one of the loopback addresses.
        own += ["--protected-mode", "no"]
        own += ["--dir", self.directory.path, "--unixsocket", self.directory.appending(path: "s").path]
        switch access {
        case .plain:
            own += ["--port", "\(self.port)"]
        case .tls(let certificates):
            own += [
                "--port", "0", "--tls-port", "\(self.port)", "--tls-cert-file", certificates.server,
                "--tls-key-file", certificates.serverKey, "--tls-ca-cert-file", certificates.authority,
                "--tls-auth-clients", "yes",
            ]
        }
        self.arguments = own + arguments
    }

    /// Runs `body` with a running server, and always ends the server afterwards.
    @discardableResult
    package static func with<Answer>(
        _ arguments: [String] = [],
        access: Access = .plain,
        _ body: (RedisServer) async throws -> Answer
    ) async throws -> Answer {
        try await ServerTurns.take {
            let server = try RedisServer(arguments, access: access)
            defer { server.remove() }
            try await server.start()
            return try await body(server)
        }
    }

    /// The path of its unix socket.
    package var socketPath: String { self.directory.appending(path: "s").path }

    /// The id of the process; nil while it does not run.
    package var processID: Int32? { self.process.withLock { $0?.processIdentifier } }

    // MARK: Start and stop

    /// Starts it, or starts it again on the same port, and waits until it accepts connections.
    package func start() async throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/redis-server")
        process.arguments = self.arguments
        process.standardInput = FileHandle.nullDevice
        let log = self.directory.appending(path: "log")
        if !FileManager.default.fileExists(atPath: log.path) { try Data().write(to: log) }
        let output = try FileHandle(forWritingTo: log)
        try output.seekToEnd()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        self.process.withLock { $0 = process }
        // Not by its port, on which another process may listen.
        let address = try SocketAddress(unixDomainSocketPath: self.socketPath)
        for _ in 0..<800 {
            guard process.isRunning else { break }
            let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            if let channel = try? await bootstrap.connect(to: address).get() {
                try? await channel.close()
                return
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        let text = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
        throw BenchFailure("redis-server does not start: \(text.suffix(500))")
    }

    /// Kills it without warning, as a power cut does.
    package func kill() {
        let process = self.process.withLock { process in
            defer { process = nil }
            return process
        }
        guard let process else { return }
        // This also kills a stopped process.
        _ = Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Stops the process: the kernel still accepts connections for it, and nothing is answered.
    package func pause() { self.signal(SIGSTOP) }

    /// Lets it continue.
    package func resume() { self.signal(SIGCONT) }

    /// Ends it and removes its files.
    package func remove() {
        self.kill()
        try? FileManager.default.removeItem(at: self.directory)
    }

    private func signal(_ number: Int32) {
        if let process = self.processID { _ = Glibc.kill(process, number) }
    }

    // MARK: Commands

    /// Runs one command with `redis-cli`; returns the reply as text, with each element of an array on a line.
    ///
    /// - Throws: `BenchFailure` when the server cannot be reached or answers with an error.
    @discardableResult
    package func command(_ arguments: String...) throws -> String {
        try self.command(arguments)
    }

    @discardableResult
    package func command(_ arguments: [String]) throws -> String {
        var options = ["-e", "-h", loopback, "-p", "\(self.port)"]
        if case .tls(let certificates) = self.access {
            options += [
                "--tls", "--cacert", certificates.authority, "--cert", certificates.client, "--key",
                certificates.clientKey,
            ]
        }
        var (status, output) = try Servers.run("/usr/bin/redis-cli", options + arguments)
        // A server that has just started again reads its data first.
        let deadline = ContinuousClock.now + .seconds(10)
        while status != 0, output.hasPrefix("LOADING"), ContinuousClock.now < deadline {
            usleep(50_000)
            (status, output) = try Servers.run("/usr/bin/redis-cli", options + arguments)
        }
        guard status == 0 else { throw BenchFailure("redis-cli \(arguments.first ?? ""): \(output)") }
        return output.trimmingCharacters(in: .newlines)
    }

    /// The keys that match a pattern.
    package func keys(_ pattern: String) throws -> [String] {
        try self.command("KEYS", pattern).split(separator: "\n").map(String.init)
    }

    /// A field of `INFO`, e.g. `master_replid`; nil when there is none with this name.
    package func info(_ field: String) throws -> String? {
        try self.command("INFO", "everything").split(whereSeparator: \.isNewline)
            .first { $0.hasPrefix("\(field):") }
            .map { String($0.dropFirst(field.count + 1)) }
    }

    /// How often a command was run since the start or the last `CONFIG RESETSTAT`, from `INFO commandstats`.
    package func calls(of command: String) throws -> Int {
        let text = try self.info("cmdstat_\(command)")
        return text?.firstMatch(of: /calls=(\d+)/).flatMap { Int($0.1) } ?? 0
    }
}
