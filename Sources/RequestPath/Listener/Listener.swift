import AddressIntelligence
package import NIOCore
import NIOPosix
package import Settings
import Synchronization

#if canImport(Glibc)
import Glibc
#endif

/// Why an address cannot be bound.
package struct ListenerError: Error, CustomStringConvertible {
    package let description: String

    /// What an error of `bind` means and what to do about it.
    package static func reason(_ error: any Error) -> String {
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE: "another process listens there; stop it, or choose another port"
        case EADDRNOTAVAIL: "this machine has no such address"
        case EACCES: "ports below 1024 need the capability CAP_NET_BIND_SERVICE; choose another port"
        case let code?: String(cString: strerror(code))
        case nil: "\(error)"
        }
    }
}

/// Accepts clients on one address and hands each to one of the loops for its life.
package final class Listener: Sendable {
    let channel: any Channel

    /// Binds `address`; connections are spread over `loops`, whose `eventLoop`s must be those of `group`.
    ///
    /// - Parameter setting: The key that has the address, for the error.
    /// - Throws: `ListenerError` that names the address.
    package static func bind(
        _ address: ListenAddress,
        setting: String = "listen",
        group: any EventLoopGroup,
        loops: PathLoops,
        gate: ConnectionGate
    ) async throws -> Listener {
        let noteSession: @Sendable (IPAddress, NIODeadline) -> Void = { gate.noteSession($0, now: $1) }
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 4096)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // One at a time, so that the gate decides before the next one is accepted.
            .serverChannelOption(.maxMessagesPerRead, value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AcceptHandler(gate: gate, loops: loops))
                }
            }
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            // NIO keeps the last read buffer of each connection, so the buffers must stay small.
            .childChannelOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(
                    minimum: 64,
                    initial: 2048,
                    maximum: HTTP1Connection.unfinishedHeadRoom
                )
            )
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let address = channel.remoteAddress.flatMap(Self.address) ?? IPAddress(v4: 0)
                    let loop = loops.loop(channel.eventLoop)
                    try channel.pipeline.syncOperations.addHandler(
                        HTTP1Connection(loop: loop, peer: address, noteSession: noteSession)
                    )
                }
            }
        let host = address.host.isEmpty ? "::" : address.host
        do {
            let channel = try await bootstrap.bind(host: host, port: address.port).get()
            return Listener(channel: channel)
        } catch {
            if address.host.isEmpty, let channel = try? await bootstrap.bind(host: "0.0.0.0", port: address.port).get()
            {
                return Listener(channel: channel)
            }
            throw ListenerError(
                description: "\(setting): \(host):\(address.port) cannot be bound: \(ListenerError.reason(error))"
            )
        }
    }

    private init(channel: any Channel) {
        self.channel = channel
    }

    /// The bound port, which the system chooses if the settings say 0.
    package var port: Int { self.channel.localAddress?.port ?? 0 }

    /// Stops accepting. Open connections continue.
    package func close() async {
        try? await self.channel.close().get()
    }

    fileprivate static func address(_ address: SocketAddress) -> IPAddress? {
        address.ipAddress.flatMap { IPAddress($0) }
    }
}

/// The loops by their event loop.
package final class PathLoops: Sendable {
    private let all: [NIOLoopBound<PathLoop>]
    private let byEventLoop: [ObjectIdentifier: NIOLoopBound<PathLoop>]

    /// - Parameter loops: Each bound to its own event loop.
    package init(_ loops: [NIOLoopBound<PathLoop>]) {
        self.all = loops
        self.byEventLoop = Dictionary(uniqueKeysWithValues: loops.map { (ObjectIdentifier($0.eventLoop), $0) })
    }

    func loop(_ eventLoop: any EventLoop) -> PathLoop {
        guard let loop = self.byEventLoop[ObjectIdentifier(eventLoop)] else {
            preconditionFailure("a connection on a loop that was never registered")
        }
        return loop.value
    }

    /// Runs `body` on every loop; the future is done when all have.
    package func onEach(_ body: @escaping @Sendable (PathLoop) -> Void) async {
        for loop in self.all {
            try? await loop.eventLoop.submit { body(loop.value) }.get()
        }
    }

    /// Closes the connections of `clearing`, a share on each loop. Calls `done` on one of the loops with the number of
    /// closed connections.
    func close(_ clearing: ConnectionGate.Clearing, _ done: @escaping @Sendable (Int) -> Void) {
        let share = (clearing.count + self.all.count - 1) / self.all.count
        let results = Mutex((left: self.all.count, closed: 0))
        for loop in self.all {
            loop.eventLoop.execute {
                let closed = loop.value.closeLongestIdle(share, admittedBefore: clearing.admittedBefore)
                let total: Int? = results.withLock { results in
                    results.left -= 1
                    results.closed += closed
                    return results.left == 0 ? results.closed : nil
                }
                if let total { done(total) }
            }
        }
    }

    /// The number of busy connections on all loops.
    package func busyCount() async -> Int {
        var count = 0
        for loop in self.all {
            count += (try? await loop.eventLoop.submit { loop.value.busyCount }.get()) ?? 0
        }
        return count
    }
}

/// Accepts the clients that the gate admits. At the limit it stops accepting: clients wait in the backlog, and no
/// descriptor is used to refuse them.
private final class AcceptHandler: ChannelDuplexHandler {
    typealias InboundIn = any Channel
    typealias OutboundIn = any Channel

    private let gate: ConnectionGate
    private let loops: PathLoops
    private var isFull = false
    /// The gate calls back when a client has left.
    private var isAwaited = false

    init(gate: ConnectionGate, loops: PathLoops) {
        self.gate = gate
        self.loops = loops
    }

    func read(context: ChannelHandlerContext) {
        guard !self.isFull else { return }
        let eventLoop = context.eventLoop
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: eventLoop)
        let wake: @Sendable () -> Void = {
            eventLoop.execute {
                let (handler, context) = bound.value
                handler.isAwaited = false
                handler.readAgain(context)
            }
        }
        if self.gate.hasRoom(orWake: self.isAwaited ? nil : wake) { return context.read() }
        self.isAwaited = true
        self.isFull = true
        self.makeRoom(context.eventLoop)
    }

    private func readAgain(_ context: ChannelHandlerContext) {
        guard self.isFull else { return }
        self.isFull = false
        context.read()
    }

    private func makeRoom(_ eventLoop: any EventLoop) {
        let gate = self.gate
        guard let clearing = gate.beginClearing(now: .now()) else { return }
        let handler = NIOLoopBound(self, eventLoop: eventLoop)
        self.loops.close(clearing) { count in
            guard gate.cleared(count, now: .now()) else { return }
            // Connections that are busy now may be idle soon. Without this, only the next new client would start a search.
            eventLoop.scheduleTask(in: .milliseconds(250)) { handler.value.makeRoom(eventLoop) }
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Counted here, before another client is accepted. On the loop of the connection it would be too late.
        let client = self.unwrapInboundIn(data)
        let address = client.remoteAddress.flatMap(Listener.address) ?? IPAddress(v4: 0)
        let admission = self.gate.admit(address, now: .now())
        self.makeRoom(context.eventLoop)
        guard case .admitted(let isCounted) = admission else { return client.close(promise: nil) }
        let gate = self.gate
        client.closeFuture.whenComplete { _ in gate.left(address, isCounted: isCounted) }
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // No descriptors are left in spite of the reserve. A pause avoids a busy loop.
        self.isFull = true
        context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(250)) { self.readAgain(context) }
    }
}
