package import NIOCore
package import Settings

/// The servers of an app as one loop sees them, and the choice among them. Has no sockets and no clock.
package struct ServerRoster {
    /// A server's state.
    package struct Entry {
        /// The server's bit in `StreamWaiter.failedServers`. A reload does not change it.
        package let bit: UInt64
        package var health = ServerHealth()
        /// Whether health checks find the server down.
        package var isDown = false
        /// When the slow start began (`UpstreamSettings.slowStart`). `nil` if the server has its whole share.
        package var growsSince: NIODeadline?

        /// Whether requests are sent to the server.
        package var isServing: Bool { !self.isDown && self.health.isServing }

        /// Returns whether the next request may be the server's probe.
        fileprivate func awaitsProbe(now: NIODeadline) -> Bool { !self.isDown && self.health.awaitsProbe(now: now) }
    }

    package var entries: [Entry] = []
    /// The servers' loads, in the order of `entries`.
    package var loads: [ServerLoad] = []
    /// The number of servers that get no requests.
    package private(set) var outCount = 0
    private var choice: ServerChoice
    private let isSticky: Bool

    package init(_ balance: ServerBalance, seed: UInt64) {
        self.choice = ServerChoice(balance, seed: seed)
        self.isSticky = balance == .sticky
    }

    /// Sets the servers. A server that stays keeps its entry.
    ///
    /// - Parameters:
    ///   - loads: The servers' loads.
    ///   - kept: The earlier entries of the servers. `nil` for a new server.
    ///   - former: All earlier entries. New servers avoid their bits: a request may have failed at a removed server.
    package mutating func set(_ loads: [ServerLoad], kept: [Entry?], former: [Entry]) {
        var used = former.reduce(0) { $0 | $1.bit }
        var own = kept.reduce(0) { $0 | ($1?.bit ?? 0) }
        self.entries = kept.map { entry in
            if let entry { return entry }
            // If removed servers have used up all bits, their bits are used again.
            let bit = Self.lowest(~used) == 0 ? Self.lowest(~own) : Self.lowest(~used)
            used |= bit
            own |= bit
            return Entry(bit: bit)
        }
        self.loads = loads
        self.countOut()
    }

    /// Returns the lowest bit that is set in `bits`. 0 if none is set.
    private static func lowest(_ bits: UInt64) -> UInt64 { bits & (~bits &+ 1) }

    /// Updates `outCount`. Called when a server may have been ejected or be back.
    package mutating func countOut() { self.outCount = self.entries.count { !$0.isServing } }

    /// Whether another server may be ejected. At most half of the servers may be out, and never the last one.
    package var mayLoseOne: Bool { self.outCount + 1 <= self.entries.count / 2 }

    // MARK: Choosing

    /// Returns the index of a server that has not failed for the request.
    ///
    /// - Parameters:
    ///   - failed: The bits of the servers that have failed for the request.
    ///   - mayProbe: Whether the request can be sent to another server if it fails.
    ///   - limit: The maximum number of connections to all servers together.
    ///   - key: The sticky key of the session or the client.
    /// - Returns: `nil` if all servers have failed for the request.
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
        // No serving server remains. A server that may fail is better than none.
        for place in self.entries.indices { self.loads[place].isAvailable = failed & self.entries[place].bit == 0 }
        return self.choice.choose(&self.loads, key: key())
    }

    /// Returns a server whose ejection is over, so that this request decides whether it is back. With `sticky`, a
    /// session only probes its own server.
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

    /// At the limit of connections, keeps only servers with an idle connection. Servers below their share stay, too, if
    /// one above its share can close a connection. Otherwise, servers would take connections from each other.
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

    /// Returns the number of connections that a server has above its share, times the weight of all servers.
    private func excess(_ place: Int, _ total: Int, _ limit: Int) -> Int {
        let share = self.entries[place].isServing ? self.loads[place].weight : 0
        return self.loads[place].open * total - limit * share
    }

    private func giver(_ total: Int, _ limit: Int) -> Int? {
        self.loads.indices.filter { self.loads[$0].hasIdle }
            .max { self.excess($0, total, limit) < self.excess($1, total, limit) }
    }

    /// Returns the index of the server that closes an idle connection when `place` needs a new one: `place` itself if
    /// it has one (for another session), or the server with an idle connection that exceeds its share the most.
    package func giver(for place: Int, limit: Int) -> Int? {
        self.loads[place].hasIdle ? place : self.giver(self.servingWeight, limit)
    }

    // MARK: The share

    /// Increases the share of a server that has come back (`ServerLoad.grow`).
    package mutating func grow(_ place: Int, now: NIODeadline, period: Duration?) {
        guard let since = self.entries[place].growsSince else { return }
        let isGrowing = self.loads[place].grow(now - since, of: period.map { TimeAmount($0) })
        if !isGrowing { self.entries[place].growsSince = nil }
    }

    /// Whether all servers are in use with equal shares, so that any two random servers may be compared.
    package var isEven: Bool {
        self.outCount == 0 && self.entries.count > 1 && self.loads.allSatisfy { $0.weight == self.loads[0].weight }
    }

    /// Returns the indices of two different random servers. `isEven` must be true.
    @inline(__always)
    package mutating func pair() -> (Int, Int) { self.choice.pair(below: self.entries.count) }

    /// Returns a random number below `limit`.
    package mutating func random(below limit: Int) -> Int { self.choice.random(below: limit) }
}
