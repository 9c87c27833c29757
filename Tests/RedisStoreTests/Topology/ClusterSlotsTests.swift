import RedisStore
import Testing

/// Reads what nodes of a cluster report about slots.
@Suite struct ClusterSlotsTests {
    private let asked = RedisEndpoint.tcp(host: "10.0.0.1", port: 7000)

    private func node(_ host: String?, _ port: Int64, _ more: RedisReply...) -> RedisReply {
        .array([host.map { .bulk(Array($0.utf8)) } ?? .null, .integer(port)] + more)
    }

    private func entry(_ first: Int64, _ last: Int64, _ nodes: RedisReply...) -> RedisReply {
        .array([.integer(first), .integer(last)] + nodes)
    }

    private func topology(_ entries: RedisReply...) -> Topology? {
        ClusterSlots.topology(.array(entries), from: self.asked)
    }

    @Test("Primaries and their slots are joined and ordered, whatever else is reported")
    func complete() {
        let id = RedisReply.bulk(Array("09dbe9720cda62f7865eabc5fd8857c5d2678366".utf8))
        let name = RedisReply.array([.bulk(Array("hostname".utf8)), .bulk(Array("a.example".utf8))])
        let replica = self.node("10.0.0.9", 7000, id, .array([]))
        let found = self.topology(
            self.entry(101, 16_383, self.node("b.example", 7001, id, .array([])), replica, replica),
            self.entry(51, 100, self.node("10.0.0.2", 7000, id, name, .integer(1)), replica),
            self.entry(0, 50, self.node("10.0.0.2", 7000, id, name), replica, .status("of a later version"))
        )
        #expect(
            found
                == Topology(shards: [
                    Topology.Shard(endpoint: .tcp(host: "10.0.0.2", port: 7000), slots: [0...100]),
                    Topology.Shard(endpoint: .tcp(host: "b.example", port: 7001), slots: [101...16_383]),
                ])
        )
        #expect(found?.coveredSlots == Topology.slotCount)
    }

    @Test("Slots without a primary, or without its address, are left out")
    func gaps() {
        let found = self.topology(
            self.entry(10, 20, self.node("10.0.0.2", 7000)),
            self.entry(0, 5, self.node("10.0.0.2", 7000)),
            self.entry(30, 40, self.node("?", 7000)),
            self.entry(50, 60, self.node("10.0.0.3", 0)),
            self.entry(70, 80, self.node("bad host", 7000))
        )
        #expect(found?.shards == [.init(endpoint: .tcp(host: "10.0.0.2", port: 7000), slots: [0...5, 10...20])])
        #expect(found?.coveredSlots == 17)
    }

    @Test("A node that leaves out the host means its own")
    func ownHost() {
        for host in [nil, ""] {
            let found = self.topology(self.entry(0, 16_383, self.node(host, 7005)))
            #expect(found == Topology(.tcp(host: "10.0.0.1", port: 7005)))
        }
    }

    @Test("A reply that assigns a slot twice, or is malformed, is not used")
    func malformed() {
        let node = self.node("10.0.0.2", 7000)
        #expect(self.topology() == nil)
        #expect(self.topology(self.entry(0, 10, node), self.entry(10, 20, self.node("10.0.0.3", 7000))) == nil)
        #expect(self.topology(self.entry(0, 10, node), self.entry(5, 6, self.node("?", 7000))) == nil)
        for (first, last) in [(-1, 5), (0, 16_384), (6, 5)] as [(Int64, Int64)] {
            #expect(self.topology(self.entry(first, last, node)) == nil)
        }
        for bad in [
            .null, .integer(1), self.entry(0, 1), self.entry(0, 1, .null), self.entry(0, 1, .array([])),
            self.entry(0, 1, .array([.bulk([0x61])])), self.entry(0, 1, .array([.integer(1), .integer(2)])),
            self.entry(0, 1, .array([.bulk([0x61]), .bulk([0x31])])), .array([.null, .integer(1), node]),
        ] as [RedisReply] {
            #expect(self.topology(self.entry(100, 200, node), bad) == nil)
        }
        #expect(ClusterSlots.topology(.error(RedisServerError(line: "ERR")), from: self.asked) == nil)
        let many = [RedisReply](repeating: self.entry(0, 1, node), count: Topology.slotCount + 1)
        #expect(ClusterSlots.topology(.array(many), from: self.asked) == nil)
    }

    @Test("Redirections name a slot and a node")
    func redirections() throws {
        func redirection(_ line: String) -> Redirection? {
            Redirection(RedisServerError(line: line), from: self.asked)
        }
        let moved = try #require(redirection("MOVED 3999 127.0.0.1:6381"))
        #expect(moved.isMoved && moved.slot == 3999 && moved.endpoint == .tcp(host: "127.0.0.1", port: 6381))
        let ask = try #require(redirection("ASK 0 2001:db8::1:6381"))
        #expect(!ask.isMoved && ask.endpoint == .tcp(host: "2001:db8::1", port: 6381))
        #expect(redirection("MOVED 1 :6381")?.endpoint == .tcp(host: "10.0.0.1", port: 6381))
        #expect(redirection("MOVED 1 a.example:6381")?.endpoint == .tcp(host: "a.example", port: 6381))
        for line in [
            "MOVED 1 ?:6381", "MOVED 16384 a:1", "MOVED -1 a:1", "MOVED 1", "MOVED 1 a", "MOVED 1 a:0",
            "MOVED 1 a:65536",
            "MOVED x a:1", "TRYAGAIN 1 a:1", "ERR",
        ] {
            #expect(redirection(line) == nil)
        }
    }

    @Test("The slot of a key is that of its tag")
    func hashSlots() {
        func slot(_ key: String) -> Int { HashSlot.of(Array(key.utf8)) }
        // The specification's own check value, 0x31C3.
        #expect(slot("123456789") == 12_739)
        #expect(slot("{user1000}.following") == slot("user1000"))
        #expect(slot("foo{bar}{zap}") == slot("bar"))
        #expect(slot("foo{{bar}}zap") == slot("{bar"))
        #expect(slot("foo{}{bar}") != slot("bar"))
        #expect(slot("foo{bar") != slot("bar"))
        #expect(slot("") == 0)
    }

    @Test("The primary that most sentinels name is tried first, and the others when all have answered")
    func votes() {
        let (old, new) = (RedisEndpoint.tcp(host: "a", port: 1), RedisEndpoint.tcp(host: "b", port: 1))
        var votes = SentinelVotes(voters: 3)
        votes.add(new)
        #expect(votes.candidates == [])
        votes.add(old)
        #expect(votes.candidates == [] && !votes.isComplete)
        votes.add(old)
        #expect(votes.candidates == [old, new] && votes.isComplete)

        var few = SentinelVotes(voters: 3)
        few.add(nil)
        few.add(nil)
        #expect(few.candidates == [])
        few.add(new)
        #expect(few.candidates == [new] && few.isComplete)

        var agreed = SentinelVotes(voters: 3)
        agreed.add(new)
        agreed.add(new)
        #expect(agreed.candidates == [new] && !agreed.isComplete)
    }

    @Test("A sentinel names an address or a host")
    func sentinelReplies() {
        func endpoint(_ parts: String...) -> RedisEndpoint? {
            RedisEndpoint(sentinelReply: .array(parts.map { .bulk(Array($0.utf8)) }))
        }
        #expect(endpoint("127.0.0.1", "6379") == .tcp(host: "127.0.0.1", port: 6379))
        #expect(endpoint("redis-0.example", "1") == .tcp(host: "redis-0.example", port: 1))
        for reply in [
            endpoint("", "6379"), endpoint("a b", "6379"), endpoint("a", "0"), endpoint("a", "65536"),
            endpoint("a", "x"),
            endpoint("a"), endpoint("a", "1", "2"), endpoint(String(repeating: "a", count: 256), "1"),
            RedisEndpoint(sentinelReply: .null), RedisEndpoint(sentinelReply: .integer(1)),
        ] {
            #expect(reply == nil)
        }
    }
}
