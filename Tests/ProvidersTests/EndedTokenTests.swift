import NIOCore
import Providers
import Sessions
import StoreBench
import Testing
import Vocabulary

@Suite("Tokens that ended here, though their provider would go on to vouch for them")
struct EndedTokenTests {
    private let provider = ScriptedTokens()
    private let signatures = ScriptedSignatures()
    private let opaque = "ory_st_one"
    private let signed = "eyJ.one"

    private func bench() async throws -> TokenEndpointBench {
        try await TokenEndpointBench([self.signatures, self.provider])
    }

    /// Both providers vouch for their token.
    private func vouch(_ known: KnownToken) {
        self.provider.say(known, of: self.opaque)
        self.signatures.say(.known(known))
    }

    private func end(_ end: TokenEndpointBench.End, _ token: String, at bench: TokenEndpointBench) async throws {
        try await bench.end(end, token: token, of: token == self.signed ? self.signatures.name : self.provider.name)
    }

    @Test("An end holds on every loop, for as long as the token would live", arguments: TokenEndpointBench.End.allCases)
    func holds(end: TokenEndpointBench.End) async throws {
        for token in [self.opaque, self.signed] {
            let bench = try await self.bench()
            let other = try await bench.another([self.signatures, self.provider])
            self.vouch(bench.alice(cached: .seconds(30)))
            for place in [bench, other] { #expect(try await place.resolve(token).session?.subject == "alice") }
            try await self.end(end, token, at: bench)
            let late = try await bench.another([self.signatures, self.provider])
            for _ in 0..<4 {
                for place in [bench, other, late] {
                    #expect(try await place.resolve(token) == .none(.sessionUnknown), "\(token)")
                }
                bench.clock.advance(by: .seconds(890))
            }
            #expect(bench.base.sessionCount == 0)
        }
    }

    @Test("The end of one user or session leaves the tokens of others alone")
    func others() async throws {
        let bench = try await self.bench()
        var bob = bench.alice(sessionID: "sid-2")
        bob.identity.id = "bob"
        self.provider.say(bob, of: "ory_st_bob")
        self.provider.say(bench.alice(sessionID: "sid-3"), of: "ory_st_two")
        self.vouch(bench.alice())
        for token in [self.opaque, "ory_st_two", "ory_st_bob"] { _ = try await bench.resolve(token) }
        try await bench.end(.providerSession, token: self.opaque)
        #expect(try await bench.resolve(self.opaque) == .none(.sessionUnknown))
        #expect(try await bench.resolve("ory_st_two").isHit)
        try await bench.end(.subject, token: self.opaque)
        #expect(try await bench.resolve("ory_st_two") == .none(.sessionUnknown))
        #expect(try await bench.resolve("ory_st_bob").isHit)
    }

    @Test(
        "A token that was not presented before the end is judged by when it was issued; a later one lives, with the same sid",
        arguments: [TokenEndpointBench.End.subject, .providerSession]
    )
    func unseen(end: TokenEndpointBench.End) async throws {
        for token in [self.opaque, self.signed] {
            let bench = try await self.bench()
            try await self.end(end, token, at: bench)
            // The end of a provider's session does not end the user's other ones.
            let early = bench.alice()
            self.vouch(early)
            #expect(try await bench.resolve(token) == .none(.sessionUnknown))
            bench.clock.advance(by: .seconds(3))
            #expect(try await bench.resolve(token) == .none(.sessionUnknown))
            bench.clock.advance(by: .seconds(3))
            var late = early
            late.issuedAt = bench.clock.now
            self.vouch(late)
            #expect(try await bench.resolve(token).session?.provider?.sessionID == "sid-1")
        }
    }

    @Test("A token that was issued in the same moment as the end does not live", arguments: [0, 1])
    func sameMoment(milliseconds: Int) async throws {
        let bench = try await self.bench()
        try await bench.end(.subject, token: self.opaque)
        var known = bench.alice()
        known.issuedAt = bench.clock.now.advanced(by: .milliseconds(milliseconds))
        self.vouch(known)
        #expect((try await bench.resolve(self.opaque).session == nil) == (milliseconds == 0))
    }

    @Test("A token that was accepted lives on by its record, not by the provider's clock", arguments: [60, -3000])
    func clocks(ahead: Int) async throws {
        let bench = try await self.bench()
        var known = bench.alice(cached: .zero)
        known.issuedAt = bench.clock.now.advanced(by: .seconds(ahead))
        self.vouch(known)
        #expect(try await bench.resolve(self.opaque).session != nil)
        bench.clock.advance(by: .seconds(10))
        #expect(try await bench.resolve(self.opaque).session != nil)
        try await bench.end(.subject, token: self.opaque)
        bench.clock.advance(by: .seconds(100))
        #expect(try await bench.resolve(self.opaque) == .none(.sessionUnknown))
    }

    @Test("An end that arrives while the provider is asked holds", arguments: TokenEndpointBench.End.allCases)
    func overtaken(end: TokenEndpointBench.End) async throws {
        let bench = try await self.bench()
        self.vouch(bench.alice())
        self.provider.hold()
        async let outcome = bench.resolve(self.opaque)
        try await self.provider.waitForCalls(1)
        try await bench.end(end, token: self.opaque)
        self.provider.release()
        #expect(try await outcome == .none(.sessionUnknown))
    }

    @Test("A sign-out holds after another secret has become the present one")
    func rotation() async throws {
        let bench = try await self.bench()
        let secrets = [Secret("the old one"), Secret("the new one")]
        let old = TokenAuthority(current: secrets[0], accepted: [secrets[1]])
        let new = TokenAuthority(current: secrets[1], accepted: [secrets[0]])
        let bytes = Array(self.opaque.utf8)
        let names = ForeignNames(old, provider: "kratos")
        for lineage in bytes.withUnsafeBytes({ names.lineages(of: $0) }) {
            try await bench.base.end(lineage, on: bench.loop).get()
        }
        let tokens = ProviderTokens([self.provider], authority: new, store: bench.store, clock: bench.clock.clock)
        self.vouch(bench.alice())
        let answer = try await bench.loop.flatSubmit {
            let key = bytes.withUnsafeBytes { tokens.key(of: $0, as: .native) }
            return key.map { tokens.session(Secret(bytes), as: .native, key: $0, known: nil, on: bench.loop) }
                ?? bench.loop.makeFailedFuture(StoreError.full)
        }.get()
        #expect(answer == .none(.sessionUnknown))
    }

    @Test("A provider that now names another user for a token is not believed")
    func otherUser() async throws {
        let bench = try await self.bench()
        self.vouch(bench.alice(cached: .seconds(1)))
        #expect(try await bench.resolve(self.opaque).session != nil)
        var mallory = bench.alice()
        mallory.identity.id = "mallory"
        self.vouch(mallory)
        bench.clock.advance(by: .seconds(2))
        #expect(try await bench.resolve(self.opaque) == .none(.sessionUnknown))
    }
}
