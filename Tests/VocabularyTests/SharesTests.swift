import Testing
import Vocabulary

@Suite("Shares of a limit") struct SharesTests {
    @Test(
        "A client alone gets half, several get what is free, and nobody less than a quarter",
        arguments: [(1024, 1024, 512), (1024, 600, 512), (1024, 300, 300), (1024, 0, 256), (4, 4, 2), (4, 0, 1)]
    )
    func share(limit: Int, free: Int, share: Int) {
        #expect(ShareRule(of: limit).share(free: free) == share)
    }

    @Test("The smallest limits leave each client one place", arguments: [0, 1, 2, 3])
    func smallest(limit: Int) {
        #expect(ShareRule(of: limit).share(free: limit) == 1 && ShareRule(of: limit).threshold == 1)
    }

    @Test("A percentage of the settings is used whatever is free", arguments: [(10, 100), (50, 500), (100, 1000)])
    func percentage(percent: Int, share: Int) {
        let rule = ShareRule(of: 1000, percent: percent)
        #expect([0, 400, 1000].allSatisfy { rule.share(free: $0) == share })
        #expect(rule.threshold == min(share, 250))
    }

    @Test("However many clients want everything, the first gets half and the last finds room for its quarter")
    func several() {
        for clients in 1...4 {
            var shares = Shares<Int>(ShareRule(of: 1024))
            // All ask in turns until nobody gets more.
            var hasMoved = true
            while hasMoved {
                hasMoved = false
                for client in 0..<clients where shares.total < 1024 && shares.admits(client) {
                    shares.take(client)
                    hasMoved = true
                }
            }
            for client in 0..<clients {
                #expect((256...512).contains(shares.count(of: client)), "\(clients): \(shares.count(of: client))")
            }
            if clients < 4 { #expect(shares.admits(clients) && shares.total <= 768) }
        }
    }

    @Test("Whatever comes and goes in whatever order, nothing is left when all has gone", arguments: 1...20)
    func random(seed: UInt64) {
        var random = SplitMix(state: seed)
        var shares = Shares<Int>(ShareRule(of: 64))
        var taken: [Int?] = []
        for _ in 0..<2000 {
            if taken.isEmpty || random.next(below: 5) < 3, shares.total < 64 {
                let client = random.next(below: 9)
                // The ninth has no name.
                let name: Int? = client == 8 ? nil : client
                guard shares.admits(name) else { continue }
                shares.take(name)
                taken.append(name)
            } else if !taken.isEmpty {
                shares.giveBack(taken.remove(at: random.next(below: taken.count)))
            }
            #expect(shares.total == taken.count)
            for client in 0..<8 {
                let count = taken.count { $0 == client }
                #expect(shares.count(of: client) == count && count <= 32)
            }
        }
        for client in taken { shares.giveBack(client) }
        #expect(shares.total == 0 && (0..<8).allSatisfy { shares.count(of: $0) == 0 })
    }
}

/// Numbers that a seed decides.
private struct SplitMix {
    var state: UInt64

    mutating func next(below limit: Int) -> Int {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        value ^= value >> 31
        return Int(value % UInt64(limit))
    }
}
