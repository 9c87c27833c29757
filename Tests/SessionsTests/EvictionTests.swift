import NIOEmbedded
import Sessions
import StoreBench
import StoreConformance
import Testing

/// Which sessions stay in a full table. The requests come from seeded numbers, so each run makes the same choices.
@Suite struct EvictionTests {
    private static let capacity = 1024

    /// xorshift64*.
    private struct Seeded: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            self.state ^= self.state >> 12
            self.state ^= self.state << 25
            self.state ^= self.state >> 27
            return self.state &* 2_685_821_657_736_338_717
        }
    }

    /// CLOCK with a bit for each entry, to which the table is compared.
    private struct PlainClock {
        private var slots: [Int] = []
        private var isUsed: [Bool] = []
        private var places: [Int: Int] = [:]
        private var hand = 0

        /// True if it was there.
        mutating func use(_ user: Int, capacity: Int) -> Bool {
            if let place = self.places[user] {
                self.isUsed[place] = true
                return true
            }
            if self.slots.count < capacity {
                self.places[user] = self.slots.count
                self.slots.append(user)
                self.isUsed.append(true)
                return false
            }
            while self.isUsed[self.hand] {
                self.isUsed[self.hand] = false
                self.hand = (self.hand + 1) % capacity
            }
            self.places[self.slots[self.hand]] = nil
            self.slots[self.hand] = user
            self.places[user] = self.hand
            self.isUsed[self.hand] = true
            self.hand = (self.hand + 1) % capacity
            return false
        }
    }

    private let bench = ResolverBench(capacity: Self.capacity)
    private let holders: [ResolverBench.Holder]

    init() {
        let bench = self.bench
        self.holders = (0..<8 * Self.capacity).map { bench.holder(subject: "user \($0)") }
    }

    /// A request of this user; true if the loop knew the session.
    private func use(_ user: Int) -> Bool {
        if self.bench.serves(self.holders[user]) { return true }
        self.bench.warm(self.holders[user])
        return false
    }

    /// The share of requests whose session was known, after the table has filled.
    private func hits(of requests: [Int]) -> Double {
        let measured = requests.dropFirst(requests.count / 2)
        for user in requests.prefix(requests.count / 2) { _ = self.use(user) }
        return Double(measured.count(where: { self.use($0) })) / Double(measured.count)
    }

    @Test(
        "When more sessions than there is room for are used in turn, nearly as many are hit as there is room for",
        arguments: [1.2, 3.0, 8.0]
    )
    func cycle(_ size: Double) {
        let users = Int(size * Double(Self.capacity))
        let requests = (0..<12 * users).map { $0 % users }
        #expect(self.hits(of: requests) > 0.8 / size)
        #expect(self.bench.cache.counters.entries == Self.capacity)
    }

    @Test("When all sessions are used equally often, as many are hit as there is room for")
    func uniform() {
        var random = Seeded(state: 16)
        let requests = (0..<40_000).map { _ in Int.random(in: 0..<3 * Self.capacity, using: &random) }
        #expect((0.31...0.36).contains(self.hits(of: requests)))
    }

    @Test(
        "When some sessions are used more often than others, no fewer are hit than by CLOCK",
        arguments: [0.7, 1.0, 1.2]
    )
    func skewed(_ exponent: Double) {
        var random = Seeded(state: 9)
        var shares: [Double] = []
        for user in self.holders.indices { shares.append((shares.last ?? 0) + Self.share(of: user, exponent)) }
        let requests = (0..<60_000).map { _ in
            let point = Double.random(in: 0..<(shares.last ?? 1), using: &random)
            var (low, high) = (0, shares.count - 1)
            while low < high {
                let middle = (low + high) / 2
                if shares[middle] <= point { low = middle + 1 } else { high = middle }
            }
            return low
        }
        var clock = PlainClock()
        let known = requests.map { clock.use($0, capacity: Self.capacity) }
        let byClock = Double(known.suffix(known.count / 2).count(where: \.self)) / Double(known.count / 2)
        #expect(self.hits(of: requests) >= byClock)
    }

    /// How often the user sends requests, compared to the first one: 1 / rank ^ exponent, for exponents in tenths.
    private static func share(of user: Int, _ exponent: Double) -> Double {
        // The standard library has no power function: the tenth root by Newton's method.
        let rank = Double(user + 1)
        var root = 1.0 + rank / 100
        for _ in 0..<200 {
            var ninth = 1.0
            for _ in 0..<9 { ninth *= root }
            root -= (root * ninth - rank) / (10 * ninth)
        }
        var power = 1.0
        for _ in 0..<Int((exponent * 10).rounded()) { power *= root }
        return 1 / power
    }

    @Test("Sessions in use stay, however many others are used once")
    func scan() {
        var random = Seeded(state: 4)
        let hot = Self.capacity / 3
        var (hits, uses) = (0, 0)
        for stranger in hot..<self.holders.count {
            for _ in 0..<2 {
                let isKnown = self.use(Int.random(in: 0..<hot, using: &random))
                guard stranger > 4 * Self.capacity else { continue }
                uses += 1
                hits += isKnown ? 1 : 0
            }
            #expect(!self.use(stranger))
        }
        #expect(Double(hits) / Double(uses) > 0.98)
    }

    @Test("Sessions that are in use no more make room, because they cannot serve without another read")
    func shift() {
        for user in 0..<2 * Self.capacity { _ = self.use(user) }
        self.bench.clock.advance(by: SessionCache.hardAge)
        let requests = (0..<8 * Self.capacity).map { 2 * Self.capacity + $0 % (Self.capacity / 2) }
        #expect(self.hits(of: requests) == 1)
    }
}
