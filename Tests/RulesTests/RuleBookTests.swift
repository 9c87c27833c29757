import AddressIntelligence
import Rules
import TestSupport
import Testing
import Vocabulary

@Suite("Rules")
struct RuleBookTests {
    private static func rule(
        _ name: String,
        _ condition: String = "true",
        at stages: Set<RuleStage> = [.consume],
        _ effect: Rule.Effect = .deny,
        isDryRun: Bool = false
    ) throws -> Rule {
        Rule(
            name: name,
            stages: stages,
            condition: try RuleCondition(condition),
            effect: effect,
            text: effect == .deny ? "No: \(name)" : nil,
            isDryRun: isDryRun
        )
    }

    @Test("The first rule that applies decides, and those after it are not judged")
    func order() throws {
        let book = RuleBook([
            try Self.rule("passes", "false"), try Self.rule("asks", "true", .signIn), try Self.rule("denies"),
        ])
        let judgement = book.judge(.consume, event: [:])
        #expect(judgement.objection == RuleObjection(rule: "asks", effect: .signIn))
        #expect(judgement.objection?.reason == .ruleSignInRequired)
        #expect(judgement.findings == [.init(rule: "passes", result: .pass), .init(rule: "asks", result: .signIn)])
        #expect(judgement.findings.objecting == "asks")
    }

    @Test("A rule in dry run decides nothing and is found")
    func dryRun() throws {
        let book = RuleBook([
            try Self.rule("one", isDryRun: true), try Self.rule("two", "true", .signIn, isDryRun: true),
            try Self.rule("three"),
        ])
        let judgement = book.judge(.consume, event: [:])
        #expect(judgement.objection == RuleObjection(rule: "three", effect: .deny, text: "No: three"))
        #expect(judgement.findings.map(\.result) == [.wouldDeny, .wouldAskToSignIn, .deny])
        #expect(judgement.findings.map(\.reason) == [.ruleDenied, .ruleSignInRequired, .ruleDenied])
    }

    @Test("A rule is judged at its stages only", arguments: RuleStage.allCases)
    func stages(stage: RuleStage) throws {
        let book = RuleBook([try Self.rule("one", at: [stage])])
        for other in RuleStage.allCases {
            #expect((book.judge(other, event: [:]).objection != nil) == (other == stage))
        }
    }

    private static func facts(authority: String? = "app.example.com:8443") throws -> RuleFacts {
        RuleFacts(
            request: RuleFacts.Request(address: try #require(IPAddress("2.125.160.216")), asn: nil, userAgent: nil),
            authority: authority,
            token: RuleFacts.Token(
                clientID: "native",
                scopes: ["openid"],
                request: RuleFacts.Request(
                    address: try #require(IPAddress("89.160.20.112")),
                    asn: 3320,
                    userAgent: "App/1"
                )
            ),
            userID: "ada",
            traits: ["email": "ada@example.com", "user_id": "somebody else"],
            clientID: nil
        )
    }

    @Test("The event has the shape of Auth0's, and what is unknown is left out")
    func event() async throws {
        #expect(
            try Self.facts().event(nil) == [
                "request": ["ip": "2.125.160.216", "hostname": "app.example.com"],
                "session_transfer_token": [
                    "client_id": "native", "scope": ["openid"],
                    "request": ["ip": "89.160.20.112", "asn": "3320", "user_agent": "App/1"],
                ],
                "user": ["user_id": "ada", "email": "ada@example.com"], "connection": ["name": "default"],
            ]
        )
        for (authority, hostname) in [("app", "app"), ("[::1]:80", "[::1]"), ("[::1]", "[::1]"), ("a:1", "a")] {
            #expect(try Self.facts(authority: authority).event(nil)["request"]?["hostname"] == .string(hostname))
        }
        #expect(try Self.facts(authority: nil).event(nil)["request"]?["hostname"] == nil)
        var certified = try Self.facts()
        certified.request.certificate = RuleFacts.Certificate(
            sha256: "0a",
            subject: "CN=build",
            issuer: "CN=Clients",
            serial: "1f",
            names: ["build.example.com"]
        )
        #expect(
            certified.event(nil)["request"]?["client_certificate"] == [
                "sha256": "0a", "subject": "CN=build", "issuer": "CN=Clients", "serial": "1f",
                "san": ["build.example.com"],
            ]
        )
        let field = "event.request.client_certificate"
        let book = RuleBook([
            try Self.rule(
                "build",
                #""build.example.com" in \#(field).san and \#(field).issuer == "CN=Clients""#,
                at: Set(RuleStage.allCases)
            )
        ])
        let without = try Self.facts()
        for stage in RuleStage.allCases {
            #expect(await book.judge(stage, certified).objection?.rule == "build")
            #expect(await book.judge(stage, without).objection == nil)
        }
        var delegated = try Self.facts()
        delegated.actor = "grace"
        #expect(delegated.event(nil)["session"] == ["actor": ["sub": "grace"]])
    }

    @Test(
        "Countries come from the database of places",
        .enabled(if: TestData.isExpected("GeoLite2-City-Test.mmdb"), TestData.absence)
    )
    func places() async throws {
        let geo = try GeoDirectory(database: TestData.path("GeoLite2-City-Test.mmdb"))
        let differs = "event.session_transfer_token.request.geoip.countryCode != event.request.geoip.countryCode"
        let book = RuleBook([try Self.rule("country", differs)], places: geo)
        var facts = try Self.facts()
        #expect(facts.event(geo)["request"]?["geoip"]?["countryCode"] == "GB")
        #expect(facts.event(geo)["session_transfer_token"]?["request"]?["geoip"]?["countryCode"] == "SE")
        #expect(await book.judge(.consume, facts).objection?.rule == "country")
        facts.request.address = try #require(IPAddress("89.160.20.128"))
        #expect(await book.judge(.consume, facts).objection == nil)
        // One unknown place differs from a known one, and two do not differ.
        facts.request.address = try #require(IPAddress("10.0.0.1"))
        #expect(await book.judge(.consume, facts).objection?.rule == "country")
        facts.token?.request.address = try #require(IPAddress("10.0.0.2"))
        #expect(await book.judge(.consume, facts).objection == nil)
    }
}
