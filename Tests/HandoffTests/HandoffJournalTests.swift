import AddressIntelligence
import NIOCore
import Observability
import Sessions
import Settings
import SignOn
import StoreBench
import TestSupport
import Testing
import Vocabulary

@Suite("Records of the handoff")
struct HandoffJournalTests {
    @Test("a mint is an event with its audience and no bound address")
    func mint() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        _ = try await bench.minted(app)
        let event = try #require(bench.records.last?.auditEvents.first)
        #expect(event.kind == .transferTokenMinted)
        #expect(event.code == .minted)
        #expect(event.session == app.session.id)
        #expect(event.address == "1.128.0.1")
        #expect(event.asn == 1221)
        #expect(event.boundAddress == nil)
        #expect(!event.isTriggeredByTransferToken)
        #expect(event.audience == "urn:auth.example.com:session_transfer")
        #expect(event.details.contains { $0 == ("requested_audience", "urn:auth.example.com:session_transfer") })
    }

    @Test("a sign-in is recorded as triggered by a transfer token and names both sessions")
    func signIn() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        _ = try await bench.consume(try await bench.minted(app))
        let event = try #require(bench.records.last?.auditEvents.first)
        #expect(event.kind == .transferTokenConsumed)
        #expect(event.code == .signedIn)
        #expect(event.isTriggeredByTransferToken)
        #expect(event.boundAddress == "1.128.0.1")
        #expect(event.boundASN == 1221)
        #expect(event.clientID == "web-app")
        #expect(event.details.contains { $0 == ("minted_client_id", "native-app") })
        #expect(event.details.contains { $0 == ("parent_session", app.session.id) })
    }

    @Test("T1 T5: a mismatch and a replay carry the addresses of both sides")
    func refusals() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        _ = try await bench.consume(try await bench.minted(app), from: "12.0.0.1")
        let mismatch = try #require(bench.records.last?.auditEvents.first)
        #expect(mismatch.kind == .transferTokenRejected)
        #expect(mismatch.code == .warning)
        #expect(mismatch.reason == .bindingIPMismatch)
        #expect(mismatch.address == "12.0.0.1")
        #expect(mismatch.boundAddress == "1.128.0.1")
        #expect(mismatch.details.contains { $0 == ("burned", "true") })

        let token = try await bench.minted(app)
        _ = try await bench.consume(token)
        _ = try await bench.consume(token, from: "12.0.0.1")
        let replay = try #require(bench.records.last?.auditEvents.first)
        #expect(replay.kind == .transferTokenReplayed)
        #expect(replay.reason == .handoffReplayed)
        #expect(replay.address == "12.0.0.1")
        #expect(replay.details.contains { $0 == ("first_address", "1.128.0.1") })
    }

    /// auth0/docs-v2, native-to-web/configure-implement-native-to-web.mdx.
    @Test(
        "a refused token is a warning, with Auth0's message if it has one for the case",
        arguments: [
            (
                [
                    .handoffUnknown, .handoffMalformed, .handoffExpired, .handoffReplayed, .handoffBurned,
                    .handoffQuarantined,
                ],
                "Single Sign-On failed: Session Transfer Token not found or expired. "
                    + "This may indicate token reuse or expiration."
            ),
            (
                [.bindingIPMismatch, .bindingASNMismatch, .bindingASNUnknown],
                "Single Sign-On failed: Session Transfer Token device binding validation failed due to IP/ASN mismatch."
            ),
            (
                [.handoffOtherOrganization],
                "Single Sign-On failed: Session Transfer Token organization mismatch detected."
            ),
            ([.handoffOtherUser], "Single Sign-On failed: Session Transfer Token user mismatch detected."),
            (
                [.sessionRevoked],
                "Single Sign-On failed: Parent refresh token not found. "
                    + "Session Transfer Token won't be used for session establishment."
            ),
            ([.handoffCrossSite, .handoffRepeated, .handoffMethodNotAllowed, .handoffOtherHost], nil),
        ] as [([Reason], String?)]
    )
    func warnings(reasons: [Reason], description: String?) async throws {
        let bench = try HandoffBench()
        _ = try await bench.minted(bench.signIn())
        var record = try #require(bench.records.last)
        for reason in reasons {
            record.act = .handoff(.refused(reason))
            let event = try #require(record.auditEvents.last)
            #expect(event.code == .warning && event.reason == reason && event.description == description)
        }
    }

    @Test("a dry run records an event of its own before that of the sign-in")
    func dryRun() async throws {
        let bench = try HandoffBench()
        let client = ClientSettings.web { $0.bindingDryRun = true }
        _ = try await bench.consume(bench.minted(bench.signIn()), from: "12.0.0.1", client: client)
        let events = try #require(bench.records.last?.auditEvents)
        #expect(events.map(\.kind) == [.bindingMismatch, .transferTokenConsumed])
        #expect(events.first?.reason == .bindingIPMismatch)
    }

    @Test(
        "an event names the countries of both devices, where the database knows them",
        .enabled(if: TestData.isExpected("GeoLite2-City-Test.mmdb"), TestData.absence)
    )
    func countries() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        let token = try await bench.minted(app, from: "2.125.160.216")
        _ = try await bench.consume(token, from: "89.160.20.112")
        _ = try await bench.consume(bench.minted(app, from: "10.0.0.1"), from: "10.0.0.2")
        let places = try GeoDirectory(database: TestData.path("GeoLite2-City-Test.mmdb"))
        let events = bench.records.all.compactMap { $0.locating(places).auditEvents.last }
        #expect(events.map(\.country) == ["GB", "SE", nil, nil])
        #expect(events.map(\.boundCountry) == [nil, "GB", nil, nil])
    }

    @Test("no event contains a token")
    func noTokens() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        let token = try await bench.minted(app)
        let web = try #require(try await bench.consume(token).signedIn)
        _ = try await bench.consume(token, from: "12.0.0.1")
        let text = bench.records.all.flatMap(\.auditEvents).map { "\($0)" }.joined()
        for secret in [app.token, token, web.token] {
            // The tag is not secret; the part after it is.
            #expect(!text.contains(String(decoding: secret.bytes.suffix(43), as: UTF8.self)))
        }
    }

    @Test("every outcome is counted, and every binding by kind and result")
    func counters() async throws {
        let bench = try HandoffBench()
        let metrics = MetricsRegistry()
        let journal = AuditJournal(audit: AuditStream(queue: nil), counters: .handoffs(metrics))
        let app = try await bench.signIn()
        let token = try await bench.minted(app)
        let other = try await bench.minted(app)
        bench.clock.advance(by: .seconds(3))
        _ = try await bench.consume(token)
        _ = try await bench.consume(token)
        _ = try await bench.consume(bench.minted(app), from: "12.0.0.1")
        _ = try await bench.consume(
            other,
            from: "12.0.0.1",
            client: .web {
                $0.binding = .asn
                $0.bindingDryRun = true
            }
        )
        _ = try await bench.consume(Secret("nonsense"))
        let ofOldReign = try await bench.minted(app)
        bench.store.change { $0.consumptions = [.quarantined] }
        _ = try await bench.consume(ofOldReign)
        for record in bench.records.all { #expect(journal.record(record)) }

        let text = String(decoding: try await metrics.render(), as: UTF8.self)
        for line in [
            #"sallyport_transfer_tokens_total{result="minted"} 4"#,
            #"sallyport_transfer_tokens_total{result="consumed"} 2"#,
            #"sallyport_transfer_tokens_total{result="replayed"} 1"#,
            #"sallyport_transfer_tokens_total{result="binding_mismatch"} 1"#,
            #"sallyport_transfer_tokens_total{result="invalid"} 1"#,
            #"sallyport_transfer_tokens_total{result="store_error"} 0"#,
            #"sallyport_transfer_tokens_total{result="quarantined"} 1"#,
            #"sallyport_handoff_minted_total{client="native-app"} 4"#,
            #"sallyport_handoff_redeemed_total{transport="cookie"} 2"#,
            #"sallyport_handoff_redeemed_total{transport="query"} 0"#,
            #"sallyport_handoff_rejected_total{reason="handoff.replayed"} 1"#,
            #"sallyport_handoff_rejected_total{reason="binding.ip_mismatch"} 1"#,
            #"sallyport_handoff_age_seconds_bucket{le="2"} 0"#,
            #"sallyport_handoff_age_seconds_bucket{le="5"} 2"#,
            #"sallyport_handoff_age_seconds_count 2"#,
            #"sallyport_binding_checks_total{kind="ip",result="match"} 1"#,
            #"sallyport_binding_checks_total{kind="ip",result="mismatch"} 1"#,
            #"sallyport_binding_checks_total{kind="asn",result="dry_run"} 1"#,
        ] {
            #expect(text.contains(line + "\n"), "\(line)")
        }
    }

    @Test("if an event cannot be recorded, no token is minted and no session is created")
    func nothingUnrecorded() async throws {
        let bench = try HandoffBench()
        let app = try await bench.signIn()
        let token = try await bench.minted(app)
        bench.records.isFull = true
        #expect(try await bench.objection { try await bench.mint(for: app) } == NotDone(.storeFull))
        #expect(try await bench.consume(token).storeError == .full)
        // A refusal does not need its record.
        #expect(try await bench.consume(Secret("nonsense")).refusal == .handoffMalformed)
    }
}
