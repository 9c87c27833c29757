import NIOCore
import NIOPosix
import NIOSSL
import Settings
import Vocabulary

/// One loop's connections to one app: the idle ones on a stack, so that the warmest is used first.
final class UpstreamPool {
    let target: UpstreamTarget
    unowned let loop: PathLoop
    private(set) var open = 0
    private var idle: [UpstreamConnection] = []
    /// Where the next connect starts in the list of addresses.
    private var nextAddress = 0
    private var isRetired = false

    init(target: UpstreamTarget, loop: PathLoop) {
        self.target = target
        self.loop = loop
    }

    var idleCount: Int { self.idle.count }

    /// A connection that is ready now, or nil.
    @inline(__always)
    func takeIdle() -> UpstreamConnection? {
        guard let connection = self.idle.popLast() else { return nil }
        self.loop.metrics.upstreamConnections(active: 1, idle: -1)
        return connection
    }

    /// Keeps a connection whose exchange ended cleanly.
    @inline(__always)
    func giveBack(_ connection: UpstreamConnection) {
        guard !self.isRetired, connection.isUsable else { return connection.close() }
        connection.idleSince = self.loop.now
        self.idle.append(connection)
        self.loop.metrics.upstreamConnections(active: -1, idle: 1)
    }

    /// The connection has closed.
    func remove(_ connection: UpstreamConnection) {
        self.open -= 1
        if let index = self.idle.lastIndex(where: { $0 === connection }) {
            self.idle.remove(at: index)
            self.loop.metrics.upstreamConnections(active: 0, idle: -1)
        } else {
            self.loop.metrics.upstreamConnections(active: -1, idle: 0)
        }
    }

    /// Closes connections that have been idle too long: the oldest lie at the bottom of the stack.
    func sweep() {
        let limit = self.loop.configuration.timeouts.upstreamKeepAlive
        while let oldest = self.idle.first, self.loop.now - oldest.idleSince > limit {
            self.idle.removeFirst()
            self.loop.metrics.upstreamConnections(active: 1, idle: -1)
            oldest.close()
        }
    }

    /// A reload has put another pool in this one's place: exchanges under way end here, nothing is kept.
    func retire() {
        self.isRetired = true
        self.closeIdle()
    }

    private func closeIdle() {
        let connections = self.idle
        self.idle.removeAll()
        self.loop.metrics.upstreamConnections(active: Int64(connections.count), idle: -Int64(connections.count))
        for connection in connections { connection.close() }
    }

    /// Connects for `client`, trying every address of the app in turn.
    func connect(for client: DownstreamConnection) {
        guard self.open < self.target.settings.maxConnections else {
            return client.upstreamFailed(.gatewayOverloaded)
        }
        self.open += 1
        let addresses = self.target.currentAddresses
        guard !addresses.isEmpty else {
            // The name was never resolved: wait for it once, off this loop.
            nonisolated(unsafe) let pool = self
            nonisolated(unsafe) let waiting = client
            let exchange = client.exchangeNumber
            let eventLoop = self.loop.eventLoop
            self.target.refresh {
                eventLoop.execute {
                    pool.attempt(pool.target.currentAddresses, 0, waiting, exchange)
                }
            }
            return
        }
        self.nextAddress = (self.nextAddress + 1) % addresses.count
        let rotated =
            addresses.count == 1 ? addresses : Array(addresses[self.nextAddress...] + addresses[..<self.nextAddress])
        self.attempt(rotated, 0, client, client.exchangeNumber)
    }

    private func attempt(
        _ addresses: [SocketAddress],
        _ index: Int,
        _ client: DownstreamConnection,
        _ exchange: UInt64
    ) {
        guard client.exchangeNumber == exchange, client.isConnecting else {
            self.open -= 1
            return
        }
        guard index < addresses.count else {
            self.open -= 1
            self.target.refresh()
            return client.upstreamFailed(.upstreamUnreachable)
        }
        let connection = UpstreamConnection(pool: self)
        nonisolated(unsafe) let handler = connection
        nonisolated(unsafe) let pool = self
        nonisolated(unsafe) let waiting = client
        let target = self.target
        ClientBootstrap(group: self.loop.eventLoop)
            .connectTimeout(.nanoseconds(self.loop.configuration.connectTimeout.nanoseconds))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls = target.tls {
                        try channel.pipeline.syncOperations.addHandler(
                            NIOSSLClientHandler(context: tls, serverHostname: target.serverName)
                        )
                    }
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .connect(to: addresses[index])
            .whenComplete { result in
                switch result {
                case .success:
                    pool.loop.metrics.upstreamConnections(active: 1, idle: 0)
                    guard waiting.exchangeNumber == exchange, waiting.isConnecting else {
                        // The client has left or been answered: the connection serves the next one.
                        return pool.giveBack(handler)
                    }
                    waiting.upstreamConnected(handler)
                case .failure:
                    pool.attempt(addresses, index + 1, waiting, exchange)
                }
            }
    }
}

extension UpstreamTarget {
    /// The name for SNI and verification; nil for an address, which SNI cannot carry (RFC 6066 3).
    var serverName: String? {
        if let name = self.settings.serverName { return name }
        let host = self.settings.host
        return (try? SocketAddress(ipAddress: host, port: 1)) == nil && !host.hasPrefix("[") ? host : nil
    }
}
