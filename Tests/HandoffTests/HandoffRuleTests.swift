import AddressIntelligence
import NIOCore
import Observability
import Rules
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("Rules of a handoff")
struct HandoffRuleTests {
    private static func book(
        _ condition: String,
        at stage: RuleStage = .consume,
        _ effect: Rule.Effect = .deny,
        isDryRun: Bool = false
    ) throws -> RuleBook {
        let condition = try RuleCondition(condition)
        let text = effect == .deny ? "No." : nil
        return RuleBook([
            Rule(
                name: "rule",
                stages: [stage],
                condition: condition,
                effect: effect,
                text: text,
                isDryRun: isDryRun
            )
        ])
    }

    /// Holds for what the tests present: every field that a consumption has.
    private static let all = """
        event.session_transfer_token.client_id == "native-app" and event.session_transfer_token.request.ip == "1.128.0.1" \
        and event.session_transfer_token.request.asn == "1221" and event.session_transfer_token.request.user_agent == "App/1.0" \
        and "orders:write" in event.session_transfer_token.scope and event.request.ip in ["1.128.0.0/11"] \
        and event.request.asn == event.session_transfer_token.request.asn and event.request.user_agent == "Browser/1.0" \
        and event.request.hostname == "app.example.com" and event.client.client_id == "web-app" \
        and event.user.user_id == "alice" and event.user.email == "alice@example.com"
        """

    @Test("A denial sees the whole event, burns the token, names the rule, and is the same when its answer was lost")
    func denies() async throws {
        let bench = try HandoffBench(rules: try Self.book(Self.all))
        let token = try await bench.minted(try await bench.signIn())
        let attempt = AttemptSecret()
        #expect(try await bench.consume(token, attempt: attempt).denial == .some("No."))
        let record = try #require(bench.records.last)
        #expect(record.outcome == .refused(.ruleDenied) && record.burns && record.code?.rawValue == "w")
        #expect(record.rules == [RuleFinding(rule: "rule", result: .deny)])
        let event = try #require(record.auditEvents.last)
        #expect(event.details.contains { $0 == ("rule", "rule") })
        #expect(try await bench.consume(token, attempt: attempt).denial == .some(nil))
        #expect(try await bench.consume(token).refusal == .handoffBurned)
    }

    @Test("A rule sees the traits that the user has now, not those of the sign-in")
    func presentTraits() async throws {
        struct Directory: UserDirectory {
            func hasLostUser(of session: Session) -> Bool { false }
            func update(of session: Session) -> Session? {
                var session = session
                session.identity.traits = ["email": "intern@example.com"]
                return session
            }
        }
        let rules = try Self.book(#"event.user.email == "intern@example.com""#)
        let bench = try HandoffBench(rules: rules, directory: Directory())
        let token = try await bench.minted(try await bench.signIn())
        #expect(try await bench.consume(token).denial == .some("No."))
    }

    @Test("A rule that asks for a sign-in refuses and burns the token; the browser's session stays")
    func asksToSignIn() async throws {
        let bench = try HandoffBench(rules: try Self.book("true", .signIn))
        let token = try await bench.minted(try await bench.signIn())
        let outcome = try await bench.consume(token)
        #expect(outcome.refusal == .ruleSignInRequired && !outcome.endsExisting)
        #expect(bench.records.last?.burns == true)
        #expect(try await bench.consume(token).refusal == .handoffBurned)
    }

    @Test("Rules are not asked about a token that something else refuses")
    func comesLast() async throws {
        let bench = try HandoffBench(rules: try Self.book("true"))
        let token = try await bench.minted(try await bench.signIn())
        #expect(try await bench.consume(token, from: "12.0.0.1").refusal == .bindingIPMismatch)
        #expect(bench.records.last?.rules == [])
    }

    @Test("A dry run signs in, and has an event of its own before that of the sign-in")
    func dryRun() async throws {
        let bench = try HandoffBench(rules: try Self.book("true", isDryRun: true))
        let token = try await bench.minted(try await bench.signIn())
        #expect(try await bench.consume(token).signedIn != nil)
        let events = try #require(bench.records.last).auditEvents
        #expect(events.map(\.kind) == [.ruleDryRun, .transferTokenConsumed])
        #expect(events.first?.reason == .ruleDenied && events.first?.subject == "alice")
    }

    @Test("A token that the preview denies is burned then, and one that it lets pass is denied afterwards as well")
    func preview() async throws {
        let bench = try HandoffBench(rules: try Self.book(Self.all))
        let token = try await bench.minted(try await bench.signIn())
        let request = HandoffRequest(
            token: token.bytes,
            transport: .query,
            authority: "app.example.com",
            client: .web,
            device: DeviceFacts(address: IPAddress(v4: 0x0180_0001), asn: nil, userAgent: "Browser/1.0"),
            existing: nil,
            attempt: AttemptSecret(),
            requestID: "req-preview"
        )
        guard
            case .ended(.denied(.ruleDenied, text: "No.")) = try await bench.consumer().preview(request, on: bench.loop)
                .get()
        else {
            Issue.record("not denied")
            return
        }
        #expect(try await bench.consume(token).refusal == .handoffBurned)
        #expect(bench.records.all.flatMap(\.rules).count == 1, "judged twice, recorded once")
    }

    @Test("A rule at mint sees the user and the client, and no token is made")
    func mint() async throws {
        let condition = #"""
            event.user.email == "alice@example.com" and event.client.client_id == "native-app" and \#
            event.request.hostname == "auth.example.com" and event.request.asn == "1221"
            """#
        let bench = try HandoffBench(rules: try Self.book(condition, at: .mint))
        let app = try await bench.signIn()
        let objection = try await bench.objection { try await bench.mint(for: app) }
        #expect(objection == NotDone(.ruleDenied, text: "No."))
        let record = try #require(bench.records.last)
        #expect(record.outcome == .mintRefused(.ruleDenied) && record.rules.objecting == "rule")
        #expect(record.subject == "alice" && record.code?.rawValue == "fertft")
        #expect(try await bench.minted(try await bench.signIn("bob")).bytes.isEmpty == false)
        #expect(bench.records.last?.rules == [RuleFinding(rule: "rule", result: .pass)])
    }
}
