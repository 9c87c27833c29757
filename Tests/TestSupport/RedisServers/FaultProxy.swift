import GatewayBench
package import NIOCore
import NIOPosix
import Synchronization

/// A proxy in front of a TCP server. It simulates network faults, which can be switched while it runs.
package final class FaultProxy: Sendable {
    /// What happens to connections.
    package enum Fault: Sendable, Equatable {
        /// All bytes pass.
        case none
        /// New connections are refused, and open ones are cut.
        case refused
        /// New connections are accepted and closed; open ones are cut.
        case closedAtOnce
        /// Connections are accepted, but no byte passes until the fault ends; then all bytes pass.
        case hanging
        /// Clients that have subscribed get no more bytes, while their connections stay open; everything else passes.
        case deaf
        /// Every byte is delayed by this time.
        case delayed(toServer: TimeAmount, toClient: TimeAmount)
        /// Every byte is sent separately.
        case sliced
        /// Connections are cut after this many more bytes to the client.
        case cut(after: Int)
        /// The server gets no more bytes. The proxy answers each RESP command with this line (without CRLF).
        case answered(String)

        fileprivate var allowsConnections: Bool { self != .refused && self != .closedAtOnce }
    }

    private struct State {
        /// Faults for single clients, by address.
        var faults: [String: Fault] = [:]
        var fault = Fault.none
        var listener: (any Channel)?
        var pipes: [ObjectIdentifier: NIOLoopBound<FaultPipe>] = [:]
        var accepted = 0
    }

    /// The port on which it listens.
    package let port: Int
    private let server: Int
    private let state = Mutex(State())

    /// Its own loops, so that a test that blocks others does not look like a fault.
    private static let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    private init(port: Int, server: Int) {
        self.port = port
        self.server = server
    }

    /// Runs `body` with a proxy before the server on this port, and closes every connection afterwards.
    @discardableResult
    package static func with<Answer>(
        to server: Int,
        _ body: (FaultProxy) async throws -> Answer
    ) async throws -> Answer {
        let proxy = try await FaultProxy.start(to: server)
        do {
            let answer = try await body(proxy)
            try await proxy.stop()
            return answer
        } catch {
            try await proxy.stop()
            throw error
        }
    }

    /// Starts a proxy that the caller must stop.
    package static func start(to server: Int) async throws -> FaultProxy {
        let proxy = FaultProxy(port: try ServerPorts.take(), server: server)
        try await proxy.listen()
        return proxy
    }

    /// Refuses connections and cuts open ones.
    package func stop() async throws {
        try await self.set(.refused)
    }

    /// The number of connections that it has accepted in all.
    package var acceptedCount: Int { self.state.withLock { $0.accepted } }

    /// The number of open connections.
    package var openCount: Int { self.state.withLock { $0.pipes.count } }

    // MARK: Faults

    /// Applies this fault to all connections from now on, and forgets faults for single addresses.
    ///
    /// When it returns, the fault also applies to connections that were open before.
    package func set(_ fault: Fault) async throws {
        let listener = self.state.withLock { state in
            state.fault = fault
            state.faults = [:]
            defer { if fault == .refused { state.listener = nil } }
            return state.listener
        }
        if fault == .refused {
            try await listener?.close()
        } else if listener == nil {
            try await self.listen()
        }
        try await self.apply()
    }

    /// Applies this fault to the connections from one address. Refusing them means to reset them after they are
    /// accepted.
    package func set(_ fault: Fault, from address: String) async throws {
        self.state.withLock { $0.faults[address] = fault }
        try await self.apply()
    }

    private func apply() async throws {
        for pipe in self.state.withLock({ Array($0.pipes.values) }) {
            try await pipe.eventLoop.submit { pipe.value.apply(self.fault(for: pipe.value.source)) }.get()
        }
    }

    private func fault(for source: String) -> Fault {
        self.state.withLock { $0.faults[source] ?? $0.fault }
    }

    // MARK: Connections

    private func listen() async throws {
        let listener = try await ServerBootstrap(group: Self.loops)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.backlog, value: 1024)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try self.take(channel) }
            }
            .bind(to: try SocketAddress(ipAddress: loopback, port: self.port)).get()
        self.state.withLock { $0.listener = listener }
    }

    private func take(_ channel: any Channel) throws {
        let source = channel.remoteAddress?.ipAddress ?? ""
        self.state.withLock { $0.accepted += 1 }
        let fault = self.fault(for: source)
        guard fault.allowsConnections else {
            FaultPipe.cut(channel)
            return
        }
        let pipe = FaultPipe(client: channel, source: source, fault: fault)
        let id = ObjectIdentifier(pipe)
        let bound = NIOLoopBound(pipe, eventLoop: channel.eventLoop)
        self.state.withLock { $0.pipes[id] = bound }
        channel.closeFuture.whenComplete { _ in self.state.withLock { $0.pipes[id] = nil } }
        try channel.pipeline.syncOperations.addHandler(FaultPipe.End(pipe, .client))
        ClientBootstrap(group: channel.eventLoop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { server in
                server.eventLoop.makeCompletedFuture {
                    try server.pipeline.syncOperations.addHandler(FaultPipe.End(bound.value, .server))
                }
            }
            // By address, because names are resolved on threads that blocking tests may have taken.
            .connect(to: try SocketAddress(ipAddress: loopback, port: self.server))
            .whenComplete { result in
                switch result {
                case .success(let server): bound.value.connected(to: server)
                case .failure: bound.value.cut()
                }
            }
    }
}
