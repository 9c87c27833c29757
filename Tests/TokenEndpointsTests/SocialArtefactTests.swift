import Endpoints
import Observability
import Providers
import Rules
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("Artefacts of social providers, once") struct SocialArtefactTests {
    /// Accepts everything, as made at this time.
    private struct Verifier: SocialVerifier {
        let issuedAt: UnixTime?

        func verify(_ signIn: SocialSignIn) async throws(NotDone) -> SocialProof {
            SocialProof(
                ProvenUser(
                    Authentication(
                        identity: Identity(id: "google-oauth2|1", traits: [:]),
                        aal: .aal1,
                        methods: ["native_social"]
                    ),
                    ProviderEvidence(provider: "google-oauth2")
                ),
                SocialArtefact(
                    id: OnceID(
                        scope: "social google-oauth2",
                        id: String(decoding: signIn.artefact.bytes, as: UTF8.self)
                    ),
                    issuedAt: self.issuedAt,
                    lifetime: .seconds(3600)
                )
            )
        }
    }

    private static func bench(
        issuedAt: UnixTime?,
        apis: [APISettings] = [],
        rules: RuleBook = RuleBook()
    ) -> TokenBench {
        TokenBench(apis: apis, social: SocialVerifiers([.google: Verifier(issuedAt: issuedAt)]), rules: rules) {
            $0.socialLogins = $0.clientID == "native-app" ? [.google] : []
        }
    }

    private static func exchange(_ bench: TokenBench, _ change: [String: String?] = [:]) async -> Answer {
        var parameters = [
            "grant_type": TokenBench.exchange, "client_id": "native-app", "subject_token": "artefact",
            "subject_token_type": "http://auth0.com/oauth/token-type/google-id-token", "scope": "openid",
        ]
        for (name, value) in change { parameters[name] = value }
        return await bench.post(json: parameters)
    }

    private static let apis = [
        APISettings(audience: TokenBench.api, scopes: ["orders:read", "orders:write"]),
        APISettings(audience: "https://other.example.com", scopes: ["other"]),
    ]

    @Test("without scope, all scopes of the API that the request names are granted; with it, those of them")
    func scopes() async {
        let own = "openid profile email"
        for (change, expected) in [
            (["scope": nil, "audience": TokenBench.api], "\(own) orders:read orders:write"),
            (["scope": "", "resource": "https://other.example.com"], "\(own) other"),
            (["scope": nil], own),
            (["scope": "orders:read other", "audience": TokenBench.api], "orders:read"),
        ] as [([String: String?], String)] {
            let answer = await Self.exchange(Self.bench(issuedAt: nil, apis: Self.apis), change)
            #expect(answer.status == 200 && answer.text("scope") == expected && answer.body["refresh_token"] == nil)
        }
        let only = await Self.exchange(Self.bench(issuedAt: nil, apis: [Self.apis[0]]), ["scope": nil])
        #expect(only.text("scope") == "\(own) orders:read orders:write")
    }

    @Test("a rule takes scopes away from an exchange, of native social and of a session token; it grants none")
    func limited() async throws {
        func rule(_ name: String, _ when: String, _ scopes: Rule.Scopes, isDryRun: Bool = false) throws -> Rule {
            Rule(
                name: name,
                stages: [.exchange],
                condition: try RuleCondition(when),
                effect: .scopes,
                scopes: scopes,
                isDryRun: isDryRun
            )
        }
        let rules = RuleBook([
            try rule("dry", "true", Rule.Scopes(only: []), isDryRun: true),
            try rule(
                "api",
                #"event.resource_server.identifier == "\#(TokenBench.api)""#,
                Rule.Scopes(remove: ["orders:write"])
            ),
            try rule("other", #"event.resource_server.identifier == "x""#, Rule.Scopes(only: [])),
            try rule(
                "few",
                #""email" in event.transaction.requested_scopes"#,
                Rule.Scopes(only: ["openid", "orders:read", "orders:write", "admin"])
            ),
        ])
        let bench = Self.bench(issuedAt: nil, apis: Self.apis, rules: rules)
        let answer = await Self.exchange(bench, ["scope": nil, "audience": TokenBench.api])
        #expect(answer.text("scope") == "openid orders:read" && !answer.text("id_token").isEmpty)
        let events = bench.records.all.last?.auditEvents ?? []
        #expect(events.map { $0.details.first { $0.0 == "scope_rules" }?.1 } == [nil, "api,few"])
        #expect(events.first?.details.map(\.1) == ["dry", "true"])
        var session = bench.parameters(try await bench.signIn())
        session["audience"] = TokenBench.api
        #expect(await bench.post(json: session).text("scope") == "orders:read")
        session["scope"] = "orders:write"
        #expect(await bench.post(json: session).body["scope"] == "")
    }

    @Test("a rule that denies exchanges is access_denied, and nothing is issued")
    func denied() async throws {
        let rules = RuleBook([
            Rule(
                name: "no",
                stages: [.exchange],
                condition: try RuleCondition(#"event.client.client_id == "native-app""#),
                effect: .deny,
                text: "Not here."
            )
        ])
        let bench = Self.bench(issuedAt: nil, apis: Self.apis, rules: rules)
        var session = bench.parameters(try await bench.signIn())
        session["audience"] = TokenBench.api
        for answer in [await Self.exchange(bench), await bench.post(json: session)] {
            #expect(answer.status == 403 && answer.error == "access_denied" && answer.description == "Not here.")
            #expect(bench.records.all.last?.rules.objecting == "no")
        }
        // A session-transfer token is minted, which is another stage.
        session["audience"] = "urn:auth.example.com:session_transfer"
        #expect(await bench.post(json: session).status == 200)
    }

    @Test("an exchange that fails is recorded with the audience that it names")
    func failures() async {
        let bench = Self.bench(issuedAt: nil, apis: Self.apis)
        let audience = ["audience": TokenBench.api]
        #expect(await Self.exchange(bench, audience).status == 200)
        #expect(await Self.exchange(bench, audience).reason == .socialReplayed)
        #expect(bench.records.all.last?.auditEvent?.audience == TokenBench.api)
        #expect(await Self.exchange(bench, ["audience": "https://x"]).error == "invalid_target")
        #expect(bench.records.all.last?.auditEvent?.audience == "https://x")
        let other = await Self.exchange(bench, ["audience": TokenBench.api, "client_id": "plain"])
        #expect(other.error == "unauthorized_client")
        #expect(bench.records.all.last?.auditEvent?.audience == TokenBench.api)
        #expect(bench.records.all.last?.auditEvent?.reason == .oauthUnauthorizedClient)
    }

    @Test("one that was made before the store began to remember is refused, and the user signs in again")
    func forgotten()
        async throws
    {
        let bench = Self.bench(issuedAt: TokenBench.now)
        #expect(await Self.exchange(bench).status == 200)
        #expect(await Self.exchange(bench).reason == .socialReplayed)
        // The store lost everything.
        bench.onces.script.memory = OnceMemory(epoch: 2, since: TokenBench.now.advanced(by: .seconds(1)))
        let answer = await Self.exchange(bench)
        #expect(answer.status == 400 && answer.error == "invalid_grant" && answer.reason == .socialReplayed)
        #expect(bench.records.all.last?.detail == "older than what the store remembers")
    }

    @Test("one that was made in the second in which the memory began, or of unknown age, is accepted")
    func recent() async {
        for issuedAt in [TokenBench.now, nil] {
            let bench = Self.bench(issuedAt: issuedAt)
            bench.onces.script.memory = OnceMemory(epoch: 2, since: TokenBench.now.advanced(by: .milliseconds(999)))
            #expect(await Self.exchange(bench).status == 200)
        }
    }

    @Test("one that is presented while the store loses its memory is refused") func meanwhile() async {
        let bench = Self.bench(issuedAt: TokenBench.now)
        bench.onces.script.nextMemory = OnceMemory(epoch: 2, since: TokenBench.now)
        let answer = await Self.exchange(bench)
        #expect(answer.error == "invalid_grant" && answer.reason == .socialReplayed)
    }
}
