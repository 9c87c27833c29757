import Providers
import Sessions
import StoreBench
import Testing
import Vocabulary

/// Opaque tokens on hosts with several providers: each is shown to the providers in their order until one knows it.
@Suite("Tokens of several realms")
struct SeveralRealmsTests {
    private let first = ScriptedTokens(name: "first")
    private let second = ScriptedTokens(name: "second")
    private let token = "ory_st_one"
    private let realms = [Realm("one"), Realm("two")]
    private var both: Realms { Realms(self.realms) }

    private func bench() async throws -> TokenEndpointBench {
        let bench = try await TokenEndpointBench([])
        try await bench.reload(realms: [(self.realms[0], self.first), (self.realms[1], self.second)])
        return bench
    }

    @Test("The first that knows a token answers for it, and those after it are not asked")
    func order() async throws {
        let bench = try await self.bench()
        self.first.say(bench.alice(cached: .seconds(30)), of: self.token)
        #expect(try await bench.resolve(self.token, of: self.both).session?.identity.realm == self.realms[0])
        #expect(self.second.calls.isEmpty)
        self.second.say(bench.alice(cached: .seconds(30)), of: "ory_st_two")
        let session = try #require(try await bench.resolve("ory_st_two", of: self.both).session)
        #expect(session.identity.realm == self.realms[1] && session.provider?.name == "second")
        #expect(try await bench.resolve("ory_st_two", of: self.both).isHit)
        #expect(self.first.calls == [self.token, "ory_st_two"] && self.second.calls == ["ory_st_two"])
        // A host with one of them shows it to that one only.
        #expect(try await bench.resolve("ory_st_three", of: Realms([self.realms[1]])).session == nil)
        #expect(self.first.calls.count == 2 && self.second.calls.count == 2)
    }

    @Test("That none knows a token is remembered, and a provider's own word does not stand for the other's")
    func negatives() async throws {
        let bench = try await self.bench()
        for _ in 0..<3 {
            #expect(try await bench.resolve(self.token, of: self.both) == .none(.credentialInvalidToken))
        }
        #expect(self.first.calls.count == 1 && self.second.calls.count == 1)
        let other = "ory_st_two"
        self.second.say(bench.alice(), of: other)
        #expect(try await bench.resolve(other, of: Realms([self.realms[0]])).session == nil)
        #expect(try await bench.resolve(other, of: self.both).session?.identity.realm == self.realms[1])
    }

    @Test("A request that waits for the same token on a host with more providers has these asked as well")
    func joined() async throws {
        let bench = try await self.bench()
        self.second.say(bench.alice(), of: self.token)
        let answers = try await bench.resolve(
            [self.token, self.token],
            of: [Realms([self.realms[0]]), self.both]
        )
        #expect(answers[1].session?.identity.realm == self.realms[1])
        #expect(self.first.calls.count == 1 && self.second.calls.count == 1)
    }

    @Test("A provider that is away hides no session of another, and makes what nobody knows unavailable")
    func away() async throws {
        let bench = try await self.bench()
        self.first.setAway(true)
        self.second.say(bench.alice(), of: self.token)
        #expect(try await bench.resolve(self.token, of: self.both).session?.identity.realm == self.realms[1])
        #expect(try await bench.resolve("ory_st_two", of: self.both) == .unavailable(.providerUnavailable))
        self.first.setAway(false)
        #expect(try await bench.resolve("ory_st_two", of: self.both) == .none(.credentialInvalidToken))
    }

    @Test("What ends the session of a token ends it whichever provider knows it")
    func ends() async throws {
        for end in TokenEndpointBench.End.allCases {
            let bench = try await self.bench()
            self.second.say(bench.alice(), of: self.token)
            _ = try #require(try await bench.resolve(self.token, of: self.both).session)
            // The subject is another one in each realm.
            if end == .subject { continue }
            try await bench.end(end, token: self.token, of: "second")
            #expect(try await bench.resolve(self.token, of: self.both).isHit == false)
        }
    }
}
