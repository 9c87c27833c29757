import AddressIntelligence
import NIOCore
import RequestPath
import Testing
import Vocabulary

/// An address in a test network.
private func address(_ number: Int) -> AddressKey { AddressKey(of: IPAddress("192.0.2.\(number)")!) }

@Suite("Shares of an app's connections") struct ClientSharesTests {
    @Test("Nothing is counted before it is said so, and everybody may have a connection")
    func idle() {
        var shares = ClientShares(ShareRule(of: 4))
        let one = Requester(address: address(1), session: nil)
        for _ in 0..<100 {
            let seat = shares.take(one)
            #expect(seat == nil && shares.admits(one))
        }
        #expect(shares.total == 0)
    }

    @Test("An address and a session have their share each, and a trusted proxy has none")
    func both() {
        var shares = ClientShares(ShareRule(of: 8))
        shares.begin()
        // One session from many addresses.
        for number in 1...4 { _ = shares.take(Requester(address: address(number), session: 7)) }
        #expect(!shares.admits(Requester(address: address(5), session: 7)))
        #expect(shares.admits(Requester(address: address(5), session: 8)))
        #expect(shares.admits(Requester(address: address(1), session: nil)))
        // One proxy that names no client.
        let proxy = Requester(address: nil, session: nil)
        for _ in 0..<4 { _ = shares.take(proxy) }
        #expect(shares.admits(proxy) && shares.count(of: proxy.client) == 0 && shares.total == 8)
    }

    @Test("An IPv6 client is its /64")
    func networks() throws {
        var shares = ClientShares(ShareRule(of: 4))
        shares.begin()
        for number in 1...2 {
            let address = AddressKey(of: try #require(IPAddress("2001:db8::\(number)")))
            _ = shares.take(Requester(address: address, session: nil))
        }
        let other = AddressKey(of: try #require(IPAddress("2001:db8::ffff")))
        let neighbour = AddressKey(of: try #require(IPAddress("2001:db8:0:1::1")))
        #expect(!shares.admits(Requester(address: other, session: nil)))
        #expect(shares.admits(Requester(address: neighbour, session: nil)))
    }

    @Test(
        "At an address that has its share, a session with hardly any requests gets a connection, and no more than some"
    )
    func crowded() {
        var shares = ClientShares(ShareRule(of: 32))
        shares.begin()
        let stranger = Requester(address: address(1), session: nil)
        for _ in 0..<16 { _ = shares.take(stranger) }
        let user = Requester(address: address(1), session: 7)
        #expect(!shares.admits(stranger) && shares.admits(user))
        for _ in 0..<2 { _ = shares.take(user) }
        #expect(!shares.admits(user), "a sixteenth")
        // Many sessions leave others a quarter.
        for session in UInt64(8)..<11 {
            for _ in 0..<2 { _ = shares.take(Requester(address: address(1), session: session)) }
        }
        #expect(shares.count(of: stranger.client) == 24)
        #expect(!shares.admits(Requester(address: address(1), session: 20)))
        #expect(shares.admits(Requester(address: address(2), session: nil)))
    }

    @Test("An app that is full has room for nobody, and a session with its share gets no more by another address")
    func full() {
        var shares = ClientShares(ShareRule(of: 4))
        shares.begin()
        for number in 1...2 { for _ in 0..<2 { _ = shares.take(Requester(address: address(number), session: nil)) } }
        #expect(!shares.admits(Requester(address: address(1), session: 7)))
        var others = ClientShares(ShareRule(of: 8))
        others.begin()
        for number in 1...4 { _ = others.take(Requester(address: address(number), session: 7)) }
        for _ in 0..<3 { _ = others.take(Requester(address: address(1), session: nil)) }
        #expect(!others.admits(Requester(address: address(1), session: 7)))
    }

    @Test("What was counted before counting began again is not given back", arguments: [true, false])
    func generations(changes: Bool) throws {
        var shares = ClientShares(ShareRule(of: 8))
        let one = Requester(address: address(1), session: 1)
        shares.begin()
        let first = shares.take(one)
        let former = try #require(first)
        if changes { shares.stop(ShareRule(of: 16)) } else { shares.stop() }
        shares.giveBack(former)
        shares.begin()
        let second = shares.take(one)
        let seat = try #require(second)
        shares.giveBack(former)
        #expect(shares.count(of: one.client) == 1 && shares.total == 1)
        shares.giveBack(seat)
        #expect(shares.count(of: one.client) == 0 && shares.total == 0 && shares.rule.limit == (changes ? 16 : 8))
    }
}

@Suite("How fast a client reads and sends") struct ClientPaceTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    /// Looks four times a second for so many seconds at a client that has moved `bytes(second)`.
    private static func watch(
        _ seconds: Int,
        _ debt: ClientPace.Debt,
        _ bytes: (Double) -> Int
    ) -> ClientStall? {
        var pace = ClientPace(of: 1, moved: 0, since: self.start)
        for tick in 1...(4 * seconds) {
            let now = self.start + .milliseconds(Int64(250 * tick))
            pace.look(bytes(Double(tick) / 4), debt, now: now)
        }
        return pace.stall(now: self.start + .seconds(Int64(seconds)))
    }

    @Test("One byte now and then is no progress", arguments: [0, 1, 10, 100])
    func trickle(perSecond: Int) {
        let stall = Self.watch(10, .client) { Int($0) * perSecond }
        #expect(stall?.isOwing == true)
    }

    @Test("One byte each fifteen seconds is none either")
    func rarely() {
        #expect(Self.watch(60, .client) { Int($0 / 15) }?.since == Self.start)
    }

    @Test("A slow client is not stalled", arguments: [400, 1000, 100_000])
    func slow(perSecond: Int) {
        #expect(Self.watch(30, .client) { Int($0 * Double(perSecond)) } == nil)
    }

    @Test("A client that waits for the app is not stalled, however long it takes")
    func app() {
        #expect(Self.watch(60, .none) { _ in 0 } == nil)
    }

    @Test("Where both sides are silent, the client owes nothing")
    func silent() {
        #expect(Self.watch(10, .nobody) { _ in 0 } == ClientStall(since: Self.start, isOwing: false))
    }

    @Test("A silent client that gets something to read has its time for it")
    func wakes() {
        var pace = ClientPace(of: 1, moved: 0, since: Self.start)
        for second in 1...60 { pace.look(0, .nobody, now: Self.start + .seconds(Int64(second))) }
        pace.look(0, .none, now: Self.start + .seconds(61))
        pace.look(0, .client, now: Self.start + .seconds(62))
        #expect(pace.stall(now: Self.start + .seconds(63)) == nil)
    }
}

@Suite("Which stalled requests end") struct StallChoiceTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private static func candidate(_ client: Int, _ age: Int64, isOwing: Bool = true) -> StallChoice.Candidate {
        StallChoice.Candidate(
            client: .address(address(client)),
            stall: ClientStall(since: self.start - .seconds(age), isOwing: isOwing)
        )
    }

    private static func choose(
        _ count: Int,
        _ candidates: [StallChoice.Candidate],
        _ held: [Int: Int],
        least: Int = 0,
        limit: Int = 1024
    ) -> [Int] {
        StallChoice.choose(count, of: candidates, limit: limit, least: least) { client in
            held.first { .address(address($0.key)) == client }?.value ?? 0
        }
    }

    @Test("The client that holds most loses the request that is stalled for the longest")
    func order() {
        let candidates = [
            Self.candidate(1, 90), Self.candidate(2, 5), Self.candidate(2, 30), Self.candidate(2, 10),
        ]
        #expect(Self.choose(2, candidates, [1: 100, 2: 300]) == [2, 3])
        #expect(Self.choose(1, candidates, [1: 400, 2: 300]) == [0])
        #expect(Self.choose(10, candidates, [1: 100, 2: 300]).sorted() == [0, 1, 2, 3])
    }

    @Test("Clients that hold as many lose in turns")
    func turns() {
        let candidates =
            (0..<4).map { Self.candidate(1, 50 - Int64($0)) } + (0..<4).map { Self.candidate(2, 40 - Int64($0)) }
        let chosen = Self.choose(4, candidates, [1: 20, 2: 20])
        #expect(chosen.count { $0 < 4 } == 2 && chosen.count { $0 >= 4 } == 2)
    }

    @Test("For others of its own address a client loses what it could read or send, as much as waits")
    func own() {
        let candidates = [
            Self.candidate(1, 5), Self.candidate(1, 30), Self.candidate(1, 90, isOwing: false), Self.candidate(2, 40),
            Self.candidate(1, 10),
        ]
        func choose(_ count: Int, _ waiting: [Int: Int]) -> [Int] {
            let waiting = Dictionary(uniqueKeysWithValues: waiting.map { (Requester.Client.address(address($0)), $1) })
            return StallChoice.chooseForOwn(count, of: candidates, waiting: waiting)
        }
        #expect(choose(64, [:]).isEmpty)
        #expect(choose(64, [1: 1]) == [1])
        #expect(choose(64, [1: 9]) == [1, 4, 0])
        #expect(choose(2, [1: 9, 2: 9]) == [3, 1])
    }

    @Test("A silent tunnel ends only for others that have fewer, and not that of a client with few")
    func silent() {
        let silent = (0..<3).map { _ in Self.candidate(1, 60, isOwing: false) }
        #expect(Self.choose(3, silent, [1: 40]).isEmpty)
        #expect(Self.choose(3, silent, [1: 200], least: 200).isEmpty)
        #expect(Self.choose(3, silent, [1: 200], least: 10) == [0, 1, 2])
        // What another client owes ends all the same.
        #expect(Self.choose(3, silent + [Self.candidate(2, 5)], [1: 40, 2: 1]) == [3])
    }
}
