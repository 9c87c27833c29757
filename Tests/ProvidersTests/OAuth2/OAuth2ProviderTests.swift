import Calls
import Cryptography
import Providers
import Sessions
import Settings
import StoreBench
import Testing
import Vocabulary

/// A provider like GitHub with a scripted server.
private struct OAuth2ProviderBench {
    static let authorizationURL = "https://git.example.com/login/oauth/authorize"
    static let tokenURL = "https://git.example.com/login/oauth/access_token"
    static let userinfoURL = "https://api.git.example.com/user"

    let transport = ScriptedTransport()
    let clock = MovableClock()
    let provider: OAuth2Provider

    init(change: (inout OAuth2Settings) -> Void = { _ in }) throws {
        var settings = OAuth2Settings(
            name: "git",
            authorizationURL: Self.authorizationURL,
            tokenURL: Self.tokenURL,
            userinfoURL: Self.userinfoURL,
            client: ProviderClientSettings(id: "gateway", secret: Secret("secret"), method: .post)
        )
        settings.authorization.scopes = ["read:user", "user:email"]
        settings.claims.subject = ["id"]
        settings.claims.traits = [
            ClaimSettings.Trait(name: "email", path: ["email"]), ClaimSettings.Trait(name: "username", path: ["login"]),
        ]
        change(&settings)
        self.provider = try OAuth2Provider(settings, transport: self.transport, clock: self.clock.clock)
        self.transport.on(Self.tokenURL, .json(["access_token": "gho_1", "token_type": "bearer", "scope": ""]))
        self.transport.on(Self.userinfoURL, .json(["id": 583_231, "login": "jane", "email": .null]))
    }

    func begin(_ wish: BrowserSignIn = BrowserSignIn(callback: OpenIDProviderBench.callback)) async throws
        -> OpenIDProviderBench.Begun
    {
        let beginning = self.provider.begin(wish)
        return OpenIDProviderBench.Begun(url: beginning.url, state: beginning.pending)
    }

    func signIn(_ wish: BrowserSignIn = BrowserSignIn(callback: OpenIDProviderBench.callback)) async throws
        -> Completion
    {
        let begun = try await self.begin(wish)
        let completion = await self.provider.completion(begun.callback(), state: begun.state)
        return completion.judged(by: self.provider.demand(of: wish), at: self.clock.now)
    }
}

@Suite("A provider of plain OAuth 2.0")
struct OAuth2ProviderTests {
    @Test("The browser is sent with PKCE and state, and with no parameter that only OpenID knows")
    func begin() async throws {
        let wish = BrowserSignIn(
            callback: OpenIDProviderBench.callback,
            demand: SignInDemand(aal: .aal2, maxAge: .seconds(5), loginHint: "jane@example.com")
        )
        let begun = try await OAuth2ProviderBench().begin(wish)
        #expect(begun.url.hasPrefix(OAuth2ProviderBench.authorizationURL + "?"))
        #expect(
            Set(begun.parameters.keys) == [
                "response_type", "client_id", "redirect_uri", "state", "scope", "code_challenge",
                "code_challenge_method",
            ]
        )
        #expect(begun.parameters["scope"] == "read:user user:email" && begun.parameters["state"] == begun.state.id)
    }

    @Test("A provider without PKCE gets no challenge and no verifier")
    func withoutPKCE() async throws {
        let bench = try OAuth2ProviderBench { $0.usesPKCE = false }
        let begun = try await bench.begin()
        #expect(begun.parameters["code_challenge"] == nil && begun.parameters["code_challenge_method"] == nil)
        #expect(await bench.provider.completion(begun.callback(), state: begun.state).user != nil)
        #expect(bench.transport.calls(of: OAuth2ProviderBench.tokenURL).first?.form["code_verifier"] == nil)
    }

    @Test("The user is who the userinfo URL says; a number becomes the subject's text")
    func signIn() async throws {
        let bench = try OAuth2ProviderBench()
        let completion = try await bench.signIn()
        let user = try #require(completion.user, "\(completion)")
        #expect(user.identity.id == "583231" && user.identity.traits == ["username": "jane"])
        #expect(user.aal == .aal1 && user.methods == ["oauth2"])
        #expect(user.authenticatedAt == Authentication.unknownTime)
        let evidence = try #require(completion.evidence)
        #expect(evidence.provider == "git" && evidence.sessionID == nil)
        #expect(evidence.tokens?.accessToken == Secret("gho_1") && evidence.tokens?.tokenType == "Bearer")
        let (token, info) = (
            try #require(bench.transport.calls(of: OAuth2ProviderBench.tokenURL).first),
            try #require(bench.transport.calls(of: OAuth2ProviderBench.userinfoURL).first)
        )
        #expect(token.field("accept") == "application/json" && token.form["client_secret"] == "secret")
        #expect(token.form["code_verifier"]?.utf8.count == 43)
        #expect(info.field("authorization") == "Bearer gho_1")
    }

    private static let refusedAnswers: [(answer: String, flaw: String)] = [
        (
            #"{"access_token":"gho 1"}"#,
            "has an access_token with a blank or another character that cannot stand in an Authorization field"
        ),
        (
            #"{"access_token":"gho_1\r\nX-Auth-Subject: eve"}"#,
            "has an access_token with a blank or another character that cannot stand in an Authorization field"
        ),
        (#"{"access_token":""}"#, "has no access_token"),
        (#"{"access_token":["gho_1"]}"#, "has no access_token"),
        (
            #"{"access_token":"\#(String(repeating: "g", count: 16_385))"}"#,
            "has an access_token of more than 16384 bytes"
        ),
        (#"{"access_token":"gho_1","token_type":"mac"}"#, "has a token_type that is neither Bearer nor DPoP"),
        (#"{"access_token":"gho_1""#, "is not JSON"),
        (#"{"access_token":"gho_1","access_token":"gho_2"}"#, "has a member twice"),
        (#"{"access_token":"gho_1"} 1"#, "has more text after its JSON"),
        ("{\u{0}}", "is not in UTF-8"), ("{ \"a\u{0}\": 1}", "has a zero byte, which JSON must not have"),
    ]

    @Test(
        "An answer with tokens that is refused says what is wrong with it, without the token",
        arguments: refusedAnswers
    )
    func refusedAnswer(_ refused: (answer: String, flaw: String)) async throws {
        let bench = try OAuth2ProviderBench()
        let begun = try await bench.begin()
        bench.transport.on(
            OAuth2ProviderBench.tokenURL,
            CallAnswer(
                status: 200,
                fields: [("content-type", "application/json")],
                body: Array(refused.answer.utf8)
            )
        )
        let detail = "the token endpoint's answer is refused: it \(refused.flaw)"
        #expect(
            await bench.provider.completion(begun.callback(), state: begun.state)
                == .failure(NotDone(.providerUnavailable, detail: detail))
        )
    }

    @Test("An answer in form encoding is read like one in JSON; a repeated member is not")
    func formAnswer() async throws {
        let bench = try OAuth2ProviderBench()
        func answer(_ body: String) {
            bench.transport.on(
                OAuth2ProviderBench.tokenURL,
                CallAnswer(
                    status: 200,
                    fields: [("content-type", "application/x-www-form-urlencoded; charset=utf-8")],
                    body: Array(body.utf8)
                )
            )
        }
        answer("access_token=gho_1&scope=read%3Auser+gist&token_type=bearer&expires_in=60&refresh_token=r")
        let tokens = try #require(try await bench.signIn().evidence?.tokens)
        #expect(tokens.accessToken == Secret("gho_1") && tokens.scopes == ["read:user", "gist"])
        #expect(tokens.expiresAt == bench.clock.now.advanced(by: .seconds(60)) && tokens.refreshToken == Secret("r"))
        answer("access_token=a&access_token=b")
        #expect(try await bench.signIn().outage != nil)
        answer("error=bad_verification_code&error_description=x")
        let completion = try await bench.signIn()
        #expect(
            completion.cause == .signInProviderError && completion.detail?.contains("bad_verification_code") == true
        )
    }

    @Test("Without a usable subject nobody is signed in")
    func subject() async throws {
        let bench = try OAuth2ProviderBench()
        for id: JSONValue in [.null, "", .number(1.5), .number(1e30), true, ["1"], "a\u{0}b"] {
            bench.transport.on(OAuth2ProviderBench.userinfoURL, .json(["id": id, "login": "jane"]))
            #expect(try await bench.signIn().cause == .signInProviderError, "\(id)")
        }
        bench.transport.on(OAuth2ProviderBench.userinfoURL, .json(["id": 1_000_000_000_000_000]))
        #expect(try await bench.signIn().user?.identity.id == "1000000000000000")
        bench.transport.on(OAuth2ProviderBench.userinfoURL, CallAnswer(status: 401))
        #expect(try await bench.signIn().cause == .signInProviderError)
        bench.transport.on(OAuth2ProviderBench.userinfoURL, CallAnswer(status: 503))
        #expect(try await bench.signIn().outage != nil)
    }

    @Test("What such a provider cannot say is not met: a recent sign-in, a level, a verified address")
    func demands() async throws {
        let bench = try OAuth2ProviderBench()
        let callback = OpenIDProviderBench.callback
        #expect(
            try await bench.signIn(BrowserSignIn(callback: callback, demand: SignInDemand(maxAge: .seconds(60)))).cause
                == .signInInsufficient
        )
        #expect(
            try await bench.signIn(BrowserSignIn(callback: callback, demand: SignInDemand(aal: .aal2))).cause
                == .signInInsufficient
        )
        #expect(
            try await OAuth2ProviderBench { $0.allow.emailDomains = ["example.com"] }.signIn().cause
                == .signInNotAllowed
        )
    }

    @Test("What does not belong to the sign-in is refused; another sign-in's state completes nothing")
    func mismatch() async throws {
        let bench = try OAuth2ProviderBench()
        let (begun, other) = (try await bench.begin(), try await bench.begin())
        let cases = [
            await bench.provider.completion(begun.callback(["state": "x"]), state: begun.state),
            await bench.provider.completion(begun.callback(), state: other.state),
            await bench.provider.completion(begun.callback() + [("code", "other")], state: begun.state),
            await (try OAuth2ProviderBench { $0.name = "other" }).provider.completion(
                begun.callback(),
                state: begun.state
            ),
        ]
        for completion in cases { #expect(completion.cause == .signInStateMismatch, "\(completion)") }
        #expect(bench.transport.calls.isEmpty)
        #expect(
            await bench.provider.completion(begun.callback(["error": "access_denied"]), state: begun.state).cause
                == .signInCancelled
        )
    }

    @Test("A refresh brings the user's claims anew; another subject is the end")
    func refresh() async throws {
        let bench = try OAuth2ProviderBench()
        let tokens = ProviderTokenSet(accessToken: Secret("gho_1"), refreshToken: Secret("ghr_1"), scopes: ["a"])
        bench.transport.on(
            OAuth2ProviderBench.tokenURL,
            .json(["access_token": "gho_2", "refresh_token": "ghr_2", "expires_in": 28_800])
        )
        bench.transport.on(OAuth2ProviderBench.userinfoURL, .json(["id": 583_231, "login": "jane-2"]))
        guard
            case .refreshed(let new, let user) = await bench.provider.refresh(
                tokens,
                of: Identity(id: "583231", traits: [:])
            )
        else {
            Issue.record("no refresh")
            return
        }
        #expect(new.accessToken == Secret("gho_2") && new.refreshToken == Secret("ghr_2") && new.scopes == ["a"])
        #expect(user?.identity.traits == ["username": "jane-2"])
        #expect(
            bench.transport.calls(of: OAuth2ProviderBench.userinfoURL).last?.field("authorization") == "Bearer gho_2"
        )
        guard case .ended = await bench.provider.refresh(tokens, of: Identity(id: "1", traits: [:])) else {
            Issue.record("another subject")
            return
        }
        bench.transport.on(OAuth2ProviderBench.userinfoURL, CallAnswer(status: 500))
        guard case .refreshed(_, nil) = await bench.provider.refresh(tokens, of: Identity(id: "583231", traits: [:]))
        else {
            Issue.record("an outage of userinfo")
            return
        }
        // As GitHub reports it.
        bench.transport.on(OAuth2ProviderBench.tokenURL, .json(["error": "bad_refresh_token"]))
        guard case .ended = await bench.provider.refresh(tokens, of: Identity(id: "583231", traits: [:])) else {
            Issue.record("an error code of its own")
            return
        }
    }

    @Test("An answer of userinfo that names no user ends nobody")
    func withoutUser() async throws {
        let bench = try OAuth2ProviderBench()
        var tokens = ProviderTokenSet(accessToken: Secret("gho_1"))
        let user = Identity(id: "583231", traits: [:])
        for refreshToken in [nil, Secret("ghr_1")] as [Secret?] {
            tokens.refreshToken = refreshToken
            bench.transport.on(OAuth2ProviderBench.userinfoURL, .json(["message": "We are back soon"]))
            switch await bench.provider.refresh(tokens, of: user) {
            case .later where refreshToken == nil: break
            case .refreshed(_, nil) where refreshToken != nil: break
            case let answer: Issue.record("\(answer)")
            }
            bench.transport.on(OAuth2ProviderBench.userinfoURL, .json(["id": 1]))
            guard case .ended = await bench.provider.refresh(tokens, of: user) else {
                Issue.record("another subject")
                return
            }
        }
    }

    @Test("It has no sign-out, and URLs that cannot be used are named")
    func setUp() async throws {
        #expect(
            await (try OAuth2ProviderBench()).provider.signOutURL(idToken: nil, returnTo: "https://a", state: nil)
                == nil
        )
        let cases: [(String, (inout OAuth2Settings) -> Void)] = [
            ("authorization_url", { $0.authorizationURL = "http://git.example.com" }),
            ("token_url", { $0.tokenURL = "" }), ("userinfo_url", { $0.userinfoURL = "https://a@b" }),
        ]
        for (key, change) in cases {
            do {
                _ = try OAuth2ProviderBench(change: change)
                Issue.record("\(key) was accepted")
            } catch let error as ProviderSetUpError {
                #expect(error.description.hasPrefix(key))
            }
        }
    }
}
