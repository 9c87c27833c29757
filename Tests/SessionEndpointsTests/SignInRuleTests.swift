import AddressIntelligence
import EndpointBench
import Endpoints
import Observability
import Providers
import Rules
import Sessions
import SignOn
import StoreBench
import Testing
import Vocabulary

/// The operator's rules where users sign in at Kratos's paths.
@Suite("Rules of native sign-ins") struct SignInRuleTests {
    /// Refuses everybody whose address ends in `.com`, at sign-in.
    private static func book(
        _ condition: String = #"event.user.email == "ada@example.com" or event.user.email == "alice@example.com""#,
        text: String? = "Not from here.",
        isDryRun: Bool = false
    ) throws -> RuleBook {
        RuleBook([
            Rule(
                name: "no-ada",
                stages: [.signIn],
                condition: try RuleCondition(condition),
                effect: .deny,
                text: text,
                isDryRun: isDryRun
            )
        ])
    }

    /// Says of every id_token that it is Ada's.
    private struct Verifier: SocialVerifier {
        func verify(_ signIn: SocialSignIn) async throws(NotDone) -> SocialProof {
            SocialProof(
                ProvenUser(
                    Authentication(
                        identity: Identity(id: "google-oauth2|1", traits: ["email": "ada@example.com"]),
                        aal: .aal1,
                        methods: ["native_social"]
                    ),
                    ProviderEvidence(provider: "https://accounts.google.com", sessionID: nil)
                ),
                SocialArtefact(
                    id: OnceID(scope: "social google-oauth2", id: "id"),
                    issuedAt: nil,
                    lifetime: .seconds(60)
                )
            )
        }
    }

    private static func idToken(_ rules: RuleBook) async throws -> (Gateway, EndpointResponse) {
        let gateway = try Gateway(verifiers: SocialVerifiers(idTokens: [.google: Verifier()]), rules: rules)
        return (gateway, try await gateway.signInNative(#"{"method":"oidc","provider":"google","id_token":"x"}"#))
    }

    /// A refusal that a typed client reads as an error, and which the audit stream explains.
    private static func expectDenial(
        _ answer: EndpointResponse,
        _ text: String,
        _ gateway: Gateway,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(answer.status == 403 && answer.reason == .ruleDenied, "\(answer.text)", sourceLocation: sourceLocation)
        let error = answer.document?["error"]
        #expect(error?["code"] == 403 && error?["reason"] == .string(text), sourceLocation: sourceLocation)
        #expect(error?["message"] == "The requested action was forbidden", sourceLocation: sourceLocation)
        #expect(answer.document?["session_token"] == nil, sourceLocation: sourceLocation)
        #expect(gateway.store.sessionCount == 0, sourceLocation: sourceLocation)
        let record = try #require(gateway.audit.records.last)
        #expect(record.act == .session(.refused(.ruleDenied), .native), sourceLocation: sourceLocation)
        #expect(record.rules == [RuleFinding(rule: "no-ada", result: .deny)], sourceLocation: sourceLocation)
        let event = try #require(record.auditEvents.last)
        #expect(event.details.contains { $0 == ("rule", "no-ada") }, sourceLocation: sourceLocation)
    }

    @Test("A password that a rule refuses gives no session: 403 with the rule's text, or the gateway's own")
    func password() async throws {
        for (text, shown) in [("Not from here.", "Not from here."), (nil, "Access denied.")] {
            let gateway = try Gateway(rules: Self.book(text: text))
            try Self.expectDenial(try await gateway.signInNative(), shown, gateway)
            #expect(gateway.audit.records.last?.subject == "9f1c" && gateway.audit.records.last?.account != nil)
        }
        let other = try Gateway(rules: Self.book(#"event.user.email == "grace@example.com""#))
        #expect(try await other.signInNative().status == 200)
    }

    @Test("An id_token that a rule refuses gives no session, and an error that is no flow")
    func idToken() async throws {
        let (gateway, answer) = try await Self.idToken(Self.book())
        try Self.expectDenial(answer, "Not from here.", gateway)
        #expect(gateway.audit.records.last?.subject == "google-oauth2|1" && answer.document?["ui"] == nil)
        let (_, passed) = try await Self.idToken(Self.book(#"event.user.email == "grace@example.com""#))
        #expect(passed.status == 200 && passed.document?["session_token"] != nil, "\(passed.text)")
    }

    @Test(
        "A user whom a rule refuses comes back to the app with a code that gives no session, and the flow has the rule's text",
        arguments: [("Not from here.", "Not from here."), (nil, "Access denied.")]
    )
    func exchange(text: String?, shown: String) async throws {
        var app = try ExchangingApp(rules: Self.book(text: text))
        try await app.begin()
        let url = try await app.signIn()
        #expect(url.hasPrefix("myapp://auth/callback?code="))
        let record = try #require(app.gateway.audit.records.last)
        #expect(record.act == .session(.refused(.ruleDenied), .native) && record.subject == "user-1")
        #expect(record.rules == [RuleFinding(rule: "no-ada", result: .deny)])
        #expect(record.provider == "https://idp.example.com")
        let answer = try await app.exchange(nil, try ExchangingApp.code(in: url))
        #expect(answer.status == 422 && answer.reason == .exchangeNotSignedIn)
        let message = try #require(answer.document?["ui"]?["messages"]?.first)
        #expect(message["text"] == .string(shown) && message["context"]?["reason"] == "rule.denied")
        #expect(app.gateway.store.sessionCount == 0)
        // Another user may sign in with the same code, and then the flow does not complain any more.
        let other = Authentication(
            identity: Identity(id: "user-2", traits: ["email": "grace@example.com"]),
            aal: .aal1,
            methods: ["oidc"]
        )
        app.browser.provider.answer(.success(ProvenUser(other, ProviderEvidence(provider: "https://idp.example.com"))))
        let code = try ExchangingApp.code(in: try await app.signIn())
        #expect(try await app.exchange(nil, code).status == 200)
        let flow = try await app.gateway.send("GET", "/self-service/login/flows", query: [("id", app.id)])
        #expect(flow.document?["ui"]?["messages"] == nil)
    }

    @Test("The password form of the exchange refuses by rules as well")
    func exchangeForm() async throws {
        let gateway = try Gateway(rules: Self.book())
        let query = [
            (name: "return_session_token_exchange_code", value: "true"), ("return_to", "myapp://auth/callback"),
        ]
        let flow = try #require(try await gateway.send("GET", "/self-service/login/api", query: query).document)
        let id = try #require(flow["id"]?.string)
        let answer = try await gateway.post("/.sallyport/app", "flow=\(id)&\(Gateway.credentials)")
        let url = try #require(answer.value("location"), "\(answer.text)")
        let codes = [
            (name: "init_code", value: try #require(flow["session_token_exchange_code"]?.string)),
            ("return_to_code", try ExchangingApp.code(in: url)),
        ]
        let exchanged = try await gateway.send("GET", "/sessions/token-exchange", query: codes)
        #expect(exchanged.status == 422)
        #expect(exchanged.document?["ui"]?["messages"]?.first?["text"] == "Not from here.")
    }

    @Test(
        "A dry run refuses nothing and is recorded when it is judged, once for the exchange, the password, the id_token"
    )
    func dryRun() async throws {
        let book = try Self.book(isDryRun: true)
        let finding = RuleFinding(rule: "no-ada", result: .wouldDeny)
        var app = try ExchangingApp(rules: book)
        try await app.begin()
        let code = try ExchangingApp.code(in: try await app.signIn())
        let judged = try #require(app.gateway.audit.records.last)
        #expect(judged.act == .session(.judged, .native) && judged.rules == [finding] && judged.subject == "user-1")
        let event = try #require(judged.auditEvents.first)
        #expect(judged.auditEvents.count == 1 && event.kind == .ruleDryRun && event.reason == .ruleDenied)
        #expect(event.subject == "user-1" && event.code == nil && event.details.contains { $0 == ("rule", "no-ada") })
        for _ in 0..<2 { #expect(try await app.exchange(nil, code).status == 200) }
        let records = app.gateway.audit.records
        #expect(records.prefix(2).map(\.act) == [.session(.judged, .native), .session(.signedIn, .native)])
        #expect(records.dropFirst().allSatisfy { $0.rules.isEmpty }, "judged once")

        let gateway = try Gateway(rules: book)
        #expect(try await gateway.signInNative().status == 200)
        #expect(gateway.audit.records.map(\.rules) == [[finding]] && gateway.audit.records.last?.reason == nil)
        let (social, answer) = try await Self.idToken(book)
        #expect(answer.status == 200 && social.audit.records.map(\.rules) == [[finding]])
    }

    @Test("If the dry run cannot be recorded, the browser gets no code")
    func unrecorded() async throws {
        var app = try ExchangingApp(rules: Self.book(isDryRun: true))
        try await app.begin()
        let id = try await app.open("https://app.example.com/.sallyport/app?flow=\(app.id)")
        app.gateway.audit.fill()
        let answer = try await app.browser.comeBack(id)
        #expect(answer.status == 503 && answer.reason == .gatewayOverloaded && answer.value("location") == nil)
    }
}
