import EndpointBench
import Endpoints
import Observability
import Providers
import RequestPath
import Sessions
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("Sign-ins at a provider that fail")
struct SignInFailureTests {
    private let login = "/.sallyport/login"

    @Test(
        "Each reason has a page that never redirects by itself",
        arguments: [
            (.signInCancelled, 403, "Try again", false),
            (.signInEnded, 403, "Try again", false),
            (.signInInteractionRequired, 403, "Sign in", true),
            (.signInProviderError, 502, "Try again", false),
            (.signInStateMismatch, 400, "Try again", false),
            (.signInInvalidToken, 502, "Try again", false),
            (.signInBlocked, 403, "Sign in with another account", true),
            (.signInNotAllowed, 403, "Sign in with another account", true),
            (.signInInsufficient, 403, "Try again", true),
        ] as [(Reason, Int, String, Bool)]
    )
    func causes(reason: Reason, status: Int, label: String, asksAgain: Bool) async throws {
        var browser = try SigningBrowser()
        let token = try await browser.signIn()
        browser.gateway.time.advance(by: .seconds(1))
        browser.provider.answer(.failure(NotDone(reason, detail: "access_denied")))
        let id = try await browser.begin(("return_to", "/a?b=1"))
        let answer = try await browser.comeBack(id, ("error", "access_denied"))
        #expect(answer.status == status && answer.reason == reason && answer.value("location") == nil)
        #expect(browser.session == token && browser.kept.isEmpty, "the session stays, the sign-in is over")
        #expect(try await browser.user() == "user-1")

        let page = shown(answer)
        let text = String(decoding: page.body, as: UTF8.self)
        let link = "/.sallyport/login?return_to=/a%3Fb%3D1" + (asksAgain ? "&amp;prompt=login" : "")
        #expect(text.contains("<a class=\"way\" href=\"\(link)\" target=\"_top\">\(label)</a>"), "\(text)")
        #expect(text.contains("<code>\(reason.rawValue)</code>") && text.contains("Request <code>"))
        #expect(!text.contains("access_denied") && !text.contains("http-equiv") && !text.contains("<script"))
        let fields = page.fields.map { "\($0.name): \($0.value)" }
        #expect(fields.filter { $0.hasPrefix("referrer-policy") } == ["referrer-policy: no-referrer"])
        #expect(fields.contains("cache-control: no-store"))

        let event = try #require(browser.gateway.audit.records.last?.auditEvent)
        #expect(event.kind == .signInFailed && event.code == .signInFailed && event.reason == reason)
        #expect(event.details.contains { $0 == ("detail", "access_denied") })
        #expect(event.details.contains { $0 == ("provider", "https://idp.example.com") })
        // A program gets a problem document with the place where to sign in.
        #expect(answer.document?["login_url"]?.string == "https://app.example.com/.sallyport/login")
    }

    @Test("While the provider is away, login and callback are 503, and no cookie changes")
    func providerAway() async throws {
        var browser = try SigningBrowser()
        let token = try await browser.signIn()
        browser.gateway.time.advance(by: .seconds(1))
        let id = try await browser.begin(("return_to", "/a"))
        browser.provider.leave()
        for answer in [try await browser.load(self.login), try await browser.comeBack(id)] {
            #expect(answer.isOutage && answer.reason == .providerUnavailable && answer.value("location") == nil)
            let page = shown(answer)
            let text = String(decoding: page.body, as: UTF8.self)
            #expect(page.status == 503 && text.contains("href=\"/.sallyport/login?return_to=/"), "\(text)")
        }
        #expect(browser.session == token && browser.kept == [id])
        #expect(
            browser.reasons == [.providerUnavailable],
            "only the callback, which needs a sealed cookie, is recorded"
        )
        #expect(browser.gateway.audit.records.last?.detail == "the provider is away")
        browser.provider.leave(false)
        #expect(try await browser.comeBack(id).value("location") == "/a", "the page can be loaded again")
        #expect(browser.session != token)
    }

    @Test("F1: While the store is away the callback is 503, and the provider's code is not used up")
    func storeAway() async throws {
        var browser = try SigningBrowser()
        let token = try await browser.signIn()
        browser.gateway.time.advance(by: .seconds(1))
        let id = try await browser.begin(("return_to", "/a"))
        browser.gateway.store.fail(with: .unavailable)
        let answer = try await browser.comeBack(id)
        #expect(answer.isOutage && answer.reason == .storeUnavailable)
        #expect(browser.session == token && browser.kept == [id] && browser.provider.completions.count == 1)
        var stranger = SigningBrowser(beside: browser)
        stranger.jar["__Host-sallyport"] = token
        #expect(try await stranger.comeBack("sign-in-7").isOutage)
        browser.gateway.store.fail(with: nil)
        #expect(try await browser.comeBack(id).value("location") == "/a")
    }

    @Test("If every event must be recorded and cannot be, nobody is signed in")
    func unrecorded() async throws {
        var browser = try SigningBrowser()
        let id = try await browser.begin()
        browser.gateway.audit.fill()
        let answer = try await browser.comeBack(id)
        #expect(answer.isOutage && answer.reason == .gatewayOverloaded && browser.session == nil)
        #expect(browser.gateway.store.sessionCount == 0)
    }

    @Test("Failures from one address are limited before they reach the provider; sign-ins that work are not")
    func throttled() async throws {
        var browser = try SigningBrowser()
        for _ in 0..<60 {
            try await browser.signIn()
            browser.jar = BrowserJar()
        }
        browser.provider.answer(.failure(NotDone(.signInProviderError, detail: "invalid_grant")))
        for count in 0..<51 {
            browser.jar = BrowserJar()
            let id = try await browser.begin(("return_to", "/a"))
            let answer = try await browser.comeBack(id)
            guard count == 50 else {
                #expect(answer.reason == .signInProviderError)
                continue
            }
            #expect(answer.status == 429 && answer.reason == .signInThrottled && answer.value("retry-after") == "1")
            #expect(browser.kept == [id] && browser.reasons.last == .signInThrottled)
        }
        #expect(browser.provider.completions.count == 110)
        let id = try await browser.begin()
        let other = try await browser.load(
            "/.sallyport/callback",
            [("state", id), ("code", "c")],
            from: "198.51.100.7"
        )
        #expect(other.reason == .signInProviderError, "another address is not limited")
    }

    @Test("Sealed text of a former secret is opened; that of an unknown secret is a page")
    func rotation() async throws {
        var browser = try SigningBrowser()
        let id = try await browser.begin(("return_to", "/a"))
        let successor = try Gateway(
            beside: browser.gateway,
            browser: browser.provider,
            successor: Secret("the secret that followed, of thirty-two bytes too")
        )
        let answer = try await successor.send(
            "GET",
            "/.sallyport/callback",
            query: [("state", id), ("code", "c")],
            fields: browser.jar.fields
        )
        #expect(answer.value("location") == "/a")
        let stranger = try Gateway(
            beside: browser.gateway,
            browser: browser.provider,
            successor: Secret("the secret that followed, of thirty-two bytes too"),
            accepted: []
        )
        let later = try await browser.begin(("return_to", "/b"))
        let refused = try await stranger.send(
            "GET",
            "/.sallyport/callback",
            query: [("state", later), ("code", "c")],
            fields: browser.jar.fields
        )
        #expect(refused.reason == .signInStateMismatch)
    }
}
