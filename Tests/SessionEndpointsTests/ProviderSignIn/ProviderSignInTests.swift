import EndpointBench
import Endpoints
import Observability
import Providers
import Sessions
import SignOn
import StoreBench
import TestSupport
import Testing
import Vocabulary

@Suite("Signing in at a provider")
struct ProviderSignInTests {
    private let login = "/.sallyport/login"
    private let callback = "/.sallyport/callback"

    @Test("Login sends the browser to the provider, the callback brings it back signed in")
    func signIn() async throws {
        var browser = try SigningBrowser()
        let away = try await browser.load(self.login, [("return_to", "/reports?year=2026")])
        #expect(away.status == 303 && away.value("location") == "https://idp.example.com/authorize?state=sign-in-1")
        #expect(away.value("cache-control") == "no-store" && away.value("referrer-policy") == "no-referrer")
        #expect(browser.provider.wishes.map(\.callback) == ["https://app.example.com/.sallyport/callback"])
        let kept = try #require(away.value("set-cookie"))
        #expect(kept.hasPrefix("__Host-sallyport-signin-sign-in-1="))
        for attribute in ["Path=/", "Secure", "HttpOnly", "SameSite=Lax", "Max-Age=600"] {
            #expect(kept.contains("; \(attribute)"))
        }
        #expect(!kept.contains("verifier") && !kept.contains("reports"), "it is sealed")
        #expect(browser.gateway.store.sessionCount == 0 && browser.gateway.audit.records.isEmpty)

        let back = try await browser.comeBack("sign-in-1")
        #expect(back.status == 303 && back.value("location") == "/reports?year=2026")
        #expect(back.value("cache-control") == "no-store" && back.value("referrer-policy") == "no-referrer")
        #expect(browser.provider.completions == [["code=c-1", "state=sign-in-1"]])
        #expect(browser.kept.isEmpty && browser.session != nil)
        #expect(try await browser.user() == "user-1")
        let event = try #require(browser.gateway.audit.records.last?.auditEvent)
        #expect(event.kind == .sessionCreated && event.code == .signedIn && event.subject == "user-1")
        #expect(event.details.contains { $0 == ("provider", "https://idp.example.com") })
        #expect(browser.gateway.audit.records.count == 1)
    }

    @Test("Several tabs sign in at once; each gets to its own page, and all of them share one session")
    func tabs() async throws {
        var browser = try SigningBrowser()
        let first = try await browser.begin(("return_to", "/first"))
        let second = try await browser.begin(("return_to", "/second"))
        #expect(browser.kept == [first, second])
        let answer = try await browser.comeBack(second)
        #expect(answer.value("location") == "/second" && browser.kept == [first])
        let session = browser.session
        browser.gateway.time.advance(by: .seconds(5))
        #expect(try await browser.comeBack(first).value("location") == "/first")
        #expect(browser.session == session, "a session that other tabs use is not replaced")
        #expect(browser.provider.completions.count == 1)
    }

    /// CVE-2026-34454.
    @Test("A sign-in that begins while the browser is signed in replaces its session")
    func rotation() async throws {
        var browser = try SigningBrowser()
        let old = try await browser.signIn()
        browser.gateway.time.advance(by: .seconds(1))
        for query in [[], [("prompt", "login")]] as [SigningBrowser.Query] {
            let before = try #require(browser.session)
            let response = try await browser.load(self.login, query)
            let id = try #require(response.value("location")?.split(separator: "=").last.map(String.init))
            #expect(try await browser.comeBack(id).status == 303)
            #expect(browser.session != before)
            #expect(try await browser.gateway.session(before).status == 401)
            browser.gateway.time.advance(by: .seconds(1))
        }
        #expect(try await browser.gateway.session(old).status == 401)
        #expect(browser.provider.wishes.map(\.demand.isAgain) == [false, false, true])
        #expect(browser.gateway.store.sessionCount == 1)
    }

    @Test("Another account that the user chose in one tab is signed in even if another tab was faster")
    func otherAccount() async throws {
        var browser = try SigningBrowser()
        let again = try await browser.begin(("prompt", "login"))
        let plain = try await browser.begin()
        _ = try await browser.comeBack(plain)
        browser.provider.answer(ScriptedBrowserProvider.user("user-2"))
        _ = try await browser.comeBack(again)
        #expect(try await browser.user() == "user-2" && browser.gateway.store.sessionCount == 1)
    }

    /// A planted cookie must never become the victim's session.
    @Test("A planted session never becomes the user's, and is ended")
    func fixation() async throws {
        var attacker = try SigningBrowser()
        attacker.provider.answer(ScriptedBrowserProvider.user("mallory"))
        let planted = try await attacker.signIn()
        attacker.gateway.time.advance(by: .seconds(1))
        var browser = SigningBrowser(beside: attacker)
        browser.provider.answer(ScriptedBrowserProvider.user("alice"))
        browser.jar["__Host-sallyport"] = planted
        let token = try await browser.signIn()
        #expect(token != planted)
        #expect(try await browser.user() == "alice")
        #expect(try await browser.gateway.session(planted).status == 401)
    }

    /// RFC 9700 4.7: a link to a callback with an attacker's code must not sign a browser in.
    @Test("A callback without the cookie of the sign-in is refused, and nothing is asked of the provider")
    func otherBrowser() async throws {
        var attacker = try SigningBrowser()
        let id = try await attacker.begin()
        let sealed = try #require(attacker.jar["__Host-sallyport-signin-\(id)"])
        var victim = SigningBrowser(beside: attacker)
        let answer = try await victim.comeBack(id)
        #expect(answer.status == 400 && answer.reason == .signInStateMismatch)
        #expect(victim.jar.cookies.isEmpty && victim.provider.completions.isEmpty)
        #expect(victim.reasons == [.signInStateMismatch])
        // The same sealed text under another id, altered, or on another host.
        for (name, value, state) in [
            ("sign-in-9", sealed, "sign-in-9"), (id, sealed.altered, id), (id, "", id),
            (id, "x", id), (id, String(repeating: "A", count: 5000), id),
        ] {
            var browser = SigningBrowser(beside: attacker)
            browser.jar["__Host-sallyport-signin-\(name)"] = value
            let answer = try await browser.comeBack(state)
            #expect(answer.reason == .signInStateMismatch && browser.kept.isEmpty, "what cannot be opened is cleared")
        }
        let other = try Gateway(host: "other.example.com", beside: attacker.gateway, browser: attacker.provider)
        let elsewhere = try await other.send(
            "GET",
            self.callback,
            query: [("state", id), ("code", "c")],
            fields: SigningBrowser.navigation + attacker.jar.fields
        )
        #expect(elsewhere.reason == .signInStateMismatch && attacker.provider.completions.isEmpty)
        // Two different values: one may have been planted.
        let field = [("cookie", "__Host-sallyport-signin-\(id)=\(sealed); __Host-sallyport-signin-\(id)=x")]
        let two = try await attacker.gateway.send(
            "GET",
            self.callback,
            query: [("state", id), ("code", "c")],
            fields: field.map { (name: $0.0, value: $0.1) }
        )
        #expect(two.reason == .signInStateMismatch)
        #expect(try await attacker.comeBack(id).status == 303, "the one who began it can still complete it")
    }

    @Test("A missing or repeated state is refused", arguments: [[], ["a", "a"], [""], ["\u{0}"], ["a b"]])
    func states(states: [String]) async throws {
        var browser = try SigningBrowser()
        try await browser.begin()
        let answer = try await browser.load(self.callback, states.map { (name: "state", value: $0) })
        #expect(answer.reason == .signInStateMismatch && browser.kept.count == 1)
    }

    @Test("A callback that comes twice or late leads a signed-in browser on, and asks the provider nothing")
    func twice() async throws {
        var browser = try SigningBrowser()
        let id = try await browser.begin(("return_to", "/a"))
        let jar = browser.jar
        _ = try await browser.comeBack(id)
        let token = browser.session
        // The back button: the cookie of the sign-in is gone.
        let back = try await browser.comeBack(id)
        #expect(back.status == 303 && back.value("location") == "/" && browser.session == token)
        // Two requests at once: the second one still has it.
        browser.jar["__Host-sallyport-signin-\(id)"] = jar["__Host-sallyport-signin-\(id)"]
        let second = try await browser.comeBack(id)
        #expect(second.status == 303 && second.value("location") == "/a" && browser.session == token)
        #expect(browser.provider.completions.count == 1 && browser.reasons.isEmpty)
    }

    @Test("A sign-in that took more than ten minutes is refused; its page leads back to what the user wanted")
    func late() async throws {
        var browser = try SigningBrowser()
        let id = try await browser.begin(("return_to", "/a"))
        let jar = browser.jar
        browser.gateway.time.advance(by: .seconds(601))
        let answer = try await browser.comeBack(id)
        #expect(answer.status == 400 && answer.reason == .signInStateMismatch && browser.kept.isEmpty)
        #expect(answer.signIn == "/.sallyport/login?return_to=/a")
        #expect(browser.provider.completions.isEmpty)
        // The same while signed in.
        try await browser.signIn()
        browser.jar["__Host-sallyport-signin-\(id)"] = jar["__Host-sallyport-signin-\(id)"]
        let later = try await browser.comeBack(id)
        #expect(later.status == 303 && later.value("location") == "/a")
    }

    @Test("The provider is told what a page demands, and a query that is malformed demands nothing")
    func demands() async throws {
        var browser = try SigningBrowser()
        for query in [
            [("prompt", "login"), ("aal", "aal2"), ("max_age", "300")],
            [("prompt", "none"), ("aal", "aal0"), ("max_age", "-1")], [("aal", "aal9"), ("max_age", "")],
            [("aal", "aal2"), ("aal", "aal3"), ("max_age", "1"), ("max_age", "1")],
            [("prompt", "login"), ("prompt", "login"), ("max_age", "9999999999")], [("max_age", "0")],
            [("login_hint", "ada@example.com")], [("login_hint", "a"), ("login_hint", "b")],
            [("login_hint", String(repeating: "a", count: 321))],
        ] as [SigningBrowser.Query] {
            _ = try await browser.load(self.login, query)
        }
        let wishes = browser.provider.wishes
        #expect(wishes.map(\.demand.isAgain) == [true] + Array(repeating: false, count: 8))
        #expect(wishes.map(\.demand.aal) == [.aal2] + Array(repeating: nil, count: 8))
        #expect(wishes.map(\.demand.maxAge) == [.seconds(300), nil, nil, nil, nil, .zero, nil, nil, nil])
        #expect(wishes.map(\.demand.loginHint) == Array(repeating: nil, count: 6) + ["ada@example.com", nil, nil])
    }

    @Test("A sign-in that does not reach what was demanded is refused, and the session stays")
    func insufficient() async throws {
        var browser = try SigningBrowser()
        let token = try await browser.signIn()
        let now = browser.gateway.time.now
        for (query, completion, reached) in [
            ([("aal", "aal2")], ScriptedBrowserProvider.user(aal: .aal1), false),
            ([("aal", "aal2")], ScriptedBrowserProvider.user(aal: .aal3), true),
            ([("max_age", "60")], ScriptedBrowserProvider.user(at: now.advanced(by: .seconds(-90))), false),
            ([("max_age", "60")], ScriptedBrowserProvider.user(at: now.advanced(by: .seconds(-10))), true),
            ([("max_age", "0")], ScriptedBrowserProvider.user(at: UnixTime(seconds: now.seconds + 1)), true),
            ([("aal", "aal2")], .failure(NotDone(.signInInsufficient, detail: "acr")), false),
        ] as [(SigningBrowser.Query, Result<ProvenUser, NotDone>, Bool)] {
            browser.gateway.time.advance(by: .milliseconds(1))
            let response = try await browser.load(self.login, query + [("prompt", "login"), ("return_to", "/vault")])
            let id = try #require(response.value("location")?.split(separator: "=").last.map(String.init))
            browser.gateway.time.advance(by: .milliseconds(300))
            browser.provider.answer(completion)
            let before = browser.session
            let answer = try await browser.comeBack(id)
            if reached {
                #expect(answer.value("location") == "/vault" && browser.session != before)
                continue
            }
            #expect(answer.status == 403 && answer.reason == .signInInsufficient && browser.session == before)
            #expect(try await browser.user() == "user-1" && browser.kept.isEmpty)
            let again = try #require(answer.signIn)
            #expect(
                again.hasPrefix("/.sallyport/login?return_to=/vault&prompt=login&\(query[0].name)=\(query[0].value)")
            )
        }
        #expect(try await browser.gateway.session(token).status == 401)
    }

    @Test("A provider's clock that is ahead does not make a sign-in count as recent for longer")
    func clockAhead() async throws {
        var browser = try SigningBrowser()
        let now = browser.gateway.time.now
        browser.provider.answer(ScriptedBrowserProvider.user(at: now.advanced(by: .seconds(3600))))
        try await browser.signIn()
        let document = try await browser.gateway.session(try #require(browser.session)).document
        #expect(document?["authenticated_at"]?.string == now.rfc3339)
    }

    @Test("Where a provider does not say when the user signed in, no time is told")
    func unknownTime() async throws {
        var browser = try SigningBrowser()
        browser.provider.answer(ScriptedBrowserProvider.user(at: Authentication.unknownTime))
        try await browser.signIn()
        let document = try await browser.gateway.session(try #require(browser.session)).document
        #expect(document?["active"] == .bool(true))
        #expect(document?["authenticated_at"] == nil)
        #expect(document?["authentication_methods"]?.first?["completed_at"] == nil)
    }

    @Test("HEAD, prefetches and scripts begin and complete nothing")
    func notNavigations() async throws {
        var browser = try SigningBrowser()
        let id = try await browser.begin()
        for fields in [
            [("sec-purpose", "prefetch")], [("purpose", "prefetch")], [("sec-purpose", "prefetch;prerender")],
            [("x-moz", "prefetch")], [("sec-fetch-mode", "no-cors")], [("sec-fetch-mode", "cors")],
        ] as [SigningBrowser.Query] {
            for path in [self.login, self.callback] {
                let answer = try await browser.load(
                    path,
                    [("state", id), ("code", "c")],
                    fields: fields
                )
                #expect(answer.status == 403 && answer.reason == .signInNotNavigation, "\(fields)")
                #expect(answer.values("set-cookie").isEmpty && answer.value("location") == nil)
            }
        }
        let head = try await browser.load(self.login, method: "HEAD")
        #expect(head.status == 204 && head.values("set-cookie").isEmpty && head.value("location") == nil)
        #expect(browser.provider.wishes.count == 1 && browser.provider.completions.isEmpty)
        #expect(try await browser.comeBack(id).status == 303, "the sign-in can still be completed")
        // An old browser does not say what it loads.
        #expect(try await browser.load(self.login, fields: []).status == 303)
    }

    @Test("The pages have the methods that they need, and the callback is served where the provider sends browsers")
    func endpoints() throws {
        let gateway = try Gateway(browser: ScriptedBrowserProvider())
        #expect(try gateway.endpoint(self.login).methods == ["GET", "HEAD"])
        #expect(try gateway.endpoint(self.callback).methods == ["GET"])
        guard case .endpointHosts = try gateway.endpoint(self.callback).scope else {
            Issue.record("the callback is served on every host")
            return
        }
        #expect(try !Gateway().endpoints.contains { $0.path == self.callback })
    }
}
