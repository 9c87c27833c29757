import NIOCore
import Observability
import Settings
import Vocabulary

/// An app's streams on one event loop: how many are in use, whose requests use them, and which requests wait for one.
/// Belongs to the `ServerGroup` of the app.
final class AppRoom {
    /// A request's wait for a new connection. The request may end before the connection is ready.
    final class Attempt {
        let client: any StreamWaiter
        /// The number of the exchange that needs the connection.
        let exchange: UInt64
        /// The group that can send the request to another server. `nil` if the app has one server.
        let group: ServerGroup?
        /// When the first connect for the request began, at any server.
        let begun: NIODeadline
        /// When this wait began.
        let since = NIODeadline.now()
        /// Whether another server remains that has not failed for the request.
        let hasOthers: Bool
        /// The servers that had failed for the request before its first connect, as bits.
        let failedBefore: UInt64
        fileprivate let requester: Requester
        fileprivate var seat: ClientShares.Seat?
        fileprivate var index = 0

        fileprivate init(_ client: any StreamWaiter, _ goal: ConnectGoal) {
            self.client = client
            self.exchange = client.exchangeNumber
            self.requester = client.requester
            self.group = goal.group
            self.hasOthers = goal.hasOthers
            self.failedBefore = goal.failedBefore
            self.begun = goal.begun ?? self.since
        }

        /// Whether the request still waits for this connect.
        var isWanted: Bool { self.client.exchangeNumber == self.exchange && self.client.isConnecting }
    }

    /// The servers that remain for a request if a connect fails.
    struct ConnectGoal {
        /// The group that can send the request to another server. `nil` if the app has one server.
        var group: ServerGroup?
        /// Whether another server remains that has not failed for the request.
        var hasOthers = false
        /// The servers that had failed for the request before its first connect, as bits.
        var failedBefore: UInt64 = 0
        /// When the first connect for the request began. `nil` if it begins now.
        var begun: NIODeadline?
    }

    /// The maximum number of requests that one sweep ends to serve other clients. As many again may end to serve their
    /// own clients' waiting requests.
    private static let maxEnded = 64

    private let loop: PathLoop
    private var target: UpstreamTarget
    /// The app's index in the configuration.
    private var index: Int
    private let gauge: GaugeID
    private var shares: ClientShares
    private var attempts: [Attempt] = []
    private var queue = StreamQueue()
    /// The number of streams in use below which no client can exceed its share.
    private var threshold: Int
    /// The number of streams in use plus the number of connects for requests, including those at servers that a reload
    /// has removed.
    private var inFlight = 0

    init(_ target: UpstreamTarget, index: Int, loop: PathLoop) {
        self.target = target
        self.index = index
        self.loop = loop
        self.gauge = loop.configuration.metrics.upstreamQueue(index)
        self.shares = ClientShares(target.settings.shareRule)
        self.threshold = target.settings.shareRule.threshold
    }

    /// Adopts changed settings or a changed index of the app. Shares are counted anew.
    func adopt(_ target: UpstreamTarget, index: Int) {
        self.target = target
        self.index = index
        self.shares.stop(target.settings.shareRule)
        self.threshold = target.settings.shareRule.threshold
    }

    /// Adopts a changed index of the app in the configuration.
    func moved(to index: Int) { self.index = index }

    // MARK: Shares

    /// Whether the streams of each client and session are being counted.
    @inline(__always) var isCounting: Bool { self.shares.isCounting }

    /// Whether the share of the request's client and session allows another stream.
    @inline(__always)
    func admits(_ client: any StreamWaiter) -> Bool {
        self.inFlight < self.threshold || self.hasShare(client)
    }

    @inline(never)
    private func hasShare(_ client: any StreamWaiter) -> Bool {
        if !self.shares.isCounting { self.beginCounting() }
        return self.shares.admits(client.requester)
    }

    private func beginCounting() {
        self.shares.begin()
        for attempt in self.attempts { attempt.seat = self.shares.take(attempt.requester) }
        self.loop.eachRequest { request in
            guard let stream = request.upstream, stream.room == ObjectIdentifier(self) else { return }
            stream.seat = self.shares.take(request.requester)
        }
    }

    /// Counts a request that gets a stream or begins a connect.
    ///
    /// - Returns: The request's seat. `nil` while shares are not counted.
    @inline(__always)
    func take(for requester: @autoclosure () -> Requester) -> ClientShares.Seat? {
        self.inFlight &+= 1
        return self.shares.isCounting ? self.shares.take(requester()) : nil
    }

    /// Stops counting a request that has left its stream or its connect.
    @inline(__always)
    func giveBack(_ seat: ClientShares.Seat?) {
        self.inFlight &-= 1
        if let seat { self.shares.giveBack(seat) }
    }

    /// Begins an attempt to connect for a request.
    func begin(for client: any StreamWaiter, _ goal: ConnectGoal) -> Attempt {
        let attempt = Attempt(client, goal)
        attempt.seat = self.take(for: attempt.requester)
        attempt.index = self.attempts.count
        self.attempts.append(attempt)
        return attempt
    }

    /// Ends the attempt and returns its seat. The caller hands the seat to a stream or gives it back.
    func end(_ attempt: Attempt) -> ClientShares.Seat? {
        if attempt.index < self.attempts.count, self.attempts[attempt.index] === attempt {
            let last = self.attempts.removeLast()
            if last !== attempt {
                self.attempts[attempt.index] = last
                last.index = attempt.index
            }
        }
        return attempt.seat.take()
    }

    // MARK: The queue

    var isEmpty: Bool { self.queue.isEmpty }

    /// Queues a request until a stream is free. A full queue rejects a request of the client with the most queued
    /// requests, or this request.
    ///
    /// - Parameter returned: The number of streams that become free in this turn. The queue accepts at least as many
    ///   requests.
    func enqueue(_ client: any StreamWaiter, returned: Int) {
        let requester = client.requester
        if !self.shares.admits(requester) { self.reportShare(requester) }
        var refused: (any StreamWaiter)?
        if self.queue.count >= max(self.target.settings.maxQueue, returned) {
            refused = self.queue.popLast(for: requester)
            guard refused != nil else { return client.upstreamFailed(.gatewayOverloaded) }
            self.loop.metrics.upstreamQueue(self.gauge, -1)
        }
        self.queue.append(client, now: self.loop.now)
        self.loop.metrics.upstreamQueue(self.gauge, 1)
        client.upstreamBusy()
        // Called last: the refused client's next request may come during the call, and must find the queue full.
        refused?.upstreamFree()
        refused?.upstreamFailed(.gatewayOverloaded)
    }

    /// Changes the gauge of waiting requests by the change in the number of requests that wait for a connect.
    func showConnecting(_ change: Int) { self.loop.metrics.upstreamQueue(self.gauge, Int64(change)) }

    /// Removes and returns the queued request that gets the next stream. `nil` if no request may have a stream.
    func next() -> (any StreamWaiter)? {
        guard !self.queue.isEmpty, let client = self.queue.popFirst(by: self.shares) else { return nil }
        self.loop.metrics.upstreamQueue(self.gauge, -1)
        client.upstreamFree()
        return client
    }

    /// Ends the requests that have waited since before `limit`, because no connection to the app can be made.
    func endUnreachable(since limit: NIODeadline) {
        for client in self.queue.removeAll(since: limit) {
            self.loop.metrics.upstreamQueue(self.gauge, -1)
            client.upstreamFree()
            client.upstreamFailed(.upstreamUnreachable)
        }
    }

    /// Called when a queued request has ended.
    func left(_ waiter: any StreamWaiter) {
        self.queue.left(waiter)
        self.loop.metrics.upstreamQueue(self.gauge, -1)
    }

    // MARK: Four times a second

    /// Ends requests of stalled clients if requests wait. Stops counting shares when few requests are in flight.
    ///
    /// - Parameter hasRoom: Whether the app has a stream for another request.
    func sweep(hasRoom: Bool) {
        guard self.shares.isCounting else { return }
        if self.queue.isEmpty {
            if self.inFlight < (self.threshold + 1) / 2 { self.shares.stop() }
        } else {
            let waiting = hasRoom ? (count: 0, least: 0) : self.queue.waiting(by: self.shares)
            let ofFull = self.queue.waitingForOwn(by: self.shares)
            if waiting.count > 0 || !ofFull.isEmpty { self.endStalled(waiting, ofFull) }
        }
    }

    /// - Parameters:
    ///   - waiting: The result of `StreamQueue.waiting(by:)`, or zeros if the app has a free stream.
    ///   - ofFull: The number of waiting requests of each client that has used up its share.
    private func endStalled(_ waiting: (count: Int, least: Int), _ ofFull: [Requester.Client: Int]) {
        var requests: [any LoopRequest] = []
        var candidates: [StallChoice.Candidate] = []
        self.loop.eachRequest { request in
            guard let stream = request.upstream, stream.room == ObjectIdentifier(self),
                let stall = request.stall(now: self.loop.now)
            else { return }
            requests.append(request)
            candidates.append(StallChoice.Candidate(client: request.requester.client, stall: stall))
        }
        guard !candidates.isEmpty else { return }
        let forOthers = StallChoice.choose(
            min(waiting.count, Self.maxEnded),
            of: candidates,
            limit: self.shares.rule.limit,
            least: waiting.least,
            held: { self.shares.count(of: $0) }
        )
        let forOwn = StallChoice.chooseForOwn(Self.maxEnded, of: candidates, waiting: ofFull)
        for index in Set(forOthers).union(forOwn) {
            self.reportEnd(requests[index].requester, candidates[index].stall)
            self.loop.metrics.upstreamStalled(self.index)
            requests[index].endStalled()
        }
    }

    // MARK: The log

    private func reportShare(_ requester: Requester) {
        let ofAddress = requester.address != nil && !self.shares.admits(requester.client)
        self.loop.metrics.upstreamShare(self.index, ofSession: !ofAddress)
        let count = ofAddress ? self.shares.count(of: requester.client) : self.shares.count(ofSession: requester)
        self.notify(
            .gatewayOverloaded,
            "\(ofAddress ? "" : "a session at ")\(Self.name(requester)) has \(count) of \(self.shares.rule.limit) connections in use, its share; its further requests wait"
        )
    }

    private func reportEnd(_ requester: Requester, _ stall: ClientStall) {
        let seconds = max(0, (self.loop.now - stall.since).nanoseconds / 1_000_000_000)
        let count = self.shares.count(of: requester.client)
        // A client that its proxy does not identify has no count.
        let held = count > 0 ? ", which has \(count) of \(self.shares.rule.limit) connections in use," : ""
        self.notify(
            .clientStalled,
            "\(Self.name(requester))\(held) has neither read nor sent for \(seconds) s in one of its requests, which is ended because others wait"
        )
    }

    private static func name(_ requester: Requester) -> String {
        requester.address.map { "\($0)" } ?? "a client behind a trusted proxy"
    }

    /// Reports a problem with the app to the operator, at most once a minute for each reason.
    ///
    /// - Parameter field: The name of the header field at fault.
    func notify(_ reason: Reason, _ sentence: @autoclosure () -> String, field: () -> String? = { nil }) {
        guard let notify = self.loop.onUpstreamNotice, self.target.mayReport(reason, now: self.loop.now) else { return }
        notify(
            UpstreamNotice(upstream: self.target.settings.name, reason: reason, sentence: sentence(), field: field())
        )
    }

    /// Counts in the metrics that the app sent bytes before a request.
    func countUnasked() { self.loop.metrics.upstreamUnasked(self.index) }
}

extension UpstreamSettings {
    /// The share of an event loop's streams that one client may use.
    var shareRule: ShareRule {
        ShareRule(of: self.maxConnections * UpstreamConnection.maxStreams, percent: self.clientShare)
    }
}
