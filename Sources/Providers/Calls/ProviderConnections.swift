import DequeModule
import NIOCore

/// The connections to providers, and the calls that wait for one. Used on its loop.
///
/// ```
/// begin ─▶ an idle connection, a new one, or wait for one ─▶ sent ─▶ answered ─▶ the connection is idle for a while
/// ```
///
/// A server may close an idle connection while a call is on its way to it (RFC 9112 9.3.1). So only calls that may be sent
/// twice use one, and are sent again, once, on a new one. All others get a new connection: if that fails, it is known
/// whether a code or a refresh token may have been used.
final class ProviderConnections {
    /// Connections to one server. More calls wait, so that a slow provider is not given ever more.
    private static let limit = 8

    private struct Place {
        var idle: [ProviderConnection] = []
        /// Also those that are being opened, and the idle ones.
        var openCount = 0
        var waiting: Deque<ProviderExchange> = []
    }

    private let idleTime: TimeAmount
    private var places: [ProviderServer: Place] = [:]
    /// Those that have begun and are not over.
    private var exchanges: [ObjectIdentifier: ProviderExchange] = [:]
    private var isShutDown = false

    /// - Parameter idleTime: How long a connection waits for another call.
    init(idleTime: TimeAmount) {
        self.idleTime = idleTime
    }

    /// Sends a request as soon as there is a connection for it.
    func begin(_ exchange: ProviderExchange) {
        guard !self.isShutDown else { return exchange.fail(ProviderClientEnded()) }
        guard !exchange.isOver else { return }
        let id = ObjectIdentifier(exchange)
        self.exchanges[id] = exchange
        exchange.start { [unowned self] in self.exchanges[id] = nil }
        while exchange.takesKeptConnection, let connection = self.places[exchange.server]?.idle.popLast() {
            if connection.isUsable { return connection.send(exchange) }
            connection.close()
        }
        self.connect(exchange)
    }

    /// Sends a request once more, on a new connection, whatever became of the first time.
    func beginAgain(_ exchange: ProviderExchange) {
        guard !self.isShutDown, !exchange.isOver else { return exchange.fail(ProviderClientEnded()) }
        exchange.startAgain()
        self.connect(exchange)
    }

    /// Opens a connection for a call as soon as there is room for one.
    private func connect(_ exchange: ProviderExchange) {
        guard self.places[exchange.server, default: Place()].openCount >= Self.limit else {
            return self.open(for: exchange)
        }
        self.places[exchange.server]?.waiting.append(exchange)
        // An idle one makes room.
        let idle = self.places[exchange.server]?.idle.first
        idle?.close()
    }

    /// Opens a connection for a call.
    private func open(for exchange: ProviderExchange) {
        self.places[exchange.server, default: Place()].openCount += 1
        ProviderConnection(to: exchange.server, of: self).open(for: exchange)
    }

    /// Takes back a connection that can be used again.
    func free(_ connection: ProviderConnection) {
        while let next = self.places[connection.server]?.waiting.popFirst() {
            if next.isOver { continue }
            if next.takesKeptConnection { return connection.send(next) }
            // It makes room for a new one.
            self.places[connection.server]?.waiting.prepend(next)
            return connection.close()
        }
        connection.rest(for: self.idleTime)
        self.places[connection.server]?.idle.append(connection)
    }

    /// A connection has closed, or could not be opened. Called once for each.
    func closed(_ connection: ProviderConnection) {
        guard var place = self.places[connection.server] else { return }
        place.openCount -= 1
        place.idle.removeAll { $0 === connection }
        var next: ProviderExchange?
        while !self.isShutDown, next == nil, let exchange = place.waiting.popFirst() {
            if !exchange.isOver { next = exchange }
        }
        self.places[connection.server] = place.openCount == 0 && next == nil ? nil : place
        if let next { self.open(for: next) }
    }

    /// Fails all calls and closes all connections.
    func shutDown() {
        self.isShutDown = true
        for exchange in self.exchanges.values { exchange.fail(ProviderClientEnded()) }
        for connection in self.places.values.flatMap(\.idle) { connection.close() }
    }
}
