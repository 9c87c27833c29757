/// The part of a limit that one client may use. It is the number of free places, within a quarter and half of the
/// limit, or a fixed percentage of the limit.
package struct ShareRule: Equatable, Sendable {
    /// The number of places for all clients.
    package let limit: Int
    /// The smallest share, and the largest (`most`).
    private let least: Int
    private let most: Int

    /// - Parameters:
    ///   - limit: The number of places for all clients.
    ///   - percent: The percentage of the limit that a client may use; `nil` for a quarter to half.
    package init(of limit: Int, percent: Int? = nil) {
        self.limit = limit
        self.least = max(1, percent.map { limit * $0 / 100 } ?? limit / 4)
        self.most = max(1, percent.map { limit * $0 / 100 } ?? limit / 2)
    }

    /// Returns the number of places that a client may use while `free` places are free.
    package func share(free: Int) -> Int { min(max(free, self.least), self.most) }

    /// The number of places reserved for a part of a client, e.g. for one user at an address.
    package var foothold: Int { max(1, self.limit / 16) }

    /// The maximum number of places that a client and its parts may use together.
    package var widest: Int { min(self.limit, self.most + max(1, self.limit / 4)) }

    /// While fewer places are in use, no client can exceed its share.
    package var threshold: Int { min(self.least, max(1, self.limit / 4)) }
}

/// Counts the places that each client uses. A client of `nil`, such as a trusted proxy, is not limited. Clients without
/// places have no entry.
package struct Shares<Client: Hashable & Sendable>: Sendable {
    package let rule: ShareRule
    /// The number of places that all clients use.
    package private(set) var total = 0
    private var counts: [Client: Int] = [:]

    /// Makes a table without places in use.
    package init(_ rule: ShareRule) {
        self.rule = rule
    }

    /// Returns the number of places that a client uses; 0 for `nil`.
    package func count(of client: Client?) -> Int { client.flatMap { self.counts[$0] } ?? 0 }

    /// Returns whether the client's share allows another place. Does not check whether a place is free.
    ///
    /// - Parameter free: The number of free places; `nil` for the limit minus the places in use.
    package func admits(_ client: Client?, free: Int? = nil) -> Bool {
        guard let client else { return true }
        return self.counts[client, default: 0] < self.rule.share(free: free ?? self.rule.limit - self.total)
    }

    /// Records that a client uses another place. Call `giveBack` once for each place.
    package mutating func take(_ client: Client?) {
        self.total += 1
        if let client { self.counts[client, default: 0] += 1 }
    }

    /// Records that a client no longer uses a place.
    package mutating func giveBack(_ client: Client?) {
        self.total -= 1
        guard let client, let count = self.counts[client] else { return }
        self.counts[client] = count > 1 ? count - 1 : nil
    }
}
