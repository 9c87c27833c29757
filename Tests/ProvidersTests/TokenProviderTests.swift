import NIOCore
import Providers
import Sessions
import StoreBench
import Testing
import Vocabulary

@Suite("Tokens that a provider knows")
struct TokenProviderTests {
    private let provider = ScriptedTokens()
    private let token = "ory_st_one"

    @Test("A foreign token is asked for once, then its session is in the loop's cache")
    func known() async throws {
        let desk = try await TokenDesk([self.provider])
        self.provider.say(desk.alice(), of: self.token)
        let session = try #require(try await desk.resolve(self.token).session)
        #expect(session.subject == "alice" && session.id == "ses-1" && session.kind == .native)
        #expect(session.authenticatedAt == desk.clock.now.advanced(by: .seconds(-60)))
        #expect(session.lineage == desk.authority.foreignLineage(session: "ses-1", of: "kratos"))
        for _ in 0..<3 { #expect(try await desk.resolve(self.token) == .hit(session)) }
        #expect(self.provider.calls == [self.token])
        #expect(desk.store.sessionCount == 0)
    }

    @Test("Two simultaneous requests ask the provider once, whatever it answers")
    func singleFlight() async throws {
        let desk = try await TokenDesk([self.provider])
        for known in [desk.alice(), nil] {
            let token = known == nil ? "ory_st_none" : self.token
            self.provider.say(known, of: token)
            self.provider.hold()
            async let outcomes = desk.resolve([token, token])
            try await self.provider.waitForCalls(known == nil ? 2 : 1)
            self.provider.release()
            let both = try await outcomes
            #expect(both[0] == both[1] && (both[0].session == nil) == (known == nil))
        }
        #expect(self.provider.calls == [self.token, "ory_st_none"])
    }

    @Test("A token that the provider does not know is remembered as unknown for two seconds and no longer")
    func negative() async throws {
        let desk = try await TokenDesk([self.provider])
        #expect(try await desk.resolve(self.token) == .none)
        self.provider.say(desk.alice(), of: self.token)
        desk.clock.advance(by: .milliseconds(1999))
        #expect(try await desk.resolve([self.token, self.token]) == [.none, .none])
        #expect(self.provider.calls.count == 1)
        desk.clock.advance(by: .milliseconds(1))
        #expect(try await desk.resolve(self.token).session?.subject == "alice")
        #expect(self.provider.calls.count == 2)
        // After the clock was set back, nothing is remembered.
        #expect(try await desk.resolve("ory_st_two") == .none)
        desk.clock.advance(by: .seconds(-10))
        _ = try await desk.resolve("ory_st_two")
        #expect(self.provider.calls.count == 4)
    }

    @Test("A session that ended elsewhere is no longer served; those of other users are", arguments: [true, false])
    func ended(byLineage: Bool) async throws {
        let desk = try await TokenDesk([self.provider])
        var bob = desk.alice(sessionID: "ses-2")
        bob.identity.id = "bob"
        for (token, known) in [(self.token, desk.alice()), ("ory_st_two", desk.alice()), ("ory_st_bob", bob)] {
            self.provider.say(known, of: token)
            #expect(try await desk.resolve(token).session != nil)
        }
        let lineage = desk.authority.foreignLineage(session: "ses-1", of: "kratos")
        for token in [self.token, "ory_st_two"] { self.provider.say(nil, of: token) }
        let ends = byLineage ? [Invalidation.lineage(lineage)] : desk.store.names(of: "alice").map { .subject($0) }
        for end in ends { try await desk.end(end) }
        for token in [self.token, "ory_st_two"] { #expect(try await desk.resolve(token) == .none) }
        guard case .hit = try await desk.resolve("ory_st_bob") else {
            Issue.record("bob's session was forgotten")
            return
        }
    }

    @Test("An answer from before an end is not used")
    func overtaken() async throws {
        let desk = try await TokenDesk([self.provider])
        self.provider.say(desk.alice(), of: self.token)
        self.provider.hold()
        async let outcome = desk.resolve(self.token)
        try await self.provider.waitForCalls(1)
        self.provider.say(nil, of: self.token)
        try await desk.end(.lineage(desk.authority.foreignLineage(session: "ses-1", of: "kratos")))
        self.provider.release()
        #expect(try await outcome == .none)
        #expect(self.provider.calls.count == 2)
    }

    @Test("No session outlives its token, and an expired token has no session")
    func expiry() async throws {
        let desk = try await TokenDesk([self.provider])
        self.provider.say(desk.alice(life: .seconds(3)), of: self.token)
        #expect(try await desk.resolve(self.token).session != nil)
        desk.clock.advance(by: .milliseconds(2999))
        guard case .hit = try await desk.resolve(self.token) else {
            Issue.record("the session ended too early")
            return
        }
        desk.clock.advance(by: .milliseconds(1))
        #expect(try await desk.resolve(self.token) == .none, "the provider still speaks well of it")
    }

    @Test("An answer is used for as long as the provider allows, and never for more than five seconds")
    func cacheLifetime() async throws {
        let desk = try await TokenDesk([self.provider])
        for (index, (allowed, used)) in [
            (Duration.seconds(1), Duration.seconds(1)), (.seconds(60), .seconds(5)), (.zero, .zero),
            (.seconds(-1), .zero),
        ].enumerated() {
            let token = "ory_st_\(index)"
            self.provider.say(desk.alice(cached: allowed), of: token)
            let session = try #require(try await desk.resolve(token).session)
            self.provider.setAway(true)
            if used > .zero {
                desk.clock.advance(by: used - .milliseconds(1))
                #expect(try await desk.resolve(token) == .hit(session))
                desk.clock.advance(by: .milliseconds(1))
            }
            #expect(try await desk.resolve(token) == .unavailable(.providerUnavailable))
            self.provider.setAway(false)
            #expect(try await desk.resolve(token) == .found(session))
        }
    }

    @Test("An entry in use is asked for again before it is too old, and a changed user is noticed")
    func refresh() async throws {
        let desk = try await TokenDesk([self.provider])
        self.provider.say(desk.alice(), of: self.token)
        let old = try #require(try await desk.resolve(self.token).session)
        var changed = desk.alice()
        changed.identity.traits = ["email": "new@example.com"]
        self.provider.say(changed, of: self.token)
        desk.clock.advance(by: .seconds(4))
        #expect(try await desk.resolve(self.token) == .hit(old))
        try await self.provider.waitForCalls(2)
        var outcome = try await desk.resolve(self.token)
        while outcome == .hit(old) { outcome = try await desk.resolve(self.token) }
        #expect(outcome.session?.identity.traits == ["email": "new@example.com"])
        #expect(self.provider.calls.count == 2)
    }

    @Test(
        "If a provider cannot be reached, that is not a refusal and is not remembered, and known sessions are still served"
    )
    func unavailable() async throws {
        let desk = try await TokenDesk([self.provider])
        self.provider.say(desk.alice(), of: self.token)
        self.provider.setAway(true)
        for _ in 0..<2 { #expect(try await desk.resolve(self.token) == .unavailable(.providerUnavailable)) }
        self.provider.setAway(false)
        let session = try #require(try await desk.resolve(self.token).session)
        self.provider.setAway(true)
        desk.clock.advance(by: .milliseconds(4999))
        #expect(try await desk.resolve(self.token) == .hit(session))
        desk.clock.advance(by: .milliseconds(1))
        #expect(try await desk.resolve(self.token) == .unavailable(.providerUnavailable))
        self.provider.setAway(false)
        #expect(try await desk.resolve(self.token) == .found(session))
    }

    @Test("A provider is never asked for the gateway's own tokens, for cookies or for tokens that it cannot know")
    func notAsked() async throws {
        let desk = try await TokenDesk([self.provider])
        let lineage = desk.authority.newLineage()
        let own = String(decoding: desk.authority.make(.session, in: lineage).token.bytes, as: UTF8.self)
        #expect(try await desk.resolve(own) == .none)
        for odd in ["", "x", String(own.dropLast()), "ory_at_one", "ory_st_" + String(repeating: "x", count: 8186)] {
            #expect(try await desk.resolve(odd) == .malformed, "\(odd.count)")
        }
        self.provider.say(desk.alice(), of: self.token)
        #expect(try await desk.resolve(self.token, as: .web) == .malformed)
        #expect(self.provider.calls.isEmpty)
        let without = try await TokenDesk([])
        #expect(try await without.resolve(self.token) == .malformed)
    }

    @Test("A foreign token may be as long as one of the gateway's")
    func sameLength() async throws {
        let desk = try await TokenDesk([self.provider])
        let token = "ory_st_" + String(repeating: "x", count: TokenAuthority.tokenLength - 7)
        self.provider.say(desk.alice(), of: token)
        let session = try #require(try await desk.resolve(token).session)
        #expect(try await desk.resolve(token) == .hit(session))
    }

    @Test("Each of two providers is asked for its own tokens, and the same session id at both gives two lineages")
    func twoProviders() async throws {
        let other = ScriptedTokens(name: "idp", prefix: "idp_")
        let desk = try await TokenDesk([self.provider, other])
        self.provider.say(desk.alice(), of: self.token)
        other.say(desk.alice(), of: "idp_one")
        let first = try #require(try await desk.resolve(self.token).session)
        let second = try #require(try await desk.resolve("idp_one").session)
        #expect(first.lineage != second.lineage && first.lineage.tag.utf8.count == second.lineage.tag.utf8.count)
        #expect(self.provider.calls == [self.token] && other.calls == ["idp_one"])
    }

    @Test("A token without a session id counts as its own session, with an id that reveals nothing about the token")
    func noSessionID() async throws {
        let desk = try await TokenDesk([self.provider])
        for token in [self.token, "ory_st_two"] { self.provider.say(desk.alice(sessionID: nil), of: token) }
        let first = try #require(try await desk.resolve(self.token).session)
        let second = try #require(try await desk.resolve("ory_st_two").session)
        #expect(first.id.hasPrefix("ses_") && first.id != second.id && first.lineage != second.lineage)
        #expect(first.lineage != desk.authority.foreignLineage(session: self.token, of: "kratos"))
    }

    @Test("No time that a provider returns causes an overflow")
    func extremes() async throws {
        let desk = try await TokenDesk([self.provider])
        for time in [Int64.min, 0, .max] {
            var known = desk.alice()
            known.authenticatedAt = UnixTime(milliseconds: time)
            known.expiresAt = UnixTime(milliseconds: time)
            let token = "ory_st_\(time)"
            self.provider.say(known, of: token)
            #expect(try await desk.resolve(token).session?.subject == (time == .max ? "alice" : nil))
        }
    }
}
