import NIOCore

/// The requests that wait for a connection to an app while all are in use, oldest first.
///
/// The place of a request that has ended is not searched for: it is passed over when its turn comes, and removed with
/// all such places when they are more than half of the queue.
package struct ConnectionQueue {
    private struct Place {
        let waiter: any ConnectionWaiter
        let exchange: UInt64

        /// Whether the request still waits.
        var isTaken: Bool { self.waiter.exchangeNumber == self.exchange && self.waiter.isQueued }
    }

    private var places = CircularBuffer<Place>(initialCapacity: 1)
    /// The number of requests that wait.
    package private(set) var count = 0

    package init() {}

    package var isEmpty: Bool { self.count == 0 }

    /// Adds a request, which must be queued (`ConnectionWaiter.isQueued`) until it leaves.
    package mutating func append(_ waiter: any ConnectionWaiter) {
        self.places.append(Place(waiter: waiter, exchange: waiter.exchangeNumber))
        self.count += 1
    }

    /// Removes the request that has waited for the longest.
    package mutating func popFirst() -> (any ConnectionWaiter)? {
        while let place = self.places.popFirst() {
            guard place.isTaken else { continue }
            self.count -= 1
            return place.waiter
        }
        return nil
    }

    /// Called once when a request that has not been removed is not queued any more.
    package mutating func waiterLeft() {
        self.count -= 1
        if self.places.count > 2 * self.count { self.places.removeAll { !$0.isTaken } }
    }
}
