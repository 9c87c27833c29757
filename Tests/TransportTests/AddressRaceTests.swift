import Glibc
import NIOCore
import Testing
import Transport

/// Which address of a name is tried when, by a clock of the test.
@Suite("The race of a name's addresses") struct AddressRaceTests {
    private static let begin = NIODeadline.uptimeNanoseconds(1_000_000_000)

    private static func at(_ milliseconds: Int64) -> NIODeadline { self.begin + .milliseconds(milliseconds) }

    @Test func anAddressThatIsSilentCostsItsHeadStart() {
        var race = AddressRace(count: 3)
        #expect(race.start(now: Self.at(0)) == .connect(0) && race.nextStart == Self.at(250))
        #expect(race.start(now: Self.at(249)) == .wait)
        #expect(race.start(now: Self.at(250)) == .connect(1) && race.nextStart == Self.at(500))
        #expect(race.connected(1) == .won(others: [0], losers: [0]) && race.nextStart == nil)
    }

    @Test func anAddressThatRefusesCostsNothing() {
        var race = AddressRace(count: 3)
        #expect(race.start(now: Self.at(0)) == .connect(0))
        #expect(race.failed(0, now: Self.at(1)) == .connect(1) && race.nextStart == Self.at(251))
        #expect(race.failed(1, now: Self.at(2)) == .connect(2) && race.nextStart == nil)
        #expect(race.failed(2, now: Self.at(3)) == .lost && race.nextStart == nil)
        #expect(race.start(now: Self.at(900)) == .wait)
    }

    @Test func theFirstAnswerCountsAndAllOthersAreGivenUp() {
        var race = AddressRace(count: 4)
        for index in 0..<4 { #expect(race.start(now: Self.at(Int64(index) * 250)) == .connect(index)) }
        // The later ones had less time than the winner: they have not lost.
        #expect(race.connected(1) == .won(others: [0, 2, 3], losers: [0]))
        #expect(race.connected(2) == .wait && race.failed(0, now: Self.at(2000)) == .wait && race.nextStart == nil)
    }

    @Test func whatFailsLateIsWaitedFor() {
        var race = AddressRace(count: 2)
        #expect(race.start(now: Self.at(0)) == .connect(0) && race.start(now: Self.at(250)) == .connect(1))
        #expect(race.failed(1, now: Self.at(300)) == .wait)
        #expect(race.failed(0, now: Self.at(1000)) == .lost)
        var single = AddressRace(count: 1)
        #expect(single.start(now: Self.at(0)) == .connect(0) && single.nextStart == nil)
        #expect(single.connected(0) == .won(others: [], losers: []))
        var none = AddressRace(count: 0)
        #expect(none.start(now: Self.at(0)) == .lost)
    }

    private static func addresses(_ hosts: String...) throws -> [SocketAddress] {
        try hosts.map { try SocketAddress(ipAddress: $0, port: 80) }
    }

    private static func names(_ addresses: [SocketAddress]) -> [String] { addresses.compactMap(\.ipAddress) }

    @Test func theFamiliesTakeTurns() throws {
        let memory = AddressMemory()
        let six = try Self.addresses("::1", "::2", "127.0.0.1", "::3", "127.0.0.2")
        #expect(Self.names(memory.order(six, now: Self.begin)) == ["::1", "127.0.0.1", "::2", "127.0.0.2", "::3"])
        let four = try Self.addresses("127.0.0.1", "127.0.0.2", "127.0.0.3", "::1")
        #expect(Self.names(memory.order(four, now: Self.begin)) == ["127.0.0.1", "::1", "127.0.0.2", "127.0.0.3"])
    }

    @Test func aLoserIsTriedLastForTenSeconds() throws {
        let memory = AddressMemory()
        let all = try Self.addresses("127.0.0.1", "127.0.0.2", "127.0.0.3")
        memory.lost(all[0], now: Self.begin)
        #expect(Self.names(memory.order(all, now: Self.at(9999))) == ["127.0.0.2", "127.0.0.3", "127.0.0.1"])
        #expect(Self.names(memory.order(all, now: Self.at(10_000))) == ["127.0.0.1", "127.0.0.2", "127.0.0.3"])
        memory.lost(all[1], now: Self.begin)
        memory.answered(all[0])
        #expect(Self.names(memory.order(all, now: Self.at(1))) == ["127.0.0.1", "127.0.0.3", "127.0.0.2"])
        for address in all { memory.lost(address, now: Self.begin) }
        #expect(Self.names(memory.order(all, now: Self.at(1))) == ["127.0.0.1", "127.0.0.2", "127.0.0.3"])
    }

    /// A listener whose queue is full, so that the kernel answers no further SYN.
    private final class Silence {
        private var descriptors: [Int32] = []

        init(_ address: SocketAddress) throws {
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            self.descriptors.append(listener)
            try #require(address.withSockAddr { bind(listener, $0, socklen_t($1)) } == 0 && listen(listener, 0) == 0)
            for _ in 0..<4 {
                let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
                _ = address.withSockAddr { connect(filler, $0, socklen_t($1)) }
                self.descriptors.append(filler)
            }
        }

        deinit {
            for descriptor in self.descriptors { close(descriptor) }
        }
    }

    @Test func aSilentAddressKeepsNoConnectionFromTheNextOne() async throws {
        try await SocketBench.with { bench in
            let listener = try Peer.listener()
            let silent = try SocketAddress(ipAddress: "127.0.0.2", port: listener.address.port ?? 0)
            let silence = try Silence(silent)
            defer { withExtendedLifetime(silence) {} }
            let memory = AddressMemory()
            let loop = bench.loop
            for number in 0..<2 {
                let promise = loop.makePromise(of: SocketAddress.self)
                let before = NIODeadline.now()
                try await bench.onLoop {
                    ConnectionRace([silent, listener.address], on: loop, timeout: .minutes(10), memory: memory) {
                        promise.completeWith($0.map { $0.1 })
                    }.start()
                }
                #expect(try await promise.futureResult.get() == listener.address, "\(number)")
                _ = try listener.accept()
                #expect(memory.order([silent, listener.address], now: before) == [listener.address, silent])
            }
        }
    }

    @Test func theErrorIsThatOfTheFirstAddress() async throws {
        try await SocketBench.with { bench in
            let loop = bench.loop
            let addresses = try ["127.0.0.3", "127.0.0.4"].map { try SocketAddress(ipAddress: $0, port: 1) }
            let promise = loop.makePromise(of: SocketAddress.self)
            try await bench.onLoop {
                ConnectionRace(addresses, on: loop, timeout: .minutes(10)) { promise.completeWith($0.map { $0.1 }) }
                    .start()
            }
            await #expect(throws: IOError.self) { try await promise.futureResult.get() }
        }
    }
}
