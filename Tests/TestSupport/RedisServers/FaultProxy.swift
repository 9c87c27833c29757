import GatewayBench
package import NIOCore
import NIOPosix
import Synchronization

/// Stands before a TCP server and does to its connections what networks do, switched while it runs.
package final class FaultProxy: Sendable {
    /// What becomes of connections.
    package enum Fault: Sendable, Equatable {
        /// They pass.
        case none
        /// They are refused, and those that stand are cut.
        case refused
        /// They are taken and closed; those that stand are cut.
        case closedAtOnce
        /// They are taken and not a byte passes until the fault is over; then everything does.
        case hanging
        /// Nothing more comes to clients that subscribe, whose connections stand; all else passes.
        case deaf
        /// Every byte comes so much later.
        case delayed(toServer: TimeAmount, toClient: TimeAmount)
        /// Every byte is sent by itself.
        case sliced
        /// They are cut after so many more bytes to the client.
        case cut(after: Int)
        /// The server sees nothing more: each command of RESP is answered with this line, which has no CRLF.
        case answered(String)

        fileprivate var allowsConnections: Bool { self != .refused && self != .closedAtOnce }
    }

    private struct State {
        /// By the address that clients come from.
        var faults: [String: Fault] = [:]
        var fault = Fault.none
        var listener: (any Channel)?
        var pipes: [ObjectIdentifier: NIOLoopBound<FaultPipe>] = [:]
        var accepted = 0
    }

    /// Where it listens.
    package let port: Int
    private let server: Int
    private let state = Mutex(State())

    /// Loops of its own: what a test does on the others must not look like a fault.
    private static let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    private init(port: Int, server: Int) {
        self.port = port
        self.server = server
    }

    /// Runs `body` with a proxy before the server on this port; every connection is closed after it.
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

    /// Starts one that whoever asked must stop.
    package static func start(to server: Int) async throws -> FaultProxy {
        let proxy = FaultProxy(port: try ServerPorts.take(), server: server)
        try await proxy.listen()
        return proxy
    }

    /// Refuses connections and cuts those that stand.
    package func stop() async throws {
        try await self.set(.refused)
    }

    /// How many connections it has taken in its life.
    package var acceptedCount: Int { self.state.withLock { $0.accepted } }

    /// How many stand.
    package var openCount: Int { self.state.withLock { $0.pipes.count } }

    // MARK: Faults

    /// Does this to all connections from now on, and forgets what was set for single addresses.
    ///
    /// When it returns, connections that stood before are treated so, too.
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

    /// Does this to the connections from one address; refusing them means to reset them after they are taken.
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
            // By address: names are resolved on threads that blocking tests may have taken.
            .connect(to: try SocketAddress(ipAddress: loopback, port: self.server))
            .whenComplete { result in
                switch result {
                case .success(let server): bound.value.connected(to: server)
                case .failure: bound.value.cut()
                }
            }
    }
}
