import Providers
import Sessions
import SignOn
import Testing
import Vocabulary

/// A provider that redirects a browser, as an OpenID provider does (OpenID Connect Core 3.1).
private struct CodeProvider: BrowserProvider {
    /// The provider's assurance levels.
    private let levels: [String: AssuranceLevel] = ["urn:example:two-factors": .aal2]
    var isAway = false
    let name = "https://idp.example.com"

    func begin(_ wish: BrowserSignIn) async -> BrowserBeginning {
        guard !self.isAway else { return .unavailable }
        let prompt = wish.demand.isAgain ? "&prompt=login" : ""
        return .redirect(
            url: "https://idp.example.com/authorize?redirect_uri=\(wish.callback)&state=s1\(prompt)",
            id: "s1",
            state: Secret("s1")
        )
    }

    func signOutURL(idToken: Secret?, returnTo: String, state: String?) async -> String? { nil }

    func complete(_ parameters: [(name: String, value: String)], state: Secret) async -> BrowserCompletion {
        guard !self.isAway else { return .unavailable(detail: "away") }
        func value(_ name: String) -> String? { parameters.first { $0.name == name }?.value }
        guard value("state").map({ Secret($0) }) == state, let code = value("code") else {
            return .refused(BrowserRefusal(.mismatch, detail: "state"))
        }
        let identity = Identity(id: "sub-1", traits: [:])
        return .authenticated(
            Authentication(
                identity: identity,
                aal: self.levels[code] ?? .aal0,
                methods: ["oidc"],
                authenticatedAt: UnixTime(seconds: 1_700_000_000)
            ),
            ProviderEvidence(provider: self.name)
        )
    }
}

@Suite("Sign-in at a provider that redirects the browser")
struct BrowserProviderTests {
    private let wish = BrowserSignIn(callback: "https://app.example.com/callback")

    @Test("A browser that comes back with its own state gets a session with what the provider proved")
    func signIn() async throws {
        let roles = ProviderRoles(browser: CodeProvider())
        #expect(roles.password == nil && roles.tokens.isEmpty)
        let provider = try #require(roles.browser)
        guard case .redirect(let url, id: _, let state) = await provider.begin(self.wish) else {
            Issue.record("the sign-in did not begin")
            return
        }
        #expect(url.hasPrefix("https://idp.example.com/authorize?") && !url.contains("prompt"))
        for (code, level) in [("urn:example:two-factors", AssuranceLevel.aal2), ("urn:example:other", .aal0)] {
            let result = await provider.complete([("code", code), ("state", "s1")], state: state)
            guard case .authenticated(let authentication, _) = result else {
                Issue.record("\(result)")
                return
            }
            let desk = SignInDesk()
            let beginning = await desk.sessions.begin(authentication, SessionTerms(.web), for: try desk.requester())
            guard case .begun(let token, let session) = beginning else {
                Issue.record("\(beginning)")
                return
            }
            #expect(session.subject == "sub-1" && session.aal == level && session.methods == ["oidc"])
            #expect(session.authenticatedAt == UnixTime(seconds: 1_700_000_000))
            guard case .session = try await desk.sessions.web(try desk.requester(cookies: [token])) else {
                Issue.record("the session is not there")
                return
            }
        }
    }

    @Test("Another browser's state and a missing code are refused; an outage is not a refusal")
    func refused() async {
        let provider = CodeProvider()
        let refused = BrowserCompletion.refused(BrowserRefusal(.mismatch, detail: "state"))
        #expect(await provider.complete([("code", "c"), ("state", "s2")], state: Secret("s1")) == refused)
        #expect(
            await provider.complete([("error", "access_denied"), ("state", "s1")], state: Secret("s1")) == refused
        )
        let away = CodeProvider(isAway: true)
        #expect(await away.begin(self.wish) == .unavailable)
        let completion = await away.complete([("code", "c"), ("state", "s1")], state: Secret("s1"))
        #expect(completion == .unavailable(detail: "away"))
    }
}
