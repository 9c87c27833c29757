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
final class CallConnections {
    /// Connections to one server. More calls wait (`WaitingCalls`), so that a slow provider is not given ever more.
    private static let limit = 8

    private struct Place {
        var idle: [CallConnection] = []
        /// Also those that are being opened, and the idle ones.
        var openCount = 0
        var waiting = WaitingCalls(limit: CallConnections.limit)
    }

    private let idleTime: TimeAmount
    private var places: [CallServer: Place] = [:]
    /// Those that have begun and are not over.
    private var exchanges: [ObjectIdentifier: CallExchange] = [:]
    private var isShutDown = false

    /// - Parameter idleTime: How long a connection waits for another call.
    init(idleTime: TimeAmount) {
        self.idleTime = idleTime
    }

    /// Sends a request as soon as there is a connection for it.
    func begin(_ exchange: CallExchange) {
        guard !self.isShutDown else { return exchange.fail(CallClientEnded()) }
        guard !exchange.isOver else { return }
        let id = ObjectIdentifier(exchange)
        self.exchanges[id] = exchange
        exchange.start { [unowned self, unowned exchange] in
            self.exchanges[id] = nil
            self.ended(exchange)
        }
        self.places[exchange.server, default: Place()].waiting.append(exchange)
        self.serve(exchange.server)
    }

    /// Counts that a call is over. Its connection may be busy for longer, and others need not wait for that.
    private func ended(_ exchange: CallExchange) {
        let server = exchange.server
        self.places[server]?.waiting.giveBack(exchange)
        guard self.places[server]?.waiting.isEmpty == false else { return }
        exchange.answer.eventLoop.assumeIsolated().execute { self.serve(server) }
    }

    /// Sends a request once more, on a new connection, whatever became of the first time.
    func beginAgain(_ exchange: CallExchange) {
        guard !self.isShutDown, !exchange.isOver else { return exchange.fail(CallClientEnded()) }
        exchange.startAgain()
        self.places[exchange.server, default: Place()].waiting.prepend(exchange)
        self.serve(exchange.server)
    }

    /// Sends the calls that wait, as far as there are connections for them.
    private func serve(_ server: CallServer) {
        while !self.isShutDown, let exchange = self.places[server]?.waiting.popFirst() {
            if exchange.takesKeptConnection, let connection = self.idle(to: server) {
                self.places[server]?.waiting.take(exchange)
                connection.send(exchange)
            } else if self.places[server, default: Place()].openCount < Self.limit {
                self.places[server]?.waiting.take(exchange)
                self.open(for: exchange)
            } else {
                self.places[server]?.waiting.prepend(exchange)
                // An idle one makes room, and this goes on when it has closed.
                let idle = self.places[server]?.idle.first
                idle?.close()
                return
            }
        }
        if let place = self.places[server], place.openCount == 0, place.waiting.isUnused { self.places[server] = nil }
    }

    /// An idle connection that can be used.
    private func idle(to server: CallServer) -> CallConnection? {
        while let connection = self.places[server]?.idle.popLast() {
            if connection.isUsable { return connection }
            connection.close()
        }
        return nil
    }

    /// Opens a connection for a call.
    private func open(for exchange: CallExchange) {
        self.places[exchange.server, default: Place()].openCount += 1
        CallConnection(to: exchange.server, of: self).open(for: exchange)
    }

    /// Takes back a connection that can be used again.
    func free(_ connection: CallConnection) {
        connection.rest(for: self.idleTime)
        self.places[connection.server]?.idle.append(connection)
        self.serve(connection.server)
    }

    /// A connection has closed, or could not be opened. Called once for each.
    func closed(_ connection: CallConnection) {
        guard self.places[connection.server] != nil else { return }
        self.places[connection.server]?.openCount -= 1
        self.places[connection.server]?.idle.removeAll { $0 === connection }
        self.serve(connection.server)
    }

    /// Fails all calls and closes all connections.
    func shutDown() {
        self.isShutDown = true
        for exchange in self.exchanges.values { exchange.fail(CallClientEnded()) }
        for connection in self.places.values.flatMap(\.idle) { connection.close() }
    }
}
