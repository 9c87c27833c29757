package import NIOCore

/// How fast a client reads and sends in one exchange, for an app whose connections are all in use. A byte now and then is
/// no progress: only another kilobyte is.
package struct ClientPace: Equatable, Sendable {
    /// What a client has to take or to send to be reading or sending, in bytes.
    static let progress = 1024
    /// How long it may take for them.
    package static let patience = TimeAmount.seconds(3)

    /// What keeps a connection of the app in use.
    package enum Debt: Equatable, Sendable {
        /// The app: it has not answered what it has.
        case none
        /// The client: it has bytes to read, or owes the rest of a body whose length it has declared.
        case client
        /// Nobody: a WebSocket, an event stream, or a body without a declared length, in which both sides may be silent.
        case nobody
    }

    /// The exchange that is watched.
    package let exchange: UInt64
    private var moved: Int
    private var movedAt: NIODeadline
    private var owesSince: NIODeadline?
    private var debt = Debt.none

    /// - Parameters:
    ///   - exchange: The number of the exchange.
    ///   - moved: The bytes that the client has taken and sent so far.
    ///   - time: When something last happened in the exchange.
    package init(of exchange: UInt64, moved: Int, since time: NIODeadline) {
        self.exchange = exchange
        self.moved = moved
        self.movedAt = time
    }

    /// Looks at the exchange again.
    ///
    /// - Parameter moved: The bytes that the client has taken and sent so far.
    package mutating func look(_ moved: Int, _ debt: Debt, now: NIODeadline) {
        if moved >= self.moved + Self.progress || debt == .none {
            self.moved = moved
            self.movedAt = now
        }
        self.debt = debt
        self.owesSince = debt == .client ? self.owesSince ?? self.movedAt : nil
    }

    /// Since when the client has neither read nor sent what it could have. `nil` if it reads or sends, or if the app is to
    /// answer.
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
    /// Whether it could: bytes wait for it, or for the rest of its body. False: both sides are silent.
    package let isOwing: Bool

    package init(since: NIODeadline, isOwing: Bool) {
        self.since = since
        self.isOwing = isOwing
    }
}

/// Chooses the requests that are ended so that others, which wait, get their connections.
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

    /// The indices of up to `count` candidates: those of the client that holds most first, and of its requests the one that
    /// has been stalled for the longest.
    ///
    /// Where both sides are only silent, a client that holds few connections loses none, nor does one that holds no more
    /// than the clients that wait.
    ///
    /// - Parameters:
    ///   - limit: The app's connections.
    ///   - least: The fewest connections that one of the waiting clients has.
    ///   - held: How many connections a client has.
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
        // Oldest first in each client's list, so that each choice looks at clients only.
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

    /// The indices of up to `count` candidates that end for others of the same client, which has its share: those stalled
    /// for the longest first, and no more of a client than wait. Where both sides are only silent, none ends.
    ///
    /// - Parameter waiting: How many requests wait of each client that has its share.
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

    /// Whether the second client is rather chosen: it holds more, or it is stalled for longer.
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
