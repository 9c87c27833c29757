import NIOCore

/// The connections to providers, and the calls that wait for one. Confined to its loop.
///
/// ```
/// begin ─▶ an idle connection, a new one, or wait for one ─▶ sent ─▶ answered ─▶ the connection is idle for a while
/// ```
///
/// A server may close an idle connection while a call is being sent (RFC 9112 9.3.1). Only repeatable calls use idle
/// connections. If one is lost, the call is retried once on a new connection. If any other call fails,
/// `CallError.isUnsent` says whether its code or refresh token may have been used.
final class CallConnections {
    /// The maximum number of connections to one server. Other calls wait.
    private static let limit = 8

    private struct Place {
        var idle: [CallConnection] = []
        /// The number of connections, including idle ones and those that are being opened.
        var openCount = 0
        var waiting = WaitingCalls(limit: CallConnections.limit)
    }

    private let idleTime: TimeAmount
    private var places: [CallServer: Place] = [:]
    /// All calls that have not ended.
    private var exchanges: [ObjectIdentifier: CallExchange] = [:]
    private var isShutDown = false

    /// - Parameter idleTime: The idle timeout of a connection.
    init(idleTime: TimeAmount) {
        self.idleTime = idleTime
    }

    /// Sends a call as soon as a connection is available.
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

    /// Records the end of a call. Waiting calls may begin even if its connection is still busy.
    private func ended(_ exchange: CallExchange) {
        let server = exchange.server
        self.places[server]?.waiting.giveBack(exchange)
        guard self.places[server]?.waiting.isEmpty == false else { return }
        exchange.answer.eventLoop.assumeIsolated().execute { self.serve(server) }
    }

    /// Retries a call on a new connection, because its idle connection was lost.
    func beginAgain(_ exchange: CallExchange) {
        guard !self.isShutDown, !exchange.isOver else { return exchange.fail(CallClientEnded()) }
        exchange.startAgain()
        self.places[exchange.server, default: Place()].waiting.prepend(exchange)
        self.serve(exchange.server)
    }

    /// Sends waiting calls while connections are available.
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
                // A new connection needs the room of an idle one. `closed` calls this function again.
                let idle = self.places[server]?.idle.first
                idle?.close()
                return
            }
        }
        if let place = self.places[server], place.openCount == 0, place.waiting.isUnused { self.places[server] = nil }
    }

    /// Returns a usable idle connection. Closes unusable ones.
    private func idle(to server: CallServer) -> CallConnection? {
        while let connection = self.places[server]?.idle.popLast() {
            if connection.isUsable { return connection }
            connection.close()
        }
        return nil
    }

    private func open(for exchange: CallExchange) {
        self.places[exchange.server, default: Place()].openCount += 1
        CallConnection(to: exchange.server, of: self).open(for: exchange)
    }

    /// Takes back a connection after a call.
    func free(_ connection: CallConnection) {
        connection.rest(for: self.idleTime)
        self.places[connection.server]?.idle.append(connection)
        self.serve(connection.server)
    }

    /// Records that a connection has ended or could not be opened. Called once for each connection.
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
