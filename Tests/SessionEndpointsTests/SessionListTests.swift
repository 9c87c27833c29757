import EndpointBench
import Endpoints
import NIOCore
import Observability
import Providers
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("The sessions of a user")
struct SessionListTests {
    private static let origin = [
        (name: "origin", value: "https://app.example.com"), (name: "sec-fetch-site", value: "same-origin"),
    ]

    private func list(_ gateway: Gateway, _ token: String, query: String = "") async throws -> EndpointResponse {
        try await gateway.send("GET", "/sessions\(query)", fields: [("x-session-token", token)])
    }

    private func ids(_ answer: EndpointResponse) throws -> [String] {
        guard case .array(let sessions) = answer.document else { throw CancellationError() }
        return try sessions.map { try #require($0["id"]?.string) }
    }

    private func id(_ gateway: Gateway, _ token: String) async throws -> String {
        try #require(try await gateway.whoami(("x-session-token", token)).document?["id"]?.string)
    }

    @Test("The other sessions are listed, in pages, and each can be revoked")
    func walk() async throws {
        let gateway = try Gateway()
        let first = try await gateway.nativeToken()
        gateway.time.advance(by: .seconds(1))
        let second = try await gateway.nativeToken()
        gateway.time.advance(by: .seconds(1))
        let browser = try await gateway.signInBrowser()
        let all = try await self.list(gateway, first)
        #expect(all.status == 200 && all.value("x-total-count") == "2")
        #expect(try self.ids(all).count == 2)
        let secondID = try await self.id(gateway, second)
        #expect(try self.ids(all).last == secondID)
        let page = try await self.list(gateway, first, query: "?page=2&per_page=1")
        #expect(try self.ids(page) == [secondID])
        let beyond = try await self.list(gateway, first, query: "?page=9&per_page=x")
        #expect(try self.ids(beyond).isEmpty)
        let path = "/sessions/\(secondID)"
        for _ in 0..<2 {
            #expect(try await gateway.send("DELETE", path, fields: [("x-session-token", first)]).status == 204)
        }
        #expect(try await gateway.whoami(("x-session-token", second)).status == 401)
        #expect(try await gateway.session(browser).status == 200)
        #expect(gateway.audit.records.last?.code == .loggedOut)
        let rest = try await gateway.send("DELETE", "/sessions", fields: [("x-session-token", first)])
        #expect(rest.status == 200 && rest.document == ["count": 1])
        #expect(try await gateway.session(browser).status == 401)
        #expect(try await gateway.whoami(("x-session-token", first)).status == 200)
    }

    @Test("The current session, a malformed id and a missing credential are refused; another user's session stays")
    func refusals() async throws {
        let gateway = try Gateway()
        let token = try await gateway.nativeToken()
        let fields = [(name: "x-session-token", value: token)]
        let own = try await gateway.send("DELETE", "/sessions/\(try await self.id(gateway, token))", fields: fields)
        #expect(own.status == 400 && own.document?["error"]?["message"] == "cannot revoke current session")
        #expect(try await gateway.send("DELETE", "/sessions/nonsense", fields: fields).status == 400)
        for (method, path) in [("GET", "/sessions"), ("DELETE", "/sessions"), ("DELETE", "/sessions/x")] {
            let answer = try await gateway.send(method, path)
            #expect(answer.status == 401)
            #expect(answer.document?["error"]?["reason"] == "No valid session cookie found.")
        }
        let other = try Gateway(
            beside: gateway,
            provider: StaticProvider(users: [try Gateway.alice(id: "another")])
        )
        let stranger = try await other.nativeToken()
        let path = "/sessions/\(try await self.id(gateway, stranger))"
        #expect(try await gateway.send("DELETE", path, fields: fields).status == 204)
        #expect(try await gateway.whoami(("x-session-token", stranger)).status == 200)
        let left = try await self.list(gateway, token)
        #expect(try self.ids(left).isEmpty)
    }

    @Test("A session is extended as by a use: its absolute end stays")
    func extend() async throws {
        let gateway = try Gateway()
        let token = try await gateway.nativeToken()
        let id = try await self.id(gateway, token)
        let fields = [(name: "x-session-token", value: token)]
        gateway.time.advance(by: .seconds(29 * 86_400))
        let answer = try await gateway.send("PATCH", "/sessions/\(id)/extend", fields: fields)
        #expect(answer.status == 200 && answer.document?["expires_at"] == "2027-02-16T11:06:40.000Z")
        gateway.time.advance(by: .seconds(29 * 86_400))
        #expect(try await gateway.whoami(("x-session-token", token)).status == 200)
        let none = "00000000-0000-4000-8000-000000000000"
        #expect(try await gateway.send("PATCH", "/sessions/\(none)/extend", fields: fields).status == 404)
    }

    @Test("T34: a browser's cookie revokes nothing unless a page of this host asks")
    func crossSite() async throws {
        let gateway = try Gateway()
        let browser = try await gateway.signInBrowser()
        let app = try await gateway.nativeToken()
        let cookie = Gateway.cookies([browser])
        for fields in [[], [(name: "sec-fetch-site", value: "cross-site")], [("origin", "https://evil.example.com")]] {
            let answer = try await gateway.send("DELETE", "/sessions", fields: cookie + fields)
            #expect(answer.status == 403 && answer.reason == .requestCrossSite)
        }
        #expect(try await gateway.whoami(("x-session-token", app)).status == 200)
        #expect(try await gateway.send("DELETE", "/sessions", fields: cookie + Self.origin).status == 200)
        #expect(try await gateway.whoami(("x-session-token", app)).status == 401)
    }

    @Test("A stale index is no harm: the record decides")
    func stale() async throws {
        let gateway = try Gateway()
        let token = try await gateway.nativeToken()
        let gone = try await gateway.nativeToken()
        let key = try #require(gateway.authority.key(.session, of: Array(gone.utf8)))
        _ = try await gateway.store.end(key, on: gateway.loop).get()
        let left = try await self.list(gateway, token)
        #expect(try self.ids(left).isEmpty)
        gateway.store.fail(with: .unavailable)
        #expect(try await self.list(gateway, token).status == 503)
    }

    // MARK: The page

    @Test("The page names each device, marks this session and signs the others out")
    func page() async throws {
        let gateway = try Gateway()
        let agent = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Version/17.0 Mobile Safari/604.1 <script>"
        let phone = try #require(
            try await gateway.post(
                "/.sallyport/login",
                Gateway.credentials,
                fields: Self.origin + [("user-agent", agent)],
                from: "198.51.100.7"
            ).cookie
        )
        let desk = try await gateway.signInBrowser()
        let path = "/.sallyport/sessions"
        let page = try await gateway.send("GET", path, fields: Gateway.cookies([desk]))
        #expect(page.status == 200)
        #expect(page.text.contains("<h2>Safari on iPhone</h2>") && page.text.contains("198.51.100.7"))
        #expect(page.text.contains("<h2>Unknown device</h2>") && page.text.contains("This session"))
        #expect(!page.text.contains("1 <script>"))
        // This session stands first, whichever was used last.
        for session in [phone, desk] {
            let own = try await gateway.send("GET", path, fields: Gateway.cookies([session]))
            #expect(own.text.split(separator: "<li>").dropFirst().first?.contains("This session") == true)
        }
        let policy = try #require(page.value("content-security-policy"))
        #expect(policy.contains("frame-ancestors 'none'") && policy.contains("; script-src 'sha256-"))
        // The script shows the time in the browser's zone; without it the page says that it is in UTC.
        #expect(page.text.contains(/<time datetime="[0-9TZ:.-]+">[0-9\u{2011}]+\u{A0}[0-9:]+\u{A0}UTC<\/time>/))
        let id = try #require(page.text.firstMatch(of: /name="session" value="(ses_[^"]+)"/)?.1)
        #expect(try await gateway.post(path, "session=\(id)", cookies: [desk], fields: []).status == 403)
        #expect(try await gateway.session(phone).status == 200)
        let answer = try await gateway.post(path, "session=\(id)", cookies: [desk])
        #expect(answer.status == 303 && answer.value("location") == path)
        #expect(try await gateway.session(phone).status == 401)
        #expect(try await gateway.session(desk).status == 200)
        #expect(try await gateway.send("GET", path).status == 401)
    }

    @Test("One button signs out everywhere else, and stands there only if there is an elsewhere")
    func everywhereElse() async throws {
        let gateway = try Gateway()
        let (phone, desk) = (try await gateway.signInBrowser(), try await gateway.signInBrowser())
        let native = try await gateway.nativeToken()
        let path = "/.sallyport/sessions"
        let button = "Sign out everywhere else"
        let page = try await gateway.send("GET", path, fields: Gateway.cookies([desk]))
        #expect(page.text.contains(button) && page.text.contains(#"name="others" value="1""#))
        #expect(try await gateway.post(path, "others=1", cookies: [desk], fields: []).status == 403)
        #expect(try await gateway.session(phone).status == 200)
        #expect(try await gateway.post(path, "others=1", cookies: [desk]).value("location") == path)
        #expect(try await gateway.session(phone).status == 401)
        #expect(try await gateway.whoami(("x-session-token", native)).status == 401)
        #expect(try await gateway.session(desk).status == 200)
        let alone = try await gateway.send("GET", path, fields: Gateway.cookies([desk]))
        #expect(alone.status == 200 && !alone.text.contains(button))
        #expect(try await gateway.post(path, "other=1", cookies: [desk]).status == 400)
    }

    @Test("The app that handed its user off belongs to this session: it is marked, and not ended with the others")
    func handedOff() async throws {
        let gateway = try Gateway()
        let native = try await gateway.nativeToken()
        let desk = try await gateway.signInBrowser()
        let app = try #require(gateway.authority.key(.session, of: Array(native.utf8)))
        var session = try #require(try await gateway.store.session(app, on: gateway.loop).get()).record
        let (token, key) = gateway.authority.make(.session, in: session.lineage)
        (session.id, session.kind) = (gateway.authority.newSessionID(), .web)
        (session.origin, session.host) = (.transfer, gateway.host)
        try await gateway.store.create(NewSession(key: key, session: session), on: gateway.loop).get()
        let web = String(decoding: token.bytes, as: UTF8.self)

        let path = "/.sallyport/sessions"
        let page = try await gateway.send("GET", path, fields: Gateway.cookies([web]))
        #expect(page.text.matches(of: /class="here"/).count == 2, "\(page.text)")
        #expect(page.text.matches(of: /name="session"/).count == 1)
        #expect(try await gateway.post(path, "others=1", cookies: [web]).status == 303)
        #expect(try await gateway.session(desk).status == 401)
        #expect(try await gateway.session(web).status == 200)
        #expect(try await gateway.whoami(("x-session-token", native)).status == 200)

        let alone = try await gateway.send("GET", path, fields: Gateway.cookies([web]))
        #expect(alone.status == 200 && !alone.text.contains("Sign out everywhere else"))
        let own = "/sessions/\(try await self.id(gateway, native))"
        #expect(try await gateway.send("DELETE", own, fields: Gateway.cookies([web]) + Self.origin).status == 400)
        // To the app, the page in its WebView is another session.
        let ended = try await gateway.send("DELETE", "/sessions", fields: [("x-session-token", native)])
        #expect(ended.document == ["count": 1])
        #expect(try await gateway.session(web).status == 401)
        #expect(try await gateway.whoami(("x-session-token", native)).status == 200)
    }

    @Test("Without a session the page leads to the sign-in, which leads back to it")
    func signIn() async throws {
        let gateway = try Gateway()
        let path = "/.sallyport/sessions"
        #expect(try await gateway.send("GET", path).signIn == "/.sallyport/login?return_to=\(path)")
        let answer = try await gateway.post("/.sallyport/login", "\(Gateway.credentials)&return_to=\(path)")
        #expect(answer.status == 303 && answer.value("location") == path)
    }

    @Test(
        "A device has the name that people know",
        arguments: [
            ("Mozilla/5.0 (Windows NT 10.0) Chrome/1 Safari/1 Edg/1", "Edge on Windows"),
            ("Mozilla/5.0 (Linux; Android 14) Chrome/1 Mobile Safari/1", "Chrome on Android"),
            ("Mozilla/5.0 (X11; Linux x86_64; rv:1) Firefox/1", "Firefox on Linux"), ("okhttp/4.12", "okhttp"),
            ("MyApp/1 CFNetwork (iPad)", "MyApp on iPad"), ("/1 CFNetwork", "Unknown device"),
        ]
    )
    func devices(agent: String, name: String) async throws {
        let gateway = try Gateway()
        let answer = try await gateway.post(
            "/.sallyport/login",
            Gateway.credentials,
            fields: Self.origin + [("user-agent", agent)]
        )
        let token = try #require(answer.cookie)
        let page = try await gateway.send("GET", "/.sallyport/sessions", fields: Gateway.cookies([token]))
        #expect(page.text.contains("<h2>\(name)</h2>"))
    }
}
