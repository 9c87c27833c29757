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

    private static func minted(_ world: World, _ user: NativeApp, actor: NativeApp) async throws -> Secret {
        try await world.mint(for: user, actor: actor, client: self.desk).token
    }

    @Test(
        "its session names the actor, lasts two hours at most, ends with the user's native session, and mints nothing"
    )
    func session() async throws {
        let world = try World()
        let (user, actor) = (try await world.signIn(), try await world.signIn("bob"))
        let token = try await Self.minted(world, user, actor: actor)
        #expect(world.records.last?.subject == "alice" && world.records.last?.actor == "bob")
        let outcome = try await world.consume(token, client: Self.care)
        let made = try #require(outcome.signedIn)
        #expect(made.session.subject == "alice" && made.session.actor == "bob" && made.session.origin == .transfer)
        #expect(made.session.expiresAt == world.clock.now.advanced(by: .seconds(7200)))
        #expect(made.session.actorClaim == ["sub": "bob"])
        let record = try #require(world.records.last)
        #expect(record.actor == "bob" && record.code == .delegatedSignedIn && record.binding == .ip)
        #expect(record.auditEvents.last?.details.contains { $0 == ("actor", "bob") } == true)
        let key = try world.key(made.token)
        #expect(try await world.session(key)?.actor == "bob", "the store keeps it")
        let again = NativeApp(token: made.token, key: key, session: made.session)
        guard try await world.objection({ try await world.mint(for: again) })?.reason == .handoffNested else {
            Issue.record("minted from it")
            return
        }
        try await user.session.end(user.key, in: world.store, on: world.loop).get()
        #expect(try await world.session(key) == nil)
    }

    @Test("rules at mint and at consume see the actor, who is missing from everybody else's event")
    func rules() async throws {
        let condition = try RuleCondition(#"event.session.actor.sub == "bob""#)
        for stage in [RuleStage.mint, .consume] {
            let world = try World(
                rules: RuleBook([Rule(name: "nobody acts", stages: [stage], condition: condition, effect: .deny)])
            )
            let (user, actor) = (try await world.signIn(), try await world.signIn("bob"))
            if stage == .consume {
                let token = try await Self.minted(world, user, actor: actor)
                #expect(try await world.consume(token, client: Self.care).denial == .some(nil))
            } else {
                let objection = try await world.objection {
                    try await world.mint(for: user, actor: actor, client: Self.desk)
                }
                #expect(objection == NotDone(.ruleDenied))
            }
            #expect(try await world.consume(try await world.minted(user)).signedIn != nil)
        }
    }

    @Test("its session does not show the browser's own account, and it is asked about where that is known")
    func account() async throws {
        let world = try World()
        let actor = try await world.signIn("bob")
        let token = try await Self.minted(world, try await world.signIn(), actor: actor)
        let mark = try #require(world.consumer().accountMark(of: actor.session))
        #expect(try await world.consume(token, client: Self.care, lastAccount: mark).isUnconfirmed)
        let attempt = AttemptSecret()
        let made = try #require(
            try await world.consume(
                token,
                client: Self.care,
                lastAccount: mark,
                confirmation: world.confirmation(of: token, attempt),
                attempt: attempt
            ).signedIn
        )
        #expect(world.consumer().accountMark(of: made.session) == nil)
    }

    @Test("its session does not outlive the sign-in of the actor")
    func endOfActor() async throws {
        let world = try World()
        let actor = try await world.signIn("bob", lifetime: .seconds(1800))
        let token = try await Self.minted(world, try await world.signIn(), actor: actor)
        let made = try #require(try await world.consume(token, client: Self.care).signedIn)
        #expect(made.session.expiresAt == actor.session.expiresAt)
    }

    @Test("a client that takes none leads to sign-in, and the token is burned")
    func notAllowed() async throws {
        let world = try World()
        let token = try await Self.minted(world, try await world.signIn(), actor: try await world.signIn("bob"))
        #expect(try await world.consume(token).refusal == .handoffDelegationNotPermitted)
        #expect(world.records.last?.code == .warning && world.records.last?.burns == true)
        #expect(try await world.consume(token, client: Self.care).refusal == .handoffBurned)
    }

    @Test("it keeps its own binding, whatever the client enforces of other tokens", arguments: [BindingMode.ip, .asn])
    func binding(mode: BindingMode) async throws {
        let world = try World()
        let (user, actor) = (try await world.signIn(), try await world.signIn("bob"))
        var client = Self.care
        client.delegation = mode
        let near = try await Self.minted(world, user, actor: actor)
        let outcome = try await world.consume(near, from: "1.128.0.2", client: client)
        #expect((outcome.signedIn != nil) == (mode == .asn) && (outcome.refusal == .bindingIPMismatch) == (mode == .ip))
        let far = try await Self.minted(world, user, actor: actor)
        let other = try await world.consume(far, from: "12.0.0.1", client: client)
        #expect(other.refusal == (mode == .ip ? .bindingIPMismatch : .bindingASNMismatch))
    }

    @Test("any session in the browser blocks it and stays, the user's own too", arguments: ["alice", "carol"])
    func existing(subject: String) async throws {
        let world = try World()
        let token = try await Self.minted(world, try await world.signIn(), actor: try await world.signIn("bob"))
        let browser = try await world.signIn(subject, kind: .web, origin: .browser)
        let outcome = try await world.consume(
            token,
            client: Self.care,
            existing: (browser.key, browser.session),
            existingSuffices: false
        )
        guard case .denied(.handoffAlreadySignedIn, text: nil) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(try await world.session(browser.key) != nil)
        #expect(world.records.last?.code == .warning)
    }

    @Test("the user's own token replaces a session in which somebody else acts")
    func ownAfterwards() async throws {
        let world = try World()
        let user = try await world.signIn()
        let token = try await Self.minted(world, user, actor: try await world.signIn("bob"))
        let made = try #require(try await world.consume(token, client: Self.care).signedIn)
        let existing = (try world.key(made.token), made.session)
        let own = try await world.consume(try await world.minted(user), client: Self.care, existing: existing)
        #expect(own.signedIn?.session.actor == nil && own.signedIn?.replaces == existing.0)
    }

    @Test("a lost answer is completed as the same delegation")
    func completed() async throws {
        let world = try World()
        let token = try await Self.minted(world, try await world.signIn(), actor: try await world.signIn("bob"))
        let attempt = AttemptSecret()
        let first = try #require(try await world.consume(token, client: Self.care, attempt: attempt).signedIn)
        let second = try #require(try await world.consume(token, client: Self.care, attempt: attempt).signedIn)
        #expect(second.token == first.token && second.session == first.session)
        // Meanwhile the client has lost the permission.
        let third = try await world.consume(token, attempt: attempt)
        #expect(third.refusal == .handoffDelegationNotPermitted)
        #expect(try await world.session(try world.key(first.token)) == nil)
    }

    @Test("both tokens are judged alike, and a client that proves itself by nothing mints none")
    func refusals() async throws {
        let world = try World()
        let user = try await world.signIn()
        func refusal(_ actor: NativeApp, _ client: ClientSettings = Self.desk) async throws -> Reason? {
            try await world.objection { try await world.mint(for: user, actor: actor, client: client) }?.reason
        }
        #expect(try await refusal(try await world.signIn("bob"), .native) == .handoffNotPermitted)
        #expect(try await refusal(try await world.signIn("bob", kind: .web, origin: .browser)) == .sessionUnknown)
        #expect(try await refusal(try await world.signIn("bob", origin: .transfer)) == .handoffNested)
        #expect(try await refusal(try await world.signIn("bob", client: "another")) == .sessionOtherClient)
        let gone = try await world.signIn("bob")
        _ = try await world.store.end(gone.key, on: world.loop).get()
        #expect(try await refusal(gone) == .sessionUnknown)
        var malformed = gone
        malformed.token = Secret("sps_no")
        #expect(try await refusal(malformed) == .credentialMalformed)
        #expect(world.records.all.allSatisfy { $0.outcome != .minted })
    }
}
