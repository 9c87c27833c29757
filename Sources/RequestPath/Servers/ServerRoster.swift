package import NIOCore
package import Settings

/// The servers of an app as one loop sees them, and its choice among them. It has no sockets and no clock.
package struct ServerRoster {
    /// One server.
    package struct Entry {
        /// Its bit among those that have failed for a request, which a reload does not change.
        package let bit: UInt64
        package var health = ServerHealth()
        /// Whether checks find it down.
        package var isDown = false
        /// Since when its share grows (`UpstreamSettings.slowStart`); nil: it has all of it.
        package var growsSince: NIODeadline?

        /// Whether requests are sent to it.
        package var isServing: Bool { !self.isDown && self.health.isServing }

        /// Whether the next request may probe it.
        fileprivate func awaitsProbe(now: NIODeadline) -> Bool { !self.isDown && self.health.awaitsProbe(now: now) }
    }

    package var entries: [Entry] = []
    /// What the choice looks at, in the same order.
    package var loads: [ServerLoad] = []
    /// How many are left out.
    package private(set) var outCount = 0
    private var choice: ServerChoice
    private let isSticky: Bool

    package init(_ balance: ServerBalance, seed: UInt64) {
        self.choice = ServerChoice(balance, seed: seed)
        self.isSticky = balance == .sticky
    }

    /// Sets the servers, of which some were there before, perhaps in another roster.
    ///
    /// - Parameters:
    ///   - loads: Those of the servers.
    ///   - kept: Their former entries; nil: they are new.
    ///   - former: All former entries. A request that has failed at a server which is gone knows its bit.
    package mutating func set(_ loads: [ServerLoad], kept: [Entry?], former: [Entry]) {
        var used = former.reduce(0) { $0 | $1.bit }
        var own = kept.reduce(0) { $0 | ($1?.bit ?? 0) }
        self.entries = kept.map { entry in
            if let entry { return entry }
            // There are as many bits as servers at most.
            let bit = Self.lowest(~used) == 0 ? Self.lowest(~own) : Self.lowest(~used)
            used |= bit
            own |= bit
            return Entry(bit: bit)
        }
        self.loads = loads
        self.countOut()
    }

    /// The lowest of some bits; 0: there is none.
    private static func lowest(_ bits: UInt64) -> UInt64 { bits & (~bits &+ 1) }

    /// Called when a server may have come or gone.
    package mutating func countOut() { self.outCount = self.entries.count { !$0.isServing } }

    /// Whether one more may be left out: never more than half of them, and so never the last one.
    package var mayLoseOne: Bool { self.outCount + 1 <= self.entries.count / 2 }

    // MARK: Choosing

    /// The place of the server for a request: none that has failed for it.
    ///
    /// - Parameters:
    ///   - failed: The bits of those that have failed.
    ///   - mayProbe: Whether the request can be sent to another server if it fails.
    ///   - limit: How many connections all servers may have.
    ///   - key: Of the session or the client.
    /// - Returns: nil: all have failed.
    package mutating func choose(
        failed: UInt64,
        mayProbe: Bool,
        limit: Int,
        now: NIODeadline,
        key: @autoclosure () -> UInt64
    ) -> Int? {
        var open = 0
        for place in self.entries.indices {
            open += self.loads[place].open
            self.loads[place].isAvailable = failed & self.entries[place].bit == 0 && self.entries[place].isServing
        }
        if self.outCount > 0, failed == 0, mayProbe, let place = self.probe(now, key()) { return place }
        if open >= limit, !self.isSticky { self.keepToShares(of: limit) }
        if let place = self.choice.choose(&self.loads, key: key()) { return place }
        // None is left that serves: better one that may fail than none.
        for place in self.entries.indices { self.loads[place].isAvailable = failed & self.entries[place].bit == 0 }
        return self.choice.choose(&self.loads, key: key())
    }

    /// A server that was left out for long enough: this request decides whether it is back. A session is not taken from its
    /// own server for that.
    private mutating func probe(_ now: NIODeadline, _ key: @autoclosure () -> UInt64) -> Int? {
        guard var due = self.entries.firstIndex(where: { $0.awaitsProbe(now: now) }) else { return nil }
        if self.isSticky {
            var loads = self.loads
            for place in loads.indices where self.entries[place].awaitsProbe(now: now) {
                loads[place].isAvailable = true
            }
            guard let own = self.choice.choose(&loads, key: key()), !self.loads[own].isAvailable else { return nil }
            due = own
        }
        self.entries[due].health.probe(now: now)
        return due
    }

    // MARK: The limit of connections

    /// At the limit of connections: has the request use an idle connection, if a server has one, or add one to a server that
    /// has less than its share of all. Else servers would take connections from each other with every request. A session
    /// goes to its own server even so.
    private mutating func keepToShares(of limit: Int) {
        let total = self.servingWeight
        let givesOne = self.giver(total, limit).map { self.excess($0, total, limit) > 0 } ?? false
        let loads = self.loads
        let fits = loads.indices.map { place in
            loads[place].isAvailable
                && (loads[place].hasIdle || givesOne && self.excess(place, total, limit) + total <= 0)
        }
        guard fits.contains(true) else { return }
        for place in loads.indices { self.loads[place].isAvailable = fits[place] }
    }

    private var servingWeight: Int {
        zip(self.entries, self.loads).reduce(0) { $0 + ($1.0.isServing ? $1.1.weight : 0) }
    }

    /// How many connections more than its share a server has, times the weight of all.
    private func excess(_ place: Int, _ total: Int, _ limit: Int) -> Int {
        let share = self.entries[place].isServing ? self.loads[place].weight : 0
        return self.loads[place].open * total - limit * share
    }

    private func giver(_ total: Int, _ limit: Int) -> Int? {
        self.loads.indices.filter { self.loads[$0].hasIdle }
            .max { self.excess($0, total, limit) < self.excess($1, total, limit) }
    }

    /// The server that loses an idle connection when `place` needs another one: itself, if it has one that is kept for another
    /// session, else the one that has most above its share.
    package func giver(for place: Int, limit: Int) -> Int? {
        self.loads[place].hasIdle ? place : self.giver(self.servingWeight, limit)
    }

    // MARK: The share

    /// Gives a server that has come back more of its share, at the first call a tenth.
    package mutating func grow(_ place: Int, now: NIODeadline, period: Duration?) {
        guard let since = self.entries[place].growsSince else { return }
        let isGrowing = self.loads[place].grow(now - since, of: period.map { TimeAmount($0) })
        if !isGrowing { self.entries[place].growsSince = nil }
    }

    /// Whether all servers serve with equal shares, so that two of them are as good as any two.
    package var isEven: Bool {
        self.outCount == 0 && self.entries.count > 1 && self.loads.allSatisfy { $0.weight == self.loads[0].weight }
    }

    /// The places of two random servers, where all are even.
    @inline(__always)
    package mutating func pair() -> (Int, Int) { self.choice.pair(below: self.entries.count) }

    /// A number below `limit`.
    package mutating func random(below limit: Int) -> Int { self.choice.random(below: limit) }
}
