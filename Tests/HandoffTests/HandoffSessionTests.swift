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
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn("mallory"))
        let victim = try await bench.signIn("alice", kind: .web, origin: .browser)
        let outcome = try await bench.consume(token, existing: (victim.key, victim.session))
        #expect(outcome.refusal == .handoffOtherUser)
        #expect(outcome.endsExisting)
        #expect(try await bench.session(victim.key) == nil)
        #expect(bench.records.last?.code?.rawValue == "w")
        #expect(bench.records.last?.endedSessionID == victim.session.id)
        #expect(try await bench.consume(token).refusal == .handoffBurned)
    }

    @Test("T7: a token that would not sign in does not end another user's session")
    func badTokenEndsNothing() async throws {
        let bench = try HandoffBench()
        let mallory = try await bench.signIn("mallory")
        let victim = try await bench.signIn("alice", kind: .web, origin: .browser)
        let existing = (victim.key, victim.session)

        let foreign = try await bench.minted(mallory, from: "12.0.0.1")
        let elsewhere = try await bench.consume(foreign, existing: existing)
        #expect(elsewhere.refusal == .bindingIPMismatch)
        #expect(!elsewhere.endsExisting)
        #expect(try await bench.consume(foreign, existing: existing).refusal == .handoffBurned)
        #expect(try await bench.consume(Secret("spt_x"), existing: existing).refusal == .handoffMalformed)

        let used = try await bench.minted(mallory)
        #expect(try await bench.consume(used).signedIn != nil)
        #expect(try await bench.consume(used, existing: existing).refusal == .handoffReplayed)

        let late = try await bench.minted(mallory)
        bench.clock.advance(by: .seconds(60))
        #expect(try await bench.consume(late, existing: existing).refusal != nil)
        #expect(try await bench.session(victim.key) != nil)
    }

    @Test("T8: the same user's shorter session is replaced by a new one and ends")
    func sameUserIsReplaced() async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        let old = try await bench.signIn("alice", kind: .web, origin: .browser, lifetime: .seconds(600))
        let web = try #require(try await bench.consume(token, existing: (old.key, old.session)).signedIn)
        #expect(web.replaces == old.key)
        #expect(web.session.id != old.session.id)
        #expect(web.token != old.token)
        #expect(try await bench.session(old.key) == nil)
        #expect(bench.records.last?.code?.rawValue == "ssa")
        #expect(bench.records.last?.endedSessionID == old.session.id)
    }

    @Test("the same user's longer session stays, the token is used up, and the audit records both")
    func longerSessionStays() async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        let old = try await bench.signIn("alice", kind: .web, origin: .browser)
        let existing = (old.key, old.session)
        let renewed = try #require(try await bench.consume(token, existing: existing).renewed)
        #expect(renewed.session.id == old.session.id && renewed.token != old.token)
        #expect(try await bench.session(old.key) == renewed.session)
        let record = try #require(bench.records.last)
        #expect(
            record.outcome == .sessionStays && record.code?.rawValue == "ssa" && record.outcome?.result == .consumed
        )
        #expect(record.sessionID == old.session.id && record.endedSessionID == nil && record.subject == "alice")
        let event = try #require(record.auditEvents.last)
        #expect(event.kind == .transferTokenConsumed)
        #expect(event.details.contains { $0 == ("session_stays", "true") })

        let again = try await bench.consume(token, existing: existing)
        #expect(again.renewed?.token == renewed.token, "the same browser once more, which has not got the answer")
        #expect(again.act == .repeated && bench.records.last?.outcome == .repeated)
        let present = try #require(try await bench.presented(renewed.token))
        let repeated = try await bench.consume(token, existing: present.existing, existingToken: present.token)
        #expect(repeated.isAlreadySignedIn, "and once more with what it got")
        #expect(repeated.act == .repeated && bench.records.last?.outcome == .repeated)
        #expect(try await bench.consume(token, from: "12.0.0.1").refusal == .handoffReplayed)
        #expect(try await bench.session(old.key) != nil)
    }

    @Test("a kept session's former token serves what the browser had sent before, for half a minute, and then nobody")
    func renewal() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        let old = try await bench.signIn("alice", kind: .web, origin: .browser)
        let second = try #require(
            try await bench.consume(try await bench.minted(app), existing: (old.key, old.session)).renewed
        ).token
        // What another tab had sent with the former token gets the same one, and ends nothing.
        let tab = try #require(try await bench.presented(old.token))
        let other = try await bench.consume(
            try await bench.minted(app),
            existing: tab.existing,
            existingToken: tab.token
        )
        #expect(other.renewed?.token == second)
        bench.clock.advance(by: .seconds(29))
        #expect(try await bench.presented(old.token) != nil)
        bench.clock.advance(by: .seconds(1))
        #expect(try await bench.presented(old.token) == nil)
        // With the next handoff the last one's former token is worth nothing at once, however young.
        var tokens = [old.token, second]
        for _ in 0..<3 {
            let present = try #require(try await bench.presented(tokens[tokens.count - 1]))
            #expect(present.existing.key == old.key && present.existing.session.id == old.session.id)
            let token = try await bench.minted(app)
            let outcome = try await bench.consume(token, existing: present.existing, existingToken: present.token)
            tokens.append(try #require(outcome.renewed).token)
            for former in tokens.dropLast(2) { #expect(try await bench.presented(former) == nil) }
        }
        #expect(Set(tokens).count == 5)
        _ = try await bench.store.end(old.key, on: bench.loop).get()
        for token in tokens { #expect(try await bench.presented(token) == nil) }
    }

    @Test("wherever the store fails while a session is kept, the same try completes, and the browser stays signed in")
    func failures() async throws {
        var failed = 0
        for calls in 0..<16 {
            let bench = try HandoffBench()
            let token = try await bench.minted(try await bench.signIn())
            let old = try await bench.signIn("alice", kind: .web, origin: .browser)
            let attempt = AttemptSecret()
            bench.store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, calls) }
            let first = try await bench.consume(token, existing: (old.key, old.session), attempt: attempt)
            bench.store.fail(with: nil)
            if first.storeError != nil { failed += 1 }
            #expect(try await bench.presented(old.token) != nil)
            let present = try #require(try await bench.presented(first.renewed?.token ?? old.token))
            let second = try await bench.consume(
                token,
                existing: present.existing,
                existingToken: present.token,
                attempt: attempt
            )
            let renewed = try #require(second.renewed, "\(calls): \(second)")
            #expect(try await bench.presented(renewed.token)?.existing.session.id == old.session.id)
        }
        #expect(failed > 5)
    }

    @Test(
        "a session that a token made is recognised, and ends with a replay of it, however often its token was renewed"
    )
    func replayAfterRenewal() async throws {
        let bench = try HandoffBench()
        let client = ClientSettings.web { $0.revokesDerivedOnReplay = true }
        let app = try await bench.signIn(lifetime: .seconds(600))
        let tokens = [try await bench.minted(app), try await bench.minted(app), try await bench.minted(app)]
        var last = try #require(try await bench.consume(tokens[0], client: client).signedIn).token
        for token in tokens[1...] {
            let present = try #require(try await bench.presented(last))
            let next = try await bench.consume(
                token,
                client: client,
                existing: present.existing,
                existingToken: present.token
            )
            last = try #require(next.renewed).token
        }
        for token in tokens {
            let present = try #require(try await bench.presented(last))
            let again = try await bench.consume(
                token,
                client: client,
                existing: present.existing,
                existingToken: present.token
            )
            #expect(again.isAlreadySignedIn && bench.records.last?.outcome == .repeated)
        }
        #expect(try await bench.consume(tokens[1], from: "12.0.0.1", client: client).refusal == .handoffReplayed)
        #expect(try await bench.presented(last) != nil, "that token had only kept the session")
        #expect(try await bench.consume(tokens[0], from: "12.0.0.1", client: client).refusal == .handoffReplayed)
        #expect(try await bench.presented(last) == nil)
        #expect(bench.records.last?.revokedDerived == true)
    }

    @Test("a session that ends while a handoff is under way does not come back under a new token")
    func endedBeforeRenewal() async throws {
        let bench = try HandoffBench()
        let old = try await bench.signIn("alice", kind: .web, origin: .browser)
        let token = try await bench.minted(try await bench.signIn())
        let (store, loop) = (bench.store, bench.loop)
        bench.store.change { $0.beforeConsume = { try await store.end(old.session.lineage, on: loop).get() } }
        let outcome = try await bench.consume(token, existing: (old.key, old.session))
        #expect(outcome.isAlreadySignedIn && outcome.act == .sessionStays && bench.records.last?.outcome == outcome.act)
        #expect(try await bench.presented(old.token) == nil)
        #expect(try await bench.presented(bench.authority.successor(of: old.key).token) == nil)
    }

    @Test("a replay does not end a session that the token did not create, whatever the policy")
    func replayLeavesTheLongerSession() async throws {
        let bench = try HandoffBench()
        let client = ClientSettings.web { $0.revokesDerivedOnReplay = true }
        let token = try await bench.minted(try await bench.signIn())
        let old = try await bench.signIn("alice", kind: .web, origin: .browser)
        #expect(try await bench.consume(token, client: client, existing: (old.key, old.session)).renewed != nil)
        #expect(try await bench.consume(token, from: "12.0.0.1", client: client).refusal == .handoffReplayed)
        #expect(bench.records.last?.revokedDerived == false)
        #expect(try await bench.session(old.key) != nil)
    }

    @Test("a longer session is replaced if the new one has a higher level, or if the route is not satisfied with it")
    func longerSessionGivesWay() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        let weak = try await bench.signIn("alice", kind: .web, origin: .browser, aal: .aal1)
        let stronger = try await bench.consume(try await bench.minted(app), existing: (weak.key, weak.session))
        #expect(stronger.signedIn?.session.aal == .aal2)
        #expect(try await bench.session(weak.key) == nil)

        let long = try await bench.signIn("alice", kind: .web, origin: .browser)
        let token = try await bench.minted(app)
        let web = try await bench.consume(token, existing: (long.key, long.session), mayKeepSession: false)
        #expect(web.signedIn?.replaces == long.key)

        let strong = try await bench.signIn("alice", kind: .web, origin: .browser, lifetime: .seconds(60), aal: .aal3)
        let kept = try await bench.consume(try await bench.minted(app), existing: (strong.key, strong.session))
        #expect(kept.renewed?.session.id == strong.session.id, "a handoff lowers no level")
    }

    @Test("if the answer is lost when a longer session stays, the repetition completes and is recorded once")
    func lostAnswerOfAStay() async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        let old = try await bench.signIn("alice", kind: .web, origin: .browser)
        let attempt = AttemptSecret()
        bench.store.change { $0.lostAnswers = 1 }
        let lost = try await bench.consume(token, existing: (old.key, old.session), attempt: attempt)
        #expect(lost.storeError == .unavailable)
        let again = try await bench.consume(token, existing: (old.key, old.session), attempt: attempt)
        #expect(again.renewed?.session.id == old.session.id && bench.store.confirmations == 1)
        #expect(bench.records.all.map(\.outcome) == [.minted, .unavailable, .sessionStays])
    }

    @Test("a mark identifies one value and contains no part of it")
    func marks() throws {
        let bench = try HandoffBench()
        let consumer = bench.consumer()
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
        #expect(other.mark(of: values[0]) != bench.authority.mark(of: values[0]))
    }
}
