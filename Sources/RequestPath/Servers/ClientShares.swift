package import AddressIntelligence
package import Vocabulary

/// The client and session that the stream of a request is counted for.
package struct Requester: Hashable, Sendable {
    /// The client's address, or its /64 for IPv6. `nil` for a trusted proxy that names no client.
    package let address: AddressKey?
    /// A hash of the session's id (`StickyKey`). `nil` if the request has no session.
    package let session: UInt64?

    package init(address: AddressKey?, session: UInt64?) {
        self.address = address
        self.session = session
    }

    /// A client as queues and counts see it: clients take turns, and all streams of a client are counted together.
    package enum Client: Hashable, Sendable {
        case address(AddressKey)
        /// The session of a request through a proxy that names no client.
        case session(UInt64)
        case unknown
    }

    /// The client as which the request is queued and counted.
    package var client: Client {
        if let address = self.address { return .address(address) }
        return self.session.map { .session($0) } ?? .unknown
    }
}

/// The numbers of requests in flight to an app on one loop, by address and by session. No session may exceed its share
/// (`ShareRule`) of the app's streams. An address may, but only for sessions with few requests (`isCrowdedOut`).
///
/// Requests are counted only while enough are in flight that a client could exceed its share (`begin`, `stop`).
package struct ClientShares: Sendable {
    /// The place of a counted request. The request gives it back at its end.
    package struct Seat: Sendable {
        package let requester: Requester
        fileprivate let generation: UInt32
    }

    private var addresses: Shares<AddressKey>
    private var sessions: Shares<UInt64>
    /// The number of the current counting period. Seats of an earlier period are not given back.
    private var generation: UInt32 = 0
    /// Whether requests are counted.
    package private(set) var isCounting = false

    package init(_ rule: ShareRule) {
        self.addresses = Shares(rule)
        self.sessions = Shares(rule)
    }

    package var rule: ShareRule { self.addresses.rule }

    /// The number of counted requests.
    package var total: Int { self.addresses.total }

    /// Begins to count. The caller then counts the requests that are already in flight.
    package mutating func begin() { self.restart(true, self.rule) }

    /// Stops counting, and adopts `rule` if one is given.
    package mutating func stop(_ rule: ShareRule? = nil) { self.restart(false, rule ?? self.rule) }

    private mutating func restart(_ isCounting: Bool, _ rule: ShareRule) {
        self.addresses = Shares(rule)
        self.sessions = Shares(rule)
        self.generation &+= 1
        self.isCounting = isCounting
    }

    /// Counts a request that gets a stream. Returns `nil` while nothing is counted.
    package mutating func take(_ requester: @autoclosure () -> Requester) -> Seat? {
        guard self.isCounting else { return nil }
        let requester = requester()
        self.addresses.take(requester.address)
        self.sessions.take(requester.session)
        return Seat(requester: requester, generation: self.generation)
    }

    /// Stops counting a request that has left its stream.
    package mutating func giveBack(_ seat: Seat) {
        guard self.isCounting, seat.generation == self.generation else { return }
        self.addresses.giveBack(seat.requester.address)
        self.sessions.giveBack(seat.requester.session)
    }

    /// Returns whether another request of this client and session may get a stream.
    package func admits(_ requester: Requester) -> Bool {
        guard self.admitsSession(of: requester) else { return false }
        return self.admits(requester.client) || self.isCrowdedOut(requester)
    }

    /// Returns whether another request of the requester's session may get a stream, whichever client it has.
    package func admitsSession(of requester: Requester) -> Bool { self.sessions.admits(requester.session) }

    /// Returns whether a session with few requests may get a stream although its address has used up its share.
    /// Otherwise, one user could block others behind a common NAT. `ShareRule.widest` limits all sessions of an address
    /// together.
    private func isCrowdedOut(_ requester: Requester) -> Bool {
        guard let address = requester.address, let session = requester.session else { return false }
        return self.sessions.count(of: session) < self.rule.foothold
            && self.addresses.count(of: address) < self.rule.widest && self.total < self.rule.limit
    }

    /// Returns whether another request of this client may get a stream, whichever session it has.
    package func admits(_ client: Requester.Client) -> Bool {
        switch client {
        case .address(let address): self.addresses.admits(address)
        case .session(let session): self.sessions.admits(session)
        case .unknown: true
        }
    }

    /// Returns the number of this client's counted requests; 0 for `unknown`.
    package func count(of client: Requester.Client) -> Int {
        switch client {
        case .address(let address): self.addresses.count(of: address)
        case .session(let session): self.sessions.count(of: session)
        case .unknown: 0
        }
    }

    /// Returns the number of counted requests of the requester's session; 0 if it has none.
    package func count(ofSession requester: Requester) -> Int { self.sessions.count(of: requester.session) }
}
