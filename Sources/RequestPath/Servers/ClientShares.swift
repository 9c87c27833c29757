package import AddressIntelligence
package import Vocabulary

/// Whose request it is: what the shares of an app's streams are counted by.
package struct Requester: Hashable, Sendable {
    /// The client's address (IPv6: its /64). `nil` for a trusted proxy that names no client.
    package let address: AddressKey?
    /// A hash of the session's id (`StickyKey`). `nil` if the request has no session.
    package let session: UInt64?

    package init(address: AddressKey?, session: UInt64?) {
        self.address = address
        self.session = session
    }

    /// Who takes turns in a queue, and whose streams are counted together.
    package enum Client: Hashable, Sendable {
        case address(AddressKey)
        /// Of requests that come through a proxy that names no client.
        case session(UInt64)
        case unknown
    }

    /// The client whose turn in a queue the request takes.
    package var client: Client {
        if let address = self.address { return .address(address) }
        return self.session.map { .session($0) } ?? .unknown
    }
}

/// Whose requests are in flight at an app on one loop. No address and no session has more of them than its share
/// (`ShareRule`) of the app's streams.
///
/// Nothing is counted while fewer requests are in flight than any share allows, because then nobody can have more. When
/// there are as many, the room counts all of them once (`begin`), and from then on each that comes and goes, until there are
/// clearly fewer again (`stop`).
package struct ClientShares: Sendable {
    /// What a counted request gives back.
    package struct Seat: Sendable {
        package let requester: Requester
        fileprivate let generation: UInt32
    }

    private var addresses: Shares<AddressKey>
    private var sessions: Shares<UInt64>
    /// Differs each time that counting begins: what was counted before is not given back.
    private var generation: UInt32 = 0
    /// Whether requests are counted.
    package private(set) var isCounting = false

    package init(_ rule: ShareRule) {
        self.addresses = Shares(rule)
        self.sessions = Shares(rule)
    }

    package var rule: ShareRule { self.addresses.rule }

    /// The requests that are counted.
    package var total: Int { self.addresses.total }

    /// Begins to count. The caller then counts the requests that are in flight already.
    package mutating func begin() { self.restart(true, self.rule) }

    /// Stops counting, and goes on with `rule` if there is one.
    package mutating func stop(_ rule: ShareRule? = nil) { self.restart(false, rule ?? self.rule) }

    private mutating func restart(_ isCounting: Bool, _ rule: ShareRule) {
        self.addresses = Shares(rule)
        self.sessions = Shares(rule)
        self.generation &+= 1
        self.isCounting = isCounting
    }

    /// Counts a request that gets a stream. `nil` while nothing is counted.
    package mutating func take(_ requester: @autoclosure () -> Requester) -> Seat? {
        guard self.isCounting else { return nil }
        let requester = requester()
        self.addresses.take(requester.address)
        self.sessions.take(requester.session)
        return Seat(requester: requester, generation: self.generation)
    }

    /// Counts that a request has left its stream.
    package mutating func giveBack(_ seat: Seat) {
        guard self.isCounting, seat.generation == self.generation else { return }
        self.addresses.giveBack(seat.requester.address)
        self.sessions.giveBack(seat.requester.session)
    }

    /// Whether another request of this client and session may get a stream.
    package func admits(_ requester: Requester) -> Bool {
        guard self.admitsSession(of: requester) else { return false }
        return self.admits(requester.client) || self.isCrowdedOut(requester)
    }

    /// Whether another request of the requester's session may get a stream, whoever its client is.
    package func admitsSession(of requester: Requester) -> Bool { self.sessions.admits(requester.session) }

    /// Whether others at its address keep a session with few requests from a stream. Such sessions get one, so that
    /// nobody can take an app from the signed-in users behind the same NAT; together they leave others a part of the app.
    private func isCrowdedOut(_ requester: Requester) -> Bool {
        guard let address = requester.address, let session = requester.session else { return false }
        return self.sessions.count(of: session) < self.rule.foothold
            && self.addresses.count(of: address) < self.rule.widest && self.total < self.rule.limit
    }

    /// Whether another request of this client may get a stream, whatever its session is.
    package func admits(_ client: Requester.Client) -> Bool {
        switch client {
        case .address(let address): self.addresses.admits(address)
        case .session(let session): self.sessions.admits(session)
        case .unknown: true
        }
    }

    /// How many requests of this client are in flight.
    package func count(of client: Requester.Client) -> Int {
        switch client {
        case .address(let address): self.addresses.count(of: address)
        case .session(let session): self.sessions.count(of: session)
        case .unknown: 0
        }
    }

    /// How many requests of the requester's session are in flight; 0 if it has no session.
    package func count(ofSession requester: Requester) -> Int { self.sessions.count(of: requester.session) }
}
