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

    /// A world with a token whose first use got 503, and the attempt cookie that the browser keeps.
    private func afterFault(_ fault: Fault, from address: String = "1.128.0.1") async throws
        -> (world: World, token: Secret, attempt: AttemptSecret)
    {
        let world = try World()
        let token = try await world.minted(try await world.signIn())
        let attempt = AttemptSecret()
        fault.strike(world.store)
        #expect(try await world.consume(token, from: address, attempt: attempt).storeError == .unavailable)
        world.store.change { $0.failure = nil }
        return (world, token, attempt)
    }

    private func derived(_ world: World, _ token: Secret, _ attempt: AttemptSecret) throws -> SessionAttempt {
        let key = try #require(world.authority.key(.transfer, of: token.bytes))
        return world.authority.attempt(attempt, with: key, of: token.bytes, on: "app.example.com")
    }

    @Test("wherever the store failed, a reload completes the attempt with its one session", arguments: Fault.allCases)
    func reloadCompletes(fault: Fault) async throws {
        let (world, token, attempt) = try await self.afterFault(fault)
        let expected = try self.derived(world, token, attempt)
        let standing = try await world.session(expected.sessionKey)
        #expect((standing != nil) == (fault == .answer))
        world.clock.advance(by: .seconds(5))

        let web = try #require(try await world.consume(token, attempt: attempt).signedIn)
        #expect(web.token == expected.token)
        #expect(web.session.id == expected.sessionID)
        let kept = try #require(try await world.session(try world.key(web.token)))
        #expect(kept.id == web.session.id)
        if let standing { #expect(kept == standing && web.session == standing) }
        // A session whose beginning nobody was told of may not be listed.
        #expect(world.store.notes == (standing == nil ? [] : [expected.sessionKey]))

        let record = try #require(world.records.last)
        #expect(record.outcome == .signedIn && record.code?.rawValue == "s")
        #expect(record.sessionID == kept.id && record.subject == "alice")
        #expect(world.records.all.count { $0.outcome == .signedIn } == 1)
        #expect(world.records.all.count { $0.outcome == .unavailable } == 1)
    }

    @Test("a first try signs in once, and its repetition is recognised; what another first try finds is a replay")
    func firstTry() async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn())
        let attempt = AttemptSecret()
        let web = try #require(try await world.consume(token, attempt: attempt, isFirstAttempt: true).signedIn)
        #expect(web.token == (try self.derived(world, token, attempt)).token)
        #expect(try await world.consume(token, attempt: attempt).signedIn?.token == web.token)
        #expect(try await world.consume(token, isFirstAttempt: true).refusal == .handoffReplayed)
        // It does not ask whose marker it is.
        #expect(try await world.consume(token, attempt: attempt, isFirstAttempt: true).refusal == .handoffReplayed)
        let burned = try await world.minted(try await world.signIn())
        let moved = try await world.consume(burned, from: "12.0.0.1", isFirstAttempt: true)
        #expect(moved.refusal == .bindingIPMismatch)
        #expect(try await world.consume(burned, isFirstAttempt: true).refusal == .handoffBurned)
    }

    @Test("an answer that is lost repeatedly changes nothing")
    func lostTwice() async throws {
        let (world, token, attempt) = try await self.afterFault(.act)
        for _ in 0..<3 {
            world.store.change { $0.lostAnswers = 1 }
            let outcome = try await world.consume(token, attempt: attempt)
            // After the attempt was done, the lookup finds the marker and no consumption is needed.
            if outcome.storeError == nil { #expect(outcome.signedIn != nil) }
        }
        let web = try #require(try await world.consume(token, attempt: attempt).signedIn)
        #expect(web.token == (try self.derived(world, token, attempt)).token)
    }

    @Test("if the first consumption takes effect only after the reload's lookup, the reload completes that attempt")
    func lateAct() async throws {
        let (world, token, attempt) = try await self.afterFault(.act)
        world.store.change {
            $0.beforeConsume = { _ = try await world.consume(token, attempt: attempt) }
        }
        let web = try #require(try await world.consume(token, attempt: attempt).signedIn)
        #expect(try await world.session(try world.key(web.token))?.id == web.session.id)
        #expect(web.token == (try self.derived(world, token, attempt)).token)
    }

    @Test(
        "an outcome that the store cannot confirm is not reported, however often the attempt is repeated",
        arguments: ["1.128.0.1", "12.0.0.1"]
    )
    func unconfirmed(address: String) async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn())
        let attempt = AttemptSecret()
        func consume() async throws -> HandoffOutcome {
            try await world.consume(token, from: address, attempt: attempt)
        }
        world.store.change { $0.isUnconfirmed = true }
        for _ in 0..<3 { #expect(try await consume().storeError == .unavailable) }
        #expect(world.store.confirmations == 2)
        #expect(world.records.all.allSatisfy { $0.outcome == .minted || $0.outcome == .unavailable })
        // A replay needs no confirmation.
        #expect(try await world.consume(token).refusal != nil)
        #expect(world.store.confirmations == 2)

        world.store.change { $0.isUnconfirmed = false }
        let outcome = try await consume()
        if address == "1.128.0.1" {
            #expect(outcome.signedIn?.token == (try self.derived(world, token, attempt)).token)
        } else {
            #expect(outcome.refusal == .bindingIPMismatch)
        }
        #expect(world.store.confirmations == 3)
    }

    @Test("T5: a client without the attempt cookie is refused as a replay, and the attempt still completes")
    func withoutTheCookie() async throws {
        let (world, token, attempt) = try await self.afterFault(.answer)
        #expect(try await world.consume(token).refusal == .handoffReplayed)
        #expect(try await world.consume(token, attempt: AttemptSecret()).refusal == .handoffReplayed)
        #expect(try await world.consume(token, attempt: attempt).signedIn != nil)
    }

    @Test("the same cookie with another token is another attempt")
    func otherToken() async throws {
        let (world, token, attempt) = try await self.afterFault(.answer)
        let other = try await world.minted(try await world.signIn("alice"))
        let second = try #require(try await world.consume(other, attempt: attempt).signedIn)
        let first = try #require(try await world.consume(token, attempt: attempt).signedIn)
        #expect(first.token != second.token && first.session.id != second.session.id)
        #expect(try await world.session(try world.key(first.token)) != nil)
        #expect(try await world.session(try world.key(second.token)) != nil)
    }

    @Test("the same cookie on another host is another attempt")
    func otherHost() async throws {
        let (world, token, attempt) = try await self.afterFault(.answer)
        let outcome = try await world.consume(token, host: "other.example.com", attempt: attempt)
        #expect(outcome.refusal == .handoffReplayed)
    }

    @Test("T8: a planted attempt secret makes different sessions under different gateway secrets")
    func plantedCookie() async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn())
        let key = try #require(world.authority.key(.transfer, of: token.bytes))
        let planted = AttemptSecret()
        let web = try #require(try await world.consume(token, attempt: planted).signedIn)
        let stranger = TokenAuthority(secret: Secret("what somebody guesses"))
        let theirs = stranger.attempt(planted, with: key, of: token.bytes, on: "app.example.com")
        #expect(theirs.token != web.token)
    }

    @Test("the session of the first try is bound to its device: a completion from elsewhere ends it")
    func completedElsewhere() async throws {
        let (world, token, attempt) = try await self.afterFault(.answer)
        let outcome = try await world.consume(token, from: "12.0.0.1", attempt: attempt)
        #expect(outcome.refusal == .bindingIPMismatch)
        let record = try #require(world.records.last)
        #expect(record.burns && record.firstDevice?.address == IPAddress("1.128.0.1"))
        #expect(try await world.session(try self.derived(world, token, attempt).sessionKey) == nil)
        #expect(try await world.consume(token, attempt: attempt).refusal == .sessionRevoked)
    }

    @Test("with on_mismatch keep, the right device can still complete")
    func keptElsewhere() async throws {
        let (world, token, attempt) = try await self.afterFault(.answer)
        let client = ClientSettings.web { $0.burnsOnMismatch = false }
        let elsewhere = try await world.consume(token, from: "12.0.0.1", client: client, attempt: attempt)
        #expect(elsewhere.refusal == .bindingIPMismatch)
        #expect(try await world.consume(token, client: client, attempt: attempt).signedIn != nil)
    }

    @Test("after a minute the cookie completes nothing, even if a browser ignores its Max-Age")
    func tooLate() async throws {
        let (world, token, attempt) = try await self.afterFault(.answer)
        world.clock.advance(by: .seconds(59))
        #expect(try await world.consume(token, attempt: attempt).signedIn != nil)
        world.clock.advance(by: .seconds(1))
        #expect(try await world.consume(token, attempt: attempt).refusal == .handoffReplayed)
        #expect(world.records.last?.firstDevice?.address == IPAddress("1.128.0.1"))
    }

    @Test("if a session that must end cannot be ended, the answer is unavailable and not a refusal")
    func endingNeedsTheStore() async throws {
        let (world, token, attempt) = try await self.afterFault(.answer)
        // Fails after the lookup, the confirmation and the read of the session.
        world.store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, 3) }
        #expect(try await world.consume(token, from: "12.0.0.1", attempt: attempt).storeError == .unavailable)
    }

    @Test("T8: the completion ends the browser's former session, as a sign-in does")
    func replacesFormer() async throws {
        let (world, token, attempt) = try await self.afterFault(.answer)
        let old = try await world.signIn("alice", kind: .web, origin: .browser)
        let web = try #require(
            try await world.consume(token, existing: (old.key, old.session), attempt: attempt).signedIn
        )
        #expect(web.replaces == old.key)
        #expect(try await world.session(old.key) == nil)
        #expect(world.records.last?.code?.rawValue == "ssa")
        #expect(world.records.last?.endedSessionID == old.session.id)
    }

    @Test("T7: another user's session and the session of the attempt end each other")
    func otherUser() async throws {
        let (world, token, attempt) = try await self.afterFault(.answer)
        let victim = try await world.signIn("bob", kind: .web, origin: .browser)
        let outcome = try await world.consume(token, existing: (victim.key, victim.session), attempt: attempt)
        #expect(outcome.refusal == .handoffOtherUser && outcome.endsExisting)
        #expect(try await world.session(victim.key) == nil)
        #expect(try await world.session(try self.derived(world, token, attempt).sessionKey) == nil)
    }

    @Test("if the answer to a burn is lost, the repetition gets the same refusal")
    func lostBurn() async throws {
        let (world, token, attempt) = try await self.afterFault(.answer, from: "12.0.0.1")
        #expect(try await world.consume(token, from: "12.0.0.1", attempt: attempt).refusal == .bindingIPMismatch)
        #expect(world.records.last?.burns == true && world.records.last?.burnedFor == nil)
        // The right device gets the same refusal.
        #expect(try await world.consume(token, attempt: attempt).refusal == .bindingIPMismatch)
        #expect(try await world.consume(token).refusal == .handoffBurned)
    }

    @Test("T7: repeating a lost refusal for another user ends that user's session")
    func lostOtherUser() async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn("mallory"))
        let victim = try await world.signIn("alice", kind: .web, origin: .browser)
        let attempt = AttemptSecret()
        world.store.change { $0.lostAnswers = 1 }
        let existing = (victim.key, victim.session)
        #expect(try await world.consume(token, existing: existing, attempt: attempt).storeError == .unavailable)
        #expect(try await world.session(victim.key) != nil)
        let again = try await world.consume(token, existing: existing, attempt: attempt)
        #expect(again.refusal == .handoffOtherUser && again.endsExisting)
        #expect(try await world.session(victim.key) == nil)
        #expect(world.records.last?.endedSessionID == victim.session.id)
    }

    @Test("a session that was signed out in the meantime is not returned")
    func endedSince() async throws {
        let (world, token, attempt) = try await self.afterFault(.answer)
        let key = try self.derived(world, token, attempt).sessionKey
        _ = try await world.store.end(key, on: world.loop).get()
        #expect(try await world.consume(token, attempt: attempt).refusal == .sessionRevoked)
    }

    @Test("a completion that cannot be recorded does not happen")
    func unrecorded() async throws {
        let (world, token, attempt) = try await self.afterFault(.answer)
        world.records.isFull = true
        #expect(try await world.consume(token, attempt: attempt).storeError == .full)
    }

    @Test("no record of an attempt contains its secret")
    func noSecrets() async throws {
        let (world, token, attempt) = try await self.afterFault(.answer)
        let web = try #require(try await world.consume(token, attempt: attempt).signedIn)
        let text = world.records.all.map { "\($0) \($0.auditEvents)" }.joined()
        for secret in [attempt.value, web.token] {
            #expect(!text.contains(String(decoding: secret.bytes.suffix(43), as: UTF8.self)))
        }
        #expect(!"\(attempt)".contains(String(decoding: attempt.value.bytes, as: UTF8.self)))
    }
}
