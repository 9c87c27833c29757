import Glibc
package import NIOCore
package import Settings

/// The load of one server of an app. `ServerChoice` compares the loads.
package struct ServerLoad {
    /// The current share of the requests: a hundred times the weight in the settings, or less during a slow start.
    package var weight: Int
    /// The weight in the settings.
    package let share: Int
    /// The number of this loop's requests that the server is handling.
    package var inFlight = 0
    /// The number of this loop's connections to the server.
    package var open = 0
    /// Whether one of this loop's connections to the server is idle.
    package var hasIdle = false
    /// Whether the server may be chosen.
    package var isAvailable = true
    /// The server's balance in the round robin (`ServerBalance.roundRobin`).
    fileprivate var turn = 0
    /// The server's hash, equal in every gateway (`ServerBalance.sticky`).
    fileprivate let hash: UInt64

    /// Sets the weight of a server that has come back. It grows from a tenth of the share to the whole share.
    ///
    /// - Parameters:
    ///   - elapsed: The time since the server came back.
    ///   - period: The time until the server has its whole share. `nil` for the whole share at once.
    /// - Returns: True while the share still grows.
    package mutating func grow(_ elapsed: TimeAmount, of period: TimeAmount?) -> Bool {
        let percent = period.map { elapsed.nanoseconds / max($0.nanoseconds / 100, 1) } ?? 100
        self.weight = self.share * Int(min(max(percent, 10), 100))
        return percent < 100
    }

    /// - Parameter hash: The hash of the server's origin (`StickyKey.hash`).
    package init(share: Int, hash: UInt64) {
        self.weight = share * 100
        self.share = share
        self.hash = hash
    }
}

/// Chooses a server for each request. Has no clock and no sockets. Its random numbers depend on its seed only.
package struct ServerChoice {
    private let balance: ServerBalance
    private var state: UInt64

    package init(_ balance: ServerBalance, seed: UInt64) {
        self.balance = balance
        self.state = seed
    }

    /// Returns the index of the chosen server. `nil` if none is available.
    ///
    /// - Parameter key: The sticky key of the session or the client.
    package mutating func choose(_ loads: inout [ServerLoad], key: @autoclosure () -> UInt64) -> Int? {
        switch self.balance {
        case .leastRequests: self.lessBusy(loads)
        case .roundRobin: Self.next(&loads)
        case .sticky: Self.own(loads, key())
        }
    }

    /// Returns a random number below `limit`.
    package mutating func random(below limit: Int) -> Int {
        guard limit > 1 else { return 0 }
        self.state &+= 0x9E37_79B9_7F4A_7C15
        return Int(StickyKey.mixed(self.state).multipliedFullWidth(by: UInt64(limit)).high)
    }

    /// Returns two different random numbers below `count`, which is 2 or more.
    @inline(__always)
    package mutating func pair(below count: Int) -> (Int, Int) {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        let mixed = StickyKey.mixed(self.state)
        let one = Int(truncatingIfNeeded: ((mixed >> 32) &* UInt64(truncatingIfNeeded: count)) >> 32)
        let rest = UInt64(truncatingIfNeeded: count &- 1)
        let other = Int(truncatingIfNeeded: ((mixed & 0xFFFF_FFFF) &* rest) >> 32)
        return (one, other < one ? other : other &+ 1)
    }

    /// Draws two random servers by weight, and returns the one with fewer requests for its weight.
    private mutating func lessBusy(_ loads: [ServerLoad]) -> Int? {
        guard let one = self.draw(loads, besides: nil) else { return nil }
        guard let other = self.draw(loads, besides: one) else { return one }
        let isLess = loads[other].inFlight * loads[one].weight < loads[one].inFlight * loads[other].weight
        return isLess ? other : one
    }

    private mutating func draw(_ loads: [ServerLoad], besides other: Int?) -> Int? {
        var total = 0
        for index in loads.indices where loads[index].isAvailable && index != other { total += loads[index].weight }
        guard total > 0 else { return nil }
        var rest = self.random(below: total)
        for index in loads.indices where loads[index].isAvailable && index != other {
            rest -= loads[index].weight
            if rest < 0 { return index }
        }
        return nil
    }

    /// Returns the next server of a smooth weighted round robin, which spreads each server's requests evenly. Every
    /// server gains its weight. The server with the highest `turn` is chosen and loses the sum of all weights.
    private static func next(_ loads: inout [ServerLoad]) -> Int? {
        var total = 0
        var chosen: Int?
        for index in loads.indices where loads[index].isAvailable {
            total += loads[index].weight
            loads[index].turn += loads[index].weight
            if let best = chosen, loads[best].turn >= loads[index].turn { continue }
            chosen = index
        }
        if let chosen { loads[chosen].turn -= total }
        return chosen
    }

    /// Returns the server with the highest weighted rendezvous hash of the key. Removing a server moves only its keys.
    private static func own(_ loads: [ServerLoad], _ key: UInt64) -> Int? {
        var best: (index: Int, score: Double)?
        for index in loads.indices where loads[index].isAvailable {
            let mixed = StickyKey.mixed(key ^ loads[index].hash)
            // Above 0 and below 1.
            let part = (Double(mixed >> 11) + 0.5) / 0x1p53
            let score = -Double(loads[index].share) / log(part)
            if let best, best.score >= score { continue }
            best = (index, score)
        }
        return best?.index
    }
}

/// Hashes for `ServerBalance.sticky`, equal in every gateway. A client that chooses its key only chooses its server.
package enum StickyKey {
    /// Returns the hash of a text's bytes (FNV-1a, mixed).
    package static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return Self.mixed(hash)
    }

    /// Mixes the bits so that each depends on all (the last step of SplitMix64).
    static func mixed(_ value: UInt64) -> UInt64 {
        var value = value
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
