import AddressIntelligence
import NIOCore
import Observability
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("Repeating a handoff whose answer was lost")
struct HandoffAttemptTests {
    /// Where the store fails: at the lookup, at the read of the parent, before the consumption, or after it (lost
    /// answer).
    enum Fault: CaseIterable, Sendable {
        case lookup, parent, act, answer

        func strike(_ store: ScriptedStore) {
            switch self {
            case .lookup: store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, 0) }
            case .parent: store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, 1) }
            case .act: store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, 2) }
            case .answer: store.change { $0.lostAnswers = 1 }
            }
        }
    }

    /// A bench with a token whose first use got 503, and the attempt cookie that the browser keeps.
    private func afterFault(_ fault: Fault, from address: String = "1.128.0.1") async throws
        -> (bench: HandoffBench, token: Secret, attempt: AttemptSecret)
    {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        let attempt = AttemptSecret()
        fault.strike(bench.store)
        #expect(try await bench.consume(token, from: address, attempt: attempt).storeError == .unavailable)
        bench.store.change { $0.failure = nil }
        return (bench, token, attempt)
    }

    private func derived(_ bench: HandoffBench, _ token: Secret, _ attempt: AttemptSecret) throws -> SessionAttempt {
        let key = try #require(bench.authority.key(.transfer, of: token.bytes))
        return bench.authority.attempt(attempt, with: key, of: token.bytes, on: "app.example.com")
    }

    @Test("wherever the store failed, a reload completes the attempt with its one session", arguments: Fault.allCases)
    func reloadCompletes(fault: Fault) async throws {
        let (bench, token, attempt) = try await self.afterFault(fault)
        let expected = try self.derived(bench, token, attempt)
        let standing = try await bench.session(expected.sessionKey)
        #expect((standing != nil) == (fault == .answer))
        bench.clock.advance(by: .seconds(5))

        let web = try #require(try await bench.consume(token, attempt: attempt).signedIn)
        #expect(web.token == expected.token)
        #expect(web.session.id == expected.sessionID)
        let kept = try #require(try await bench.session(try bench.key(web.token)))
        #expect(kept.id == web.session.id)
        if let standing { #expect(kept == standing && web.session == standing) }
        // A session whose beginning nobody was told of may not be listed.
        #expect(bench.store.notes == (standing == nil ? [] : [expected.sessionKey]))

        let record = try #require(bench.records.last)
        #expect(record.outcome == .signedIn && record.code?.rawValue == "s")
        #expect(record.sessionID == kept.id && record.subject == "alice")
        #expect(bench.records.all.count { $0.outcome == .signedIn } == 1)
        #expect(bench.records.all.count { $0.outcome == .unavailable } == 1)
    }

    @Test("a first try signs in once, and its repetition is recognised; what another first try finds is a replay")
    func firstTry() async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        let attempt = AttemptSecret()
        let web = try #require(try await bench.consume(token, attempt: attempt, isFirstAttempt: true).signedIn)
        #expect(web.token == (try self.derived(bench, token, attempt)).token)
        #expect(try await bench.consume(token, attempt: attempt).signedIn?.token == web.token)
        #expect(try await bench.consume(token, isFirstAttempt: true).refusal == .handoffReplayed)
        // It does not ask whose marker it is.
        #expect(try await bench.consume(token, attempt: attempt, isFirstAttempt: true).refusal == .handoffReplayed)
        let burned = try await bench.minted(try await bench.signIn())
        let moved = try await bench.consume(burned, from: "12.0.0.1", isFirstAttempt: true)
        #expect(moved.refusal == .bindingIPMismatch)
        #expect(try await bench.consume(burned, isFirstAttempt: true).refusal == .handoffBurned)
    }

    @Test("an answer that is lost repeatedly changes nothing")
    func lostTwice() async throws {
        let (bench, token, attempt) = try await self.afterFault(.act)
        for _ in 0..<3 {
            bench.store.change { $0.lostAnswers = 1 }
            let outcome = try await bench.consume(token, attempt: attempt)
            // After the attempt was done, the lookup finds the marker and no consumption is needed.
            if outcome.storeError == nil { #expect(outcome.signedIn != nil) }
        }
        let web = try #require(try await bench.consume(token, attempt: attempt).signedIn)
        #expect(web.token == (try self.derived(bench, token, attempt)).token)
    }

    @Test("if the first consumption takes effect only after the reload's lookup, the reload completes that attempt")
    func lateAct() async throws {
        let (bench, token, attempt) = try await self.afterFault(.act)
        bench.store.change {
            $0.beforeConsume = { _ = try await bench.consume(token, attempt: attempt) }
        }
        let web = try #require(try await bench.consume(token, attempt: attempt).signedIn)
        #expect(try await bench.session(try bench.key(web.token))?.id == web.session.id)
        #expect(web.token == (try self.derived(bench, token, attempt)).token)
    }

    @Test(
        "an outcome that the store cannot confirm is not reported, however often the attempt is repeated",
        arguments: ["1.128.0.1", "12.0.0.1"]
    )
    func unconfirmed(address: String) async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        let attempt = AttemptSecret()
        func consume() async throws -> HandoffOutcome {
            try await bench.consume(token, from: address, attempt: attempt)
        }
        bench.store.change { $0.isUnconfirmed = true }
        for _ in 0..<3 { #expect(try await consume().storeError == .unavailable) }
        #expect(bench.store.confirmations == 2)
        #expect(bench.records.all.allSatisfy { $0.outcome == .minted || $0.outcome == .unavailable })
        // A replay needs no confirmation.
        #expect(try await bench.consume(token).refusal != nil)
        #expect(bench.store.confirmations == 2)

        bench.store.change { $0.isUnconfirmed = false }
        let outcome = try await consume()
        if address == "1.128.0.1" {
            #expect(outcome.signedIn?.token == (try self.derived(bench, token, attempt)).token)
        } else {
            #expect(outcome.refusal == .bindingIPMismatch)
        }
        #expect(bench.store.confirmations == 3)
    }

    @Test("T5: a client without the attempt cookie is refused as a replay, and the attempt still completes")
    func withoutTheCookie() async throws {
        let (bench, token, attempt) = try await self.afterFault(.answer)
        #expect(try await bench.consume(token).refusal == .handoffReplayed)
        #expect(try await bench.consume(token, attempt: AttemptSecret()).refusal == .handoffReplayed)
        #expect(try await bench.consume(token, attempt: attempt).signedIn != nil)
    }

    @Test("the same cookie with another token is another attempt")
    func otherToken() async throws {
        let (bench, token, attempt) = try await self.afterFault(.answer)
        let other = try await bench.minted(try await bench.signIn("alice"))
        let second = try #require(try await bench.consume(other, attempt: attempt).signedIn)
        let first = try #require(try await bench.consume(token, attempt: attempt).signedIn)
        #expect(first.token != second.token && first.session.id != second.session.id)
        #expect(try await bench.session(try bench.key(first.token)) != nil)
        #expect(try await bench.session(try bench.key(second.token)) != nil)
    }

    @Test("the same cookie on another host is another attempt")
    func otherHost() async throws {
        let (bench, token, attempt) = try await self.afterFault(.answer)
        let outcome = try await bench.consume(token, host: "other.example.com", attempt: attempt)
        #expect(outcome.refusal == .handoffReplayed)
    }

    @Test("T8: a planted attempt secret makes different sessions under different gateway secrets")
    func plantedCookie() async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        let key = try #require(bench.authority.key(.transfer, of: token.bytes))
        let planted = AttemptSecret()
        let web = try #require(try await bench.consume(token, attempt: planted).signedIn)
        let stranger = TokenAuthority(secret: Secret("what somebody guesses"))
        let theirs = stranger.attempt(planted, with: key, of: token.bytes, on: "app.example.com")
        #expect(theirs.token != web.token)
    }

    @Test("the session of the first try is bound to its device: a completion from elsewhere ends it")
    func completedElsewhere() async throws {
        let (bench, token, attempt) = try await self.afterFault(.answer)
        let outcome = try await bench.consume(token, from: "12.0.0.1", attempt: attempt)
        #expect(outcome.refusal == .bindingIPMismatch)
        let record = try #require(bench.records.last)
        #expect(record.burns && record.firstDevice?.address == IPAddress("1.128.0.1"))
        #expect(try await bench.session(try self.derived(bench, token, attempt).sessionKey) == nil)
        #expect(try await bench.consume(token, attempt: attempt).refusal == .sessionRevoked)
    }

    @Test("with on_mismatch keep, the right device can still complete")
    func keptElsewhere() async throws {
        let (bench, token, attempt) = try await self.afterFault(.answer)
        let client = ClientSettings.web { $0.burnsOnMismatch = false }
        let elsewhere = try await bench.consume(token, from: "12.0.0.1", client: client, attempt: attempt)
        #expect(elsewhere.refusal == .bindingIPMismatch)
        #expect(try await bench.consume(token, client: client, attempt: attempt).signedIn != nil)
    }

    @Test("after a minute the cookie completes nothing, even if a browser ignores its Max-Age")
    func tooLate() async throws {
        let (bench, token, attempt) = try await self.afterFault(.answer)
        bench.clock.advance(by: .seconds(59))
        #expect(try await bench.consume(token, attempt: attempt).signedIn != nil)
        bench.clock.advance(by: .seconds(1))
        #expect(try await bench.consume(token, attempt: attempt).refusal == .handoffReplayed)
        #expect(bench.records.last?.firstDevice?.address == IPAddress("1.128.0.1"))
    }

    @Test("if a session that must end cannot be ended, the answer is unavailable and not a refusal")
    func endingNeedsTheStore() async throws {
        let (bench, token, attempt) = try await self.afterFault(.answer)
        // Fails after the lookup, the confirmation and the read of the session.
        bench.store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, 3) }
        #expect(try await bench.consume(token, from: "12.0.0.1", attempt: attempt).storeError == .unavailable)
    }

    @Test("T8: the completion ends the browser's former session, as a sign-in does")
    func replacesFormer() async throws {
        let (bench, token, attempt) = try await self.afterFault(.answer)
        let old = try await bench.signIn("alice", kind: .web, origin: .browser)
        let web = try #require(
            try await bench.consume(token, existing: (old.key, old.session), attempt: attempt).signedIn
        )
        #expect(web.replaces == old.key)
        #expect(try await bench.session(old.key) == nil)
        #expect(bench.records.last?.code?.rawValue == "ssa")
        #expect(bench.records.last?.endedSessionID == old.session.id)
    }

    @Test("T7: another user's session and the session of the attempt end each other")
    func otherUser() async throws {
        let (bench, token, attempt) = try await self.afterFault(.answer)
        let victim = try await bench.signIn("bob", kind: .web, origin: .browser)
        let outcome = try await bench.consume(token, existing: (victim.key, victim.session), attempt: attempt)
        #expect(outcome.refusal == .handoffOtherUser && outcome.endsExisting)
        #expect(try await bench.session(victim.key) == nil)
        #expect(try await bench.session(try self.derived(bench, token, attempt).sessionKey) == nil)
    }

    @Test("if the answer to a burn is lost, the repetition gets the same refusal")
    func lostBurn() async throws {
        let (bench, token, attempt) = try await self.afterFault(.answer, from: "12.0.0.1")
        #expect(try await bench.consume(token, from: "12.0.0.1", attempt: attempt).refusal == .bindingIPMismatch)
        #expect(bench.records.last?.burns == true && bench.records.last?.burnedFor == nil)
        // The right device gets the same refusal.
        #expect(try await bench.consume(token, attempt: attempt).refusal == .bindingIPMismatch)
        #expect(try await bench.consume(token).refusal == .handoffBurned)
    }

    @Test("T7: repeating a lost refusal for another user ends that user's session")
    func lostOtherUser() async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn("mallory"))
        let victim = try await bench.signIn("alice", kind: .web, origin: .browser)
        let attempt = AttemptSecret()
        bench.store.change { $0.lostAnswers = 1 }
        let existing = (victim.key, victim.session)
        #expect(try await bench.consume(token, existing: existing, attempt: attempt).storeError == .unavailable)
        #expect(try await bench.session(victim.key) != nil)
        let again = try await bench.consume(token, existing: existing, attempt: attempt)
        #expect(again.refusal == .handoffOtherUser && again.endsExisting)
        #expect(try await bench.session(victim.key) == nil)
        #expect(bench.records.last?.endedSessionID == victim.session.id)
    }

    @Test("a session that was signed out in the meantime is not returned")
    func endedSince() async throws {
        let (bench, token, attempt) = try await self.afterFault(.answer)
        let key = try self.derived(bench, token, attempt).sessionKey
        _ = try await bench.store.end(key, on: bench.loop).get()
        #expect(try await bench.consume(token, attempt: attempt).refusal == .sessionRevoked)
    }

    @Test("a completion that cannot be recorded does not happen")
    func unrecorded() async throws {
        let (bench, token, attempt) = try await self.afterFault(.answer)
        bench.records.isFull = true
        #expect(try await bench.consume(token, attempt: attempt).storeError == .full)
    }

    @Test("no record of an attempt contains its secret")
    func noSecrets() async throws {
        let (bench, token, attempt) = try await self.afterFault(.answer)
        let web = try #require(try await bench.consume(token, attempt: attempt).signedIn)
        let text = bench.records.all.map { "\($0) \($0.auditEvents)" }.joined()
        for secret in [attempt.value, web.token] {
            #expect(!text.contains(String(decoding: secret.bytes.suffix(43), as: UTF8.self)))
        }
        #expect(!"\(attempt)".contains(String(decoding: attempt.value.bytes, as: UTF8.self)))
    }
}
