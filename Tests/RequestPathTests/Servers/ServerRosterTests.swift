import NIOCore
import RequestPath
import Settings
import Testing

/// Which server of an app gets a request, when some are left out or the connections are at their limit.
@Suite struct ServerRosterTests {
    private static func time(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(1000 + seconds) }

    private static func roster(_ balance: ServerBalance, _ weights: [Int]) -> ServerRoster {
        var roster = ServerRoster(balance, seed: 7)
        let loads = weights.enumerated().map { ServerLoad(share: $1, hash: StickyKey.hash("http://app-\($0)".utf8)) }
        roster.set(loads, kept: weights.map { _ in nil }, former: [])
        return roster
    }

    /// The choice for a GET, at second 20.
    private static func choose(
        _ roster: inout ServerRoster,
        key: UInt64 = 0,
        failed: UInt64 = 0,
        mayProbe: Bool = true,
        limit: Int = 1000
    ) -> Int? {
        roster.choose(
            failed: failed,
            mayProbe: mayProbe,
            limit: limit,
            now: Self.time(20),
            key: StickyKey.hash("\(key)".utf8)
        )
    }

    private static func leaveOut(_ place: Int, _ roster: inout ServerRoster, at second: Int64 = 0) {
        roster.entries[place].health.leave(now: Self.time(second), percent: 0)
        roster.countOut()
    }

    // MARK: Probes

    @Test func oneRequestProbesAServerThatWasLeftOutLongEnough() {
        var roster = Self.roster(.roundRobin, [1, 1])
        Self.leaveOut(0, &roster)
        #expect((0..<5).map { _ in Self.choose(&roster) } == [0, 1, 1, 1, 1])
    }

    @Test func aRequestThatCannotBeSentAgainIsNoProbe() {
        var roster = Self.roster(.leastRequests, [1, 1])
        Self.leaveOut(0, &roster)
        for _ in 0..<20 { #expect(Self.choose(&roster, mayProbe: false) == 1) }
        #expect(Self.choose(&roster) == 0)
    }

    /// It has failed once: it goes where it will be served.
    @Test func aSecondTryIsNoProbe() {
        var roster = Self.roster(.roundRobin, [1, 1, 1, 1])
        Self.leaveOut(0, &roster)
        Self.leaveOut(1, &roster)
        for _ in 0..<20 { #expect(Self.choose(&roster, failed: roster.entries[2].bit) == 3) }
    }

    @Test func aSessionIsNotTakenFromItsServerForAProbe() {
        var roster = Self.roster(.sticky, [1, 1, 1])
        let homes = (0..<300).map { Self.choose(&roster, key: $0) }
        Self.leaveOut(1, &roster)
        var probes = 0
        for (key, home) in homes.enumerated() {
            guard home == 1 else {
                #expect(Self.choose(&roster, key: UInt64(key)) == home)
                continue
            }
            // The first of its own sessions probes it, and the others wait for the result.
            let place = Self.choose(&roster, key: UInt64(key))
            #expect((place == 1) == (probes == 0))
            probes += 1
        }
        #expect(probes > 50)
    }

    @Test func neverMoreThanHalfAreLeftOut() {
        var roster = Self.roster(.roundRobin, [1, 1, 1, 1, 1])
        #expect(roster.mayLoseOne)
        Self.leaveOut(0, &roster)
        #expect(roster.mayLoseOne)
        roster.entries[1].isDown = true
        roster.countOut()
        #expect(!roster.mayLoseOne && roster.outCount == 2)
        for place in roster.entries.indices { roster.entries[place].isDown = true }
        roster.countOut()
        // None serves: all are tried.
        #expect(Set((0..<10).compactMap { _ in Self.choose(&roster, mayProbe: false) }) == [0, 1, 2, 3, 4])
    }

    @Test func whoHasFailedIsNotChosenAgain() {
        var roster = Self.roster(.roundRobin, [1, 1])
        let bits = roster.entries.map(\.bit)
        #expect(Self.choose(&roster, failed: bits[0]) == 1)
        Self.leaveOut(1, &roster, at: 19)
        // Better one that may fail than none.
        #expect(Self.choose(&roster, failed: bits[0]) == 1)
        #expect(Self.choose(&roster, failed: bits[0] | bits[1]) == nil)
    }

    @Test func serversAreEvenWhileAllServeWithEqualShares() {
        var roster = Self.roster(.leastRequests, [2, 2, 2])
        #expect(roster.isEven && !Self.roster(.leastRequests, [1, 2]).isEven)
        #expect(!Self.roster(.leastRequests, [1]).isEven)
        roster.entries[1].growsSince = Self.time(0)
        roster.grow(1, now: Self.time(1), period: .seconds(30))
        #expect(!roster.isEven)
        roster.grow(1, now: Self.time(31), period: .seconds(30))
        #expect(roster.isEven)
        roster.entries[2].isDown = true
        roster.countOut()
        #expect(!roster.isEven)
        var other = Self.roster(.leastRequests, [1, 1])
        Self.leaveOut(0, &other)
        #expect(!other.isEven)
    }

    // MARK: The limit of connections

    private static func full(_ balance: ServerBalance, _ weights: [Int], open: [Int], idle: [Int]) -> ServerRoster {
        var roster = Self.roster(balance, weights)
        for place in weights.indices {
            roster.loads[place].open = open[place]
            roster.loads[place].hasIdle = idle.contains(place)
            roster.loads[place].inFlight = open[place]
        }
        return roster
    }

    @Test(arguments: [ServerBalance.roundRobin, .leastRequests])
    func atTheLimitARequestGoesWhereAConnectionIsIdle(_ balance: ServerBalance) {
        var roster = Self.full(balance, [1, 1], open: [2, 2], idle: [0])
        for _ in 0..<20 { #expect(Self.choose(&roster, limit: 4) == 0) }
        // Below it, both get their share.
        #expect(Set((0..<20).compactMap { _ in Self.choose(&roster, limit: 5) }) == [0, 1])
    }

    @Test func atTheLimitAServerGetsItsShareOfTheConnections() {
        var roster = Self.full(.roundRobin, [1, 3], open: [4, 0], idle: [0])
        #expect(Set((0..<8).compactMap { _ in Self.choose(&roster, limit: 4) }) == [0, 1])
        #expect(roster.giver(for: 1, limit: 4) == 0)
        for (open, isShared) in [([2, 2], true), ([1, 3], false), ([0, 4], true)] {
            var roster = Self.full(.roundRobin, [1, 3], open: open, idle: open[0] > 0 ? [0] : [1])
            let places = Set((0..<8).compactMap { _ in Self.choose(&roster, limit: 4) })
            #expect(places == (isShared ? [0, 1] : open[0] > 0 ? [0] : [1]), "\(open)")
        }
    }

    @Test func aServerThatIsLeftOutGivesUpItsConnections() {
        var roster = Self.full(.roundRobin, [1, 1], open: [2, 2], idle: [0])
        Self.leaveOut(0, &roster, at: 19)
        #expect(Self.choose(&roster, limit: 4) == 1)
        #expect(roster.giver(for: 1, limit: 4) == 0)
    }

    @Test func aSessionGoesToItsServerAlsoAtTheLimit() {
        var free = Self.roster(.sticky, [1, 1])
        var full = Self.full(.sticky, [1, 1], open: [2, 2], idle: [0])
        for key in 0..<50 {
            #expect(Self.choose(&full, key: UInt64(key), limit: 4) == Self.choose(&free, key: UInt64(key)))
        }
    }

    // MARK: Reloads

    @Test func aReloadKeepsBitsAndHealth() {
        var roster = Self.roster(.roundRobin, [1, 1, 1])
        Self.leaveOut(1, &roster)
        let former = roster.entries
        #expect(former.map(\.bit) == [1, 2, 4])
        var next = ServerRoster(.roundRobin, seed: 1)
        let loads = (0..<3).map { ServerLoad(share: 1, hash: UInt64($0)) }
        next.set(loads, kept: [former[2], nil, former[1]], former: former)
        #expect(next.entries.map(\.bit) == [4, 8, 2])
        #expect(next.entries.map(\.isServing) == [true, true, false] && next.outCount == 1)
    }

    @Test func thereIsABitForEachOfTheMostServers() {
        var roster = Self.roster(.roundRobin, [Int](repeating: 1, count: 64))
        let former = roster.entries
        #expect(Set(former.map(\.bit)).count == 64)
        let kept =
            former.dropFirst(32).map { $0 as ServerRoster.Entry? } + [ServerRoster.Entry?](repeating: nil, count: 32)
        roster.set(roster.loads, kept: kept, former: former)
        #expect(Set(roster.entries.map(\.bit)).count == 64 && !roster.entries.contains { $0.bit == 0 })
    }

    @Test func theShareOfAServerThatIsBackGrows() {
        var roster = Self.roster(.roundRobin, [2, 1])
        roster.entries[0].growsSince = Self.time(0)
        let weights = ([0, 15, 30, 31] as [Int64]).map { second -> Int in
            roster.grow(0, now: Self.time(second), period: .seconds(30))
            return roster.loads[0].weight
        }
        #expect(weights == [20, 100, 200, 200] && roster.entries[0].growsSince == nil)
        roster.entries[1].growsSince = Self.time(0)
        roster.grow(1, now: Self.time(0), period: nil)
        #expect(roster.loads[1].weight == 100)
    }
}

/// What the loops tell one another, and the operator once.
@Suite struct ServerNewsTests {
    private static let now = NIODeadline.uptimeNanoseconds(5)

    @Test func theOperatorIsToldOnceForAllLoops() {
        let news = ServerNews()
        #expect(news.leaves(again: false) && news.isOut)
        #expect(!news.leaves(again: false))
        #expect(!news.leaves(again: true))
        #expect(news.returns(now: Self.now) && !news.isOut && news.backAt == Self.now)
        #expect(!news.returns(now: Self.now))
        #expect(news.leaves(again: false))
    }

    /// A reload replaces the pools: a server that nobody leaves out any more is not suspect.
    @Test func whatNobodyLeavesOutIsForgotten() {
        let news = ServerNews()
        _ = news.leaves(again: false)
        _ = news.leaves(again: false)
        news.forgets()
        #expect(news.isOut)
        news.forgets()
        #expect(!news.isOut)
        #expect(news.leaves(again: false))
    }

    @Test func checksAndRequestsTellTogetherOnce() {
        let news = ServerNews()
        #expect(news.leaves(again: false))
        #expect(!news.found(isDown: true) && news.isDown)
        #expect(!news.found(isDown: true))
        #expect(!news.returns(now: Self.now))
        #expect(news.found(isDown: false))
        #expect(news.found(isDown: true))
        #expect(!news.leaves(again: false))
        #expect(!news.found(isDown: false))
        #expect(news.returns(now: Self.now))
    }
}
