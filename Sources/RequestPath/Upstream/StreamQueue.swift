package import NIOCore

/// The requests that wait for a stream to an app. Each client has a line, oldest request first, and the clients take
/// turns. A client with many requests therefore delays only its own.
///
/// Ended requests and empty lines are skipped. They are removed once they are more than half.
package struct StreamQueue {
    fileprivate struct Place {
        let waiter: any StreamWaiter
        let exchange: UInt64
        let requester: Requester
        /// When the request began to wait.
        let since: NIODeadline

        /// Whether the request still waits.
        var isTaken: Bool { self.waiter.exchangeNumber == self.exchange && self.waiter.isQueued }
    }

    /// The requests of one client.
    fileprivate struct Line {
        /// The requests whose share has not been checked yet, oldest first.
        var places = CircularBuffer<Place>(initialCapacity: 1)
        /// The requests whose client or session had used up its share, by requester. The share is then checked once for
        /// each requester.
        var held: [Requester: CircularBuffer<Place>] = [:]
        /// The number of waiting requests in `places` and `held`.
        var count = 0
    }

    private var lines: [Requester.Client: Line] = [:]
    /// The clients with a line, in the order of their turns.
    private var turns = CircularBuffer<Requester.Client>(initialCapacity: 1)
    /// The number of lines without a waiting request.
    private var emptyLines = 0
    /// The number of requests that wait.
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { self.count == 0 }

    /// Adds a request. It must be queued (`StreamWaiter.isQueued`) until it leaves.
    package mutating func append(_ waiter: any StreamWaiter, now: NIODeadline) {
        let requester = waiter.requester
        let client = requester.client
        switch self.lines[client]?.count {
        case nil: self.turns.append(client)
        case 0?: self.emptyLines -= 1
        case _?: break
        }
        let place = Place(waiter: waiter, exchange: waiter.exchangeNumber, requester: requester, since: now)
        self.lines[client, default: Line()].append(place)
        self.count += 1
    }

    /// Removes the next request: the oldest request of the next client whose share allows another stream.
    ///
    /// - Returns: `nil` if no waiting request may have a stream.
    package mutating func popFirst(by shares: ClientShares) -> (any StreamWaiter)? {
        for _ in 0..<self.turns.count {
            guard let client = self.turns.popFirst(), let count = self.lines[client]?.count else { return nil }
            let waiter = count > 0 ? self.lines[client]?.popFirst(by: shares) : nil
            if count == 0 { self.emptyLines -= 1 }
            if count == 0 || count == 1 && waiter != nil {
                self.lines[client] = nil
            } else {
                self.turns.append(client)
            }
            guard let waiter else { continue }
            self.count -= 1
            return waiter
        }
        return nil
    }

    /// Returns how many waiting requests may have a stream, and the lowest number of streams of one of their clients.
    package func waiting(by shares: ClientShares) -> (count: Int, least: Int) {
        var (count, least) = (0, Int.max)
        for (client, line) in self.lines where line.count > 0 {
            let admitted = line.count { shares.admits($0) }
            guard admitted > 0 else { continue }
            count += admitted
            least = min(least, shares.count(of: client))
        }
        return (count, least)
    }

    /// Returns, for each client that has used up its share, how many waiting requests have a session with share left.
    package func waitingForOwn(by shares: ClientShares) -> [Requester.Client: Int] {
        self.lines.filter { $0.value.count > 0 && !shares.admits($0.key) }
            .mapValues { $0.count { shares.admitsSession(of: $0) } }
            .filter { $0.value > 0 }
    }

    /// Removes the newest request of the client with the most requests, to make room for a client with fewer.
    ///
    /// - Returns: `nil` if no client has more queued requests than the requester's client would have with one more.
    package mutating func popLast(for requester: Requester) -> (any StreamWaiter)? {
        guard self.count > self.lines.count - self.emptyLines else { return nil }
        let own = self.lines[requester.client]?.count ?? 0
        guard let longest = self.lines.max(by: { $0.value.count < $1.value.count }), longest.value.count > own + 1
        else {
            return nil
        }
        let waiter = self.lines[longest.key]?.popLast()
        if waiter != nil { self.count -= 1 }
        return waiter
    }

    /// Removes the requests that have waited since before `limit`.
    package mutating func removeAll(since limit: NIODeadline) -> [any StreamWaiter] {
        var removed: [any StreamWaiter] = []
        for client in self.turns {
            guard let index = self.lines.index(forKey: client) else { continue }
            removed += self.lines.values[index].removeAll(since: limit)
        }
        self.count -= removed.count
        self.removeEmptyLines()
        return removed
    }

    /// Called once when a queued request has ended.
    package mutating func left(_ waiter: any StreamWaiter) {
        self.count -= 1
        guard let index = self.lines.index(forKey: waiter.requester.client) else { return }
        self.lines.values[index].left()
        guard self.lines.values[index].count == 0 else { return }
        self.emptyLines += 1
        if 2 * self.emptyLines > self.lines.count { self.removeEmptyLines() }
    }

    private mutating func removeEmptyLines() {
        let lines = self.lines.filter { $0.value.count > 0 }
        self.lines = lines
        self.turns.removeAll { lines[$0] == nil }
        self.emptyLines = 0
    }
}

extension StreamQueue.Line {
    fileprivate typealias Places = CircularBuffer<StreamQueue.Place>

    fileprivate mutating func append(_ place: StreamQueue.Place) {
        self.places.append(place)
        self.count += 1
    }

    /// Removes the oldest request that may have a stream.
    fileprivate mutating func popFirst(by shares: ClientShares) -> (any StreamWaiter)? {
        // Held requests are older than the requests in `places`.
        while let requester = self.oldestHeld(by: shares) {
            if let waiter = self.popHeld(of: requester, { $0.popFirst() }) { return waiter }
        }
        while let place = self.places.popFirst() {
            guard place.isTaken else { continue }
            if shares.admits(place.requester) { return self.waiter(of: place) }
            self.held[place.requester, default: Places(initialCapacity: 1)].append(place)
        }
        return nil
    }

    /// Returns the requester with the oldest held request, among the requesters whose share allows a stream.
    private func oldestHeld(by shares: ClientShares) -> Requester? {
        var oldest: (requester: Requester, since: NIODeadline)?
        for (requester, places) in self.held where shares.admits(requester) {
            let since = places.first?.since ?? .distantFuture
            if since < oldest?.since ?? .distantFuture || oldest == nil { oldest = (requester, since) }
        }
        return oldest?.requester
    }

    fileprivate mutating func popLast() -> (any StreamWaiter)? {
        while let place = self.places.popLast() { if place.isTaken { return self.waiter(of: place) } }
        while let most = self.held.max(by: { $0.value.count < $1.value.count }) {
            if let waiter = self.popHeld(of: most.key, { $0.popLast() }) { return waiter }
        }
        return nil
    }

    fileprivate mutating func removeAll(since limit: NIODeadline) -> [any StreamWaiter] {
        var removed: [any StreamWaiter] = []
        for requester in self.held.keys {
            while let waiter = self.popHeld(
                of: requester,
                { ($0.first?.since ?? limit) < limit ? $0.popFirst() : nil }
            ) { removed.append(waiter) }
        }
        while let place = self.places.first, !place.isTaken || place.since < limit {
            self.places.removeFirst()
            if place.isTaken { removed.append(self.waiter(of: place)) }
        }
        return removed
    }

    private mutating func popHeld(
        of requester: Requester,
        _ next: (inout Places) -> StreamQueue.Place?
    ) -> (any StreamWaiter)? {
        guard var places = self.held.removeValue(forKey: requester) else { return nil }
        defer { if !places.isEmpty { self.held[requester] = places } }
        while let place = next(&places) { if place.isTaken { return self.waiter(of: place) } }
        return nil
    }

    private mutating func waiter(of place: StreamQueue.Place) -> any StreamWaiter {
        self.count -= 1
        return place.waiter
    }

    /// Returns the number of the client's waiting requests whose requester meets the condition.
    fileprivate func count(_ isMeant: (Requester) -> Bool) -> Int {
        let held = self.held.filter { isMeant($0.key) }.map { $0.value.count { $0.isTaken } }
        return self.places.count { $0.isTaken && isMeant($0.requester) } + held.reduce(0, +)
    }

    /// Records that a request has left.
    fileprivate mutating func left() {
        self.count -= 1
        guard self.held.values.reduce(self.places.count, { $0 + $1.count }) > 2 * self.count else { return }
        self.places.removeAll { !$0.isTaken }
        for (requester, places) in self.held {
            let taken = places.filter(\.isTaken)
            self.held[requester] = taken.isEmpty ? nil : Places(taken)
        }
    }
}
