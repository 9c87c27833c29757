import AddressIntelligence
import NIOCore
import Observability
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("Consuming session-transfer tokens")
struct HandoffConsumerTests {
    @Test("a token creates a web session for the host on which it is presented", arguments: HandoffTransport.allCases)
    func signsIn(transport: HandoffTransport) async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        let token = try await bench.minted(app)
        let web = try #require(try await bench.consume(token, by: transport).signedIn)
        #expect(web.session.kind == .web)
        #expect(web.session.origin == .transfer)
        #expect(web.session.host == "app.example.com")
        #expect(web.session.subject == "alice")
        #expect(web.session.lineage == app.session.lineage)
        #expect(web.session.device?.asn == 1221)
        #expect(web.session.device?.userAgent == "Browser/1.0")
        #expect(web.replaces == nil)
        #expect(try await bench.session(bench.key(web.token))?.id == web.session.id)
        #expect(try await bench.session(app.key) != nil)
    }

    @Test("a sign-in is audited as s with both devices")
    func signInIsAudited() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        let web = try #require(try await bench.consume(try await bench.minted(app), by: .query).signedIn)
        let record = try #require(bench.records.last)
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

    @Test("T1: presented from another device, the token is burned, and its owner can no longer use it")
    func mismatchBurns() async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        #expect(try await bench.consume(token, from: "12.0.0.1").refusal == .bindingIPMismatch)
        let record = try #require(bench.records.last)
        #expect(record.code?.rawValue == "w")
        #expect(record.burns)
        #expect(record.device.address == IPAddress("12.0.0.1"))
        #expect(record.mintedDevice?.address == IPAddress("1.128.0.1"))

        #expect(try await bench.consume(token).refusal == .handoffBurned)
        #expect(bench.records.last?.burnedFor == .bindingIPMismatch)
    }

    @Test("with on_mismatch keep, the owner can still use it")
    func mismatchKeeps() async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        let client = ClientSettings.web { $0.burnsOnMismatch = false }
        #expect(try await bench.consume(token, from: "12.0.0.1", client: client).refusal == .bindingIPMismatch)
        #expect(bench.records.last?.burns == false)
        #expect(try await bench.consume(token, client: client).signedIn != nil)
    }

    @Test("a rejected token is recorded with the device's network, without a call to the store")
    func turnedAway() async throws {
        let bench = try HandoffBench()
        let calls = bench.store.calls
        let device = DeviceFacts(address: try #require(IPAddress("1.128.0.1")), asn: nil, userAgent: nil)
        bench.consumer().recordRejection(
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
        #expect(bench.store.calls == calls)
        let record = try #require(bench.records.last)
        #expect(record.outcome == .refused(.handoffCrossSite) && record.code?.rawValue == "w")
        #expect(record.device.asn == 1221 && record.transport == .query && record.host == "app.example.com")
    }

    @Test("a token for one host is valid there and burned on any other, a token for all hosts is valid on each")
    func audience() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        let hers = try await bench.minted(app, for: "app.example.com")
        #expect(try await bench.consume(hers, host: "app.example.com").signedIn != nil)
        let theirs = try await bench.minted(app, for: "other.example.com")
        #expect(try await bench.consume(theirs, host: "app.example.com").refusal == .handoffOtherHost)
        #expect(bench.records.last?.validHost == "other.example.com")
        #expect(try await bench.consume(theirs, host: "other.example.com").refusal == .handoffBurned)
        let kept = try await bench.minted(app, for: "other.example.com")
        let client = ClientSettings.web { $0.burnsOnMismatch = false }
        #expect(try await bench.consume(kept, client: client).refusal == .handoffOtherHost)
        #expect(try await bench.consume(kept, host: "other.example.com", client: client).signedIn != nil)
        for host in ["app.example.com", "other.example.com:8443"] {
            #expect(try await bench.consume(try await bench.minted(app), host: host).signedIn != nil)
        }
    }

    @Test("a dry run signs in and records the mismatch that it ignored")
    func dryRun() async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        let client = ClientSettings.web { $0.bindingDryRun = true }
        #expect(try await bench.consume(token, from: "12.0.0.1", client: client).signedIn != nil)
        #expect(bench.records.last?.passedInDryRun == .bindingIPMismatch)
        #expect(bench.records.last?.code?.rawValue == "s")
    }

    @Test("T16: when the address family changes, ip refuses and ip_or_asn compares the networks")
    func familyChange() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        let either = ClientSettings.web { $0.binding = .ipOrASN }
        #expect(
            try await bench.consume(bench.minted(app), from: "2001:8000::1").refusal == .bindingIPMismatch
        )
        #expect(try await bench.consume(bench.minted(app), from: "2001:8000::1", client: either).signedIn != nil)
        #expect(
            try await bench.consume(bench.minted(app), from: "2600:300::1", client: either).refusal
                == .bindingASNMismatch
        )
    }

    @Test(
        "T17 T18: asn refuses an unknown network and an address that embeds another one",
        arguments: ["10.0.0.1", "2002:180:1::1"]
    )
    func unknownNetwork(address: String) async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        let client = ClientSettings.web { $0.binding = .asn }
        let token = try await bench.minted(app, from: address)
        #expect(try await bench.consume(token, from: address, client: client).refusal == .bindingASNUnknown)
    }

    @Test("T5: a replay is refused and audited with both addresses, and the first session lives on")
    func replayIsRefused() async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        let web = try #require(try await bench.consume(token).signedIn)
        let replay = try await bench.consume(token, from: "12.0.0.1")
        #expect(replay.refusal == .handoffReplayed)
        #expect(!replay.endsExisting)
        let record = try #require(bench.records.last)
        #expect(record.code?.rawValue == "w")
        #expect(record.device.address == IPAddress("12.0.0.1"))
        #expect(record.firstDevice?.address == IPAddress("1.128.0.1"))
        #expect(record.sessionID == web.session.id)
        #expect(!record.revokedDerived)
        #expect(try await bench.session(bench.key(web.token)) != nil)
    }

    @Test("T5: with on_replay revoke_derived, the session that the token created ends, but not its parent")
    func replayRevokesDerived() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        let token = try await bench.minted(app)
        let client = ClientSettings.web { $0.revokesDerivedOnReplay = true }
        let web = try #require(try await bench.consume(token, client: client).signedIn)
        #expect(try await bench.consume(token, from: "12.0.0.1", client: client).refusal == .handoffReplayed)
        #expect(bench.records.last?.revokedDerived == true)
        #expect(try await bench.session(bench.key(web.token)) == nil)
        #expect(try await bench.session(app.key) != nil)
    }

    @Test("T6: if the browser that was signed in repeats its navigation, nothing changes")
    func sameBrowserRepeats() async throws {
        let bench = try HandoffBench()
        let token = try await bench.minted(try await bench.signIn())
        let client = ClientSettings.web { $0.revokesDerivedOnReplay = true }
        let web = try #require(try await bench.consume(token, client: client).signedIn)
        let key = try bench.key(web.token)
        let calls = bench.store.calls
        let again = try await bench.consume(token, client: client, existing: (key, web.session))
        #expect(again.isAlreadySignedIn)
        #expect(bench.store.calls == calls)
        #expect(bench.records.last?.outcome == .repeated)
        #expect(bench.records.last?.code == nil)
        #expect(try await bench.session(key) != nil)
    }

    @Test("T8: every handoff creates a new token and a new id")
    func alwaysNewIDs() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        var ids: Set<String> = [app.session.id]
        var tokens: Set<Secret> = [app.token]
        for _ in 0..<10 {
            let web = try #require(try await bench.consume(bench.minted(app)).signedIn)
            #expect(ids.insert(web.session.id).inserted)
            #expect(tokens.insert(web.token).inserted)
        }
    }

    @Test("T9: a token in a cookie that a sibling subdomain planted is bound to the device that minted it")
    func tossedCookie() async throws {
        let bench = try HandoffBench()
        let tossed = try await bench.minted(try await bench.signIn("mallory"), from: "12.0.0.1")
        #expect(try await bench.consume(tossed, by: .cookie).refusal == .bindingIPMismatch)
    }

    @Test("T10: an attacker's own token in the victim's cookie jar is good at no other device, and replaces no user")
    func plantedToken() async throws {
        let bench = try HandoffBench()
        let attacker = try await bench.signIn("mallory")
        // Elsewhere, but in the same network, as users of one relay are.
        let planted = try await bench.minted(attacker, from: "1.128.0.1")
        #expect(try await bench.consume(planted, from: "1.129.0.7").refusal == .bindingIPMismatch)
        // With a binding that this passes, the victim's own account is not replaced silently: sign-in follows.
        let victim = try await bench.signIn("alice", kind: .web, origin: .browser)
        let outcome = try await bench.consume(
            try await bench.minted(attacker, from: "1.128.0.1"),
            from: "1.129.0.7",
            client: .web { $0.binding = .asn },
            existing: (victim.key, victim.session)
        )
        #expect(outcome.refusal == .handoffOtherUser && outcome.endsExisting)
    }

    @Test(
        "T10: a token for another account than the browser used last is asked about and left as it is, wherever it was",
        arguments: HandoffTransport.allCases
    )
    func otherAccount(transport: HandoffTransport) async throws {
        let bench = try HandoffBench()
        let consumer = bench.consumer()
        let mark = try #require(consumer.accountMark(of: try await bench.signIn("alice").session))
        let planted = try await bench.minted(try await bench.signIn("mallory"))
        let records = bench.records.all.count
        #expect(try await bench.consume(planted, by: transport, lastAccount: mark).isUnconfirmed)
        #expect(bench.records.all.count == records)
        // The user confirms it; and nobody is asked about the account used last, or where none is known.
        let attempt = AttemptSecret()
        let confirmed = try await bench.consume(
            planted,
            by: transport,
            lastAccount: mark,
            confirmation: bench.confirmation(of: planted, attempt),
            attempt: attempt
        )
        #expect(confirmed.signedIn?.session.subject == "mallory")
        let own = try await bench.minted(try await bench.signIn("alice"))
        #expect(try await bench.consume(own, by: transport, lastAccount: mark).signedIn != nil)
        let first = try await bench.minted(try await bench.signIn("mallory"))
        #expect(try await bench.consume(first, by: transport).signedIn != nil)
    }

    @Test("T10: a confirmation counts for its own token, try and host only")
    func plantedConfirmation() async throws {
        let bench = try HandoffBench()
        let mark = try #require(bench.consumer().accountMark(of: try await bench.signIn("alice").session))
        let mallory = try await bench.signIn("mallory")
        let planted = try await bench.minted(mallory)
        let attempt = AttemptSecret()
        let other = try await bench.minted(mallory)
        for confirmation in [
            [], Array("proof".utf8), bench.confirmation(of: other, attempt),
            bench.confirmation(of: planted, AttemptSecret()),
            bench.confirmation(of: planted, attempt, on: "other.example.com"),
        ] {
            let outcome = try await bench.consume(
                planted,
                lastAccount: mark,
                confirmation: confirmation,
                attempt: attempt
            )
            #expect(outcome.isUnconfirmed)
        }
    }

    @Test("the user's own session says more than the mark of the account that was used last")
    func ownSessionAndOtherMark() async throws {
        let bench = try HandoffBench()
        let mark = try #require(bench.consumer().accountMark(of: try await bench.signIn("bob").session))
        let browser = try await bench.signIn(kind: .web, origin: .browser, aal: .aal1)
        let token = try await bench.minted(try await bench.signIn())
        let outcome = try await bench.consume(token, existing: (browser.key, browser.session), lastAccount: mark)
        #expect(outcome.signedIn != nil)
    }

    @Test("a refused token is refused, whatever account the browser used last")
    func refusedWithOtherMark() async throws {
        let bench = try HandoffBench()
        let mark = try #require(bench.consumer().accountMark(of: try await bench.signIn("bob").session))
        let token = try await bench.minted(try await bench.signIn(), from: "12.0.0.1")
        #expect(try await bench.consume(token, lastAccount: mark).refusal == .bindingIPMismatch)
    }

    @Test("a token is valid until its lifetime ends")
    func expiry() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        let intime = try await bench.minted(app)
        let late = try await bench.minted(app)
        bench.clock.advance(by: .milliseconds(59_999))
        #expect(try await bench.consume(intime).signedIn != nil)
        bench.clock.advance(by: .milliseconds(1))
        #expect(try await bench.consume(late).refusal != nil)
    }

    @Test("a token whose native session has ended does not sign in")
    func revokedParent() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        let token = try await bench.minted(app)
        _ = try await bench.store.end(app.key, on: bench.loop).get()
        #expect(try await bench.consume(token).refusal == .sessionRevoked)
        #expect(bench.records.last?.burns == false)
    }

    @Test("a token whose lineage was ended or whose user was signed out everywhere does not sign in")
    func revokedFamily() async throws {
        let bench = try HandoffBench()
        let first = try await bench.signIn()
        let ofLineage = try await bench.minted(first)
        try await bench.store.end(first.session.lineage, on: bench.loop).get()
        #expect(try await bench.consume(ofLineage).refusal != nil)

        let second = try await bench.signIn()
        let ofSubject = try await bench.minted(second)
        try await bench.store.end(subject: "alice", on: bench.loop).get()
        #expect(try await bench.consume(ofSubject).refusal != nil)
    }

    @Test(
        "T32: a token without the syntax of a transfer token never reaches the store",
        arguments: [
            "", "spt_", "sps_", "spt_\0", "spt_ünïcödé", "spt_%41%42", "spt_a+b", String(repeating: "s", count: 8192),
        ]
    )
    func oddTokens(text: String) async throws {
        let bench = try HandoffBench()
        let calls = bench.store.calls
        #expect(try await bench.consume(Secret(text)).refusal == .handoffMalformed)
        #expect(bench.store.calls == calls)
        #expect(bench.records.last?.code?.rawValue == "w")
    }

    @Test("T32: a session token is not a transfer token")
    func sessionTokenIsRefused() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        #expect(try await bench.consume(app.token).refusal == .handoffMalformed)
    }

    @Test("Unknown, expired, used and burned tokens look alike to the client")
    func refusalsLookAlike() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        let unknown = bench.authority.make(.transfer, in: app.session.lineage).token
        let expired = try await bench.minted(app)
        bench.clock.advance(by: .seconds(61))
        let used = try await bench.minted(app)
        _ = try await bench.consume(used)
        let burned = try await bench.minted(app)
        _ = try await bench.consume(burned, from: "12.0.0.1")
        for token in [unknown, expired, used, burned] {
            let outcome = try await bench.consume(token)
            #expect(outcome.refusal != nil)
            #expect(!outcome.endsExisting)
        }
    }
}
