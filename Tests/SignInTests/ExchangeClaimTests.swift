import AddressIntelligence
import NIOCore
import NIOPosix
import Sessions
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("Codes of a provider's exchange count once")
struct ExchangeClaimTests {
    private let time = MovableClock()
    private let store: MemoryStore
    private let claims: ExchangeClaims

    init() {
        let time = self.time
        self.store = MemoryStore(maxSessions: 100, maxMarkers: 100, clock: time.clock, caches: SessionCaches())
        self.claims = ExchangeClaims(
            store: self.store,
            authority: TokenAuthority(secret: Secret("a secret of the tests")),
            loops: MultiThreadedEventLoopGroup.singleton,
            clock: time.clock
        )
    }

    private func claim(
        _ codes: [String] = ["init", "return"],
        from address: String = "192.0.2.1",
        at provider: String = "http://kratos:4433",
        signedIn age: Duration = .zero
    ) async throws -> ExchangeClaims.Outcome {
        try await self.claims.claim(
            codes,
            at: provider,
            signedInAt: self.time.now.advanced(by: .zero - age),
            by: try #require(IPAddress(address))
        )
    }

    @Test("The device that used them first may repeat that for half a minute, and no other device ever")
    func once() async throws {
        #expect(try await self.claim(from: "2001:db8::1") == .granted)
        #expect(try await self.claim(from: "2001:db8::2") == .granted, "the same device: its /64")
        #expect(try await self.claim(from: "2001:db8:0:1::1") == .replayed)
        self.time.advance(by: .milliseconds(29_999))
        #expect(try await self.claim(from: "2001:db8::1", signedIn: .seconds(30)) == .granted)
        self.time.advance(by: .milliseconds(1))
        #expect(try await self.claim(from: "2001:db8::1", signedIn: .seconds(30)) == .replayed)
    }

    @Test("Other codes, the same codes in another order and those of another provider are others")
    func others() async throws {
        #expect(try await self.claim() == .granted)
        for codes in [["init", "return2"], ["return", "init"], ["initreturn", ""], ["init", "", "return"]] {
            #expect(try await self.claim(codes, from: "192.0.2.9") == .granted, "\(codes)")
        }
        #expect(try await self.claim(from: "192.0.2.9", at: "http://other:4433") == .granted)
        #expect(try await self.claim(from: "192.0.2.9") == .replayed)
    }

    @Test("Ten minutes after the sign-in they are worth nothing, a minute for the difference of clocks apart")
    func late() async throws {
        #expect(try await self.claim(["a", "b"], signedIn: .seconds(659)) == .granted)
        #expect(try await self.claim(["c", "d"], signedIn: .seconds(660)) == .expired)
    }

    @Test(
        "A use is remembered for longer than the codes could be used, also if the provider's clock is ahead",
        arguments: [0, 3600]
    )
    func memory(ahead: Int64) async throws {
        let signedInAt = self.time.now.advanced(by: .seconds(ahead))
        let (first, second) = (try #require(IPAddress("192.0.2.1")), try #require(IPAddress("192.0.2.2")))
        func claim(_ address: IPAddress) async throws -> ExchangeClaims.Outcome {
            try await self.claims.claim(["a", "b"], at: "k", signedInAt: signedInAt, by: address)
        }
        #expect(try await claim(first) == .granted)
        for _ in 0..<12 {
            self.time.advance(by: .seconds(400))
            let outcome = try await claim(second)
            #expect(outcome != .granted)
        }
    }

    @Test("Of a hundred devices at once, one gets the session")
    func race() async throws {
        let granted = try await withThrowingTaskGroup(of: ExchangeClaims.Outcome.self) { group in
            for number in 0..<100 { group.addTask { try await self.claim(from: "192.0.2.\(number)") } }
            return try await group.reduce(0) { $0 + ($1 == .granted ? 1 : 0) }
        }
        #expect(granted == 1)
    }
}
