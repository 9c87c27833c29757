package import NIOCore

/// The requests that wait for a connection to an app. Clients take turns: each has a line of its own, whose oldest request
/// is first. So a client with many requests delays only its own.
///
/// The place of a request that has ended is not searched for: it is passed over when its turn comes, and removed with
/// all such places when they are more than half of its line.
package struct ConnectionQueue {
    fileprivate struct Place {
        let waiter: any ConnectionWaiter
        let exchange: UInt64
        let requester: Requester
        /// Since when it waits.
        let since: NIODeadline

        /// Whether the request still waits.
        var isTaken: Bool { self.waiter.exchangeNumber == self.exchange && self.waiter.isQueued }
    }

    /// The requests of one client, oldest first.
    fileprivate struct Line {
        var places = CircularBuffer<Place>(initialCapacity: 1)
        /// Those that wait.
        var count = 0
    }

    private var lines: [Requester.Client: Line] = [:]
    /// The clients with a line, in the order of their turns.
    private var turns = CircularBuffer<Requester.Client>(initialCapacity: 1)
    /// The number of requests that wait.
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { self.count == 0 }

    /// Adds a request, which must be queued (`ConnectionWaiter.isQueued`) until it leaves.
    package mutating func append(_ waiter: any ConnectionWaiter, now: NIODeadline) {
        let requester = waiter.requester
        let client = requester.client
        let place = Place(waiter: waiter, exchange: waiter.exchangeNumber, requester: requester, since: now)
        if self.lines[client] == nil { self.turns.append(client) }
        self.lines[client, default: Line()].places.append(place)
        self.lines[client]?.count += 1
        self.count += 1
    }

    /// Removes the request whose turn it is: the oldest of the next client that may have another connection.
    ///
    /// - Returns: `nil` if nobody waits, or nobody who waits may have one.
    package mutating func popFirst(by shares: ClientShares) -> (any ConnectionWaiter)? {
        for _ in 0..<self.turns.count {
            guard let client = self.turns.popFirst() else { return nil }
            let waiter = shares.admits(client) ? self.lines[client]?.popFirst(by: shares) : nil
            if waiter != nil { self.count -= 1 }
            if let line = self.lines[client], line.count > 0 {
                self.turns.append(client)
            } else {
                self.lines[client] = nil
            }
            if let waiter { return waiter }
        }
        return nil
    }

    /// How many requests wait whose clients may have another connection, and how many connections the client of these has
    /// that has fewest.
    package func waiting(by shares: ClientShares) -> (count: Int, least: Int) {
        var (count, least) = (0, Int.max)
        for (client, line) in self.lines where line.count > 0 && shares.admits(client) {
            count += line.count
            least = min(least, shares.count(of: client))
        }
        return (count, least)
    }

    /// Removes the newest request of the client with most, so that a full queue has room for one of a client with fewer.
    ///
    /// - Returns: `nil` if no client has more requests than the requester's has with another one.
    package mutating func popLast(for requester: Requester) -> (any ConnectionWaiter)? {
        guard self.count > self.lines.count else { return nil }
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
    package mutating func removeAll(since limit: NIODeadline) -> [any ConnectionWaiter] {
        var removed: [any ConnectionWaiter] = []
        for client in self.turns {
            guard var line = self.lines.removeValue(forKey: client) else { continue }
            while let place = line.places.first, !place.isTaken || place.since < limit {
                line.places.removeFirst()
                guard place.isTaken else { continue }
                line.count -= 1
                removed.append(place.waiter)
            }
            if line.count > 0 { self.lines[client] = line }
        }
        self.count -= removed.count
        self.turns.removeAll { self.lines[$0] == nil }
        return removed
    }

    /// Called once when a request that has not been removed is not queued any more.
    package mutating func left(_ waiter: any ConnectionWaiter) {
        let client = waiter.requester.client
        self.count -= 1
        guard var line = self.lines.removeValue(forKey: client) else { return }
        line.count -= 1
        if line.count <= 0 {
            if let index = self.turns.firstIndex(of: client) { self.turns.remove(at: index) }
            return
        }
        if line.places.count > 2 * line.count { line.places.removeAll { !$0.isTaken } }
        self.lines[client] = line
    }
}

extension ConnectionQueue.Line {
    /// Removes the oldest request whose session may have another connection.
    fileprivate mutating func popFirst(by shares: ClientShares) -> (any ConnectionWaiter)? {
        while let place = self.places.first, !place.isTaken { self.places.removeFirst() }
        guard let index = self.places.firstIndex(where: { $0.isTaken && shares.admits($0.requester) }) else {
            return nil
        }
        self.count -= 1
        return self.places.remove(at: index).waiter
    }

    /// Removes the newest request.
    fileprivate mutating func popLast() -> (any ConnectionWaiter)? {
        while let place = self.places.popLast() {
            guard place.isTaken else { continue }
            self.count -= 1
            return place.waiter
        }
        return nil
    }
}
