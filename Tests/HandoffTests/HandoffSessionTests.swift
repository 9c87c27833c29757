import AddressIntelligence
import NIOCore
import Observability
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("What a session-transfer token does to the browser's session")
struct HandoffSessionTests {
    @Test("T7: another user's session and the token end each other")
    func otherUser() async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn("mallory"))
        let victim = try await world.signIn("alice", kind: .web, origin: .browser)
        let outcome = try await world.consume(token, existing: (victim.key, victim.session))
        #expect(outcome.refusal == .handoffOtherUser)
        #expect(outcome.endsExisting)
        #expect(try await world.session(victim.key) == nil)
        #expect(world.records.last?.code?.rawValue == "w")
        #expect(world.records.last?.endedSessionID == victim.session.id)
        #expect(try await world.consume(token).refusal == .handoffBurned)
    }

    @Test("T7: a token that would not sign in does not end another user's session")
    func badTokenEndsNothing() async throws {
        let world = try World()
        let mallory = try await world.signIn("mallory")
        let victim = try await world.signIn("alice", kind: .web, origin: .browser)
        let existing = (victim.key, victim.session)

        let foreign = try await world.minted(mallory, from: "12.0.0.1")
        let elsewhere = try await world.consume(foreign, existing: existing)
        #expect(elsewhere.refusal == .bindingIPMismatch)
        #expect(!elsewhere.endsExisting)
        #expect(try await world.consume(foreign, existing: existing).refusal == .handoffBurned)
        #expect(try await world.consume(Secret("spt_x"), existing: existing).refusal == .handoffMalformed)

        let used = try await world.minted(mallory)
        #expect(try await world.consume(used).signedIn != nil)
        #expect(try await world.consume(used, existing: existing).refusal == .handoffReplayed)

        let late = try await world.minted(mallory)
        world.clock.advance(by: .seconds(60))
        #expect(try await world.consume(late, existing: existing).refusal != nil)
        #expect(try await world.session(victim.key) != nil)
    }

    @Test("T8: the same user's shorter session is replaced by a new one and ends")
    func sameUserIsReplaced() async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn())
        let old = try await world.signIn("alice", kind: .web, origin: .browser, lifetime: .seconds(600))
        let web = try #require(try await world.consume(token, existing: (old.key, old.session)).signedIn)
        #expect(web.replaces == old.key)
        #expect(web.session.id != old.session.id)
        #expect(web.token != old.token)
        #expect(try await world.session(old.key) == nil)
        #expect(world.records.last?.code?.rawValue == "ssa")
        #expect(world.records.last?.endedSessionID == old.session.id)
    }

    @Test("the same user's longer session stays, the token is used up, and the audit records both")
    func longerSessionStays() async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn())
        let old = try await world.signIn("alice", kind: .web, origin: .browser)
        let existing = (old.key, old.session)
        let renewed = try #require(try await world.consume(token, existing: existing).renewed)
        #expect(renewed.session.id == old.session.id && renewed.token != old.token)
        #expect(try await world.session(old.key) == renewed.session)
        let record = try #require(world.records.last)
        #expect(
            record.outcome == .sessionStays && record.code?.rawValue == "ssa" && record.outcome?.result == .consumed
        )
        #expect(record.sessionID == old.session.id && record.endedSessionID == nil && record.subject == "alice")
        let event = try #require(record.auditEvents.last)
        #expect(event.kind == .transferTokenConsumed)
        #expect(event.details.contains { $0 == ("session_stays", "true") })

        let again = try await world.consume(token, existing: existing)
        #expect(again.renewed?.token == renewed.token, "the same browser once more, which has not got the answer")
        #expect(world.records.last?.outcome == .repeated)
        let present = try #require(try await world.presented(renewed.token))
        let repeated = try await world.consume(token, existing: present.existing, existingToken: present.token)
        #expect(repeated.isAlreadySignedIn, "and once more with what it got")
        #expect(world.records.last?.outcome == .repeated)
        #expect(try await world.consume(token, from: "12.0.0.1").refusal == .handoffReplayed)
        #expect(try await world.session(old.key) != nil)
    }

    @Test("a kept session's former token serves what the browser had sent before, for half a minute, and then nobody")
    func renewal() async throws {
        let world = try World()
        let app = try await world.signIn()
        let old = try await world.signIn("alice", kind: .web, origin: .browser)
        let second = try #require(
            try await world.consume(try await world.minted(app), existing: (old.key, old.session)).renewed
        ).token
        // What another tab had sent with the former token gets the same one, and ends nothing.
        let tab = try #require(try await world.presented(old.token))
        let other = try await world.consume(
            try await world.minted(app),
            existing: tab.existing,
            existingToken: tab.token
        )
        #expect(other.renewed?.token == second)
        world.clock.advance(by: .seconds(29))
        #expect(try await world.presented(old.token) != nil)
        world.clock.advance(by: .seconds(1))
        #expect(try await world.presented(old.token) == nil)
        // With the next handoff the last one's former token is worth nothing at once, however young.
        var tokens = [old.token, second]
        for _ in 0..<3 {
            let present = try #require(try await world.presented(tokens[tokens.count - 1]))
            #expect(present.existing.key == old.key && present.existing.session.id == old.session.id)
            let token = try await world.minted(app)
            let outcome = try await world.consume(token, existing: present.existing, existingToken: present.token)
            tokens.append(try #require(outcome.renewed).token)
            for former in tokens.dropLast(2) { #expect(try await world.presented(former) == nil) }
        }
        #expect(Set(tokens).count == 5)
        _ = try await world.store.end(old.key, on: world.loop).get()
        for token in tokens { #expect(try await world.presented(token) == nil) }
    }

    @Test("wherever the store fails while a session is kept, the same try completes, and the browser stays signed in")
    func failures() async throws {
        var failed = 0
        for calls in 0..<16 {
            let world = try World()
            let token = try await world.minted(try await world.signIn())
            let old = try await world.signIn("alice", kind: .web, origin: .browser)
            let attempt = AttemptSecret()
            world.store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, calls) }
            let first = try await world.consume(token, existing: (old.key, old.session), attempt: attempt)
            world.store.fail(with: nil)
            if first.storeError != nil { failed += 1 }
            #expect(try await world.presented(old.token) != nil)
            let present = try #require(try await world.presented(first.renewed?.token ?? old.token))
            let second = try await world.consume(
                token,
                existing: present.existing,
                existingToken: present.token,
                attempt: attempt
            )
            let renewed = try #require(second.renewed, "\(calls): \(second)")
            #expect(try await world.presented(renewed.token)?.existing.session.id == old.session.id)
        }
        #expect(failed > 5)
    }

    @Test(
        "a session that a token made is recognised, and ends with a replay of it, however often its token was renewed"
    )
    func replayAfterRenewal() async throws {
        let world = try World()
        let client = ClientSettings.web { $0.revokesDerivedOnReplay = true }
        let app = try await world.signIn(lifetime: .seconds(600))
        let tokens = [try await world.minted(app), try await world.minted(app), try await world.minted(app)]
        var last = try #require(try await world.consume(tokens[0], client: client).signedIn).token
        for token in tokens[1...] {
            let present = try #require(try await world.presented(last))
            let next = try await world.consume(
                token,
                client: client,
                existing: present.existing,
                existingToken: present.token
            )
            last = try #require(next.renewed).token
        }
        for token in tokens {
            let present = try #require(try await world.presented(last))
            let again = try await world.consume(
                token,
                client: client,
                existing: present.existing,
                existingToken: present.token
            )
            #expect(again.isAlreadySignedIn && world.records.last?.outcome == .repeated)
        }
        #expect(try await world.consume(tokens[1], from: "12.0.0.1", client: client).refusal == .handoffReplayed)
        #expect(try await world.presented(last) != nil, "that token had only kept the session")
        #expect(try await world.consume(tokens[0], from: "12.0.0.1", client: client).refusal == .handoffReplayed)
        #expect(try await world.presented(last) == nil)
        #expect(world.records.last?.revokedDerived == true)
    }

    @Test("a session that ends while a handoff is under way does not come back under a new token")
    func endedBeforeRenewal() async throws {
        let world = try World()
        let old = try await world.signIn("alice", kind: .web, origin: .browser)
        let token = try await world.minted(try await world.signIn())
        let (store, loop) = (world.store, world.loop)
        world.store.change { $0.beforeConsume = { try await store.end(old.session.lineage, on: loop).get() } }
        #expect(try await world.consume(token, existing: (old.key, old.session)).isAlreadySignedIn)
        #expect(try await world.presented(old.token) == nil)
        #expect(try await world.presented(world.authority.successor(of: old.key).token) == nil)
    }

    @Test("a replay does not end a session that the token did not create, whatever the policy")
    func replayLeavesTheLongerSession() async throws {
        let world = try World()
        let client = ClientSettings.web { $0.revokesDerivedOnReplay = true }
        let token = try await world.minted(try await world.signIn())
        let old = try await world.signIn("alice", kind: .web, origin: .browser)
        #expect(try await world.consume(token, client: client, existing: (old.key, old.session)).renewed != nil)
        #expect(try await world.consume(token, from: "12.0.0.1", client: client).refusal == .handoffReplayed)
        #expect(world.records.last?.revokedDerived == false)
        #expect(try await world.session(old.key) != nil)
    }

    @Test("a longer session is replaced if the new one has a higher level, or if the route is not satisfied with it")
    func longerSessionGivesWay() async throws {
        let world = try World()
        let app = try await world.signIn()
        let weak = try await world.signIn("alice", kind: .web, origin: .browser, aal: .aal1)
        let stronger = try await world.consume(try await world.minted(app), existing: (weak.key, weak.session))
        #expect(stronger.signedIn?.session.aal == .aal2)
        #expect(try await world.session(weak.key) == nil)

        let long = try await world.signIn("alice", kind: .web, origin: .browser)
        let token = try await world.minted(app)
        let web = try await world.consume(token, existing: (long.key, long.session), existingSuffices: false)
        #expect(web.signedIn?.replaces == long.key)

        let strong = try await world.signIn("alice", kind: .web, origin: .browser, lifetime: .seconds(60), aal: .aal3)
        let kept = try await world.consume(try await world.minted(app), existing: (strong.key, strong.session))
        #expect(kept.renewed?.session.id == strong.session.id, "a handoff lowers no level")
    }

    @Test("if the answer is lost when a longer session stays, the repetition completes and is recorded once")
    func lostAnswerOfAStay() async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn())
        let old = try await world.signIn("alice", kind: .web, origin: .browser)
        let attempt = AttemptSecret()
        world.store.change { $0.lostAnswers = 1 }
        let lost = try await world.consume(token, existing: (old.key, old.session), attempt: attempt)
        #expect(lost.storeError == .unavailable)
        let again = try await world.consume(token, existing: (old.key, old.session), attempt: attempt)
        #expect(again.renewed?.session.id == old.session.id && world.store.confirmations == 1)
        #expect(world.records.all.map(\.outcome) == [.minted, .unavailable, .sessionStays])
    }

    @Test("a mark identifies one value and contains no part of it")
    func marks() throws {
        let world = try World()
        let consumer = world.consumer()
        let values = ["x", "", "spt_" + String(repeating: "A", count: 55)].map { Array($0.utf8) }
        let marks = consumer.marks(of: values, besides: []).bytes
        #expect(marks.count == 3 * 16 + 2)
        for value in values { #expect(consumer.isMarked(value, in: marks)) }
        for other in ["y", "xx", "spt_"] { #expect(!consumer.isMarked(Array(other.utf8), in: marks)) }
        #expect(!consumer.isMarked(values[0], in: marks.dropFirst()) && !consumer.isMarked(values[0], in: []))
        let many = (0..<20).map { Array("v\($0)".utf8) }
        #expect(consumer.marks(of: many, besides: marks).bytes.count < 8 * 17, "the cookie stays small")
        let one = consumer.marks(of: [many[0]], besides: marks).bytes
        #expect(([many[0]] + values).allSatisfy { consumer.isMarked($0, in: one) }, "those of other paths are kept")
        #expect(consumer.marks(of: values, besides: Array("x..\"a;b\".".utf8) + marks).bytes == marks)
        let other = TokenAuthority(secret: Secret("another secret of the tests, 32 bytes or more"))
        #expect(other.mark(of: values[0]) != world.authority.mark(of: values[0]))
    }
}
