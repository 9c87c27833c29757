import AddressIntelligence
import NIOCore
import RequestPath
import Settings
import Testing

@Suite("The gate for connections") struct ConnectionGateTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private static func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

    private static func gate(_ connections: Int, perAddress: Int? = nil, trusted: [String] = []) throws
        -> ConnectionGate
    {
        var limits = LimitSettings()
        limits.connections = connections
        limits.connectionsPerAddress = perAddress
        return ConnectionGate(limits, trusted: try trusted.map { try #require(CIDRBlock($0)) }, files: 100_000)
    }

    /// Lets the gate check once and find all connections busy.
    private static func findBusy(_ gate: ConnectionGate) {
        if gate.beginClearing(now: self.start) != nil { #expect(gate.cleared(0, now: self.start)) }
    }

    /// Accepts a client; nil if it is refused.
    private static func admit(_ address: IPAddress, to gate: ConnectionGate, at time: NIODeadline = start)
        -> ConnectionGate.Place?
    {
        gate.reserve()
        return gate.name(address, now: time)
    }

    /// How many of `count` clients from these addresses, in turn, are admitted while all admitted connections are busy.
    private static func admitted(_ count: Int, to gate: ConnectionGate, from addresses: [IPAddress]) -> Int {
        (0..<count).reduce(0) { sum, index in
            let place = Self.admit(addresses[index % addresses.count], to: gate)
            Self.findBusy(gate)
            return sum + (place == nil ? 0 : 1)
        }
    }

    @Test("One address gets half of the room by default, and each IPv6 /64 counts as one address")
    func perAddress() throws {
        let gate = try Self.gate(1000)
        #expect(Self.admitted(600, to: gate, from: [try Self.address("192.0.2.1")]) == 500)
        let household = try (1...9).map { try Self.address("2001:db8::\($0)") }
        #expect(Self.admitted(600, to: gate, from: household) == 400, "what is left but for the reserved tenth")
        #expect(gate.refusedCount(.perAddress) == 100 && gate.refusedCount(.reserved) == 200)
        let other = try Self.gate(1000)
        #expect(Self.admitted(600, to: other, from: household) == 500)
    }

    @Test("The limit per address can be set or switched off")
    func setLimit() throws {
        let address = try Self.address("192.0.2.1")
        #expect(Self.admitted(20, to: try Self.gate(1000, perAddress: 7), from: [address]) == 7)
        #expect(Self.admitted(1000, to: try Self.gate(1000, perAddress: 0), from: [address]) == 900)
    }

    @Test("Trusted proxies, from which all clients come, have no limit per address")
    func trusted() throws {
        let gate = try Self.gate(1000, trusted: ["192.0.2.0/24"])
        let proxy = try Self.address("192.0.2.7")
        #expect(Self.admitted(999, to: gate, from: [proxy]) == 999)
        let last = try #require(Self.admit(proxy, to: gate))
        #expect(gate.hasRoom(orWake: nil) == false)
        last.giveBack()
        #expect(gate.hasRoom(orWake: nil))
    }

    @Test("A client has a place before it is named, and gives it back when it is refused by its name")
    func reserving() throws {
        let gate = try Self.gate(2, perAddress: 1)
        let address = try Self.address("192.0.2.1")
        #expect(Self.admit(address, to: gate) != nil)
        gate.reserve()
        #expect(!gate.hasRoom(orWake: nil))
        #expect(gate.name(address, now: Self.start) == nil && gate.hasRoom(orWake: nil))
    }

    @Test("A closed connection makes room, for its address and for all")
    func leaving() throws {
        let gate = try Self.gate(4, perAddress: 2)
        let address = try Self.address("192.0.2.1")
        let first = try #require(Self.admit(address, to: gate))
        #expect(Self.admitted(2, to: gate, from: [address]) == 1)
        first.giveBack()
        #expect(Self.admit(address, to: gate) != nil)
    }

    @Test("The last tenth is reserved for addresses with a recent signed-in user, for a quarter of an hour at least")
    func reserved() throws {
        let gate = try Self.gate(100, perAddress: 0)
        let known = try Self.address("192.0.2.9")
        gate.noteSession(known, now: Self.start)
        #expect(Self.admitted(95, to: gate, from: [try Self.address("198.51.100.1")]) == 90)
        #expect(Self.admit(known, to: gate, at: Self.start + .minutes(14)) != nil)
        #expect(Self.admit(known, to: gate, at: Self.start + .minutes(31)) == nil)
    }

    @Test("The number of remembered addresses is bounded, and the oldest are forgotten first")
    func bounded() throws {
        let gate = try Self.gate(100, perAddress: 0)
        let first = try Self.address("192.0.2.9")
        gate.noteSession(first, now: Self.start)
        for index in 0..<20_000 { gate.noteSession(IPAddress(v4: 0x0A00_0000 + UInt32(index)), now: Self.start) }
        #expect(Self.admitted(90, to: gate, from: [try Self.address("198.51.100.1")]) == 90)
        #expect(Self.admit(first, to: gate) == nil)
        #expect(Self.admit(IPAddress(v4: 0x0A00_0000 + 19_999), to: gate) != nil)
    }

    @Test("Only one clearing runs at a time, and after a clearing that closed too few the next one waits")
    func clearing() throws {
        let gate = try Self.gate(160, perAddress: 0)
        let address = try Self.address("192.0.2.1")
        #expect(Self.admitted(133, to: gate, from: [address]) == 133)
        #expect(gate.beginClearing(now: Self.start) == nil)
        #expect(Self.admit(address, to: gate) != nil)
        let clearing = try #require(gate.beginClearing(now: Self.start))
        #expect(clearing.count == 10 && clearing.admittedBefore == Self.start)
        #expect(gate.beginClearing(now: Self.start) == nil)
        #expect(!gate.cleared(10, now: Self.start))
        #expect(gate.beginClearing(now: Self.start) != nil)
        #expect(gate.cleared(9, now: Self.start))
        #expect(gate.beginClearing(now: Self.start + .milliseconds(49)) == nil)
        #expect(gate.beginClearing(now: Self.start + .milliseconds(50)) != nil)
    }

    @Test("As long as many connections are idle, every client is admitted, because idle connections can be closed")
    func idle() throws {
        let gate = try Self.gate(160, perAddress: 0)
        let address = try Self.address("192.0.2.1")
        for _ in 0..<160 {
            #expect(Self.admit(address, to: gate) != nil)
            if gate.beginClearing(now: Self.start) != nil { #expect(!gate.cleared(10, now: Self.start)) }
        }
        #expect(!gate.hasRoom(orWake: nil))
    }

    @Test("Each client has one descriptor, apps as many as their limits say, or one for each client if that is fewer")
    func files() throws {
        #expect(ConnectionGate.clients(within: 20_064, apps: nil) == 10_000)
        #expect(ConnectionGate.clients(within: 20_064, apps: 2048) == 17_952)
        #expect(ConnectionGate.clients(within: 20_064, apps: 10_000) == 10_000)
        #expect(ConnectionGate.clients(within: 20_064, apps: 65_536 * 256) == 10_000)
        #expect(ConnectionGate.clients(within: 0, apps: 1) == 16, "some can always be served")
        // Clients, connections to apps, and what is kept back.
        #expect(ConnectionGate.filesNeeded(for: 20_000, apps: 1024, files: 19_000) == 21_088)
        #expect(ConnectionGate.filesNeeded(for: 20_000, apps: 65_536, files: 19_000) == 40_064)
        #expect(ConnectionGate.filesNeeded(for: 19_000, apps: 1024, files: 19_000) == nil)
        var limits = LimitSettings()
        limits.connections = 1000
        let gate = ConnectionGate(limits, trusted: [], apps: 100, files: 764)
        #expect(gate.effectiveLimit == 600)
        gate.adopt(limits, trusted: [], apps: 400)
        #expect(gate.effectiveLimit == 350, "a reload may add apps")
    }

    @Test("New limits apply to later connections")
    func adopt() throws {
        let gate = try Self.gate(100, perAddress: 2)
        let address = try Self.address("192.0.2.1")
        #expect(Self.admitted(5, to: gate, from: [address]) == 2)
        var limits = LimitSettings()
        limits.connections = 100
        limits.connectionsPerAddress = 5
        gate.adopt(limits, trusted: [])
        #expect(Self.admitted(5, to: gate, from: [address]) == 3)
        #expect(gate.effectiveLimit == 100)
    }
}
