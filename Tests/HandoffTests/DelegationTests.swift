import NIOCore
import Observability
import Rules
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("Delegated transfer tokens") struct DelegationTests {
    private static var desk: ClientSettings {
        var client = ClientSettings(clientID: "desk")
        client.canCreateTransferToken = true
        client.clientSecrets = [Secret("a secret of the help desk")]
        return client
    }

    private static var care: ClientSettings {
        .web {
            $0.delegation = .ip
            // Neither of these applies to a delegated token.
            $0.binding = .none
            $0.bindingDryRun = true
        }
    }

    private static func minted(_ bench: HandoffBench, _ user: NativeApp, actor: NativeApp) async throws -> Secret {
        try await bench.mint(for: user, actor: actor, client: self.desk).token
    }

    @Test(
        "its session names the actor, lasts two hours at most, ends with the user's native session, and mints nothing"
    )
    func session() async throws {
        let bench = try HandoffBench()
        let (user, actor) = (try await bench.signIn(), try await bench.signIn("bob"))
        let token = try await Self.minted(bench, user, actor: actor)
        #expect(bench.records.last?.subject == "alice" && bench.records.last?.actor == "bob")
        let outcome = try await bench.consume(token, client: Self.care)
        let made = try #require(outcome.signedIn)
        #expect(made.session.subject == "alice" && made.session.actor == "bob" && made.session.origin == .transfer)
        #expect(made.session.expiresAt == bench.clock.now.advanced(by: .seconds(7200)))
        #expect(made.session.actorClaim == ["sub": "bob"])
        let record = try #require(bench.records.last)
        #expect(record.actor == "bob" && record.code == .delegatedSignedIn && record.binding == .ip)
        #expect(record.auditEvents.last?.details.contains { $0 == ("actor", "bob") } == true)
        let key = try bench.key(made.token)
        #expect(try await bench.session(key)?.actor == "bob", "the store keeps it")
        let again = NativeApp(token: made.token, key: key, session: made.session)
        guard try await bench.objection({ try await bench.mint(for: again) })?.reason == .handoffNested else {
            Issue.record("minted from it")
            return
        }
        try await user.session.end(user.key, in: bench.store, on: bench.loop).get()
        #expect(try await bench.session(key) == nil)
    }

    @Test("rules at mint and at consume see the actor, who is missing from everybody else's event")
    func rules() async throws {
        let condition = try RuleCondition(#"event.session.actor.sub == "bob""#)
        for stage in [RuleStage.mint, .consume] {
            let bench = try HandoffBench(
                rules: RuleBook([Rule(name: "nobody acts", stages: [stage], condition: condition, effect: .deny)])
            )
            let (user, actor) = (try await bench.signIn(), try await bench.signIn("bob"))
            if stage == .consume {
                let token = try await Self.minted(bench, user, actor: actor)
                #expect(try await bench.consume(token, client: Self.care).denial == .some(nil))
            } else {
                let objection = try await bench.objection {
                    try await bench.mint(for: user, actor: actor, client: Self.desk)
                }
                #expect(objection == NotDone(.ruleDenied))
            }
            #expect(try await bench.consume(try await bench.minted(user)).signedIn != nil)
        }
    }

    @Test("its session does not show the browser's own account, and it is asked about where that is known")
    func account() async throws {
        let bench = try HandoffBench()
        let actor = try await bench.signIn("bob")
        let token = try await Self.minted(bench, try await bench.signIn(), actor: actor)
        let mark = try #require(bench.consumer().accountMark(of: actor.session))
        #expect(try await bench.consume(token, client: Self.care, lastAccount: mark).isUnconfirmed)
        let attempt = AttemptSecret()
        let made = try #require(
            try await bench.consume(
                token,
                client: Self.care,
                lastAccount: mark,
                confirmation: bench.confirmation(of: token, attempt),
                attempt: attempt
            ).signedIn
        )
        #expect(bench.consumer().accountMark(of: made.session) == nil)
    }

    @Test("its session does not outlive the sign-in of the actor")
    func endOfActor() async throws {
        let bench = try HandoffBench()
        let actor = try await bench.signIn("bob", lifetime: .seconds(1800))
        let token = try await Self.minted(bench, try await bench.signIn(), actor: actor)
        let made = try #require(try await bench.consume(token, client: Self.care).signedIn)
        #expect(made.session.expiresAt == actor.session.expiresAt)
    }

    @Test("a client that takes none leads to sign-in, and the token is burned")
    func notAllowed() async throws {
        let bench = try HandoffBench()
        let token = try await Self.minted(bench, try await bench.signIn(), actor: try await bench.signIn("bob"))
        #expect(try await bench.consume(token).refusal == .handoffDelegationNotPermitted)
        #expect(bench.records.last?.code == .warning && bench.records.last?.burns == true)
        #expect(try await bench.consume(token, client: Self.care).refusal == .handoffBurned)
    }

    @Test("it keeps its own binding, whatever the client enforces of other tokens", arguments: [BindingMode.ip, .asn])
    func binding(mode: BindingMode) async throws {
        let bench = try HandoffBench()
        let (user, actor) = (try await bench.signIn(), try await bench.signIn("bob"))
        var client = Self.care
        client.delegation = mode
        let near = try await Self.minted(bench, user, actor: actor)
        let outcome = try await bench.consume(near, from: "1.128.0.2", client: client)
        #expect((outcome.signedIn != nil) == (mode == .asn) && (outcome.refusal == .bindingIPMismatch) == (mode == .ip))
        let far = try await Self.minted(bench, user, actor: actor)
        let other = try await bench.consume(far, from: "12.0.0.1", client: client)
        #expect(other.refusal == (mode == .ip ? .bindingIPMismatch : .bindingASNMismatch))
    }

    @Test("the log names the binding of delegations for it, whether it is accepted or refused")
    func judgedBinding() async throws {
        let bench = try HandoffBench()
        let (user, actor) = (try await bench.signIn(), try await bench.signIn("bob"))
        let refused = try await bench.judged(
            try await Self.minted(bench, user, actor: actor),
            from: "12.0.0.1",
            client: Self.care
        )
        #expect(refused.outcome.refusal == .bindingIPMismatch && refused.binding?.text == "ip/mismatch")
        let accepted = try await bench.judged(try await Self.minted(bench, user, actor: actor), client: Self.care)
        #expect(accepted.outcome.signedIn != nil && accepted.binding?.text == "ip/match")
        // The client checks no binding of other tokens.
        let own = try await bench.judged(try await bench.minted(user), client: Self.care)
        #expect(own.outcome.signedIn != nil && own.binding == nil)
    }

    @Test("any session in the browser blocks it and stays, the user's own too", arguments: ["alice", "carol"])
    func existing(subject: String) async throws {
        let bench = try HandoffBench()
        let token = try await Self.minted(bench, try await bench.signIn(), actor: try await bench.signIn("bob"))
        let browser = try await bench.signIn(subject, kind: .web, origin: .browser)
        let outcome = try await bench.consume(
            token,
            client: Self.care,
            existing: (browser.key, browser.session),
            mayKeepSession: false
        )
        guard case .denied(.handoffAlreadySignedIn, text: nil) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(try await bench.session(browser.key) != nil)
        #expect(bench.records.last?.code == .warning)
    }

    @Test("the user's own token replaces a session in which somebody else acts")
    func ownAfterwards() async throws {
        let bench = try HandoffBench()
        let user = try await bench.signIn()
        let token = try await Self.minted(bench, user, actor: try await bench.signIn("bob"))
        let made = try #require(try await bench.consume(token, client: Self.care).signedIn)
        let existing = (try bench.key(made.token), made.session)
        let own = try await bench.consume(try await bench.minted(user), client: Self.care, existing: existing)
        #expect(own.signedIn?.session.actor == nil && own.signedIn?.replaces == existing.0)
    }

    @Test("a lost answer is completed as the same delegation")
    func completed() async throws {
        let bench = try HandoffBench()
        let token = try await Self.minted(bench, try await bench.signIn(), actor: try await bench.signIn("bob"))
        let attempt = AttemptSecret()
        let first = try #require(try await bench.consume(token, client: Self.care, attempt: attempt).signedIn)
        let second = try #require(try await bench.consume(token, client: Self.care, attempt: attempt).signedIn)
        #expect(second.token == first.token && second.session == first.session)
        // Meanwhile the client has lost the permission.
        let third = try await bench.consume(token, attempt: attempt)
        #expect(third.refusal == .handoffDelegationNotPermitted)
        #expect(try await bench.session(try bench.key(first.token)) == nil)
    }

    @Test("both tokens are judged alike, and a client that proves itself by nothing mints none")
    func refusals() async throws {
        let bench = try HandoffBench()
        let user = try await bench.signIn()
        func refusal(_ actor: NativeApp, _ client: ClientSettings = Self.desk) async throws -> Reason? {
            try await bench.objection { try await bench.mint(for: user, actor: actor, client: client) }?.reason
        }
        #expect(try await refusal(try await bench.signIn("bob"), .native) == .handoffNotPermitted)
        #expect(try await refusal(try await bench.signIn("bob", kind: .web, origin: .browser)) == .sessionUnknown)
        #expect(try await refusal(try await bench.signIn("bob", origin: .transfer)) == .handoffNested)
        #expect(try await refusal(try await bench.signIn("bob", client: "another")) == .sessionOtherClient)
        let gone = try await bench.signIn("bob")
        _ = try await bench.store.end(gone.key, on: bench.loop).get()
        #expect(try await refusal(gone) == .sessionUnknown)
        var malformed = gone
        malformed.token = Secret("sps_no")
        #expect(try await refusal(malformed) == .credentialMalformed)
        #expect(bench.records.all.allSatisfy { $0.outcome != .minted })
    }
}
