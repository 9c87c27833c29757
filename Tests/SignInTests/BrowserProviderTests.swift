import Providers
import Sessions
import SignOn
import StoreBench
import Testing
import Vocabulary

/// A provider that redirects a browser, as an OpenID provider does (OpenID Connect Core 3.1).
private struct CodeProvider: BrowserProvider {
    /// The provider's assurance levels.
    private let levels: [String: AssuranceLevel] = ["urn:example:two-factors": .aal2]
    var isAway = false
    let name = "https://idp.example.com"

    func begin(_ wish: BrowserSignIn) async throws(NotDone) -> BrowserBeginning {
        guard !self.isAway else { throw NotDone(.providerUnavailable) }
        let prompt = wish.demand.isAgain ? "&prompt=login" : ""
        return BrowserBeginning(
            url: "https://idp.example.com/authorize?redirect_uri=\(wish.callback)&state=s1\(prompt)",
            pending: PendingSignIn(provider: self.name, id: "s1", nonce: "", verifier: "", callback: wish.callback)
        )
    }

    func signOutURL(idToken: Secret?, returnTo: String, state: String?) async -> String? { nil }

    func complete(
        _ pending: PendingSignIn,
        _ parameters: [(name: String, value: String)]
    ) async throws(NotDone) -> ProvenUser {
        guard !self.isAway else { throw NotDone(.providerUnavailable, detail: "away") }
        func value(_ name: String) -> String? { parameters.first { $0.name == name }?.value }
        guard value("state") == pending.id, let code = value("code") else {
            throw NotDone(.signInStateMismatch, detail: "state")
        }
        let identity = Identity(id: "sub-1", traits: [:])
        return ProvenUser(
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
        let begun = try await provider.begin(self.wish)
        #expect(begun.url.hasPrefix("https://idp.example.com/authorize?") && !begun.url.contains("prompt"))
        for (code, level) in [("urn:example:two-factors", AssuranceLevel.aal2), ("urn:example:other", .aal0)] {
            let user = try await provider.complete(begun.pending, [("code", code), ("state", "s1")])
            let bench = SignInBench()
            let requester = try bench.requester()
            let beginning = try await bench.sessions.begin(user.authentication, SessionTerms(.web), for: requester)
            let (token, session) = (beginning.token, beginning.session)
            #expect(session.subject == "sub-1" && session.aal == level && session.methods == ["oidc"])
            #expect(session.authenticatedAt == UnixTime(seconds: 1_700_000_000))
            #expect(try await bench.sessions.web(try bench.requester(cookies: [token])).session.id == session.id)
        }
    }

    @Test("Another browser's state and a missing code are refused; an outage is not a refusal")
    func refused() async {
        let provider = CodeProvider()
        let pending = PendingSignIn(provider: provider.name, id: "s1", nonce: "", verifier: "", callback: "")
        func complete(_ provider: CodeProvider, _ name: String, state: String) async -> Result<ProvenUser, NotDone> {
            await Result(try await provider.complete(pending, [(name, "c"), ("state", state)]))
        }
        let refused = Result<ProvenUser, NotDone>.refused(.signInStateMismatch, detail: "state")
        #expect(await complete(provider, "code", state: "s2") == refused)
        #expect(await complete(provider, "error", state: "s1") == refused)
        let away = CodeProvider(isAway: true)
        #expect(await Result(try await away.begin(self.wish)) == .refused(.providerUnavailable))
        #expect(await complete(away, "code", state: "s1").outage == "away")
    }
}
