import NIOCore
import Providers
import Sessions
import StoreBench
import TestSupport
import Testing
import Vocabulary

@Suite("Tokens that a provider knows")
struct TokenProviderTests {
    private let provider = ScriptedTokens()
    private let token = "ory_st_one"

    @Test("A foreign token is asked for once, then its session is in the loop's cache")
    func known() async throws {
        let bench = try await TokenEndpointBench([self.provider])
        self.provider.say(bench.alice(), of: self.token)
        let session = try #require(try await bench.resolve(self.token).session)
        #expect(session.subject == "alice" && session.id.hasPrefix("ses_") && session.kind == .native)
        #expect(session.origin == .native && session.provider == ProviderSession(name: "kratos", sessionID: "sid-1"))
        #expect(session.authenticatedAt == bench.clock.now.advanced(by: .seconds(-60)))
        #expect(session.lineage == bench.lineage(of: self.token))
        for _ in 0..<3 { #expect(try await bench.resolve(self.token) == .hit(session)) }
        #expect(self.provider.calls == [self.token])
        #expect(bench.base.sessionCount == 0)
    }

    @Test("Two simultaneous requests ask the provider once, whatever it answers")
    func singleFlight() async throws {
        let bench = try await TokenEndpointBench([self.provider])
        for known in [bench.alice(), nil] {
            let token = known == nil ? "ory_st_none" : self.token
            self.provider.say(known, of: token)
            self.provider.hold()
            async let outcomes = bench.resolve([token, token])
            try await self.provider.waitForCalls(known == nil ? 2 : 1)
            self.provider.release()
            let both = try await outcomes
            #expect(both[0] == both[1] && (both[0].session == nil) == (known == nil))
        }
        #expect(self.provider.calls == [self.token, "ory_st_none"])
    }

    @Test("A token is remembered as unknown at once, on a loop whose time is a little behind, too")
    func negativeOfSlowLoop() async throws {
        let bench = try await TokenEndpointBench([self.provider])
        #expect(try await bench.resolve(self.token) == .none(.credentialInvalidToken))
        #expect(try await bench.resolve(self.token, loopBehind: .milliseconds(250)) == .none(.credentialInvalidToken))
        #expect(self.provider.calls.count == 1)
    }

    @Test("A token that the provider does not know is remembered as unknown for two seconds and no longer")
    func negative() async throws {
        let bench = try await TokenEndpointBench([self.provider])
        #expect(try await bench.resolve(self.token) == .none(.credentialInvalidToken))
        self.provider.say(bench.alice(), of: self.token)
        bench.clock.advance(by: .milliseconds(1999))
        #expect(
            try await bench.resolve([self.token, self.token]) == [
                .none(.credentialInvalidToken), .none(.credentialInvalidToken),
            ]
        )
        #expect(self.provider.calls.count == 1)
        bench.clock.advance(by: .milliseconds(1))
        #expect(try await bench.resolve(self.token).session?.subject == "alice")
        #expect(self.provider.calls.count == 2)
        // After the clock was set back, nothing is remembered.
        #expect(try await bench.resolve("ory_st_two") == .none(.credentialInvalidToken))
        bench.clock.advance(by: .seconds(-10))
        _ = try await bench.resolve("ory_st_two")
        #expect(self.provider.calls.count == 4)
    }

    @Test("No session outlives its token, and an expired token has no session")
    func expiry() async throws {
        let bench = try await TokenEndpointBench([self.provider])
        self.provider.say(bench.alice(life: .seconds(3)), of: self.token)
        #expect(try await bench.resolve(self.token).session != nil)
        bench.clock.advance(by: .milliseconds(2999))
        guard case .hit = try await bench.resolve(self.token) else {
            Issue.record("the session ended too early")
            return
        }
        bench.clock.advance(by: .milliseconds(1))
        #expect(
            try await bench.resolve(self.token) == .none(.credentialExpired),
            "the provider still speaks well of it"
        )
    }

    /// Waits until the provider was asked in the background and the answer was handled. A request that came meanwhile
    /// would get that answer.
    private func settle(_ bench: TokenEndpointBench, after calls: Int) async throws {
        try await self.provider.waitForCalls(calls)
        for _ in 0..<20 {
            try await Task.sleep(for: .milliseconds(1))
            try await bench.loop.submit {}.get()
        }
    }

    @Test("A verdict is used for as long as the provider allows, or five seconds")
    func cacheLifetime() async throws {
        let bench = try await TokenEndpointBench([self.provider])
        for (index, (allowed, used)) in [
            (Duration.seconds(1), Duration.seconds(1)), (nil, .seconds(5)), (.seconds(60), .seconds(60)),
            (.zero, .zero), (.seconds(-1), .zero),
        ].enumerated() {
            let token = "ory_st_\(index)"
            self.provider.say(bench.alice(cached: allowed), of: token)
            let session = try #require(try await bench.resolve(token).session)
            let calls = self.provider.calls.count
            if used > .zero {
                // Until most of it has passed, nobody asks.
                bench.clock.advance(by: used * 0.8 - .milliseconds(1))
                #expect(try await bench.resolve(token).session == session)
                #expect(self.provider.calls.count == calls)
                self.provider.setAway(true)
                bench.clock.advance(by: used * 0.2)
                #expect(try await bench.resolve(token).session == session)
                try await self.settle(bench, after: calls + 1)
                bench.clock.advance(by: .milliseconds(1))
            }
            self.provider.setAway(true)
            #expect(try await bench.resolve(token) == .unavailable(.providerUnavailable))
            self.provider.setAway(false)
            #expect(try await bench.resolve(token).session == session)
        }
    }

    @Test("An entry in use is asked for again before it is too old, and a changed user is noticed")
    func refresh() async throws {
        let bench = try await TokenEndpointBench([self.provider])
        self.provider.say(bench.alice(), of: self.token)
        let old = try #require(try await bench.resolve(self.token).session)
        var changed = bench.alice()
        changed.identity.traits = ["email": "new@example.com"]
        self.provider.say(changed, of: self.token)
        bench.clock.advance(by: .seconds(4))
        #expect(try await bench.resolve(self.token) == .hit(old))
        try await self.provider.waitForCalls(2)
        var session: Session?
        try await waitUntil("the changed user") {
            session = try await bench.resolve(self.token).session
            return session != old
        }
        #expect(session?.identity.traits == ["email": "new@example.com"])
        #expect(self.provider.calls.count == 2)
    }

    @Test(
        "If a provider cannot be reached, that is not a refusal and is not remembered, and known sessions are still served"
    )
    func unavailable() async throws {
        let bench = try await TokenEndpointBench([self.provider])
        self.provider.say(bench.alice(), of: self.token)
        self.provider.setAway(true)
        for _ in 0..<2 { #expect(try await bench.resolve(self.token) == .unavailable(.providerUnavailable)) }
        self.provider.setAway(false)
        let session = try #require(try await bench.resolve(self.token).session)
        self.provider.setAway(true)
        bench.clock.advance(by: .milliseconds(4999))
        let calls = self.provider.calls.count
        #expect(try await bench.resolve(self.token) == .hit(session))
        try await self.settle(bench, after: calls + 1)
        bench.clock.advance(by: .milliseconds(1))
        #expect(try await bench.resolve(self.token) == .unavailable(.providerUnavailable))
        self.provider.setAway(false)
        #expect(try await bench.resolve(self.token) == .found(session))
    }

    @Test("A provider is never asked for the gateway's own tokens, for cookies or for tokens that it cannot know")
    func notAsked() async throws {
        let bench = try await TokenEndpointBench([self.provider])
        let lineage = bench.authority.newLineage()
        let own = String(decoding: bench.authority.make(.session, in: lineage).token.bytes, as: UTF8.self)
        #expect(try await bench.resolve(own) == .none(.sessionUnknown))
        for odd in ["", "x", String(own.dropLast()), "ory_at_one", "ory_st_" + String(repeating: "x", count: 8186)] {
            #expect(try await bench.resolve(odd) == .malformed, "\(odd.count)")
        }
        self.provider.say(bench.alice(), of: self.token)
        #expect(try await bench.resolve(self.token, as: .web) == .malformed)
        #expect(self.provider.calls.isEmpty)
        let without = try await TokenEndpointBench([])
        #expect(try await without.resolve(self.token) == .malformed)
    }

    @Test("A foreign token may be as long as one of the gateway's")
    func sameLength() async throws {
        let bench = try await TokenEndpointBench([self.provider])
        let token = "ory_st_" + String(repeating: "x", count: TokenAuthority.tokenLength - 7)
        self.provider.say(bench.alice(), of: token)
        let session = try #require(try await bench.resolve(token).session)
        #expect(try await bench.resolve(token) == .hit(session))
    }

    @Test("Each of two providers is asked for its own tokens, and the same session id at both gives two lineages")
    func twoProviders() async throws {
        let other = ScriptedTokens(name: "idp", prefix: "idp_")
        let bench = try await TokenEndpointBench([self.provider, other])
        self.provider.say(bench.alice(), of: self.token)
        other.say(bench.alice(), of: "idp_one")
        let first = try #require(try await bench.resolve(self.token).session)
        let second = try #require(try await bench.resolve("idp_one").session)
        #expect(first.lineage != second.lineage && first.id != second.id)
        #expect(first.lineage.tag.utf8.count == second.lineage.tag.utf8.count)
        #expect(self.provider.calls == [self.token] && other.calls == ["idp_one"])
    }

    @Test("A token without a session id counts as its own session, with an id that reveals nothing about the token")
    func noSessionID() async throws {
        let bench = try await TokenEndpointBench([self.provider])
        for token in [self.token, "ory_st_two"] { self.provider.say(bench.alice(sessionID: nil), of: token) }
        let first = try #require(try await bench.resolve(self.token).session)
        let second = try #require(try await bench.resolve("ory_st_two").session)
        #expect(first.id.hasPrefix("ses_") && first.id != second.id && first.lineage != second.lineage)
    }

    @Test("No time that a provider returns causes an overflow")
    func extremes() async throws {
        let bench = try await TokenEndpointBench([self.provider])
        for time in [Int64.min, 0, .max] {
            var known = bench.alice()
            known.authenticatedAt = UnixTime(milliseconds: time)
            known.expiresAt = UnixTime(milliseconds: time)
            let token = "ory_st_\(time)"
            self.provider.say(known, of: token)
            #expect(try await bench.resolve(token).session?.subject == (time == .max ? "alice" : nil))
        }
    }
}
