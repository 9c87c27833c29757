/// How much of a limit one client may use: as much as is left free for others, but at least a quarter of the limit and at
/// most half of it. So a client that is alone has half, and each of several that want everything has a quarter.
package struct ShareRule: Equatable, Sendable {
    /// How many places there are for all clients.
    package let limit: Int
    /// What a client may use however few places are free, and however many.
    private let least: Int
    private let most: Int

    /// - Parameters:
    ///   - limit: How many places there are for all clients.
    ///   - percent: What a client may use of the limit, however many places are free. `nil`: by the rule.
    package init(of limit: Int, percent: Int? = nil) {
        self.limit = limit
        self.least = max(1, percent.map { limit * $0 / 100 } ?? limit / 4)
        self.most = max(1, percent.map { limit * $0 / 100 } ?? limit / 2)
    }

    /// How many places a client may use while so many are free.
    package func share(free: Int) -> Int { min(max(free, self.least), self.most) }

    /// While a part of a client, such as one user at an address, uses fewer places than this, the rest of the client does
    /// not take its place.
    package var foothold: Int { max(1, self.limit / 16) }

    /// What a client may use together with such parts of it.
    package var widest: Int { min(self.limit, self.most + max(1, self.limit / 4)) }

    /// While fewer places than this are in use, no client can have more than its share.
    package var threshold: Int { min(self.least, max(1, self.limit / 4)) }
}

/// How many places of a limited number each client uses. A client without a name, such as a trusted proxy, uses places and
/// has no share. The table has no more entries than there are places in use.
package struct Shares<Client: Hashable & Sendable>: Sendable {
    package let rule: ShareRule
    /// The places in use by all.
    package private(set) var total = 0
    private var counts: [Client: Int] = [:]

    /// Nothing is in use.
    package init(_ rule: ShareRule) {
        self.rule = rule
    }

    /// How many places a client uses; 0 if it has no name.
    package func count(of client: Client?) -> Int { client.flatMap { self.counts[$0] } ?? 0 }

    /// Whether the client may use another place without exceeding its share. Whether there is one is not asked.
    ///
    /// - Parameter free: How many places are free. `nil`: those that are not counted here.
    package func admits(_ client: Client?, free: Int? = nil) -> Bool {
        guard let client else { return true }
        return self.counts[client, default: 0] < self.rule.share(free: free ?? self.rule.limit - self.total)
    }

    /// Records that a client uses another place. Each is given back once.
    package mutating func take(_ client: Client?) {
        self.total += 1
        if let client { self.counts[client, default: 0] += 1 }
    }

    /// Records that a client uses a place no longer.
    package mutating func giveBack(_ client: Client?) {
        self.total -= 1
        guard let client, let count = self.counts[client] else { return }
        self.counts[client] = count > 1 ? count - 1 : nil
    }
}
