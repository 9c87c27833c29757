import Cryptography
import EndpointBench
import Endpoints
import NIOCore
import NIOPosix
import Observability
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("Browser session and sign-out")
struct BrowserSignOutTests {
    private let logout = "/.sallyport/logout"

    /// Clearing uses the attributes with which the cookie was set.
    @Test("Sign-out ends the session before it answers, clears the cookie and redirects")
    func signOut() async throws {
        let gateway = try Gateway()
        let token = try await gateway.signInBrowser()
        let answer = try await gateway.post(self.logout, "return_to=/bye", cookies: [token])
        #expect(answer.status == 303)
        #expect(answer.value("location") == "/bye")
        let cleared = try #require(answer.value("set-cookie"))
        #expect(cleared.hasPrefix("__Host-sallyport=;"))
        for attribute in ["Path=/", "Secure", "HttpOnly", "SameSite=Lax", "Max-Age=0"] {
            #expect(cleared.contains("; \(attribute)"))
        }
        #expect(try await gateway.session(token).status == 401)
        #expect(gateway.audit.records.map(\.code?.rawValue) == ["s", "slo"])
    }

    @Test("Scripts get 204; sign-out also succeeds without a body or without a session")
    func scripts() async throws {
        let gateway = try Gateway()
        let token = try await gateway.signInBrowser()
        for _ in 0..<2 {
            let answer = try await gateway.send(
                "POST",
                self.logout,
                fields: [("accept", "application/json"), ("sec-fetch-site", "same-origin")] + Gateway.cookies([token])
            )
            #expect(answer.status == 204)
            #expect(answer.values("set-cookie").count == 1)
        }
        #expect(try await gateway.post(self.logout, "").value("location") == "/")
        #expect(gateway.audit.records.map(\.code?.rawValue) == ["s", "slo"])
    }

    @Test("A page of another host, a link or an image cannot sign a user out")
    func crossSite() async throws {
        let gateway = try Gateway()
        let token = try await gateway.signInBrowser()
        for fields in [[("origin", "https://evil.example")], [("sec-fetch-site", "cross-site")], []] {
            let answer = try await gateway.post(
                self.logout,
                "",
                cookies: [token],
                fields: fields.map { (name: $0.0, value: $0.1) }
            )
            #expect(answer.status == 403)
            #expect(answer.reason == .requestCrossSite)
            #expect(answer.values("set-cookie").isEmpty)
            let event = try #require(gateway.audit.records.last?.auditEvent)
            #expect(event.kind == .sessionDenied && event.code == .warning && event.reason == .requestCrossSite)
            #expect(event.subject == "9f1c" && event.session?.hasPrefix("ses_") == true)
        }
        let page = try await gateway.send("GET", "\(self.logout)?return_to=/bye", fields: Gateway.cookies([token]))
        #expect(page.status == 200)
        #expect(page.value("x-frame-options") == "DENY")
        #expect(page.text.contains(#"<form method="post" action="/.sallyport/logout">"#))
        #expect(page.text.contains(#"value="/bye""#))
        #expect(page.values("set-cookie").isEmpty)
        #expect(try await gateway.session(token).status == 200)
    }

    @Test("Nobody is asked who is not signed in, and whoever is asked has a way back")
    func wayBack() async throws {
        let gateway = try Gateway()
        let stranger = try await gateway.send("GET", self.logout)
        #expect(stranger.status == 303 && stranger.value("location") == "/.sallyport/signed-out")
        let token = try await gateway.signInBrowser()
        for (referer, back) in [
            ("https://app.example.com/orders?a=1", "/orders?a=1"), ("https://app.example.com/.sallyport/logout", "/"),
            ("https://evil.example/x", "/"), ("https://app.example.com.evil.example/x", "/"),
        ] {
            let fields = Gateway.cookies([token]) + [("referer", referer)]
            let page = try await gateway.send("GET", self.logout, fields: fields)
            #expect(page.text.contains(#"<a class="way quiet" href="\#(back)">Stay signed in</a>"#), "\(referer)")
        }
        gateway.store.fail(with: .unavailable)
        #expect(try await gateway.send("GET", self.logout, fields: Gateway.cookies([token])).status == 200)
    }

    @Test("A sign-out has the browser forget what the settings name, and nothing else does")
    func siteData() async throws {
        for (kinds, value) in [
            ([], nil), ([.cache], #""cache""#), ([.cache, .storage], #""cache", "storage""#),
        ] as [([SessionSettings.SiteData], String?)] {
            let gateway = try Gateway(clearedSiteData: kinds)
            let token = try await gateway.signInBrowser()
            #expect(try await gateway.session(token).value("clear-site-data") == nil)
            let answer = try await gateway.post(self.logout, "", cookies: [token])
            #expect(answer.status == 303 && answer.value("clear-site-data") == value)
        }
    }

    @Test("While the store cannot answer, a sign-out is not reported as done")
    func outage() async throws {
        let gateway = try Gateway()
        let token = try await gateway.signInBrowser()
        gateway.store.fail(with: .unavailable)
        let page = try await gateway.post(self.logout, "return_to=/bye", cookies: [token])
        #expect(page.isOutage && page.reason == .storeUnavailable)
        #expect(page.text.contains("you may still be signed in") && page.text.contains(#"value="/bye""#))
        #expect(page.text.contains(#"<button type="submit">Sign out</button>"#))
        let json = [("accept", "application/json"), ("sec-fetch-site", "same-origin")] + Gateway.cookies([token])
        let problem = try await gateway.send("POST", self.logout, fields: json)
        #expect(problem.isOutage && problem.value("content-type") == "application/problem+json")
        #expect(try await gateway.session(token).isOutage)
        gateway.store.fail(with: nil)
        #expect(try await gateway.session(token).status == 200)
    }

    @Test("A repeated sign-out of an ended session succeeds if the store is certain of the end, and otherwise gets 503")
    func uncertain() async throws {
        let gateway = try Gateway()
        let (token, native) = (try await gateway.signInBrowser(), try await gateway.nativeToken())
        for isCertain in [true, false] {
            if !isCertain { gateway.store.change { $0.failsEnds = true } }
            let answer = try await gateway.post(self.logout, "", cookies: [token])
            #expect(isCertain ? answer.status == 303 : answer.isOutage)
            let ended = try await gateway.send(
                "DELETE",
                "/self-service/logout/api",
                fields: [("content-type", "application/json")],
                body: #"{"session_token":"\#(native)"}"#
            )
            #expect(ended.status == (isCertain ? 204 : 503))
            #expect(try await gateway.session(token).status == 401)
        }
    }

    @Test("Two session cookies do not sign in; both are cleared, and a sign-out ends both sessions")
    func twoCookies() async throws {
        let gateway = try Gateway()
        let first = try await gateway.signInBrowser()
        let second = try await gateway.signInBrowser()
        let ambiguous = try await gateway.session(first, second)
        #expect(ambiguous.status == 401)
        #expect(ambiguous.reason == .credentialAmbiguousCookie)
        #expect(ambiguous.value("set-cookie")?.contains("Max-Age=0") == true)
        let event = try #require(gateway.audit.records.last?.auditEvent)
        #expect(event.kind == .sessionDenied && event.code == .warning && event.reason == .credentialAmbiguousCookie)
        #expect(event.subject == "9f1c", "both are hers")
        let invented = String(first.prefix(58)) + (first.hasSuffix("A") ? "B" : "A")
        let whoami = try await gateway.whoami(Gateway.cookies([first, invented])[0])
        #expect(whoami.reason == .credentialAmbiguousCookie)
        #expect(gateway.audit.records.last?.reason == .credentialAmbiguousCookie)
        #expect(try await gateway.session(first, first).status == 200)
        #expect(try await gateway.post(self.logout, "", cookies: [first, second]).status == 303)
        #expect(try await gateway.session(first).status == 401)
        #expect(try await gateway.session(second).status == 401)
    }

    @Test("A session is not valid on another host and cannot be ended there")
    func otherHost() async throws {
        let gateway = try Gateway()
        let other = try Gateway(host: "other.example.com", beside: gateway)
        let token = try await gateway.signInBrowser()
        #expect(try await other.session(token).status == 401)
        #expect(try await other.whoami(("cookie", "__Host-sallyport=\(token)")).status == 401)
        #expect(try await other.post(self.logout, "", cookies: [token]).status == 303)
        #expect(try await other.post("/.sallyport/login", Gateway.credentials, cookies: [token]).status == 303)
        #expect(try await gateway.session(token).status == 200)
    }

    @Test("A session from a handoff ends alone; the end of its native session ends the whole family")
    func handoffBorn() async throws {
        let gateway = try Gateway()
        let native = try await gateway.nativeToken()
        let parent = try #require(gateway.authority.key(.session, of: Array(native.utf8)))
        let first = try await self.transferBorn(gateway, of: parent)
        let second = try await self.transferBorn(gateway, of: parent)
        #expect(try await gateway.session(first).status == 200)
        #expect(try await gateway.post(self.logout, "", cookies: [first]).status == 303)
        #expect(try await gateway.session(first).status == 401)
        #expect(try await gateway.session(second).status == 200)
        #expect(try await gateway.whoami(("x-session-token", native)).status == 200)
        let ended = try await gateway.send(
            "DELETE",
            "/self-service/logout/api",
            fields: [("content-type", "application/json")],
            body: #"{"session_token":"\#(native)"}"#
        )
        #expect(ended.status == 204)
        #expect(try await gateway.session(second).status == 401)
    }

    /// A web session in the family of `parent`, like one that a transfer token created.
    private func transferBorn(_ gateway: Gateway, of parent: RecordKey) async throws -> String {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let store = gateway.store
        let stored = try #require(try await loop.flatSubmit { store.session(parent, on: loop) }.get())
        var session = stored.record
        session.id = gateway.authority.newSessionID()
        session.kind = .web
        session.origin = .transfer
        session.host = gateway.host
        let (token, key) = gateway.authority.make(.session, in: parent.lineage)
        let created = NewSession(key: key, session: session)
        try await loop.flatSubmit { store.create(created, on: loop) }.get()
        return String(decoding: token.bytes, as: UTF8.self)
    }

    /// CVE-2024-39315.
    @Test("The session document contains no credential")
    func noCredentials() async throws {
        let gateway = try Gateway()
        let token = try await gateway.signInBrowser()
        let answer = try await gateway.session(token)
        #expect(answer.status == 200)
        #expect(answer.value("cache-control") == "no-store")
        let key = try #require(gateway.authority.key(.session, of: Array(token.utf8)))
        for secret in [
            token, String(token.dropFirst(4)), key.digest.base64URL, key.lineage.tag, "sps_", Gateway.password,
        ] {
            #expect(!answer.text.contains(secret))
            #expect(!answer.fields.contains { $0.value.contains(secret) })
        }
        let publicID = try #require(gateway.audit.records.last?.sessionID)
        for id in [publicID, try #require(answer.document?["id"]?.string)] {
            #expect(try await gateway.session(id).status == 401, "the public id is worthless as a credential")
        }
    }

    @Test("Without a session the document is a 401 with a reason")
    func anonymous() async throws {
        let answer = try await Gateway().session()
        #expect(answer.status == 401)
        #expect(answer.value("content-type") == "application/problem+json")
        #expect(answer.document?["reason"] == "credential.missing")
        #expect(answer.value("www-authenticate") != nil)
        #expect(answer.values("set-cookie").isEmpty)
    }
}
