import NIOCore
import Transport
import Vocabulary

/// The pending connects to a server and the requests that wait for their streams. A connect does not belong to one
/// request: the next stream that is free or new goes to the request that has waited longest.
struct PoolConnects {
    /// A pending connect.
    final class Try {
        let number: Int
        fileprivate(set) var race: ConnectionRace?
        /// Whether the server has accepted the connection and the TLS handshake is running.
        fileprivate(set) var isInHandshake = false

        fileprivate init(_ number: Int) { self.number = number }
    }

    /// The waiting requests, oldest first. Requests that have ended are removed later.
    fileprivate(set) var attempts = CircularBuffer<AppRoom.Attempt>(initialCapacity: 4)
    /// Decides when the next connect begins.
    var pace = ConnectPace()
    fileprivate var tries: [Try] = []
    /// When a waiting request last got a stream.
    fileprivate var servedAt = NIODeadline.uptimeNanoseconds(0)
    /// The number of connects that have begun. Each connect begins with the next address of the name.
    fileprivate var turn = 0
    /// Whether a TLS handshake has timed out and no connect has succeeded since.
    fileprivate var isTLSLate = false
    /// Whether the last connect failed because no local port was left.
    fileprivate var lacksPort = false
    /// The number of requests in `attempts` that the gauge of waiting requests includes.
    fileprivate var shown = 0
    fileprivate var isLookDue = false
    /// The interval of the checks for requests and connects that take too long.
    fileprivate static let lookPeriod = TimeAmount.milliseconds(50)
    /// The time for which a request that can go to another server waits for a server to accept connections.
    fileprivate static let patienceWithOthers = TimeAmount.seconds(1)

    /// Whether no request waits.
    @inline(__always) var isEmpty: Bool { self.attempts.isEmpty }

    fileprivate mutating func takeTry(_ number: Int) -> Try? {
        self.tries.firstIndex { $0.number == number }.map { self.tries.remove(at: $0) }
    }
}

/// Makes connections to the server.
extension ServerPool {
    /// Begins a connect for a request. The caller has checked the limit of connections.
    func makeConnection(for client: any StreamWaiter, _ goal: AppRoom.ConnectGoal) {
        client.upstreamTried(self.server)
        let attempt = self.begin(for: client, goal)
        guard !self.server.current.all.isEmpty else { return self.awaitAddresses(for: attempt) }
        self.connect(for: attempt)
    }

    private func connect(for attempt: AppRoom.Attempt) {
        self.connects.attempts.append(attempt)
        self.beginConnects()
    }

    /// Waits for the first addresses of the name for at most the connect timeout, then connects.
    private func awaitAddresses(for attempt: AppRoom.Attempt) {
        let eventLoop = self.loop.eventLoop
        let patience = self.loop.configuration.connectTimeout
        let bound = NIOLoopBound((pool: self, attempt: attempt), eventLoop: eventLoop)
        let resolved = eventLoop.makePromise(of: UpstreamServer.Addresses.self)
        guard self.server.resolveFirst(now: .now(), patience: patience, { resolved.succeed($0) }) else {
            resolved.succeed(.none)
            return self.fail(attempt, .unreachable)
        }
        let timer = eventLoop.scheduleTask(in: patience) { resolved.succeed(.none) }
        resolved.futureResult.whenSuccess { addresses in
            timer.cancel()
            let (pool, attempt) = bound.value
            if addresses.all.isEmpty { pool.fail(attempt, .unreachable) } else { pool.connect(for: attempt) }
        }
    }

    // MARK: Connects

    /// Begins the connects that are due and ends those that no request needs.
    private func beginConnects() {
        let wanted = self.connects.attempts.count
        let now = NIODeadline.now()
        while let number = self.connects.pace.begin(for: wanted, now: now) { self.begin(number) }
        for number in self.connects.pace.endSurplus(for: wanted) { self.connects.takeTry(number)?.race?.cancel() }
        self.lookSoon()
    }

    private func begin(_ number: Int) {
        let addresses = self.server.current
        let attempt = PoolConnects.Try(number)
        self.connects.tries.append(attempt)
        self.connects.turn &+= 1
        attempt.race = self.connectStream(
            addresses.all.begun(at: self.connects.turn),
            within: self.loop.configuration.connectTimeout,
            accepted: {
                attempt.isInHandshake = true
                self.connects.pace.accepted(number, now: .now())
            },
            { self.ended(number, $0, addresses.version) }
        )
    }

    private func ended(_ number: Int, _ result: Result<Connected, Missing>, _ version: UInt32) {
        _ = self.connects.takeTry(number)
        self.connects.lacksPort = false
        let now = NIODeadline.now()
        switch result {
        case .success(let connected):
            self.connects.pace.connected(number, now: now)
            self.serve(connected, version)
        case .failure(.late(let fault)):
            self.connects.pace.failed(number)
            if fault == .tls { self.connects.isTLSLate = true }
        case .failure(.file): self.connects.pace.lacked(number, now: now)
        case .failure(.port):
            self.connects.pace.lacked(number, now: now)
            self.connects.lacksPort = true
            // Connections to another server may use the same local ports.
            if self.connects.attempts.first?.group != nil {
                while let attempt = self.takeFirst() { self.fail(attempt, .unreachable) }
            }
        case .failure(.server(.unreachable)): self.refused(number, now)
        case .failure(.server(let fault)):
            self.connects.pace.failed(number)
            if let attempt = self.takeFirst() { self.fail(attempt, fault) }
        }
        self.beginConnects()
    }

    /// Called when the server refuses connections or cannot be reached. The oldest request goes to another server if
    /// the app has several. Otherwise the requests wait, because the server may be starting.
    private func refused(_ number: Int, _ now: NIODeadline) {
        self.server.refreshSoon(now: now)
        let attempt = self.connects.attempts.first?.group == nil ? nil : self.takeFirst()
        self.connects.pace.refused(number, now: now, pauses: attempt == nil)
        if let attempt { self.fail(attempt, .unreachable) }
    }

    // MARK: Requests

    /// Removes and returns the request that has waited longest. `nil` if none waits.
    private func takeFirst() -> AppRoom.Attempt? {
        while let attempt = self.connects.attempts.popFirst() {
            if attempt.isWanted { return attempt }
            self.giveUp(attempt)
        }
        return nil
    }

    /// Gives the stream of a new connection to the request that has waited longest. Closes the connection if no request
    /// waits: an app that serves one connection at a time would wait for a request on it.
    private func serve(_ connected: Connected, _ version: UInt32) {
        guard let attempt = self.takeFirst() else { return connected.stream.close() }
        let connection = UpstreamConnection(connected.stream, to: connected.address, pool: self)
        guard (try? connected.stream.start(connection)) != nil else { return self.fail(attempt, .unreachable) }
        connection.addressVersion = version
        self.loop.metrics.upstreamConnections(active: 1, idle: 0)
        self.connects.servedAt = .now()
        self.connects.isTLSLate = false
        self.end(attempt, by: connection)
        attempt.client.upstreamReady(connection, isReused: false)
    }

    /// Gives free streams to waiting requests. One request stays waiting for each connect that will soon be ready.
    func serveAttempts() {
        var count = self.connects.attempts.count - self.connects.pace.promising(now: .now())
        while count > 0,
            let place = self.connects.attempts.firstIndex(where: { !$0.isWanted || self.hasExisted(for: $0.client) })
        {
            count -= 1
            let attempt = self.connects.attempts.remove(at: place)
            let free = attempt.isWanted ? self.takeKept(for: attempt.client) : nil
            self.giveUp(attempt)
            guard let free else { continue }
            self.connects.servedAt = .now()
            attempt.client.upstreamReady(free, isReused: true)
        }
        self.beginConnects()
    }

    /// Ends the wait of a request that was removed from `attempts`, and sends it to another server if it can.
    private func fail(_ attempt: AppRoom.Attempt, _ fault: ServerNotice.Fault) {
        self.giveUp(attempt)
        self.server.refreshSoon(now: .now())
        // The cause may be the gateway's own machine.
        if self.loop.isShortOfFiles || self.connects.lacksPort {
            self.group?.disappointed(self, fault)
        } else {
            self.group?.failed(self, fault)
        }
        guard attempt.isWanted else { return }
        if let group = attempt.group {
            attempt.client.upstreamMissed(fault.reason)
            return group.connectElsewhere(for: attempt, otherwise: fault.reason)
        }
        if fault == .unreachable { self.room.notify(.upstreamUnreachable, self.absence) }
        attempt.client.upstreamFailed(fault.reason)
    }

    /// The reason why the server cannot be connected to, for the operator.
    private var absence: String {
        let name = self.server.name
        if self.server.current.all.isEmpty { return "the name in \(name) has no address" }
        if self.connects.pace.isRefused { return "\(name) refuses connections, or nothing leads there" }
        return "\(name) accepts none within timeouts.connect (\(self.loop.configuration.connectTimeout.inWords))"
    }

    // MARK: Several times a second

    private func lookSoon() {
        guard !self.connects.isEmpty, !self.connects.isLookDue else { return }
        self.connects.isLookDue = true
        self.transport.assumeIsolated().scheduleTask(in: PoolConnects.lookPeriod) { self.look() }
    }

    /// Ends requests that have waited too long, and begins more connects if some hang.
    private func look() {
        self.connects.isLookDue = false
        let now = NIODeadline.now()
        var waiting = CircularBuffer<AppRoom.Attempt>()
        var (left, late): ([AppRoom.Attempt], [AppRoom.Attempt]) = ([], [])
        for attempt in self.connects.attempts {
            if !attempt.isWanted {
                left.append(attempt)
            } else if self.hasWaited(attempt, now) {
                late.append(attempt)
            } else {
                waiting.append(attempt)
            }
        }
        self.connects.attempts = waiting
        for attempt in left { self.giveUp(attempt) }
        let isTLS = self.connects.isTLSLate || self.connects.tries.contains { $0.isInHandshake }
        if isTLS, !late.isEmpty { self.room.notify(.upstreamTLS, TLSFault.late.description) }
        for attempt in late { self.fail(attempt, isTLS ? .tls : .unreachable) }
        if self.isAlone, !self.room.isEmpty, !self.isBusy { self.endQueue(now) }
        self.connects.pace.look(now: now)
        self.serveAttempts()
        let change = self.connects.attempts.count - self.connects.shown
        if change != 0 { self.room.showConnecting(change) }
        self.connects.shown += change
    }

    /// Ends queued requests once the server has been unreachable for as long as they may wait. Otherwise each of them
    /// would try to connect in turn.
    private func endQueue(_ now: NIODeadline) {
        let patience = self.connects.pace.patience(upTo: self.loop.configuration.connectTimeout, now: now)
        guard now - self.connects.servedAt >= patience else { return }
        self.room.endUnreachable(since: self.loop.now - patience)
    }

    /// Returns whether a request has waited too long since the server last served a waiting request.
    private func hasWaited(_ attempt: AppRoom.Attempt, _ now: NIODeadline) -> Bool {
        let limit = self.loop.configuration.connectTimeout
        let patience: TimeAmount
        if attempt.hasOthers {
            patience = min(limit, PoolConnects.patienceWithOthers)
        } else if self.isBusy {
            // The server is up, and may accept one connection at a time.
            patience = max(limit, self.loop.configuration.timeouts.queue)
        } else {
            patience = limit
        }
        return now - max(attempt.since, self.connects.servedAt) >= self.connects.pace.patience(upTo: patience, now: now)
    }

    /// Whether the server is serving requests.
    private var isBusy: Bool { self.inFlight > self.connects.attempts.count }
}
