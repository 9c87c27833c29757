import Endpoints
import JOSE
import Sessions
import SignOn
import StoreBench
import Testing
import Vocabulary

/// OpenID Connect Core 3.1.2.1.
@Suite("id_token_hint at /authorize") struct IDTokenHintTests {
    private static func cookie(_ subject: String, in bench: TokenBench) async throws -> String {
        try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com", subject: subject)
    }

    private static func hint(_ subject: String, in bench: TokenBench) async throws -> String {
        let cookie = try await Self.cookie(subject, in: bench)
        let code = try #require(await bench.authorize(["scope": "openid"], cookie: cookie).redirect["code"])
        let token = await bench.redeem(code).text("id_token")
        try #require(!token.isEmpty)
        return token
    }

    /// The query of `/authorize` to which the sign-in page leads back.
    private static func back(_ answer: Answer) throws -> [(name: String, value: String)] {
        try #require(answer.field("location")?.hasPrefix("/.sallyport/login?") == true, "\(answer.response)")
        let target = try #require(answer.redirect["return_to"])
        return FormText.pairs(Array(target.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst()))
    }

    @Test("of the user who is signed in it changes nothing, however old it is", arguments: [nil, "none"])
    func same(prompt: String?) async throws {
        let bench = TokenBench()
        let hint = try await Self.hint("alice", in: bench)
        bench.clock.advance(by: .seconds(200 * 86_400))
        let cookie = try await Self.cookie("alice", in: bench)
        let answer = await bench.authorize(["id_token_hint": hint, "prompt": prompt], cookie: cookie)
        #expect(answer.redirect["code"]?.hasPrefix("spc_") == true)
    }

    @Test("of another user: nobody else gets an answer, with prompt=none or after a sign-in")
    func other() async throws {
        let bench = TokenBench()
        let hint = try await Self.hint("bob", in: bench)
        let alice = try await Self.cookie("alice", in: bench)
        let silent = await bench.authorize(["id_token_hint": hint, "prompt": "none"], cookie: alice)
        #expect(silent.redirect["error"] == "login_required" && silent.redirect["code"] == nil)
        #expect(silent.reason == .oauthOtherUser && silent.redirect["state"] == "a state")
        let asked = await bench.authorize(["id_token_hint": hint], cookie: alice)
        #expect(asked.redirect["prompt"] == "login")
        let query = try Self.back(asked)
        bench.clock.advance(by: .seconds(5))
        for cookie in [alice, try await Self.cookie("alice", in: bench)] {
            let again = await bench.authorize(query, cookie: cookie)
            #expect(again.redirect["error"] == "login_required" && again.reason == .oauthOtherUser)
        }
        let bob = await bench.authorize(query, cookie: try await Self.cookie("bob", in: bench))
        #expect(bob.redirect["code"]?.hasPrefix("spc_") == true)
        // Nobody is signed in: the usual way.
        let nobody = await bench.authorize(["id_token_hint": hint])
        #expect(try Self.back(nobody).contains { $0.name == "id_token_hint" && $0.value == hint })
    }

    @Test("a session-transfer token of another user gives no code either")
    func transfer() async throws {
        let bench = TokenBench()
        let hint = try await Self.hint("bob", in: bench)
        let token = await bench.post(json: bench.parameters(try await bench.signIn())).text("access_token")
        let answer = await bench.authorize(
            [
                "client_id": "web", "redirect_uri": "https://web.example.com/cb", "session_transfer_token": token,
                "id_token_hint": hint,
            ],
            fields: [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")]
        )
        #expect(try !Self.back(answer).isEmpty && answer.redirect["code"] == nil)
    }

    @Test("what is no id_token of this server is invalid_request, also in a pushed request")
    func foreign() async throws {
        let bench = TokenBench()
        let own = try await Self.hint("alice", in: bench)
        let cookie = try await Self.cookie("alice", in: bench)
        let parts = own.split(separator: ".").map(String.init)
        let session = ClientSession(clientID: "native-app", realm: "default", userID: "alice", sessionID: nil)
        let issuer = "https://auth.example.com/"
        let logout = ClientLogoutToken(issuer: issuer, session: session, issuedAt: bench.clock.now)
        for hint in [
            "x", "a.b.c", "\(parts[0]).\(parts[1]).", "\(parts[0]).e30.\(parts[2])", "e30.\(parts[1]).\(parts[2])",
            String(own.dropLast(8)), logout.signed(by: TokenBench.idTokenKeys.current),
        ] {
            let answer = await bench.authorize(["id_token_hint": hint, "prompt": "none"], cookie: cookie)
            #expect(answer.redirect["error"] == "invalid_request", "\(hint)")
            let pushed = await bench.form(
                [
                    "client_id": "native-app", "response_type": "code", "redirect_uri": TokenBench.callback,
                    "code_challenge": TokenBench.challenge, "code_challenge_method": "S256", "id_token_hint": hint,
                ],
                to: bench.pushed.endpoint
            )
            #expect(pushed.status == 400 && pushed.error == "invalid_request")
        }
    }
}
