import AddressIntelligence
import EndpointBench
import Endpoints
import Sessions
import Settings
import StoreBench
import Testing
import Vocabulary

/// What another site, a script, a frame or an old token could do at `/authorize`.
@Suite("/authorize against other sites, scripts and old tokens")
struct AuthorizationGuardTests {
    private static let web: [String: String?] = [
        "client_id": "web", "redirect_uri": "https://web.example.com/cb", "scope": "orders:read",
    ]

    private func transferToken(_ bench: TokenBench, of session: String) async -> String {
        await bench.form(bench.parameters(session)).text("access_token")
    }

    private func browser(_ bench: TokenBench, of subject: String = "alice") async throws -> String {
        try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com", subject: subject)
    }

    @Test(
        "A link of another site or of a sibling domain, or prompt=none, with another user's token does not end the user's session",
        arguments: [
            (["sec-fetch-site": "cross-site"], nil), (["sec-fetch-site": "same-site"], nil), ([:], "none"),
            (["sec-fetch-dest": "iframe"], nil),
        ] as [([String: String], String?)]
    )
    func link(_ fields: [String: String], _ prompt: String?) async throws {
        let bench = TokenBench()
        let token = await self.transferToken(bench, of: try await bench.signIn(subject: "grace"))
        let cookie = try await self.browser(bench)
        var wish = Self.web
        wish["session_transfer_token"] = token
        wish["prompt"] = prompt
        let answer = await bench.authorize(wish, cookie: cookie, fields: fields.map { ($0.key, $0.value) })
        #expect(answer.redirect["code"] == nil)
        #expect(try await bench.lives(cookie))
    }

    @Test(
        "What the user opens, or a page of this host, still ends the other user's session",
        arguments: [nil, "none", "same-origin"] as [String?]
    )
    func own(_ site: String?) async throws {
        let bench = TokenBench()
        let token = await self.transferToken(bench, of: try await bench.signIn(subject: "grace"))
        let cookie = try await self.browser(bench)
        var wish = Self.web
        wish["session_transfer_token"] = token
        var fields: [(name: String, value: String)] = []
        if let site { fields.append(("sec-fetch-site", site)) }
        _ = await bench.authorize(wish, cookie: cookie, fields: fields)
        #expect(try await !bench.lives(cookie))
    }

    @Test("A token that is not accepted gives no code to whoever is signed in: that user signs in first")
    func refusedToken() async throws {
        let bench = TokenBench()
        let cookie = try await self.browser(bench)
        var wish = Self.web
        wish["session_transfer_token"] = "spt_no"
        let answer = await bench.authorize(wish, cookie: cookie)
        #expect(answer.redirect["code"] == nil)
        #expect(answer.field("location")?.contains("/.sallyport/login") == true)
        wish["prompt"] = "none"
        #expect(await bench.authorize(wish, cookie: cookie).redirect["error"] == "login_required")
        #expect(try await bench.lives(cookie))
    }

    @Test(
        "A transfer is no new sign-in: prompt=login and max_age ask the user",
        arguments: [("prompt", "login"), ("prompt", "select_account"), ("max_age", "0")]
    )
    func transferIsNoSignIn(_ name: String, _ value: String) async throws {
        let bench = TokenBench()
        let session = try await bench.signIn()
        bench.clock.advance(by: .seconds(5))
        var wish = Self.web
        wish["session_transfer_token"] = await self.transferToken(bench, of: session)
        wish[name] = value
        let answer = await bench.authorize(wish)
        #expect(answer.field("location")?.contains("/.sallyport/login") == true)
    }

    @Test("The way back from the sign-in page counts as a new sign-in for a minute")
    func returns() async throws {
        let bench = TokenBench()
        let sent = await bench.authorize(["prompt": "login"])
        let target = try #require(sent.redirect["return_to"])
        let query = FormText.pairs(Array(target.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst()))
            .map { (name: $0.name, value: $0.value) }
        let cookie = try await self.browser(bench)
        #expect(await bench.authorize(query, cookie: cookie).redirect["code"] != nil)
        bench.clock.advance(by: .seconds(61))
        #expect(await bench.authorize(query, cookie: cookie).redirect["code"] == nil)
    }

    @Test("A posted request is a form and a navigation, as one in the query is a page load")
    func posted() async throws {
        let bench = TokenBench()
        let cookie = try await self.browser(bench)
        let form = FormText.encoded([
            ("client_id", "native-app"), ("response_type", "code"), ("redirect_uri", TokenBench.callback),
            ("code_challenge", TokenBench.challenge), ("code_challenge_method", "S256"),
        ])
        let type = "application/x-www-form-urlencoded"
        func post(_ fields: [(name: String, value: String)]) async -> Answer {
            let fields = [(name: "cookie", value: "__Host-sallyport=\(cookie)")] + fields
            return await bench.post(Array(form.utf8), fields: fields, to: bench.authorization.endpoint)
        }
        #expect(await post([("content-type", type)]).redirect["code"] != nil)
        for fields in [
            [("content-type", type), ("sec-fetch-mode", "cors")],
            [("content-type", type), ("sec-purpose", "prefetch")],
        ] {
            #expect(await post(fields.map { (name: $0.0, value: $0.1) }).reason == .signInNotNavigation)
        }
        #expect(await post([("content-type", "text/plain")]).reason == .oauthInvalidRequest)
    }

    @Test("redirect_uri is compared by bytes: U+212A is no K, and a port has digits only")
    func bytes() async throws {
        let bench = TokenBench {
            $0.callbacks += ["https://app.example.com/Kb"].compactMap(RedirectURI.init)
        }
        let cookie = try await self.browser(bench)
        #expect(await bench.authorize(["redirect_uri": "https://app.example.com/Kb"], cookie: cookie).status == 303)
        for text in ["https://app.example.com/\u{212A}b", "http://127.0.0.1:+44/cb", "http://127.0.0.1:00044/cb"] {
            #expect(await bench.authorize(["redirect_uri": text], cookie: cookie).reason == .oauthInvalidRedirect)
        }
    }

    @Test("audience and another resource contradict each other")
    func contradiction() async throws {
        let bench = TokenBench()
        let cookie = try await self.browser(bench)
        let wish: [String: String?] = ["audience": TokenBench.api, "resource": "https://other.example.com"]
        #expect(await bench.authorize(wish, cookie: cookie).redirect["error"] == "invalid_target")
        #expect(await bench.authorize(["max_age": "+5"], cookie: cookie).redirect["error"] == "invalid_request")
    }

    @Test("Revoking an access token that stands alone ends what was handed over from it")
    func cascade() async throws {
        let bench = TokenBench()
        let tokens = await bench.redeem(try await bench.code(["scope": "orders:read"]))
        #expect(tokens.text("refresh_token").isEmpty)
        let access = tokens.text("access_token")
        var mint = bench.parameters(access)
        mint["subject_token_type"] = TokenExchange.accessTokenType
        var wish = Self.web
        wish["session_transfer_token"] = await bench.form(mint).text("access_token")
        let code = try #require(await bench.authorize(wish).redirect["code"])
        let derived = await bench.redeem(
            code,
            ["client_id": "web", "redirect_uri": "https://web.example.com/cb"]
        ).text("access_token")
        #expect(try await bench.lives(derived))
        let revoked = await bench.form(["client_id": "native-app", "token": access], to: bench.revocation.endpoint)
        #expect(revoked.status == 200)
        #expect(try await !bench.lives(access))
        #expect(try await !bench.lives(derived))
    }
}
