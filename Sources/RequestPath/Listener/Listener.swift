import AddressIntelligence
package import NIOCore
import NIOPosix
package import Settings
import Synchronization

#if canImport(Glibc)
import Glibc
#endif

/// Why an address cannot be listened on.
package struct ListenerError: Error, CustomStringConvertible {
    package let description: String
}

/// Accepts clients on one address and hands each to one of the loops for its life.
package final class Listener: Sendable {
    let channel: any Channel
    private let gate: ConnectionGate

    /// Binds `address`; connections are spread over `loops`, whose `eventLoop`s must be those of `group`.
    ///
    /// - Throws: `ListenerError` that names the address.
    package static func bind(
        _ address: ListenAddress,
        group: any EventLoopGroup,
        loops: PathLoops,
        gate: ConnectionGate
    ) async throws -> Listener {
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 4096)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // One at a time, or a full house would be asked after the next ones are in.
            .serverChannelOption(.maxMessagesPerRead, value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AcceptHandler(gate: gate))
                }
            }
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let address = channel.remoteAddress.flatMap(Self.address) ?? IPAddress(v4: 0)
                    let loop = loops.loop(channel.eventLoop)
                    try channel.pipeline.syncOperations.addHandler(DownstreamConnection(loop: loop, peer: address))
                }
            }
        let host = address.host.isEmpty ? "::" : address.host
        do {
            let channel = try await bootstrap.bind(host: host, port: address.port).get()
            return Listener(channel: channel, gate: gate)
        } catch {
            if address.host.isEmpty, let channel = try? await bootstrap.bind(host: "0.0.0.0", port: address.port).get()
            {
                return Listener(channel: channel, gate: gate)
            }
            throw ListenerError(description: "listen: \(host):\(address.port) cannot be bound: \(error)")
        }
    }

    private init(channel: any Channel, gate: ConnectionGate) {
        self.channel = channel
        self.gate = gate
    }

    /// The port that the system chose, where 0 was asked for.
    package var port: Int { self.channel.localAddress?.port ?? 0 }

    /// Stops accepting; connections go on.
    package func close() async {
        try? await self.channel.close().get()
    }

    fileprivate static func address(_ address: SocketAddress) -> IPAddress? {
        address.ipAddress.flatMap { IPAddress($0) }
    }
}

/// The loops by their event loop.
package final class PathLoops: @unchecked Sendable {
    // Written before the first connection, read-only from then on; each value is used on its own loop alone.
    private var byLoop: [ObjectIdentifier: PathLoop] = [:]
    package private(set) var all: [PathLoop] = []

    package init() {}

    package func add(_ loop: PathLoop) {
        self.byLoop[ObjectIdentifier(loop.eventLoop)] = loop
        self.all.append(loop)
    }

    func loop(_ eventLoop: any EventLoop) -> PathLoop {
        guard let loop = self.byLoop[ObjectIdentifier(eventLoop)] else {
            preconditionFailure("a connection on a loop that was never registered")
        }
        return loop
    }

    /// Runs `body` on every loop; the future is done when all have.
    package func onEach(_ body: @escaping @Sendable (PathLoop) -> Void) async {
        for loop in self.all {
            nonisolated(unsafe) let target = loop
            try? await loop.eventLoop.submit { body(target) }.get()
        }
    }

    /// Exchanges under way on all loops.
    package func busyCount() async -> Int {
        var count = 0
        for loop in self.all {
            nonisolated(unsafe) let target = loop
            count += (try? await loop.eventLoop.submit { target.busyCount }.get()) ?? 0
        }
        return count
    }
}

/// How many clients are let in. Descriptors are kept back for apps and files, so that a full house still serves.
package final class ConnectionGate: Sendable {
    private struct State {
        var open = 0
        var perAddress: [AddressKey: Int] = [:]
        var waiting: [@Sendable () -> Void] = []
        var refused: UInt64 = 0
    }

    private let state = Mutex(State())
    private let limit: Mutex<Int>
    private let perAddressLimit: Int

    /// - Parameters:
    ///   - limit: `limits.connections`; less when the process may not open enough descriptors for two of each.
    ///   - perAddress: 0 for no limit.
    package init(limit: Int, perAddress: Int) {
        self.limit = Mutex(min(limit, Self.descriptorLimit))
        self.perAddressLimit = perAddress
    }

    /// Raises the soft descriptor limit to the hard one and says how many clients that allows: each may need a second
    /// descriptor towards an app, and 64 are kept back for everything else.
    static let descriptorLimit: Int = {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(7), &limit) == 0 else { return 1024 }  // RLIMIT_NOFILE
        if limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max
            _ = setrlimit(__rlimit_resource_t(7), &limit)
            getrlimit(__rlimit_resource_t(7), &limit)
        }
        return max(16, (Int(min(limit.rlim_cur, 1 << 30)) - 64) / 2)
    }()

    package var effectiveLimit: Int { self.limit.withLock { $0 } }

    /// Clients turned away because their address had enough connections.
    package var refusedCount: UInt64 { self.state.withLock { $0.refused } }

    func admit(_ address: IPAddress) -> Bool {
        self.state.withLock { state in
            let key = address.key
            if self.perAddressLimit > 0 {
                guard state.perAddress[key, default: 0] < self.perAddressLimit else {
                    state.refused += 1
                    return false
                }
                state.perAddress[key, default: 0] += 1
            }
            state.open += 1
            return true
        }
    }

    func left(_ address: IPAddress) {
        let waiting = self.state.withLock { state -> [@Sendable () -> Void] in
            state.open -= 1
            if self.perAddressLimit > 0 {
                let key = address.key
                let count = state.perAddress[key, default: 1] - 1
                state.perAddress[key] = count == 0 ? nil : count
            }
            defer { state.waiting = [] }
            return state.waiting
        }
        for wake in waiting { wake() }
    }

    /// True when another client may be accepted; otherwise `wake` is called when one has left.
    func hasRoom(orWake wake: @escaping @Sendable () -> Void) -> Bool {
        let limit = self.effectiveLimit
        return self.state.withLock { state in
            if state.open < limit { return true }
            state.waiting.append(wake)
            return false
        }
    }
}

/// Stops accepting while the house is full: clients wait in the backlog, and no descriptor is spent to turn them away.
private final class AcceptHandler: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias OutboundIn = any Channel

    private let gate: ConnectionGate
    private var isFull = false

    init(gate: ConnectionGate) {
        self.gate = gate
    }

    func read(context: ChannelHandlerContext) {
        guard !self.isFull else { return }
        let eventLoop = context.eventLoop
        nonisolated(unsafe) let me = self
        nonisolated(unsafe) let place = context
        let hasRoom = self.gate.hasRoom {
            eventLoop.execute {
                me.isFull = false
                place.read()
            }
        }
        if hasRoom { context.read() } else { self.isFull = true }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Counted here, before another one can be accepted; a connection's own loop would be too late.
        let client = self.unwrapInboundIn(data)
        let address = client.remoteAddress.flatMap(Listener.address) ?? IPAddress(v4: 0)
        guard self.gate.admit(address) else { return client.close(promise: nil) }
        let gate = self.gate
        client.closeFuture.whenComplete { _ in gate.left(address) }
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Out of descriptors in spite of the reserve: a pause instead of a busy loop.
        self.isFull = true
        nonisolated(unsafe) let me = self
        nonisolated(unsafe) let place = context
        context.eventLoop.scheduleTask(in: .milliseconds(250)) {
            me.isFull = false
            place.read()
        }
    }
}
