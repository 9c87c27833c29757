package import NIOCore

/// Measures how fast a client reads and sends in one exchange. Used while many requests to the app are in flight
/// (`AppPool.isCrowded`).
package struct ClientPace: Equatable, Sendable {
    /// The number of bytes that a client has to read or send within `patience`. Fewer bytes are no progress.
    static let progress = 1024
    /// The time that a client has for each `progress` bytes.
    package static let patience = TimeAmount.seconds(3)

    /// The side that must act next in an exchange.
    package enum Debt: Equatable, Sendable {
        /// The app: it has not answered the bytes that it has received.
        case none
        /// The client: it has bytes to read, or still has to send the rest of a body of declared length.
        case client
        /// Neither side: both may be silent on a WebSocket, in an event stream, or in a body without a declared length.
        case nobody
    }

    /// The number of the exchange.
    package let exchange: UInt64
    private var moved: Int
    private var movedAt: NIODeadline
    private var owesSince: NIODeadline?
    private var debt = Debt.none

    /// - Parameters:
    ///   - exchange: The number of the exchange.
    ///   - moved: The number of bytes that the client has read and sent so far.
    ///   - time: The time of the exchange's last event.
    package init(of exchange: UInt64, moved: Int, since time: NIODeadline) {
        self.exchange = exchange
        self.moved = moved
        self.movedAt = time
    }

    /// Updates the measurement.
    ///
    /// - Parameter moved: The number of bytes that the client has read and sent so far.
    package mutating func look(_ moved: Int, _ debt: Debt, now: NIODeadline) {
        if moved >= self.moved + Self.progress || debt == .none {
            self.moved = moved
            self.movedAt = now
        }
        self.debt = debt
        self.owesSince = debt == .client ? self.owesSince ?? self.movedAt : nil
    }

    /// Returns the client's stall if the stall has lasted longer than `patience`. `nil` while the app has to answer.
    package func stall(now: NIODeadline) -> ClientStall? {
        let since: NIODeadline
        switch self.debt {
        case .none: return nil
        case .client: since = max(self.movedAt, self.owesSince ?? now)
        case .nobody: since = self.movedAt
        }
        guard now - since > Self.patience else { return nil }
        return ClientStall(since: since, isOwing: self.debt == .client)
    }
}

/// A client that neither reads nor sends.
package struct ClientStall: Equatable, Sendable {
    package let since: NIODeadline
    /// Whether the client could continue: it has bytes to read or a body to send. False if both sides are silent.
    package let isOwing: Bool

    package init(since: NIODeadline, isOwing: Bool) {
        self.since = since
        self.isOwing = isOwing
    }
}

/// Chooses which requests of stalled clients are ended, so that waiting requests get streams.
package enum StallChoice {
    /// A request in flight whose client is stalled.
    package struct Candidate: Sendable {
        package let client: Requester.Client
        package let stall: ClientStall

        package init(client: Requester.Client, stall: ClientStall) {
            self.client = client
            self.stall = stall
        }
    }

    /// Returns the indices of up to `count` candidates. The client that holds the most connections comes first, with
    /// its request that has been stalled for the longest time.
    ///
    /// A request in which both sides are silent is chosen only if its client holds at least `max(least + 2, limit / 16,
    /// 2)` connections.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of the app's connections.
    ///   - least: The lowest number of connections that a waiting client holds.
    ///   - held: Returns the number of connections that a client has.
    package static func choose(
        _ count: Int,
        of candidates: [Candidate],
        limit: Int,
        least: Int,
        held: (Requester.Client) -> Int
    ) -> [Int] {
        var counts: [Requester.Client: Int] = [:]
        for candidate in candidates where counts[candidate.client] == nil {
            counts[candidate.client] = held(candidate.client)
        }
        // Each client's list begins with its oldest stall, so that each choice compares clients only.
        var lists: [Requester.Client: ArraySlice<Int>] = [:]
        for index in candidates.indices.sorted(by: { candidates[$0].stall.since < candidates[$1].stall.since }) {
            lists[candidates[index].client, default: []].append(index)
        }
        let crowd = max(2, limit / 16)
        var chosen: [Int] = []
        while chosen.count < count, !lists.isEmpty {
            guard let client = lists.keys.max(by: { Self.precedes($0, $1, counts, lists, candidates) }),
                let index = lists[client]?.popFirst()
            else { break }
            if lists[client]?.isEmpty == true { lists[client] = nil }
            let held = counts[client, default: 0]
            if !candidates[index].stall.isOwing, held < crowd || held <= least + 1 { continue }
            chosen.append(index)
            counts[client] = held - 1
        }
        return chosen
    }

    /// Returns the indices of up to `count` candidates to end, so that their clients' own waiting requests get streams.
    /// The longest stalls come first. Requests in which both sides are silent are never chosen.
    ///
    /// - Parameter waiting: The number of waiting requests of each client that has used up its share. At most as many
    ///   are ended.
    package static func chooseForOwn(
        _ count: Int,
        of candidates: [Candidate],
        waiting: [Requester.Client: Int]
    ) -> [Int] {
        var waiting = waiting
        var chosen: [Int] = []
        for index in candidates.indices.sorted(by: { candidates[$0].stall.since < candidates[$1].stall.since }) {
            guard chosen.count < count else { break }
            let candidate = candidates[index]
            guard candidate.stall.isOwing, let left = waiting[candidate.client], left > 0 else { continue }
            waiting[candidate.client] = left - 1
            chosen.append(index)
        }
        return chosen
    }

    /// Whether `other` is chosen before `one`: it holds more connections, or as many and has been stalled longer.
    private static func precedes(
        _ one: Requester.Client,
        _ other: Requester.Client,
        _ counts: [Requester.Client: Int],
        _ lists: [Requester.Client: ArraySlice<Int>],
        _ candidates: [Candidate]
    ) -> Bool {
        let (first, second) = (counts[one, default: 0], counts[other, default: 0])
        if first != second { return first < second }
        guard let a = lists[one]?.first, let b = lists[other]?.first else { return false }
        return candidates[a].stall.since > candidates[b].stall.since
    }
}
