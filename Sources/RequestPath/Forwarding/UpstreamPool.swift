import NIOCore
import NIOPosix
import NIOSSL
import Sessions
import Settings
import Vocabulary

/// One loop's connections to one app: the idle ones on a stack, so that the warmest is used first.
///
/// ```
///   in use ──▶ resting ──▶ idle ──▶ in use      resting: until the loop's turn ends; for 5 ms after an answer without
///     └───────────┴──────────┴────▶ closed               content, or one that came before the request was whole
/// ```
/// An app may send more than its answer: two answers, or a body where there is none. What comes while a connection rests or
/// idles closes it, so that the next user does not get it.
final class UpstreamPool {
    /// For whom a connection is kept.
    enum Owner: Equatable {
        /// For everybody.
        case anybody
        /// For requests without a session.
        case nobody
        case session(RecordKey)

        /// For requests of this session, or of none.
        init(_ session: CachedSession?) {
            self = session.map { .session($0.key) } ?? .nobody
        }
    }

    /// How long a connection rests whose answer may well have something behind it. An app that sends a body to `HEAD` sends it
    /// at once, in its next write.
    private static let longRest = TimeAmount.milliseconds(5)

    let target: UpstreamTarget
    unowned let loop: PathLoop
    private let index: Int
    /// Each connection serves one session only.
    let isStrict: Bool
    private(set) var open = 0
    private var idle: [UpstreamConnection] = []
    /// Given back in this turn.
    private var ending: [UpstreamConnection] = []
    /// Given back as doubtful.
    private var resting: [UpstreamConnection] = []
    /// Where the next connect starts in the list of addresses.
    private var nextAddress = 0
    private var isRetired = false

    /// - Parameter index: the app's place in the configuration.
    init(target: UpstreamTarget, index: Int, loop: PathLoop) {
        self.target = target
        self.index = index
        self.isStrict = target.settings.reuse == .strict
        self.loop = loop
    }

    /// A connection that may serve this session now, or requests without one; nil when there is none.
    @inline(__always)
    func takeIdle(for session: CachedSession?) -> UpstreamConnection? {
        let connection = self.isStrict ? self.takeOwn(Owner(session)) : self.idle.popLast()
        if connection != nil { self.loop.metrics.upstreamConnections(active: 1, idle: -1) }
        return connection
    }

    private func takeOwn(_ owner: Owner) -> UpstreamConnection? {
        let index = self.idle.lastIndex { $0.owner == owner || $0.owner == .anybody }
        return index.map { self.idle.remove(at: $0) }
    }

    /// Keeps a connection whose exchange ended cleanly, or that was not used.
    ///
    /// - Parameter isDoubtful: it rests for longer.
    @inline(__always)
    func giveBack(_ connection: UpstreamConnection, isDoubtful: Bool = false) {
        guard !self.isRetired, connection.isUsable else { return connection.close() }
        if isDoubtful {
            self.resting.append(connection)
            nonisolated(unsafe) let pool = self
            nonisolated(unsafe) let rested = connection
            self.loop.eventLoop.scheduleTask(in: Self.longRest) { pool.rested(rested) }
        } else {
            if self.ending.isEmpty { self.loop.tellTurnEnd(self) }
            self.ending.append(connection)
        }
    }

    /// The turn has ended in which the connections in `ending` were given back.
    func turnEnded() {
        for connection in self.ending { self.becomeIdle(connection) }
        self.ending.removeAll(keepingCapacity: true)
    }

    private func rested(_ connection: UpstreamConnection) {
        guard let index = self.resting.firstIndex(where: { $0 === connection }) else { return }
        self.resting.remove(at: index)
        self.becomeIdle(connection)
    }

    @inline(__always)
    private func becomeIdle(_ connection: UpstreamConnection) {
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
            self.ending.removeAll { $0 === connection }
            self.resting.removeAll { $0 === connection }
            self.loop.metrics.upstreamConnections(active: -1, idle: 0)
        }
    }

    /// The app sent something before a request had left.
    func countUnasked() {
        self.loop.metrics.upstreamUnasked(self.index)
    }

    /// Closes connections that have been idle too long: the oldest lie at the bottom of the stack.
    func sweep() {
        let limit = self.loop.configuration.timeouts.upstreamKeepAlive
        while let oldest = self.idle.first, self.loop.now - oldest.idleSince > limit { self.closeOldest() }
    }

    private func closeOldest() {
        let oldest = self.idle.removeFirst()
        self.loop.metrics.upstreamConnections(active: 1, idle: -1)
        oldest.close()
    }

    /// Closes a connection that carries nothing, in favour of one that will; false when there is none.
    private func makeRoom() -> Bool {
        if !self.idle.isEmpty {
            self.closeOldest()
        } else if let connection = self.resting.first ?? self.ending.first {
            connection.close()
        } else {
            return false
        }
        return true
    }

    /// A reload has put another pool in this one's place: exchanges under way end here, nothing is kept.
    func retire() {
        self.isRetired = true
        while !self.idle.isEmpty { self.closeOldest() }
        for connection in self.ending + self.resting { connection.close() }
    }

    /// Connects for `client`, trying every address of the app in turn.
    func connect(for client: DownstreamConnection) {
        guard self.open < self.target.settings.maxConnections || self.makeRoom() else {
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
