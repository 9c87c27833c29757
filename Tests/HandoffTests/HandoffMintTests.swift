import AddressIntelligence
import NIOCore
import Observability
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("Minting session-transfer tokens")
struct HandoffMintTests {
    @Test("a native session mints a token in its own lineage, bound to the device that asks")
    func mintsInTheParentsLineage() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        let minted = try await bench.mint(for: app)
        let token = minted.token
        #expect(token.bytes.starts(with: Array("spt_".utf8)))
        #expect(minted.lifetime == .seconds(60))

        let key = try #require(bench.authority.key(.transfer, of: token.bytes))
        #expect(key.lineage == app.session.lineage)
        let lookup = try await bench.store.singleUse(key, as: TransferToken.self, on: bench.loop).get()
        guard case .live(let stored) = lookup else {
            throw Unexpected(what: "the token is not kept")
        }
        #expect(stored.record.device.address == IPAddress("1.128.0.1"))
        #expect(stored.record.device.asn == 1221)
        #expect(stored.record.device.userAgent == "App/1.0")
        #expect(stored.record.clientID == "native-app")
        #expect(stored.record.parentKey == app.key)
        #expect(stored.record.scopes == app.session.scopes)
        #expect(stored.record.expiresAt == bench.clock.now.advanced(by: .seconds(60)))
    }

    @Test("a mint is audited as sertft with the session, the client and the address")
    func mintIsAudited() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        _ = try await bench.minted(app)
        let record = try #require(bench.records.last)
        #expect(record.outcome == .minted)
        #expect(record.code?.rawValue == "sertft")
        #expect(record.clientID == "native-app")
        #expect(record.sessionID == app.session.id)
        #expect(record.subject == "alice")
        #expect(record.device.address == IPAddress("1.128.0.1"))
        #expect(record.requestID == "req-mint")
    }

    @Test("the lifetime is the configured one, but never longer than the session's")
    func lifetime() async throws {
        let bench = try HandoffBench()
        var settings = HandoffSettings()
        settings.lifetime = .seconds(30)
        let long = try await bench.signIn()
        let short = try await bench.signIn(lifetime: .seconds(20))
        for (app, expected) in [(long, 30), (short, 20)] {
            let minted = try await bench.mint(for: app, by: bench.mint(settings: settings))
            #expect(minted.lifetime == .seconds(expected))
        }
    }

    @Test("two mints give two tokens")
    func tokensDiffer() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        let first = try await bench.minted(app)
        let second = try await bench.minted(app)
        #expect(first != second)
    }

    @Test("a client without can_create_session_transfer_token is refused before the store is asked")
    func clientMustBePermitted() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        let calls = bench.store.calls
        let client = ClientSettings(clientID: "plain")
        let outcome = try await bench.refused(app, client: client)
        #expect(outcome == .handoffNotPermitted)
        #expect(bench.store.calls == calls)
        #expect(bench.records.last?.code?.rawValue == "fertft")
        #expect(bench.records.last?.reason == .handoffNotPermitted)
    }

    @Test("T23: a session that a transfer created cannot mint")
    func nestedHandoffIsRefused() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        let token = try await bench.minted(app)
        let web = try #require(try await bench.consume(token).signedIn)
        let handedOver = NativeApp(token: web.token, key: try bench.key(web.token), session: web.session)
        #expect(try await bench.refused(handedOver) == .handoffNested)
        #expect(bench.records.last?.code?.rawValue == "fertft")
        #expect(bench.records.last?.sessionID == web.session.id)
    }

    @Test("T23: a session with origin transfer cannot mint even if its kind is native")
    func nestedByOrigin() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn(origin: .transfer)
        #expect(try await bench.refused(app) == .handoffNested)
    }

    @Test("a browser's session cookie is not a native session")
    func browserSessionIsRefused() async throws {
        let bench = try HandoffBench()
        let browser = try await bench.signIn(kind: .web, origin: .browser)
        #expect(try await bench.refused(browser) == .sessionUnknown)
    }

    @Test("a session of another client is refused, a session of this client is accepted")
    func otherClientsSession() async throws {
        let bench = try HandoffBench()
        let other = try await bench.signIn(client: "another-app")
        #expect(try await bench.refused(other) == .sessionOtherClient)
        let own = try await bench.signIn(client: "native-app")
        _ = try await bench.minted(own)
    }

    @Test("ended, expired and unknown sessions get the same refusal")
    func deadSessions() async throws {
        let bench = try HandoffBench()
        let ended = try await bench.signIn()
        _ = try await bench.store.end(ended.key, on: bench.loop).get()
        #expect(try await bench.refused(ended) == .sessionUnknown)

        let expired = try await bench.signIn(lifetime: .seconds(10))
        bench.clock.advance(by: .seconds(10))
        #expect(try await bench.refused(expired) == .sessionUnknown)

        let (token, key) = bench.authority.make(.session, in: bench.authority.newLineage())
        let unknown = NativeApp(token: token, key: key, session: ended.session)
        #expect(try await bench.refused(unknown) == .sessionUnknown)
    }

    @Test(
        "T32: a token without the syntax of a session token never reaches the store",
        arguments: [
            "", "sps_", "spt_", "nonsense", "sps_\0", "sps_ünïcödé", "sps_%41", "sps_a+b",
            String(repeating: "s", count: 8192),
        ]
    )
    func oddTokens(text: String) async throws {
        let bench = try HandoffBench()
        var app = try await bench.signIn()
        app.token = Secret(text)
        let calls = bench.store.calls
        #expect(try await bench.refused(app) == .credentialMalformed)
        #expect(bench.store.calls == calls)
    }

    @Test("a transfer token is not accepted in place of a session token")
    func transferTokenIsNoSessionToken() async throws {
        let bench = try HandoffBench()
        var app = try await bench.signIn()
        app.token = try await bench.minted(app)
        #expect(try await bench.refused(app) == .credentialMalformed)
    }

    @Test("an unavailable or full store is not a refusal", arguments: [StoreError.unavailable, .full])
    func storeAway(error: StoreError) async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        // First the lookup fails, then the write.
        for calls in [0, 1] {
            bench.store.change { ($0.failure, $0.callsBeforeFailure) = (error, calls) }
            #expect(try await bench.objection { try await bench.mint(for: app) } == NotDone(asking: error))
            #expect(bench.records.last?.outcome == .mintUnavailable)
            #expect(bench.records.last?.code == nil)
        }
    }

    @Test("one session mints ten tokens at once, then one every six seconds; others are not affected")
    func sessionLimit() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        let other = try await bench.signIn()
        for _ in 0..<10 { _ = try await bench.minted(app) }
        let calls = bench.store.calls
        #expect(try await bench.throttled(app) == .seconds(6))
        #expect(try await bench.throttled(app, from: "12.0.0.1") == .seconds(6), "wherever it is")
        #expect(bench.store.calls == calls + 2, "the session was read and nothing written")
        let record = try #require(bench.records.last)
        #expect(record.outcome == .mintRefused(.handoffThrottled))
        #expect(record.code?.rawValue == "fertft")
        #expect(record.outcome?.result == .throttled)
        #expect(record.sessionID == app.session.id)
        _ = try await bench.minted(other)
        bench.clock.advance(by: .seconds(6))
        _ = try await bench.minted(app)
        #expect(try await bench.throttled(app) == .seconds(6))
    }

    @Test("requests that the store could not serve are not counted", arguments: [StoreError.unavailable, .full])
    func unavailableIsNotCounted(error: StoreError) async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        // More than the limit of one session.
        for _ in 0..<30 {
            bench.store.change { ($0.failure, $0.callsBeforeFailure) = (error, 1) }
            #expect(try await bench.objection { try await bench.mint(for: app) } == NotDone(asking: error))
        }
        bench.store.change { ($0.failure, $0.callsBeforeFailure) = (nil, 0) }
        for _ in 0..<10 { _ = try await bench.minted(app) }
        #expect(try await bench.throttled(app) == .seconds(6))
    }

    @Test("a session token of another secret is told apart from a malformed one, and the store is not asked")
    func otherKey() async throws {
        let bench = try HandoffBench()
        var app = try await bench.signIn()
        let stranger = TokenAuthority(secret: Secret("the secret of another deployment"))
        app.token = stranger.make(.session, in: stranger.newLineage()).token
        let calls = bench.store.calls
        #expect(try await bench.refused(app) == .credentialOtherKey)
        #expect(bench.store.calls == calls)
    }

    @Test("if the limiter cannot be reached, nothing is minted, as when the store is unavailable")
    func limiterAway() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        let mint = bench.mint(limiter: ScriptedLimiter.away)
        #expect(
            try await bench.objection { try await bench.mint(for: app, by: mint) } == NotDone(.storeUnavailable)
        )
        #expect(bench.records.last?.outcome == .mintUnavailable)
    }

    @Test("a token that was written before another gateway's count refused the try is not handed out")
    func refusedByAnotherCount() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        let mint = bench.mint(limiter: ScriptedLimiter { loop in loop.submit { .throttled(retryAfter: .seconds(6)) } })
        let calls = bench.store.calls
        let refusal = try await bench.objection { try await bench.mint(for: app, by: mint) }
        #expect(refusal?.reason == .handoffThrottled)
        #expect(refusal?.retryAfter == .seconds(6))
        #expect(bench.store.calls == calls + 2, "the session was read and the token written")
        let record = try #require(bench.records.last)
        #expect(record.outcome == .mintRefused(.handoffThrottled))
        #expect(record.tokenFingerprint == nil)
    }

    @Test("minting counts as a use of the native session")
    func mintingTouchesTheSession() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn(lifetime: .seconds(10 * 86_400))
        bench.clock.advance(by: .seconds(80_000))
        _ = try await bench.minted(app)
        bench.clock.advance(by: .seconds(80_000))
        #expect(try await bench.session(app.key) != nil)
    }
}

extension HandoffBench {
    /// The wait before the next mint; nil if there is none.
    fileprivate func throttled(_ app: NativeApp, from address: String = "1.128.0.1") async throws -> Duration? {
        try await self.objection { try await self.mint(for: app, from: address) }?.retryAfter
    }

    /// Why minting is refused; nil if it is not refused.
    fileprivate func refused(_ app: NativeApp, client: ClientSettings = .native) async throws -> Reason? {
        try await self.objection { try await self.mint(for: app, client: client) }?.reason
    }
}
