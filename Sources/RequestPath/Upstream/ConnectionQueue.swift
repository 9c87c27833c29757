import NIOCore

/// The requests that wait for a connection to an app. Those of one client and session are a line, oldest first, and lines
/// take turns, so that whoever has many requests delays only their own.
///
/// A request that ends is not searched for, and neither is the turn of its line: both are passed over when they come up,
/// and removed when they are more than half.
package struct ConnectionQueue {
    fileprivate struct Place {
        let waiter: any ConnectionWaiter
        let exchange: UInt64

        /// Whether the request still waits.
        var isTaken: Bool { self.waiter.exchangeNumber == self.exchange && self.waiter.isQueued }
    }

    /// The requests of one client and session, oldest first.
    fileprivate struct Line {
        var places = CircularBuffer<Place>(initialCapacity: 1)
        /// Those that wait.
        var count = 0
    }

    private var lines: [Requester: Line] = [:]
    /// Those with a line, in the order of their turns.
    private var turns = CircularBuffer<Requester>(initialCapacity: 1)
    /// The number of lines in which no request waits.
    private var emptyLines = 0
    /// The number of requests that wait.
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { self.count == 0 }

    /// Adds a request, which must be queued (`ConnectionWaiter.isQueued`) until it leaves.
    package mutating func append(_ waiter: any ConnectionWaiter) {
        let requester = waiter.requester
        switch self.lines[requester]?.count {
        case nil: self.turns.append(requester)
        case 0?: self.emptyLines -= 1
        case _?: break
        }
        self.lines[requester, default: Line()].append(Place(waiter: waiter, exchange: waiter.exchangeNumber))
        self.count += 1
    }

    /// Removes the request whose turn it is: the oldest of the next line whose client and session may have another
    /// connection.
    ///
    /// - Returns: `nil` if nobody waits, or nobody who waits may have one.
    package mutating func popFirst(by shares: ClientShares) -> (any ConnectionWaiter)? {
        for _ in 0..<self.turns.count {
            guard let requester = self.turns.popFirst(), let count = self.lines[requester]?.count else { return nil }
            let waiter = shares.admits(requester) ? self.lines[requester]?.popFirst() : nil
            let isLast = waiter != nil && count == 1
            if isLast || count == 0 { self.lines[requester] = nil } else { self.turns.append(requester) }
            if count == 0 { self.emptyLines -= 1 }
            guard let waiter else { continue }
            self.count -= 1
            return waiter
        }
        return nil
    }

    /// How many requests wait that may have another connection, and how many connections the client of these has that has
    /// fewest.
    package func waiting(by shares: ClientShares) -> (count: Int, least: Int) {
        var (count, least) = (0, Int.max)
        for (requester, line) in self.lines where line.count > 0 && shares.admits(requester) {
            count += line.count
            least = min(least, shares.count(of: requester.client))
        }
        return (count, least)
    }

    /// Removes the newest request of the longest line, so that a full queue has room for one of a shorter line.
    ///
    /// - Returns: `nil` if no line has more requests than the requester's has with another one.
    package mutating func popLast(for requester: Requester) -> (any ConnectionWaiter)? {
        guard self.count > self.lines.count - self.emptyLines else { return nil }
        let own = self.lines[requester]?.count ?? 0
        guard let longest = self.lines.max(by: { $0.value.count < $1.value.count }), longest.value.count > own + 1
        else {
            return nil
        }
        let waiter = self.lines[longest.key]?.popLast()
        if waiter != nil { self.count -= 1 }
        return waiter
    }

    /// Called once when a request that has not been removed is not queued any more.
    package mutating func left(_ waiter: any ConnectionWaiter) {
        self.count -= 1
        guard let index = self.lines.index(forKey: waiter.requester) else { return }
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

extension ConnectionQueue.Line {
    fileprivate mutating func append(_ place: ConnectionQueue.Place) {
        self.places.append(place)
        self.count += 1
    }

    /// Removes the oldest request.
    fileprivate mutating func popFirst() -> (any ConnectionWaiter)? { self.pop { $0.popFirst() } }

    /// Removes the newest request.
    fileprivate mutating func popLast() -> (any ConnectionWaiter)? { self.pop { $0.popLast() } }

    private mutating func pop(
        _ next: (inout CircularBuffer<ConnectionQueue.Place>) -> ConnectionQueue.Place?
    ) -> (any ConnectionWaiter)? {
        while let place = next(&self.places) {
            guard place.isTaken else { continue }
            self.count -= 1
            return place.waiter
        }
        return nil
    }

    /// Records that a request has left.
    fileprivate mutating func left() {
        self.count -= 1
        if self.count == 0 {
            self.places.removeAll()
        } else if self.places.count > 2 * self.count {
            self.places.removeAll { !$0.isTaken }
        }
    }
}
