import EndpointBench
import Endpoints
import Sessions
import Settings
import StoreBench
import Testing
import Vocabulary

@Suite("Session-transfer tokens in a cookie at /authorize")
struct TransferCookieTests {
    private static let name = "session_transfer_token"

    private static func bench(cookie: Bool = true, query: Bool = true) -> TokenBench {
        TokenBench { client in
            guard client.clientID == "web" else { return }
            client.allowsCookie = cookie
            client.allowsQuery = query
        }
    }

    private static func mint(_ bench: TokenBench, subject: String = "alice") async throws -> String {
        let session = try await bench.signIn(subject: subject)
        return await bench.post(json: bench.parameters(session)).text("access_token")
    }

    /// Opens `/authorize` of the client `web` with the cookies of a jar, which takes what the answer says.
    private static func open(
        _ bench: TokenBench,
        _ jar: inout BrowserJar,
        _ parameters: [String: String?] = [:],
        fields: [(name: String, value: String)] = []
    ) async -> Answer {
        let web: [String: String?] = [
            "client_id": "web", "redirect_uri": "https://web.example.com/cb", "scope": "openid",
        ]
        let answer = await bench.authorize(web.merging(parameters) { $1 }, fields: jar.fields + fields)
        jar.take(answer.response)
        return answer
    }

    @Test("it signs in this one request, and is cleared", arguments: ["auth0_session_transfer_token", Self.name])
    func signsIn(name: String) async throws {
        let bench = Self.bench()
        var jar = BrowserJar()
        jar[name] = try await Self.mint(bench)
        let answer = await Self.open(bench, &jar)
        #expect(answer.redirect["code"] != nil)
        #expect(jar[name] == nil)
        #expect(jar["__Host-sallyport"] == nil, "the browser gets no session")
        let cleared = answer.response.fields.filter { $0.name == "set-cookie" }.map(\.value)
        #expect(cleared.contains("\(name)=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=None"))
        #expect(
            cleared.contains("\(name)=; Path=/; Domain=auth.example.com; Max-Age=0; Secure; HttpOnly; SameSite=None")
        )
    }

    @Test("T10: one for another account than the browser used last leads to sign-in, and is not used up")
    func otherAccount() async throws {
        let bench = Self.bench()
        var jar = BrowserJar()
        jar[Self.name] = try await Self.mint(bench)
        #expect(await Self.open(bench, &jar).redirect["code"] != nil)
        #expect(jar["__Host-sallyport-account"] != nil)
        let planted = try await Self.mint(bench, subject: "mallory")
        jar[Self.name] = planted
        let answer = await Self.open(bench, &jar)
        #expect(answer.field("location")?.hasPrefix("/.sallyport/login") == true)
        #expect(jar[Self.name] == nil)
        jar[Self.name] = try await Self.mint(bench)
        #expect(await Self.open(bench, &jar).redirect["code"] != nil, "the same account")
        let elsewhere = await Self.open(bench, &jar, [Self.name: planted, "prompt": "none"])
        #expect(elsewhere.redirect["error"] == "login_required")
        var fresh = BrowserJar()
        fresh[Self.name] = planted
        #expect(await Self.open(bench, &fresh).redirect["code"] != nil)
    }

    @Test("a refused one is cleared and leads to sign-in once, also if the browser cannot clear it")
    func refused() async throws {
        let bench = Self.bench()
        var jar = BrowserJar()
        let token = try await Self.mint(bench)
        bench.clock.advance(by: .seconds(61))
        jar[Self.name] = token
        let first = await Self.open(bench, &jar)
        #expect(first.field("location")?.hasPrefix("/.sallyport/login") == true)
        #expect(jar[Self.name] == nil)
        // An app set the cookie for a parent domain: it comes back, with the mark.
        jar[Self.name] = token
        jar["__Host-sallyport"] = try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        let second = await Self.open(bench, &jar)
        #expect(second.redirect["code"] != nil)
        #expect(second.field("set-cookie") == nil, "it is not dealt with again")
    }

    @Test("a native app's WebView gets a challenge in place of the sign-in page, unless the client asks for a sign-in")
    func challenge() async throws {
        let bench = Self.bench()
        let field = [(name: "sallyport-native", value: "1")]
        var jar = BrowserJar()
        let asked = await Self.open(bench, &jar, [Self.name: "spt_no", "state": "s&1"], fields: field)
        #expect(asked.response.status == 401 && asked.response.reason == .credentialMissing)
        let challenge = try #require(asked.field("www-authenticate"))
        #expect(challenge.hasPrefix(#"SessionTransfer realm="https://auth.example.com", return_to="/authorize?"#))
        #expect(challenge.contains("state=s%261") && !challenge.contains("spt_no"))
        #expect(asked.response.native != nil)
        for (parameters, fields) in [([:], []), (["prompt": "login"], field)] as [([String: String?], _)] {
            let answer = await Self.open(bench, &jar, parameters, fields: fields)
            #expect(answer.field("location")?.hasPrefix("/.sallyport/login") == true)
        }
        let silent = await Self.open(bench, &jar, ["prompt": "none"], fields: field)
        #expect(silent.redirect["error"] == "login_required")
        // The app opens the same request with another token.
        jar[Self.name] = try await Self.mint(bench)
        #expect(await Self.open(bench, &jar, ["state": "s&1"], fields: field).redirect["code"] != nil)
        let deaf = Self.bench(cookie: false, query: false)
        var other = BrowserJar()
        let page = await Self.open(deaf, &other, fields: field)
        #expect(page.field("location")?.hasPrefix("/.sallyport/login") == true)
    }

    @Test("with prompt=none the refusal is an error for the client, and clears the cookie too")
    func silent() async throws {
        let bench = Self.bench()
        var jar = BrowserJar()
        jar[Self.name] = "spt_no"
        let answer = await Self.open(bench, &jar, ["prompt": "none"])
        #expect(answer.redirect["error"] == "login_required")
        #expect(jar[Self.name] == nil)
    }

    @Test("the cookie beats the query, whose token stays good; a refused cookie leaves the query its turn")
    func cookieFirst() async throws {
        let bench = Self.bench()
        let (first, second) = (try await Self.mint(bench), try await Self.mint(bench))
        var jar = BrowserJar()
        jar[Self.name] = first
        #expect(await Self.open(bench, &jar, [Self.name: second]).redirect["code"] != nil)
        var other = BrowserJar()
        other[Self.name] = first
        let answer = await Self.open(bench, &other, [Self.name: second])
        #expect(answer.redirect["code"] != nil, "the first one was used, the second one was not")
        #expect(await Self.open(bench, &other, [Self.name: second]).redirect["code"] == nil)
    }

    @Test(
        "a token of a user of another organization gives no code and is burned, and nobody else is signed in",
        arguments: [true, false]
    )
    func organization(isCookie: Bool) async throws {
        let bench = Self.bench()
        let traits: JSONValue = ["email": "a@example.com", "org_id": "org_1"]
        let session = try await bench.signIn(traits: traits)
        let tokens = [
            await bench.post(json: bench.parameters(session)).text("access_token"),
            await bench.post(json: bench.parameters(session)).text("access_token"),
        ]
        func open(_ token: String, _ organization: String?) async -> Answer {
            var jar = BrowserJar()
            if isCookie { jar[Self.name] = token }
            var parameters: [String: String?] = isCookie ? [:] : [Self.name: token]
            if let organization { parameters["organization"] = organization }
            return await Self.open(bench, &jar, parameters)
        }
        let refused = await open(tokens[0], "org_2")
        #expect(refused.redirect["code"] == nil)
        #expect(refused.field("location")?.hasPrefix("/.sallyport/login") == true)
        #expect(await open(tokens[0], "org_1").redirect["code"] == nil, "it is burned")
        #expect(await open(tokens[1], "org_1").redirect["code"] != nil)
    }

    @Test("a token where the client takes none is not burned", arguments: [true, false])
    func otherMethod(isCookie: Bool) async throws {
        let bench = Self.bench(cookie: !isCookie, query: isCookie)
        let token = try await Self.mint(bench)
        var jar = BrowserJar()
        if isCookie { jar[Self.name] = token }
        let refused = await Self.open(bench, &jar, isCookie ? [:] : [Self.name: token])
        #expect(refused.redirect["code"] == nil)
        #expect(refused.field("location")?.contains("spt_") == false)
        #expect(jar[Self.name] == nil)
        if !isCookie { jar[Self.name] = token }
        #expect(await Self.open(bench, &jar, isCookie ? [Self.name: token] : [:]).redirect["code"] != nil)
    }

    @Test("of two cookies with different values none is used, both are cleared, and neither is burned")
    func twice() async throws {
        let bench = Self.bench()
        let tokens = [try await Self.mint(bench), try await Self.mint(bench)]
        var jar = BrowserJar()
        jar["auth0_session_transfer_token"] = tokens[0]
        jar[Self.name] = tokens[1]
        #expect(await Self.open(bench, &jar).redirect["code"] == nil)
        #expect(jar["auth0_session_transfer_token"] == nil && jar[Self.name] == nil)
        for token in tokens {
            var jar = BrowserJar()
            jar[Self.name] = token
            #expect(await Self.open(bench, &jar).redirect["code"] != nil)
        }
    }

    @Test("another user's session and the token end each other, and a token in the query is not tried")
    func otherUser() async throws {
        let bench = Self.bench()
        let third = try await Self.mint(bench)
        var jar = BrowserJar()
        let session = try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com", subject: "bob")
        jar["__Host-sallyport"] = session
        jar[Self.name] = try await Self.mint(bench)
        let answer = await Self.open(bench, &jar, [Self.name: third])
        #expect(answer.field("location")?.hasPrefix("/.sallyport/login") == true)
        #expect(try await !bench.lives(session))
        var other = BrowserJar()
        #expect(await Self.open(bench, &other, [Self.name: third]).redirect["code"] != nil)
    }

    @Test(
        "frames, prefetches and scripts leave the cookie as it is",
        arguments: [
            [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")], [("sec-purpose", "prefetch")],
            [("sec-fetch-mode", "no-cors")],
        ]
    )
    func notANavigation(fields: [(String, String)]) async throws {
        let bench = Self.bench()
        var jar = BrowserJar()
        jar[Self.name] = try await Self.mint(bench)
        let answer = await Self.open(bench, &jar, fields: fields.map { (name: $0.0, value: $0.1) })
        #expect(answer.redirect["code"] == nil)
        #expect(jar[Self.name] != nil)
        #expect(await Self.open(bench, &jar).redirect["code"] != nil)
    }

    @Test("a store that does not answer leaves the cookie, and the same browser can repeat the try")
    func outage() async throws {
        let bench = Self.bench()
        var jar = BrowserJar()
        jar[Self.name] = try await Self.mint(bench)
        bench.store.change { $0.lostAnswers = 1 }
        let first = await Self.open(bench, &jar)
        #expect(first.redirect["error"] == "temporarily_unavailable")
        #expect(jar[Self.name] != nil)
        // Somebody else has the cookie, but not the try.
        var thief = BrowserJar()
        thief[Self.name] = jar[Self.name]
        #expect(await Self.open(bench, &thief).redirect["code"] == nil)
        #expect(await Self.open(bench, &jar).redirect["code"] != nil)
        #expect(jar.cookies.keys.sorted() == ["__Host-sallyport-account", "__Host-sallyport-handled"])
    }
}
