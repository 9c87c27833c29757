import AddressIntelligence
import Cryptography
import Endpoints
import NIOCore
import Observability
import Sessions
import Settings
import SignOn
import StoreBench
import Synchronization
import Testing
import Vocabulary

@Suite("/authorize and the authorization code")
struct CodeTests {
    @Test("a signed-in user goes back with a code, state and iss, and the code gives tokens")
    func code() async throws {
        let bench = TokenBench()
        let cookie = try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        let answer = await bench.authorize(cookie: cookie)
        #expect(answer.status == 303)
        #expect(answer.field("location")?.hasPrefix("\(TokenBench.callback)&code=spc_") == true)
        #expect(answer.redirect["state"] == "a state")
        #expect(answer.redirect["iss"] == "https://auth.example.com/")
        #expect(answer.field("referrer-policy") == "no-referrer")
        #expect(answer.field("cache-control") == "no-store")

        let tokens = await bench.redeem(try #require(answer.redirect["code"]))
        #expect(tokens.status == 200)
        #expect(tokens.text("access_token").hasPrefix("spa_"))
        #expect(tokens.text("refresh_token").hasPrefix("spr_"))
        #expect(tokens.body["token_type"] == "Bearer")
        #expect(tokens.body["expires_in"] == .integer(3600))
        #expect(tokens.text("scope") == "offline_access orders:read")
        #expect(try await bench.lives(tokens.text("access_token")))
        #expect(bench.records.all.map(\.tokenAct) == [.authorized, .redeemed])
        #expect(bench.records.all[0].subject == "alice")
    }

    @Test("the sign-in page is told what the user types at the provider") func loginHint() async {
        let bench = TokenBench()
        let answer = await bench.authorize(["login_hint": "ada&x=@example.com"])
        #expect(answer.field("location")?.hasSuffix("&login_hint=ada%26x%3D%40example.com") == true)
        #expect(await bench.authorize().field("location")?.contains("&login_hint=") == false)
    }

    @Test("a redirect URI matches character by character; on loopback any port does")
    func redirects() async throws {
        let bench = TokenBench()
        let cookie = try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        for good in ["myapp://auth/callback", "http://127.0.0.1:49152/cb", "http://127.0.0.1/cb"] {
            #expect(
                await bench.authorize(["redirect_uri": good], cookie: cookie).field("location")?.hasPrefix(good) == true
            )
        }
        let bad = [
            "https://app.example.com/callback", "https://app.example.com/callback?tenant=1&x=2",
            "https://app.example.com/callback?tenant=1#x", "https://APP.example.com/callback?tenant=1",
            "myapp://auth/callback/", "myapp://evil/callback", "MyApp://auth/callback", "http://127.0.0.1:1/other",
            "http://127.0.0.1.evil.com/cb", "http://127.0.0.1@evil.com/cb", "http://localhost/cb",
            "https://127.0.0.1:1/cb", "javascript:alert(1)",
        ]
        for uri in bad {
            let answer = await bench.authorize(["redirect_uri": uri], cookie: cookie)
            #expect(answer.status == 400, "\(uri)")
            #expect(answer.field("location") == nil, "\(uri)")
            #expect(answer.reason == .oauthInvalidRedirect)
        }
    }

    @Test("an unknown client or a repeated one gets a page and no redirect")
    func clients() async throws {
        let bench = TokenBench()
        for client in ["nobody", ""] {
            let answer = await bench.authorize(["client_id": client])
            #expect(answer.reason == .oauthInvalidClient)
            #expect(answer.field("location") == nil)
        }
        let twice = [("client_id", "native-app"), ("client_id", "native-app"), ("redirect_uri", TokenBench.callback)]
        #expect(await bench.authorize(twice.map { (name: $0.0, value: $0.1) }).field("location") == nil)
    }

    @Test(
        "other errors go to the client, with state and iss",
        arguments: [
            (["response_type": "token"], "unsupported_response_type"), (["response_type": nil], "invalid_request"),
            (["code_challenge": nil, "code_challenge_method": nil], "invalid_request"),
            (["code_challenge_method": "plain"], "invalid_request"),
            (["code_challenge_method": nil], "invalid_request"),
            (["code_challenge": "short"], "invalid_request"), (["audience": "https://other"], "invalid_target"),
            (["prompt": "none login"], "invalid_request"), (["prompt": "never"], "invalid_request"),
            (["max_age": "-1"], "invalid_request"), (["request": "eyJ"], "request_not_supported"),
            (["request_uri": "urn:x"], "request_uri_not_supported"), (["response_mode": "fragment"], "invalid_request"),
            (["prompt": "none"], "login_required"),
        ] as [([String: String?], String)]
    )
    func errors(change: [String: String?], error: String) async throws {
        let answer = await TokenBench().authorize(change)
        #expect(answer.status == 303)
        #expect(answer.redirect["error"] == error)
        #expect(answer.redirect["code"] == nil)
        #expect(answer.redirect["state"] == "a state")
        #expect(answer.redirect["iss"] == "https://auth.example.com/")
    }

    @Test("with response_mode=form_post errors are posted too", arguments: ["redirect", "session"])
    func postedErrors(when: String) async throws {
        let change: [String: String?] = when == "session" ? ["prompt": "none"] : ["audience": "https://other"]
        let answer = await TokenBench().authorize(change.merging(["response_mode": "form_post"]) { $1 })
        let page = String(decoding: answer.response.body, as: UTF8.self)
        #expect(answer.status == 200 && answer.field("location") == nil)
        #expect(page.contains(#"action="https://app.example.com/callback?tenant=1""#))
        #expect(page.contains(#"name="error" value="\#(when == "session" ? "login_required" : "invalid_target")""#))
        #expect(page.contains(#"name="state" value="a state""#) && page.contains(#"name="iss""#))
    }

    @Test("what SDKs send beside the request does not disturb it, neither before nor after the sign-in")
    func otherParameters() async throws {
        let bench = TokenBench()
        let extra: [String: String?] = [
            "auth0Client": "eyJuYW1lIjoieCJ9", "organization": "org_1", "invitation": "inv",
            "connection": "google-oauth2",
            "login_hint": "ada+x@example.com", "screen_hint": "signup", "ui_locales": "de", "display": "page",
            "acr_values": "urn:x aal1", "claims": #"{"id_token":{}}"#, "access_type": "offline",
        ]
        let answer = await bench.authorize(extra)
        #expect(answer.field("location")?.hasPrefix("/.sallyport/login?return_to=/authorize") == true)
        let back = try #require(answer.redirect["return_to"]).split(separator: "?", maxSplits: 1)[1]
        let query = FormText.pairs(Array(back.utf8)).map { (name: $0.name, value: $0.value) }
        let cookie = try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        let code = try #require(await bench.authorize(query, cookie: cookie).redirect["code"])
        #expect(await bench.redeem(code).status == 200)
    }

    @Test("a transfer token under another name or in another value is not taken to the sign-in page")
    func strayTokens() async throws {
        let bench = TokenBench()
        let token = "spt_" + String(repeating: "a", count: 55)
        for extra in [
            ["stt": token], ["state": "/x?session_transfer_token=\(token)"],
            ["state": "https%3A%2F%2Fa.example%2F%3Fsession_transfer_token%3D\(token)"],
        ] as [[String: String?]] {
            let location = try #require(await bench.authorize(extra).field("location"))
            #expect(location.hasPrefix("/.sallyport/login?return_to=/authorize") && !location.contains(token))
        }
    }

    @Test("without a session the user signs in, and comes back to the same request")
    func signIn() async throws {
        let bench = TokenBench()
        let answer = await bench.authorize()
        let location = try #require(answer.field("location"))
        #expect(location.hasPrefix("/.sallyport/login?return_to=/authorize"))
        let back = try #require(answer.redirect["return_to"]).split(separator: "?", maxSplits: 1)[1]
        let cookie = try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        let query = FormText.pairs(Array(back.utf8)).map { (name: $0.name, value: $0.value) }
        #expect(await bench.authorize(query, cookie: cookie).redirect["code"] != nil)
    }

    @Test(
        "prompt=login and max_age ask a signed-in user once, and only for this request",
        arguments: ["prompt", "max_age"]
    )
    func again(parameter: String) async throws {
        let bench = TokenBench()
        let old = try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        bench.clock.advance(by: .seconds(100))
        let answer = await bench.authorize([parameter: parameter == "prompt" ? "login" : "60"], cookie: old)
        #expect(answer.field("location")?.hasPrefix("/.sallyport/login?") == true)
        let back = try #require(answer.redirect["return_to"]).split(separator: "?", maxSplits: 1)[1]
        let query = FormText.pairs(Array(back.utf8)).map { (name: $0.name, value: $0.value) }
        #expect(await bench.authorize(query, cookie: old).redirect["code"] == nil)
        bench.clock.advance(by: .seconds(1))
        let new = try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        #expect(await bench.authorize(query, cookie: new).redirect["code"] != nil)
        // A mark of another request asks again.
        let other = query.map { $0.name == "state" ? (name: "state", value: "other") : $0 }
        bench.clock.advance(by: .seconds(100))
        #expect(await bench.authorize(other, cookie: new).redirect["code"] == nil)
    }

    @Test("a session of another host is no sign-in")
    func otherHost() async throws {
        let bench = TokenBench()
        let cookie = try await bench.signIn(kind: .web, origin: .browser, host: "other.example.com")
        #expect(await bench.authorize(cookie: cookie).redirect["code"] == nil)
    }

    @Test("a prefetch begins nothing")
    func prefetch() async throws {
        let bench = TokenBench()
        let cookie = try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        let answer = await bench.authorize(cookie: cookie, fields: [("sec-purpose", "prefetch")])
        #expect(answer.reason == .signInNotNavigation)
    }

    @Test("form_post is a page whose form holds the code")
    func formPost() async throws {
        let bench = TokenBench()
        let cookie = try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        let answer = await bench.authorize(["response_mode": "form_post", "state": "<\"&"], cookie: cookie)
        let page = String(decoding: answer.response.body, as: UTF8.self)
        #expect(page.contains(#"action="https://app.example.com/callback?tenant=1""#))
        #expect(page.contains(#"name="code" value="spc_"#))
        #expect(page.contains("&lt;"))
        #expect(answer.field("content-security-policy")?.contains("script-src 'sha256-") == true)
    }

    // MARK: Redemption

    @Test("a second use is refused and ends what the first one gave (RFC 6749 4.1.2)")
    func replay() async throws {
        let bench = TokenBench()
        let code = try await bench.code()
        let first = await bench.redeem(code)
        let renewed = await bench.refresh(first.text("refresh_token"))
        let second = await bench.redeem(code)
        #expect(second.status == 400)
        #expect(second.error == "invalid_grant")
        #expect(second.reason == .codeReplayed)
        #expect(try await !bench.lives(first.text("access_token")))
        #expect(try await !bench.lives(renewed.text("access_token")))
        #expect(await bench.refresh(renewed.text("refresh_token")).error == "invalid_grant")
        #expect(
            bench.records.all.last?.auditEvent?.kind == .codeReplayed
                || bench.records.all.contains { $0.reason == .codeReplayed }
        )
    }

    @Test("32 parallel uses of one code give tokens once")
    func parallel() async throws {
        let bench = TokenBench()
        let code = try await bench.code()
        let answers = await withTaskGroup(of: Answer.self, returning: [Answer].self) { group in
            for _ in 0..<32 { group.addTask { await bench.redeem(code) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count { $0.status == 200 } == 1)
    }

    @Test(
        "a code is good only for its client, its redirect_uri and its verifier",
        arguments: [
            (["client_id": "plain"], Reason.codeOtherClient),
            (["redirect_uri": "myapp://auth/callback"], .codeMismatch),
            (["redirect_uri": nil], .codeMismatch), (["code_verifier": nil], .codeMismatch),
            (["code_verifier": TokenBench.challenge], .codeMismatch), (["code": "spc_no"], .codeUnknown),
        ] as [([String: String?], Reason)]
    )
    func misuse(change: [String: String?], reason: Reason) async throws {
        let bench = TokenBench()
        let code = try await bench.code()
        let answer = await bench.redeem(code, change)
        #expect(answer.status == 400)
        #expect(answer.error == "invalid_grant")
        #expect(answer.reason == reason)
        // The rightful client is not harmed.
        #expect(await bench.redeem(code).status == 200)
    }

    @Test("a code ends after a minute, and with the user's sessions")
    func ends() async throws {
        let bench = TokenBench()
        let old = try await bench.code()
        bench.clock.advance(by: .seconds(61))
        #expect(await bench.redeem(old).reason == .codeUnknown)
        let ended = try await bench.code()
        try await bench.store.end(subject: "alice", on: bench.loop).get()
        #expect(await bench.redeem(ended).reason == .codeUnknown)
    }

    @Test("without offline_access there is no refresh token, and a client may always get one")
    func offlineAccess() async throws {
        let bench = TokenBench()
        let answer = await bench.redeem(try await bench.code(["scope": "orders:read"]))
        #expect(answer.status == 200)
        #expect(answer.body["refresh_token"] == nil)
        let curity = TokenBench { $0.refreshToken.issuing = .always }
        #expect(await curity.redeem(try await curity.code(["scope": nil])).text("refresh_token").hasPrefix("spr_"))
        let never = TokenBench { $0.grantTypes.remove(.refreshToken) }
        let without = await never.redeem(try await never.code())
        #expect(without.body["refresh_token"] == nil)
        #expect(without.text("scope") == "orders:read")
    }

    @Test("without scope all scopes of the only API are granted; unknown ones are left out")
    func scopes() async throws {
        let bench = TokenBench()
        #expect(await bench.redeem(try await bench.code(["scope": nil])).text("scope") == "orders:read orders:write")
        let answer = await bench.redeem(try await bench.code(["scope": "orders:write orders:delete email"]))
        #expect(answer.text("scope") == "email orders:write")
    }

    @Test(
        "a good code of which the store has lost sight is judged once more, like every other record that is used once"
    )
    func changed() async throws {
        let bench = TokenBench()
        let code = try await bench.code()
        bench.store.change { $0.consumptions = [.changed] }
        #expect(await bench.redeem(code).status == 200)
        #expect(await bench.redeem(code).reason == .codeReplayed)
        let other = try await bench.code()
        bench.store.change { $0.consumptions = [.changed, .changed] }
        #expect(await bench.redeem(other).reason == .codeUnknown)
    }

    @Test("an answer of the store that is lost is asked for once more")
    func lostAnswer() async throws {
        let bench = TokenBench()
        let code = try await bench.code()
        bench.store.change { $0.lostAnswers = 1 }
        let answer = await bench.redeem(code)
        #expect(answer.status == 200)
        #expect(try await bench.lives(answer.text("access_token")))
    }

    @Test("an outage is 503 with Retry-After, and never invalid_grant")
    func outage() async throws {
        let bench = TokenBench()
        let code = try await bench.code()
        bench.store.change { $0.failure = .unavailable }
        let answer = await bench.redeem(code)
        #expect(answer.status == 503)
        #expect(answer.error == "temporarily_unavailable")
        #expect(answer.field("retry-after") != nil)
        bench.store.change { $0.failure = nil }
        #expect(await bench.redeem(code).status == 200)
    }

    @Test("tokens that cannot be recorded are not handed out")
    func unrecorded() async throws {
        let bench = TokenBench()
        let code = try await bench.code()
        bench.records.hasRoom.store(false, ordering: .relaxed)
        #expect(await bench.redeem(code).status == 503)
    }

    // MARK: Session-transfer tokens

    private func transferToken(_ bench: TokenBench) async throws -> (session: String, token: String) {
        let session = try await bench.signIn()
        return (session, await bench.post(json: bench.parameters(session)).text("access_token"))
    }

    private static let web: [String: String?] = [
        "client_id": "web", "redirect_uri": "https://web.example.com/cb", "scope": "openid",
    ]

    @Test("a session-transfer token signs in this one request, and everything ends with the native session")
    func transfer() async throws {
        let bench = TokenBench()
        let (session, token) = try await self.transferToken(bench)
        let answer = await bench.authorize(Self.web.merging(["session_transfer_token": token]) { $1 })
        #expect(answer.status == 303)
        let cookies = answer.response.fields.filter { $0.name == "set-cookie" }.map(\.value)
        #expect(cookies.count == 1 && cookies[0].hasPrefix("__Host-sallyport-account="), "no session")
        let tokens = await bench.redeem(
            try #require(answer.redirect["code"]),
            ["client_id": "web", "redirect_uri": "https://web.example.com/cb"]
        )
        #expect(tokens.status == 200)
        #expect(tokens.body["refresh_token"] == nil)
        #expect(try await bench.lives(tokens.text("access_token")))
        #expect(
            await bench.authorize(Self.web.merging(["session_transfer_token": token]) { $1 }).redirect["code"] == nil
        )
        let key = try #require(bench.authority.key(.session, of: Array(session.utf8)))
        try await bench.store.end(key.lineage, on: bench.loop).get()
        #expect(try await !bench.lives(tokens.text("access_token")))
    }

    @Test("an older session of another user never wins: it ends, and the user signs in")
    func otherUser() async throws {
        let bench = TokenBench()
        let (_, token) = try await self.transferToken(bench)
        let cookie = try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com", subject: "bob")
        let parameters = Self.web.merging(["session_transfer_token": token]) { $1 }
        let answer = await bench.authorize(parameters, cookie: cookie)
        #expect(answer.redirect["code"] == nil)
        #expect(answer.field("location")?.hasPrefix("/.sallyport/login") == true)
        #expect(answer.field("location")?.contains("spt_") == false)
        #expect(try await !bench.lives(cookie))
    }

    @Test("the browser's own session of the same user stays")
    func sameUser() async throws {
        let bench = TokenBench()
        let (_, token) = try await self.transferToken(bench)
        let cookie = try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        let parameters = Self.web.merging(["session_transfer_token": token]) { $1 }
        #expect(await bench.authorize(parameters, cookie: cookie).redirect["code"] != nil)
        #expect(try await bench.lives(cookie))
    }

    @Test("with allow_refresh_token the family of a transfer ends without the native app, and with it")
    func refreshAfterTransfer() async throws {
        let bench = TokenBench { $0.allowsRefreshAfterTransfer = true }
        let (session, token) = try await self.transferToken(bench)
        var parameters = Self.web.merging(["session_transfer_token": token]) { $1 }
        parameters["scope"] = "offline_access"
        let code = try #require(await bench.authorize(parameters).redirect["code"])
        let redirect = ["client_id": "web", "redirect_uri": "https://web.example.com/cb"]
        let first = await bench.redeem(code, redirect)
        let second = await bench.refresh(first.text("refresh_token"), ["client_id": "web"])
        #expect(second.status == 200)
        // No token of a transfer mints another (nested).
        let nested = await bench.refresh(
            second.text("refresh_token"),
            ["client_id": "web", "audience": "urn:auth.example.com:session_transfer"]
        )
        #expect(nested.error == "unauthorized_client")
        #expect(await bench.redeem(code, redirect).reason == .codeReplayed)
        #expect(try await !bench.lives(first.text("access_token")))
        #expect(try await !bench.lives(second.text("access_token")))
        #expect(try await bench.lives(session))
    }
}
