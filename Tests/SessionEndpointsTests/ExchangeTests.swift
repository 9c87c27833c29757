import EndpointBench
import Endpoints
import NIOCore
import Observability
import Providers
import Rules
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

/// A native app, its user's browser, and the provider at which the browser signs in.
struct ExchangingApp {
    static let returnTo = "myapp://auth/callback"

    var browser: SigningBrowser
    private(set) var kind = "login"
    private(set) var flow: JSONValue = .null
    private(set) var code = ""

    var gateway: Gateway { self.browser.gateway }
    var id: String { self.flow["id"]?.string ?? "" }

    init(
        exchange: ExchangeSettings = Gateway.exchange,
        rules: RuleBook = RuleBook(),
        session: SessionSettings = SessionSettings()
    ) throws {
        self.browser = try SigningBrowser(exchange: exchange, rules: rules, session: session)
    }

    /// Begins a flow with a code.
    mutating func begin(
        _ kind: String = "login",
        query: [(name: String, value: String)] = [
            ("return_session_token_exchange_code", "true"), ("return_to", Self.returnTo),
        ],
        fields: [(name: String, value: String)] = []
    ) async throws {
        self.kind = kind
        let answer = try await self.gateway.send("GET", "/self-service/\(kind)/api", query: query, fields: fields)
        try #require(answer.status == 200, "\(answer.text)")
        self.flow = try #require(answer.document)
        self.code = try #require(self.flow["session_token_exchange_code"]?.string)
    }

    /// Asks for the sign-in with the browser.
    func submit(
        _ body: String = #"{"method":"oidc","provider":"company"}"#,
        flow: String? = nil,
        fields: [(name: String, value: String)] = [
            ("content-type", "application/json"), ("accept", "application/json"),
        ]
    ) async throws -> EndpointResponse {
        try await self.gateway.send(
            "POST",
            "/self-service/\(self.kind)",
            query: [("flow", flow ?? self.id)],
            fields: fields,
            body: body
        )
    }

    /// Lets the browser follow `redirect_browser_to` to the provider, and returns the id of its sign-in there.
    mutating func open(_ url: String) async throws -> String {
        let prefix = "https://app.example.com/.sallyport/app?flow="
        try #require(url.hasPrefix(prefix), "\(url)")
        let answer = try await self.browser.load("/.sallyport/app", [("flow", String(url.dropFirst(prefix.count)))])
        let location = try #require(answer.value("location"), "\(answer.status) \(answer.text)")
        try #require(location.hasPrefix("https://idp.example.com/authorize?state="))
        return String(location.split(separator: "=")[1])
    }

    /// Signs in with the browser, and returns the URL with which it comes back to the app.
    mutating func signIn(flow: String? = nil) async throws -> String {
        let sent = try await self.submit(flow: flow)
        try #require(sent.status == 422, "\(sent.text)")
        let id = try await self.open(try #require(sent.document?["redirect_browser_to"]?.string))
        let answer = try await self.browser.comeBack(id)
        try #require(answer.status == 303, "\(answer.text)")
        return try #require(answer.value("location"))
    }

    /// The code in a URL of the app.
    static func code(in url: String) throws -> String {
        let code = try #require(url.split(separator: "code=").last)
        return String(code)
    }

    func exchange(
        _ code: String? = nil,
        _ returned: String,
        from address: String = "192.0.2.1"
    ) async throws -> EndpointResponse {
        try await self.gateway.send(
            "GET",
            "/sessions/token-exchange",
            query: [("init_code", code ?? self.code), ("return_to_code", returned)],
            from: address
        )
    }
}

extension EndpointResponse {
    fileprivate var error: JSONValue? { self.document?["error"] }
}

@Suite("Web to native")
struct ExchangeTests {
    @Test("An app signs its user in with the browser, in both flows", arguments: ["login", "registration"])
    func walk(kind: String) async throws {
        var app = try ExchangingApp()
        try await app.begin(kind)
        #expect(app.flow["return_to"] == "myapp://auth/callback")
        #expect(app.flow["ui"]?["action"] == .string("https://app.example.com/self-service/\(kind)?flow=\(app.id)"))
        let sent = try await app.submit()
        #expect(sent.status == 422)
        #expect(sent.error?["id"] == "browser_location_change_required" && sent.error?["code"] == 422)
        #expect(sent.error?["message"] == "browser location change required")
        let url = try await app.signIn()
        #expect(url.hasPrefix("myapp://auth/callback?code=spx_"))
        // The browser itself has no session, and is asked for none.
        #expect(app.browser.session == nil && app.browser.kept == [String](app.browser.kept))
        let answer = try await app.exchange(nil, try ExchangingApp.code(in: url))
        #expect(answer.status == 200)
        let token = try #require(answer.document?["session_token"]?.string)
        #expect(answer.document?["session"]?["identity"]?["external_id"] == "user-1")
        #expect(answer.document?["session"]?["identity"]?["schema_id"] == "default")
        let whoami = try await app.gateway.whoami(("x-session-token", token))
        #expect(whoami.document == answer.document?["session"])
        #expect(app.gateway.audit.records.map(\.code?.rawValue) == ["ssa"])
    }

    @Test("Both flows read every spelling of true that Go's ParseBool reads")
    func spellings() async throws {
        let gateway = try Gateway()
        for kind in ["login", "registration"] {
            for (value, isTrue) in [
                ("1", true), ("t", true), ("T", true), ("TRUE", true), ("true", true), ("True", true),
            ]
                + [("0", false), ("yes", false), ("tRUE", false), ("", false)]
            {
                let answer = try await gateway.send(
                    "GET",
                    "/self-service/\(kind)/api",
                    query: [("return_session_token_exchange_code", value)]
                )
                #expect((answer.document?["session_token_exchange_code"] != nil) == isTrue, "\(kind) \(value)")
            }
        }
    }

    @Test("Codes have 256 random bits; a session does not stand in the way of one")
    func codes() async throws {
        let gateway = try Gateway()
        let token = try await gateway.nativeToken()
        let query = [(name: "return_session_token_exchange_code", value: "true")]
        var codes: Set<String> = []
        for _ in 0..<3 {
            let answer = try await gateway.send(
                "GET",
                "/self-service/login/api",
                query: query,
                fields: [("x-session-token", token)]
            )
            let code = try #require(answer.document?["session_token_exchange_code"]?.string)
            #expect(TokenAuthority.isWellFormed(.exchangeCode, Array(code.utf8)))
            codes.insert(code)
        }
        #expect(codes.count == 3)
    }

    @Test("The flow names the providers and takes refresh, level and schema along to the browser")
    func wish() async throws {
        var app = try ExchangingApp()
        let code = [(name: "return_session_token_exchange_code", value: "true"), ("return_to", ExchangingApp.returnTo)]
        try await app.begin(query: code + [("refresh", "true"), ("identity_schema", "customer")])
        #expect(app.flow["refresh"] == true && app.flow["identity_schema"] == "customer")
        guard case .array(let nodes) = app.flow["ui"]?["nodes"] else { throw CancellationError() }
        let button = try #require(nodes.first { $0["group"] == "oidc" })
        #expect(button["attributes"]?["name"] == "provider" && button["attributes"]?["value"] == "company")
        #expect(button["meta"]?["label"]?["text"] == "Sign in with Company account")
        _ = try await app.signIn()
        #expect(app.browser.provider.wishes.map(\.demand.isAgain) == [true])
        let strong = code + [(name: "aal", value: "aal2")]
        let refused = try await app.gateway.send("GET", "/self-service/login/api", query: strong)
        #expect(refused.status == 401 && refused.error?["id"] == "session_aal1_required")
        let url = try await app.signIn()
        let answer = try await app.exchange(nil, try ExchangingApp.code(in: url))
        let token = try #require(answer.document?["session_token"]?.string)
        try await app.begin(query: strong, fields: [("x-session-token", token)])
        #expect(app.flow["requested_aal"] == "aal2")
        let weak = try await app.signIn()
        #expect(app.browser.provider.wishes.last?.demand.aal == .aal2)
        #expect(try await app.exchange(nil, try ExchangingApp.code(in: weak)).status == 422)
    }

    @Test("T20: only listed places get a code; loopback has any port; path and query are kept")
    func places() async throws {
        var app = try ExchangingApp()
        for returnTo in [
            "evil://auth/callback", "myapp://auth/callback/x", "myapp://auth/callback?x=1", "MYAPP://auth/callback",
            "https://evil.example.com/", "http://127.0.0.1:1/other", "http://localhost:1/done?from=app",
        ] {
            let answer = try await app.gateway.send(
                "GET",
                "/self-service/login/api",
                query: [("return_session_token_exchange_code", "true"), ("return_to", returnTo)]
            )
            #expect(
                answer.status == 400 && answer.error?["id"] == "self_service_flow_return_to_forbidden",
                "\(returnTo)"
            )
            #expect(answer.reason == .signInReturnToForbidden)
        }
        try await app.begin(query: [
            ("return_session_token_exchange_code", "true"), ("return_to", "http://127.0.0.1:4711/done?from=app"),
        ])
        #expect(try await app.signIn().hasPrefix("http://127.0.0.1:4711/done?from=app&code=spx_"))
        // Without a place, and with more than one to choose from, there is no way back.
        try await app.begin(query: [("return_session_token_exchange_code", "true")])
        let answer = try await app.submit()
        #expect(answer.status == 400 && answer.document?["ui"]?["messages"]?.first?["id"] == 4_000_001)
    }

    @Test("An app that does not speak JSON is redirected")
    func redirect() async throws {
        var app = try ExchangingApp()
        try await app.begin()
        let answer = try await app.submit(
            "method=oidc&provider=company",
            fields: [("content-type", "application/x-www-form-urlencoded"), ("accept", "text/html,*/*")]
        )
        #expect(answer.status == 303)
        #expect(answer.value("location") == "https://app.example.com/.sallyport/app?flow=\(app.id)")
        let form = [(name: "content-type", value: "application/x-www-form-urlencoded"), ("accept", "application/json")]
        #expect(try await app.submit("provider=company", fields: form).status == 422)
    }

    // MARK: Kratos's own table of the exchange

    @Test(
        "Kratos's table: 400 without a code, 404 for unknown ones, 422 with the flow, 404 without it, 200 with a session"
    )
    func table() async throws {
        var app = try ExchangingApp()
        try await app.begin()
        for query in [
            [], [(name: "init_code", value: "x")], [("return_to_code", "x")],
            [("init_code", ""), ("return_to_code", "x")],
        ] {
            let answer = try await app.gateway.send("GET", "/sessions/token-exchange", query: query)
            #expect(answer.status == 400)
            #expect(answer.error?["reason"] == #""init_code" and "return_to_code" query params must be set"#)
            #expect(answer.error?["status"] == "Bad Request" && answer.error?["message"]?.string?.isEmpty == false)
        }
        let unknown = try await app.exchange("x", "y")
        #expect(unknown.status == 404 && unknown.error?["reason"] == #"no session yet for this "code""#)
        #expect(unknown.error?["message"] == "The requested resource could not be found")
        #expect(unknown.error?["id"] == nil)

        app.browser.provider.answer(.failure(NotDone(.signInCancelled, detail: "access_denied")))
        let failed = try ExchangingApp.code(in: try await app.signIn())
        let flow = try await app.exchange(nil, failed)
        #expect(flow.status == 422 && flow.document?["id"] == .string(app.id))
        #expect(flow.error == nil)
        app.gateway.time.advance(by: .seconds(599))
        #expect(try await app.exchange(nil, failed).status == 422)
        app.gateway.time.advance(by: .seconds(2))
        #expect(try await app.exchange(nil, failed).status == 404)

        try await app.begin()
        app.browser.provider.answer(ScriptedBrowserProvider.user())
        let code = try ExchangingApp.code(in: try await app.signIn())
        let answer = try await app.exchange(nil, code)
        #expect(answer.status == 200)
        #expect(answer.value("content-type") == "application/json; charset=utf-8")
        // The session is gone.
        let token = try #require(answer.document?["session_token"]?.string)
        _ = try await app.gateway.send(
            "DELETE",
            "/self-service/logout/api",
            fields: [("content-type", "application/json")],
            body: #"{"session_token":"\#(token)"}"#
        )
        #expect(try await app.exchange(nil, code).status == 404)
    }

    @Test(
        "Kratos's table: login twice, login then registration, registration then login, registration twice",
        arguments: [("login", "login"), ("login", "registration"), ("registration", "login")]
            + [("registration", "registration")]
    )
    func flows(first: String, second: String) async throws {
        var app = try ExchangingApp()
        var tokens: Set<String> = []
        var users: Set<String> = []
        for kind in [first, second] {
            try await app.begin(kind)
            let code = try ExchangingApp.code(in: try await app.signIn())
            let answer = try await app.exchange(nil, code)
            #expect(answer.status == 200)
            tokens.insert(try #require(answer.document?["session_token"]?.string))
            users.insert(try #require(answer.document?["session"]?["identity"]?["id"]?.string))
        }
        #expect(tokens.count == 2 && users.count == 1)
    }

    @Test(
        "Kratos's table: a transient payload and traits of the app are taken and change nothing: the provider says who it is",
        arguments: ["login", "registration"]
    )
    func transientPayload(kind: String) async throws {
        let rest =
            #""method":"oidc","provider":"company","transient_payload":{"data":"api-\#(kind)"},"traits.name":"Eve""#
        let form = "method=oidc&provider=company&transient_payload%5Bdata%5D=api-\(kind)&traits.name=Eve"
        let type = [(name: "content-type", value: "application/x-www-form-urlencoded"), ("accept", "application/json")]
        var app = try ExchangingApp()
        for isForm in [false, true] {
            try await app.begin(kind)
            let sent = isForm ? try await app.submit(form, fields: type) : try await app.submit("{\(rest)}")
            #expect(sent.status == 422 && sent.error?["id"] == "browser_location_change_required", "\(sent.text)")
            let id = try await app.open(try #require(sent.document?["redirect_browser_to"]?.string))
            let url = try #require(try await app.browser.comeBack(id).value("location"))
            let answer = try await app.exchange(nil, try ExchangingApp.code(in: url))
            #expect(answer.status == 200)
            #expect(answer.document?["session"]?["identity"]?["traits"] == ["email": "ada@example.com"])
            for text in [sent.text, url, answer.text] {
                #expect(!text.contains("api-\(kind)") && !text.contains("Eve"))
            }
        }
    }

    @Test(
        "Kratos's table: who is signed in already gets a code, in the app and in the browser",
        arguments: [true, false]
    )
    func signedIn(isLogin: Bool) async throws {
        var app = try ExchangingApp()
        try await app.browser.signIn()
        try await app.begin()
        let first = try await app.exchange(nil, try ExchangingApp.code(in: try await app.signIn()))
        let token = try #require(first.document?["session_token"]?.string)
        try await app.begin(isLogin ? "login" : "registration", fields: [("x-session-token", token)])
        let second = try await app.exchange(nil, try ExchangingApp.code(in: try await app.signIn()))
        #expect(second.status == 200 && second.document?["session_token"]?.string != token)
    }

    @Test("What a provider says of its own methods is a sign-in by oidc in the document")
    func methods() async throws {
        var app = try ExchangingApp()
        let user = Authentication(
            identity: Identity(id: "user-1", traits: ["email": "ada@example.com"]),
            aal: .aal1,
            methods: ["pwd"]
        )
        app.browser.provider.answer(.success(ProvenUser(user, ProviderEvidence(provider: "https://idp.example.com"))))
        try await app.begin()
        let answer = try await app.exchange(nil, try ExchangingApp.code(in: try await app.signIn()))
        let methods = answer.document?["session"]?["authentication_methods"]
        #expect(methods?.first?["method"] == "oidc" && methods?.first?["aal"] == "aal1", "\(answer.text)")
    }

    // MARK: Once

    @Test("Codes are exchanged once, and again for 30 seconds at the same address")
    func once() async throws {
        var app = try ExchangingApp()
        try await app.begin()
        let code = try ExchangingApp.code(in: try await app.signIn())
        let first = try await app.exchange(nil, code)
        #expect(first.status == 200)
        app.gateway.time.advance(by: .seconds(29))
        let second = try await app.exchange(nil, code)
        #expect(second.document == first.document && second.status == 200)
        let stolen = try await app.exchange(nil, code, from: "198.51.100.7")
        #expect(stolen.status == 404 && stolen.reason == .exchangeReplayed)
        app.gateway.time.advance(by: .seconds(1))
        let late = try await app.exchange(nil, code)
        #expect(late.status == 404 && late.reason == .exchangeReplayed)
        #expect(app.gateway.store.sessionCount == 1)
    }

    @Test("Of many exchanges at once one makes the session, and all get it")
    func race() async throws {
        var app = try ExchangingApp()
        try await app.begin()
        let code = try ExchangingApp.code(in: try await app.signIn())
        let here = app
        let tokens = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<16 {
                group.addTask { try await here.exchange(nil, code).document?["session_token"]?.string }
            }
            return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(tokens.count == 1 && tokens.first != .some(nil))
        #expect(app.gateway.store.sessionCount == 1)
    }

    @Test("A lost answer of the store is 503, and the next try gets the session")
    func lost() async throws {
        var app = try ExchangingApp()
        try await app.begin()
        let code = try ExchangingApp.code(in: try await app.signIn())
        app.gateway.store.change { $0.lostAnswers = 1 }
        #expect(try await app.exchange(nil, code).isOutage)
        #expect(try await app.exchange(nil, code).status == 200)
        #expect(app.gateway.store.sessionCount == 1)
    }

    @Test("T21: codes of different flows do not fit, and all wrong ones get the same answer")
    func mixedUp() async throws {
        var app = try ExchangingApp()
        try await app.begin()
        let other = app.code
        try await app.begin()
        let code = try ExchangingApp.code(in: try await app.signIn())
        let changed = String(code.dropLast()) + (code.hasSuffix("A") ? "B" : "A")
        var answers: Set<JSONValue> = []
        for (first, second) in [(other, code), (app.code, changed), (code, app.code), (app.code, app.code), ("", "x")]
            .dropLast()
        {
            let answer = try await app.exchange(first, second)
            #expect(answer.status == 404 && answer.reason == .exchangeUnknown)
            answers.insert(try #require(answer.document))
        }
        #expect(answers.count == 1)
        // None of them used the code up.
        #expect(try await app.exchange(nil, code).status == 200)
    }

    @Test("Codes expire after their lifetime")
    func expiry() async throws {
        var settings = Gateway.exchange
        settings.lifetime = .seconds(120)
        var app = try ExchangingApp(exchange: settings)
        try await app.begin()
        #expect(app.flow["expires_at"] == "2026-11-18T11:08:40.000Z")
        let code = try ExchangingApp.code(in: try await app.signIn())
        app.gateway.time.advance(by: .seconds(120))
        #expect(try await app.exchange(nil, code).status == 404)
    }

    @Test("Signing the user out everywhere ends a sign-in that is not exchanged yet")
    func signedOutEverywhere() async throws {
        var app = try ExchangingApp()
        try await app.begin()
        let code = try ExchangingApp.code(in: try await app.signIn())
        app.gateway.time.advance(by: .seconds(1))
        let loop = app.gateway.loop
        try await app.gateway.store.end(subject: "user-1", on: loop).get()
        #expect(try await app.exchange(nil, code).status == 404)
    }

    @Test("Exchanges that fail and flows with a code are limited for each address")
    func limits() async throws {
        var app = try ExchangingApp()
        try await app.begin()
        for _ in 0..<60 { #expect(try await app.exchange("x", "y").status == 404) }
        let answer = try await app.exchange("x", "y")
        #expect(answer.status == 429 && answer.value("retry-after") != nil && answer.reason == .exchangeThrottled)
        #expect(try await app.exchange("x", "y", from: "198.51.100.7").status == 404)
        for _ in 0..<59 { try await app.begin() }
        let query = [(name: "return_session_token_exchange_code", value: "true")]
        let flow = try await app.gateway.send("GET", "/self-service/login/api", query: query)
        #expect(flow.status == 429 && flow.value("retry-after") != nil)
        // A flow without a code is not kept.
        #expect(try await app.gateway.send("GET", "/self-service/login/api").status == 200)
    }

    // MARK: Failures

    @Test(
        "A sign-in that failed ends in the messages of the flow, by 422",
        arguments: [
            Reason.signInCancelled, .signInInteractionRequired, .signInProviderError, .signInStateMismatch,
            .signInInvalidToken, .signInNotAllowed, .signInBlocked, .signInInsufficient, .signInEnded,
        ]
    )
    func failure(reason: Reason) async throws {
        var app = try ExchangingApp()
        try await app.begin()
        app.browser.provider.answer(.failure(NotDone(reason, detail: "as scripted")))
        let url = try await app.signIn()
        #expect(url.hasPrefix("myapp://auth/callback?code="))
        let answer = try await app.exchange(nil, try ExchangingApp.code(in: url))
        #expect(answer.status == 422 && answer.reason == .exchangeNotSignedIn)
        let message = try #require(answer.document?["ui"]?["messages"]?.first)
        #expect(message["type"] == "error" && message["context"]?["reason"] == .string(reason.rawValue))
        let flow = try await app.gateway.send("GET", "/self-service/login/flows", query: [("id", app.id)])
        #expect(flow.status == 200 && flow.document == answer.document)
        // The user tries again in the same flow, with the same code.
        app.browser.provider.answer(ScriptedBrowserProvider.user())
        let again = try await app.signIn()
        #expect(try await app.exchange(nil, try ExchangingApp.code(in: again)).status == 200)
        let mended = try await app.gateway.send("GET", "/self-service/login/flows", query: [("id", app.id)])
        #expect(mended.document?["ui"]?["messages"] == nil)
    }

    @Test("A validation error and an expired flow keep the exchange code")
    func kept() async throws {
        var app = try ExchangingApp()
        try await app.begin()
        for body in [#"{"method":"oidc","provider":"none"}"#, #"{"method":"oidc"}"#, "{}", #"{"method":"password"}"#] {
            #expect(try await app.submit(body).status == 400, "\(body)")
        }
        app.gateway.time.advance(by: .seconds(601))
        let expired = try await app.submit()
        #expect(expired.status == 410 && expired.error?["id"] == "self_service_flow_expired")
        let next = try #require(expired.document?["use_flow_id"]?.string)
        let fetched = try await app.gateway.send("GET", "/self-service/login/flows", query: [("id", next)])
        #expect(fetched.status == 200 && fetched.document?["return_to"] == "myapp://auth/callback")
        #expect(fetched.document?["session_token_exchange_code"] == nil)
        let url = try await app.signIn(flow: next)
        #expect(try await app.exchange(nil, try ExchangingApp.code(in: url)).status == 200)
    }

    @Test("Without a code there is no sign-in with the browser")
    func withoutCode() async throws {
        let app = try ExchangingApp()
        let flow = try await app.gateway.send("GET", "/self-service/login/api").document
        let id = try #require(flow?["id"]?.string)
        let answer = try await app.submit(flow: id)
        #expect(answer.status == 400)
        #expect(answer.document?["ui"]?["messages"]?.first?["text"]?.string?.contains("exchange_code=true") == true)
    }

    // MARK: The browser

    @Test("A sign-in is bound to the browser that began it")
    func otherBrowser() async throws {
        var app = try ExchangingApp()
        try await app.begin()
        let id = try await app.open("https://app.example.com/.sallyport/app?flow=\(app.id)")
        var other = SigningBrowser(beside: app.browser)
        let answer = try await other.comeBack(id)
        #expect(answer.status == 400 && answer.reason == .signInStateMismatch && answer.value("location") == nil)
        #expect(try await app.browser.comeBack(id).status == 303)
    }

    @Test("An app's sign-in for which the browser had no room begins again by itself, and ends at the app")
    func pushedOut() async throws {
        var app = try ExchangingApp()
        try await app.begin()
        let sent = try await app.submit()
        let id = try await app.open(try #require(sent.document?["redirect_browser_to"]?.string))
        for _ in 1...5 { try await app.browser.begin() }
        let again = try await app.browser.comeBack(id)
        let location = try #require(again.value("location"))
        #expect(again.status == 303 && location.hasPrefix("https://idp.example.com/authorize?state="))
        let answer = try await app.browser.comeBack(String(location.split(separator: "=")[1]))
        let url = try #require(answer.value("location"))
        #expect(url.hasPrefix("myapp://auth/callback?code=") && app.browser.session == nil)
        #expect(try await app.exchange(nil, try ExchangingApp.code(in: url)).status == 200)
    }

    @Test("A browser's own session stays as it is")
    func ownSession() async throws {
        var app = try ExchangingApp()
        let session = try await app.browser.signIn()
        try await app.begin()
        app.browser.provider.answer(ScriptedBrowserProvider.user("user-2"))
        let code = try ExchangingApp.code(in: try await app.signIn())
        #expect(app.browser.session == session)
        #expect(try await app.browser.user() == "user-1")
        let answer = try await app.exchange(nil, code)
        #expect(answer.document?["session"]?["identity"]?["external_id"] == "user-2")
    }

    @Test("A prefetch begins nothing; unknown and expired flows are pages")
    func pages() async throws {
        var app = try ExchangingApp()
        try await app.begin()
        let path = "/.sallyport/app"
        let prefetch = try await app.browser.load(path, [("flow", app.id)], fields: [("sec-purpose", "prefetch")])
        #expect(prefetch.status == 403 && prefetch.reason == .signInNotNavigation)
        for query in [[], [(name: "flow", value: "x")], [("flow", app.id), ("flow", app.id)]] {
            #expect(try await app.browser.load(path, query).reason == .signInFlowUnknown)
        }
        app.gateway.time.advance(by: .seconds(600))
        #expect(try await app.browser.load(path, [("flow", app.id)]).reason == .signInFlowExpired)
        #expect(app.browser.provider.wishes.isEmpty)
    }

    @Test("An outage on the way back leaves the browser's cookie, and the same page completes the sign-in")
    func outage() async throws {
        var app = try ExchangingApp()
        try await app.begin()
        let id = try await app.open("https://app.example.com/.sallyport/app?flow=\(app.id)")
        app.gateway.store.fail(with: .unavailable)
        #expect(try await app.browser.comeBack(id).status == 503)
        app.gateway.store.fail(with: nil)
        app.browser.provider.leave()
        #expect(try await app.browser.comeBack(id).status == 503)
        app.browser.provider.leave(false)
        #expect(try await app.browser.comeBack(id).status == 303)
    }
}
