import EndpointBench
import Endpoints
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("The limit of a user's sessions at the endpoints")
struct SessionLimitEndpointTests {
    /// One browser and one app for each user.
    private static func settings(_ onLimit: SessionSettings.OnLimit = .endOldest) -> SessionSettings {
        var settings = SessionSettings()
        settings.maxPerUser.browser = 1
        settings.maxPerUser.native = 1
        settings.onLimit = onLimit
        return settings
    }

    private static func expectPage(_ answer: EndpointResponse) {
        #expect(answer.status == 403 && answer.reason == .sessionLimit && answer.cookie == nil, "\(answer.text)")
        let page = String(decoding: shown(answer).body, as: UTF8.self)
        #expect(page.contains("You are signed in on too many devices"))
        #expect(page.contains("href=\"/.sallyport/sessions\" target=\"_top\">Where you are signed in</a>"))
    }

    @Test("A refused password sign-in is a page that links to the list of sessions, and 403 for an app")
    func password() async throws {
        let gateway = try Gateway(session: Self.settings(.refuse))
        let first = try await gateway.signInBrowser()
        let app = try await gateway.nativeToken()
        gateway.time.advance(by: .seconds(1))
        Self.expectPage(try await gateway.post("/.sallyport/login", Gateway.credentials))
        let refused = try await gateway.signInNative()
        #expect(refused.status == 403 && refused.reason == .sessionLimit, "\(refused.text)")
        #expect(refused.document?["error"]?["reason"] == "You are signed in on too many devices.")
        #expect(try await gateway.session(first).status == 200)
        #expect(try await gateway.whoami(("x-session-token", app)).status == 200)
        let again = try await gateway.post("/.sallyport/login", Gateway.credentials, cookies: [first])
        #expect(again.status == 303 && again.cookie != nil, "the browser that is signed in may sign in again")
    }

    @Test("A refused sign-in at a provider is the same page, and the browser forgets the sign-in")
    func provider() async throws {
        var first = try SigningBrowser(session: Self.settings(.refuse))
        try await first.signIn()
        first.gateway.time.advance(by: .seconds(1))
        var second = SigningBrowser(beside: first)
        let id = try await second.begin()
        Self.expectPage(try await second.comeBack(id))
        #expect(second.kept.isEmpty && second.session == nil)
        #expect(try await first.user() != nil)
    }

    @Test("A repeated exchange applies the limit, and never ends its own session or a later one")
    func exchange() async throws {
        func token(_ answer: EndpointResponse) throws -> String {
            try #require(answer.document?["session_token"]?.string, "\(answer.text)")
        }
        var first = try ExchangingApp(session: Self.settings())
        let gateway = first.gateway
        func isLive(_ token: String) async throws -> Bool {
            try await gateway.whoami(("x-session-token", token)).status == 200
        }
        try await first.begin()
        let code = try ExchangingApp.code(in: try await first.signIn())
        let one = try token(try await first.exchange(nil, code))
        #expect(try token(try await first.exchange(nil, code)) == one)
        gateway.time.advance(by: .seconds(1))
        var second = first
        try await second.begin()
        let next = try ExchangingApp.code(in: try await second.signIn())
        gateway.store.change { $0.lostAnswers = 1 }
        #expect(try await second.exchange(nil, next).status == 503)
        #expect(try await isLive(one))
        let two = try token(try await second.exchange(nil, next))
        #expect(try await !isLive(one))
        #expect(try await isLive(two))
        #expect(try await first.exchange(nil, code).status == 404, "its session has ended")
        #expect(try token(try await second.exchange(nil, next)) == two)
        #expect(try await isLive(two))
    }

    @Test("A refused exchange leaves the other app's session, and its codes are used up")
    func refusedExchange() async throws {
        var app = try ExchangingApp(session: Self.settings(.refuse))
        try await app.begin()
        let first = try await app.exchange(nil, try ExchangingApp.code(in: try await app.signIn()))
        let token = try #require(first.document?["session_token"]?.string)
        app.gateway.time.advance(by: .seconds(1))
        try await app.begin()
        let code = try ExchangingApp.code(in: try await app.signIn())
        let refused = try await app.exchange(nil, code)
        #expect(refused.status == 403 && refused.reason == .sessionLimit, "\(refused.text)")
        #expect(app.browser.reasons.last == .sessionLimit && app.gateway.store.sessionCount == 1)
        #expect(try await app.exchange(nil, code).status == 404)
        #expect(try await app.gateway.whoami(("x-session-token", token)).status == 200)
    }
}
