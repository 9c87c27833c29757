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
        let records = RecordAccess(
            store: self.store,
            authority: TokenAuthority(secret: Secret("a secret of the tests")),
            loops: MultiThreadedEventLoopGroup.singleton,
            clock: time.clock
        )
        self.claims = ExchangeClaims(records: records)
    }

    /// Why the codes count no more; nil: the session was granted.
    private func claim(
        _ codes: [String] = ["init", "return"],
        from address: String = "192.0.2.1",
        at provider: String = "http://kratos:4433",
        signedIn age: Duration = .zero
    ) async throws -> Reason? {
        let address = try #require(IPAddress(address))
        return await self.refusal(codes, at: provider, self.time.now.advanced(by: .zero - age), by: address)
    }

    private func refusal(
        _ codes: [String],
        at provider: String,
        _ signedInAt: UnixTime,
        by address: IPAddress
    ) async -> Reason? {
        do throws(NotDone) {
            try await self.claims.claim(codes, at: provider, signedInAt: signedInAt, by: address)
            return nil
        } catch {
            return error.reason
        }
    }

    @Test("The device that used them first may repeat that for half a minute, and no other device ever")
    func once() async throws {
        #expect(try await self.claim(from: "2001:db8::1") == nil)
        #expect(try await self.claim(from: "2001:db8::2") == nil, "the same device: its /64")
        #expect(try await self.claim(from: "2001:db8:0:1::1") == .codeReplayed)
        self.time.advance(by: .milliseconds(29_999))
        #expect(try await self.claim(from: "2001:db8::1", signedIn: .seconds(30)) == nil)
        self.time.advance(by: .milliseconds(1))
        #expect(try await self.claim(from: "2001:db8::1", signedIn: .seconds(30)) == .codeReplayed)
    }

    @Test("Other codes, the same codes in another order and those of another provider are others")
    func others() async throws {
        #expect(try await self.claim() == nil)
        for codes in [["init", "return2"], ["return", "init"], ["initreturn", ""], ["init", "", "return"]] {
            #expect(try await self.claim(codes, from: "192.0.2.9") == nil, "\(codes)")
        }
        #expect(try await self.claim(from: "192.0.2.9", at: "http://other:4433") == nil)
        #expect(try await self.claim(from: "192.0.2.9") == .codeReplayed)
    }

    @Test("Ten minutes after the sign-in they are worth nothing, a minute for the difference of clocks apart")
    func late() async throws {
        #expect(try await self.claim(["a", "b"], signedIn: .seconds(659)) == nil)
        #expect(try await self.claim(["c", "d"], signedIn: .seconds(660)) == .codeUnknown)
    }

    @Test(
        "A use is remembered for longer than the codes could be used, also if the provider's clock is ahead",
        arguments: [0, 3600]
    )
    func memory(ahead: Int64) async throws {
        let signedInAt = self.time.now.advanced(by: .seconds(ahead))
        let (first, second) = (try #require(IPAddress("192.0.2.1")), try #require(IPAddress("192.0.2.2")))
        func claim(_ address: IPAddress) async -> Reason? {
            await self.refusal(["a", "b"], at: "k", signedInAt, by: address)
        }
        #expect(await claim(first) == nil)
        for _ in 0..<12 {
            self.time.advance(by: .seconds(400))
            #expect(await claim(second) != nil)
        }
    }

    @Test("Of a hundred devices at once, one gets the session")
    func race() async throws {
        let granted = try await withThrowingTaskGroup(of: Reason?.self) { group in
            for number in 0..<100 { group.addTask { try await self.claim(from: "192.0.2.\(number)") } }
            return try await group.reduce(0) { $0 + ($1 == nil ? 1 : 0) }
        }
        #expect(granted == 1)
    }
}
