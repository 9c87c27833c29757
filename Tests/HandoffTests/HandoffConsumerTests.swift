import AddressIntelligence
import Handoff
import NIOCore
import Observability
import Sessions
import Settings
import Testing
import Vocabulary

@Suite("Consuming session-transfer tokens")
struct HandoffConsumerTests {
    @Test("a token makes a web session for the host on which it is presented", arguments: HandoffTransport.allCases)
    func signsIn(transport: HandoffTransport) async throws {
        let world = try World()
        let app = try await world.signIn()
        let token = try await world.minted(app)
        let web = try #require(try await world.consume(token, by: transport).signedIn)
        #expect(web.session.kind == .web)
        #expect(web.session.origin == .transfer)
        #expect(web.session.host == "app.example.com")
        #expect(web.session.subject == "alice")
        #expect(web.session.lineage == app.session.lineage)
        #expect(web.session.device?.asn == 1221)
        #expect(web.session.device?.userAgent == "Browser/1.0")
        #expect(web.replaces == nil)
        #expect(try await world.session(world.key(web.token))?.id == web.session.id)
        #expect(try await world.session(app.key) != nil)
    }

    @Test("a sign-in is audited as s with both devices")
    func signInIsAudited() async throws {
        let world = try World()
        let app = try await world.signIn()
        let web = try #require(try await world.consume(try await world.minted(app), by: .query).signedIn)
        let record = try #require(world.records.last)
        #expect(record.outcome == .signedIn)
        #expect(record.code?.rawValue == "s")
        #expect(record.reason == nil)
        #expect(record.transport == .query)
        #expect(record.host == "app.example.com")
        #expect(record.clientID == "web-app")
        #expect(record.mintedClientID == "native-app")
        #expect(record.mintedDevice?.userAgent == "App/1.0")
        #expect(record.device.userAgent == "Browser/1.0")
        #expect(record.sessionID == web.session.id)
        #expect(record.parentSessionID == app.session.id)
        #expect(record.binding == .ip)
        #expect(record.requestID == "req-consume")
    }

    @Test("T1: presented elsewhere, the token burns, and its owner cannot use it any more")
    func mismatchBurns() async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn())
        #expect(try await world.consume(token, from: "12.0.0.1").refusal == .bindingIPMismatch)
        let record = try #require(world.records.last)
        #expect(record.code?.rawValue == "w")
        #expect(record.burns)
        #expect(record.device.address == IPAddress("12.0.0.1"))
        #expect(record.mintedDevice?.address == IPAddress("1.128.0.1"))

        #expect(try await world.consume(token).refusal == .handoffBurned)
        #expect(world.records.last?.burnedFor == .bindingIPMismatch)
    }

    @Test("with on_mismatch keep, the owner may still use it")
    func mismatchKeeps() async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn())
        let client = ClientSettings.web { $0.burnsOnMismatch = false }
        #expect(try await world.consume(token, from: "12.0.0.1", client: client).refusal == .bindingIPMismatch)
        #expect(world.records.last?.burns == false)
        #expect(try await world.consume(token, client: client).signedIn != nil)
    }

    @Test("what is turned away is on record, with the device's network, and asks the store nothing")
    func turnedAway() async throws {
        let world = try World()
        let calls = world.store.calls
        let device = DeviceFacts(address: try #require(IPAddress("1.128.0.1")), asn: nil, userAgent: nil)
        world.consumer().turnAway(
            .handoffCrossSite,
            HandoffRequest(
                token: [],
                transport: .query,
                authority: "app.example.com",
                client: .web,
                device: device,
                existing: nil,
                attempt: AttemptSecret(),
                requestID: "req"
            )
        )
        #expect(world.store.calls == calls)
        let record = try #require(world.records.last)
        #expect(record.outcome == .refused(.handoffCrossSite) && record.code?.rawValue == "w")
        #expect(record.device.asn == 1221 && record.transport == .query && record.host == "app.example.com")
    }

    @Test("a token for one host's audience is good there and burned anywhere else, one for all hosts everywhere")
    func audience() async throws {
        let world = try World()
        let app = try await world.signIn()
        let hers = try await world.minted(app, for: "app.example.com")
        #expect(try await world.consume(hers, host: "app.example.com").signedIn != nil)
        let theirs = try await world.minted(app, for: "other.example.com")
        #expect(try await world.consume(theirs, host: "app.example.com").refusal == .handoffOtherHost)
        #expect(world.records.last?.mintedHost == "other.example.com")
        #expect(try await world.consume(theirs, host: "other.example.com").refusal == .handoffBurned)
        let kept = try await world.minted(app, for: "other.example.com")
        let client = ClientSettings.web { $0.burnsOnMismatch = false }
        #expect(try await world.consume(kept, client: client).refusal == .handoffOtherHost)
        #expect(try await world.consume(kept, host: "other.example.com", client: client).signedIn != nil)
        for host in ["app.example.com", "other.example.com:8443"] {
            #expect(try await world.consume(try await world.minted(app), host: host).signedIn != nil)
        }
    }

    @Test("a dry run signs in and notes what it let pass")
    func dryRun() async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn())
        let client = ClientSettings.web { $0.bindingDryRun = true }
        #expect(try await world.consume(token, from: "12.0.0.1", client: client).signedIn != nil)
        #expect(world.records.last?.passedInDryRun == .bindingIPMismatch)
        #expect(world.records.last?.code?.rawValue == "s")
    }

    @Test("T16: when the address family changes, ip refuses and ip_or_asn looks at the network")
    func familyChange() async throws {
        let world = try World()
        let app = try await world.signIn()
        let either = ClientSettings.web { $0.binding = .ipOrASN }
        #expect(
            try await world.consume(world.minted(app), from: "2001:8000::1").refusal == .bindingIPMismatch
        )
        #expect(try await world.consume(world.minted(app), from: "2001:8000::1", client: either).signedIn != nil)
        #expect(
            try await world.consume(world.minted(app), from: "2600:300::1", client: either).refusal
                == .bindingASNMismatch
        )
    }

    @Test(
        "T17 T18: an unknown network and a relayed address are refused by asn",
        arguments: ["10.0.0.1", "2002:180:1::1"]
    )
    func unknownNetwork(address: String) async throws {
        let world = try World()
        let app = try await world.signIn()
        let client = ClientSettings.web { $0.binding = .asn }
        let token = try await world.minted(app, from: address)
        #expect(try await world.consume(token, from: address, client: client).refusal == .bindingASNUnknown)
    }

    @Test("T5: a replay is refused, audited with both addresses, and the first session lives on")
    func replayIsRefused() async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn())
        let web = try #require(try await world.consume(token).signedIn)
        let replay = try await world.consume(token, from: "12.0.0.1")
        #expect(replay.refusal == .handoffReplayed)
        #expect(!replay.endsExisting)
        let record = try #require(world.records.last)
        #expect(record.code?.rawValue == "w")
        #expect(record.device.address == IPAddress("12.0.0.1"))
        #expect(record.firstDevice?.address == IPAddress("1.128.0.1"))
        #expect(record.sessionID == web.session.id)
        #expect(!record.revokedDerived)
        #expect(try await world.session(world.key(web.token)) != nil)
    }

    @Test("T5: with on_replay revoke_derived the session that the token made ends, its parent does not")
    func replayRevokesDerived() async throws {
        let world = try World()
        let app = try await world.signIn()
        let token = try await world.minted(app)
        let client = ClientSettings.web { $0.revokesDerivedOnReplay = true }
        let web = try #require(try await world.consume(token, client: client).signedIn)
        #expect(try await world.consume(token, from: "12.0.0.1", client: client).refusal == .handoffReplayed)
        #expect(world.records.last?.revokedDerived == true)
        #expect(try await world.session(world.key(web.token)) == nil)
        #expect(try await world.session(app.key) != nil)
    }

    @Test("T6: the browser that was signed in repeats its navigation and nothing happens")
    func sameBrowserRepeats() async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn())
        let client = ClientSettings.web { $0.revokesDerivedOnReplay = true }
        let web = try #require(try await world.consume(token, client: client).signedIn)
        let key = try world.key(web.token)
        let calls = world.store.calls
        let again = try await world.consume(token, client: client, existing: (key, web.session))
        #expect(again.isAlreadySignedIn)
        #expect(world.store.calls == calls)
        #expect(world.records.last?.outcome == .repeated)
        #expect(world.records.last?.code == nil)
        #expect(try await world.session(key) != nil)
    }

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

    @Test("T7: a token that would not have signed in ends nobody's session")
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

    @Test("the same user's longer session stays, the token is used up, and the audit says both")
    func longerSessionStays() async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn())
        let old = try await world.signIn("alice", kind: .web, origin: .browser)
        let existing = (old.key, old.session)
        #expect(try await world.consume(token, existing: existing).isAlreadySignedIn)
        #expect(try await world.session(old.key)?.id == old.session.id)
        let record = try #require(world.records.last)
        #expect(record.outcome == .sessionStays && record.code?.rawValue == "ssa" && record.result == .consumed)
        #expect(record.sessionID == old.session.id && record.endedSessionID == nil && record.subject == "alice")
        let event = try #require(record.auditEvents.last)
        #expect(event.kind == .transferTokenConsumed)
        #expect(event.details.contains { $0 == ("session_stays", "true") })

        #expect(try await world.consume(token, existing: existing).isAlreadySignedIn, "the same browser once more")
        #expect(world.records.last?.outcome == .repeated)
        #expect(try await world.consume(token, from: "12.0.0.1").refusal == .handoffReplayed)
        #expect(try await world.session(old.key) != nil)
    }

    @Test("a replay ends no session that the token did not make, whatever the policy")
    func replayLeavesTheLongerSession() async throws {
        let world = try World()
        let client = ClientSettings.web { $0.revokesDerivedOnReplay = true }
        let token = try await world.minted(try await world.signIn())
        let old = try await world.signIn("alice", kind: .web, origin: .browser)
        #expect(try await world.consume(token, client: client, existing: (old.key, old.session)).isAlreadySignedIn)
        #expect(try await world.consume(token, from: "12.0.0.1", client: client).refusal == .handoffReplayed)
        #expect(world.records.last?.revokedDerived == false)
        #expect(try await world.session(old.key) != nil)
    }

    @Test("a longer session gives way to a higher level, and to a route that it does not satisfy")
    func longerSessionGivesWay() async throws {
        let world = try World()
        let app = try await world.signIn()
        let weak = try await world.signIn("alice", kind: .web, origin: .browser, aal: "aal1")
        let stronger = try await world.consume(try await world.minted(app), existing: (weak.key, weak.session))
        #expect(stronger.signedIn?.session.aal == "aal2")
        #expect(try await world.session(weak.key) == nil)

        let long = try await world.signIn("alice", kind: .web, origin: .browser)
        let token = try await world.minted(app)
        let web = try await world.consume(token, existing: (long.key, long.session), existingSuffices: false)
        #expect(web.signedIn?.replaces == long.key)

        let strong = try await world.signIn("alice", kind: .web, origin: .browser, lifetime: .seconds(60), aal: "aal3")
        let kept = try await world.consume(try await world.minted(app), existing: (strong.key, strong.session))
        #expect(kept.isAlreadySignedIn, "a handoff lowers no level")
    }

    @Test("a try that left the longer session and lost its answer is completed, and recorded once as such")
    func lostAnswerOfAStay() async throws {
        let world = try World()
        let token = try await world.minted(try await world.signIn())
        let old = try await world.signIn("alice", kind: .web, origin: .browser)
        let attempt = AttemptSecret()
        world.store.change { $0.lostAnswers = 1 }
        let lost = try await world.consume(token, existing: (old.key, old.session), attempt: attempt)
        #expect(lost.storeError == .unavailable)
        let again = try await world.consume(token, existing: (old.key, old.session), attempt: attempt)
        #expect(again.isAlreadySignedIn && world.store.confirmations == 1)
        #expect(world.records.all.map(\.outcome) == [.minted, .unavailable, .sessionStays])
    }

    @Test("a mark tells one value from all others, and is no part of it")
    func marks() throws {
        let world = try World()
        let consumer = world.consumer()
        let values = ["x", "", "spt_" + String(repeating: "A", count: 55)].map { Array($0.utf8) }
        let marks = consumer.marks(of: values).bytes
        #expect(marks.count == 3 * 16 + 2)
        for value in values { #expect(consumer.isMarked(value, in: marks)) }
        for other in ["y", "xx", "spt_"] { #expect(!consumer.isMarked(Array(other.utf8), in: marks)) }
        #expect(!consumer.isMarked(values[0], in: marks.dropFirst()) && !consumer.isMarked(values[0], in: []))
        let many = (0..<20).map { Array("v\($0)".utf8) }
        #expect(consumer.marks(of: many).bytes.count < 8 * 17, "the cookie stays small")
        let other = TokenAuthority(secret: Secret("another secret of the tests, 32 bytes or more"))
        #expect(other.mark(of: values[0]) != world.authority.mark(of: values[0]))
    }

    @Test("T8: every handoff makes a token and an id that were never seen")
    func alwaysNewIDs() async throws {
        let world = try World()
        let app = try await world.signIn()
        var ids: Set<String> = [app.session.id]
        var tokens: Set<Secret> = [app.token]
        for _ in 0..<10 {
            let web = try #require(try await world.consume(world.minted(app)).signedIn)
            #expect(ids.insert(web.session.id).inserted)
            #expect(tokens.insert(web.token).inserted)
        }
    }

    @Test("T9: a token tossed into the jar from a sibling subdomain is bound to its thief's device")
    func tossedCookie() async throws {
        let world = try World()
        let tossed = try await world.minted(try await world.signIn("mallory"), from: "12.0.0.1")
        #expect(try await world.consume(tossed, by: .cookie).refusal == .bindingIPMismatch)
    }

    @Test("a token is good until its lifetime is over")
    func expiry() async throws {
        let world = try World()
        let app = try await world.signIn()
        let intime = try await world.minted(app)
        let late = try await world.minted(app)
        world.clock.advance(by: .milliseconds(59_999))
        #expect(try await world.consume(intime).signedIn != nil)
        world.clock.advance(by: .milliseconds(1))
        #expect(try await world.consume(late).refusal != nil)
    }

    @Test("a token whose native session has ended signs nobody in")
    func revokedParent() async throws {
        let world = try World()
        let app = try await world.signIn()
        let token = try await world.minted(app)
        _ = try await world.store.end(app.key, on: world.loop).get()
        #expect(try await world.consume(token).refusal == .sessionRevoked)
        #expect(world.records.last?.burns == false)
    }

    @Test("nor one whose lineage or whose user was signed out everywhere")
    func revokedFamily() async throws {
        let world = try World()
        let first = try await world.signIn()
        let ofLineage = try await world.minted(first)
        try await world.store.end(first.session.lineage, on: world.loop).get()
        #expect(try await world.consume(ofLineage).refusal != nil)

        let second = try await world.signIn()
        let ofSubject = try await world.minted(second)
        try await world.store.end(subject: "alice", on: world.loop).get()
        #expect(try await world.consume(ofSubject).refusal != nil)
    }

    @Test(
        "T32: what is no transfer token by its syntax never reaches the store",
        arguments: [
            "", "spt_", "sps_", "spt_\0", "spt_ünïcödé", "spt_%41%42", "spt_a+b", String(repeating: "s", count: 8192),
        ]
    )
    func oddTokens(text: String) async throws {
        let world = try World()
        let calls = world.store.calls
        #expect(try await world.consume(Secret(text)).refusal == .handoffMalformed)
        #expect(world.store.calls == calls)
        #expect(world.records.last?.code?.rawValue == "w")
    }

    @Test("T32: a session token is no transfer token")
    func sessionTokenIsRefused() async throws {
        let world = try World()
        let app = try await world.signIn()
        #expect(try await world.consume(app.token).refusal == .handoffMalformed)
    }

    @Test("T33: unknown, expired, used and burned look alike to the caller's client")
    func refusalsLookAlike() async throws {
        let world = try World()
        let app = try await world.signIn()
        let unknown = world.authority.make(.transfer, in: app.session.lineage).token
        let expired = try await world.minted(app)
        world.clock.advance(by: .seconds(61))
        let used = try await world.minted(app)
        _ = try await world.consume(used)
        let burned = try await world.minted(app)
        _ = try await world.consume(burned, from: "12.0.0.1")
        for token in [unknown, expired, used, burned] {
            let outcome = try await world.consume(token)
            #expect(outcome.refusal != nil)
            #expect(!outcome.endsExisting)
        }
    }
}
