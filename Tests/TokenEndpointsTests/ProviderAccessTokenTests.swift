import Providers
import Sessions
import Settings
import SignOn
import Testing
import Vocabulary

/// A provider's access token is exchanged, and mints, for users whom the provider's `allow` lists.
@Suite("Exchange of a provider's access token")
struct ProviderAccessTokenTests {
    private static let token = "eyProvidersOwnAccessToken"

    private static func verdict(isAdmitted: Bool) -> TokenVerdict {
        .known(
            KnownToken(
                identity: Identity(id: "user-1", traits: ["email": "ada@example.com"]),
                aal: .aal1,
                methods: ["bearer"],
                authenticatedAt: TokenBench.now,
                expiresAt: TokenBench.now.advanced(by: .seconds(3600)),
                isAdmitted: isAdmitted
            )
        )
    }

    private static func parameters(_ bench: TokenBench, audience: String) -> [String: String] {
        var parameters = bench.parameters(Self.token)
        parameters["subject_token_type"] = "urn:ietf:params:oauth:token-type:access_token"
        parameters["audience"] = audience
        return parameters
    }

    private static let audiences = ["urn:auth.example.com:session_transfer", TokenBench.api]

    @Test("a user who may sign in gets a token", arguments: Self.audiences)
    func admitted(audience: String) async {
        let bench = TokenBench(accessTokens: ScriptedProvider(Self.verdict(isAdmitted: true)))
        let answer = await bench.form(Self.parameters(bench, audience: audience))
        #expect(answer.status == 200, "\(answer.body)")
    }

    @Test(
        "a user who may not sign in gets none: with it the browser would be signed in, or a transfer token minted",
        arguments: Self.audiences
    )
    func notAdmitted(audience: String) async throws {
        let bench = TokenBench(accessTokens: ScriptedProvider(Self.verdict(isAdmitted: false)))
        let answer = await bench.form(Self.parameters(bench, audience: audience))
        #expect(answer.status == 400 && answer.error == "invalid_grant", "\(answer.body)")
        #expect(answer.reason == .signInNotAllowed)
        let record = try #require(bench.records.all.last)
        #expect(record.reason == .signInNotAllowed && record.subject == "user-1")
    }
}
