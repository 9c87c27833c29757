import Providers
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

/// A user who signs in with a provider's token or native kit while an operator has blocked the user.
@Suite("Tokens for a blocked user")
struct BlockedUserTests {
    private static let user = Identity(id: "google-oauth2|1", traits: [:])

    /// Accepts every artefact as the user's.
    private struct Verifier: SocialVerifier {
        func verify(_ signIn: SocialSignIn) async throws(NotDone) -> SocialProof {
            SocialProof(
                ProvenUser(
                    Authentication(identity: BlockedUserTests.user, aal: .aal1, methods: ["native_social"]),
                    ProviderEvidence(provider: "google-oauth2")
                ),
                SocialArtefact(
                    id: OnceID(
                        scope: "social google-oauth2",
                        id: String(decoding: signIn.artefact.bytes, as: UTF8.self)
                    ),
                    issuedAt: nil,
                    lifetime: .seconds(3600)
                )
            )
        }
    }

    private static func block(_ name: String, in bench: TokenBench) async throws {
        let block = UserBlock(
            subject: name,
            provider: nil,
            names: [name],
            until: nil,
            note: nil,
            changedAt: bench.clock.now,
            changedBy: "ops"
        )
        try await bench.blocks.put(block)
    }

    @Test(
        "a provider's token is not exchanged, and is again once the block is lifted",
        arguments: ["urn:auth.example.com:session_transfer", TokenBench.api]
    )
    func exchange(audience: String) async throws {
        let known = KnownToken(
            identity: Self.user,
            aal: .aal1,
            methods: ["bearer"],
            authenticatedAt: TokenBench.now,
            expiresAt: TokenBench.now.advanced(by: .seconds(3600))
        )
        let bench = TokenBench(accessTokens: ScriptedProvider(.known(known)))
        try await Self.block("google-oauth2|1", in: bench)
        var parameters = bench.parameters("eyProvidersOwnAccessToken")
        parameters["subject_token_type"] = "urn:ietf:params:oauth:token-type:access_token"
        parameters["audience"] = audience
        let refused = await bench.form(parameters)
        #expect(refused.status == 400 && refused.error == "invalid_grant", "\(refused.body)")
        #expect(refused.reason == .signInBlocked && bench.records.all.last?.reason == .signInBlocked)
        try await bench.blocks.lift(["google-oauth2|1"], by: "ops")
        let granted = await bench.form(parameters)
        #expect(granted.status == 200, "\(granted.body)")
    }

    @Test("a native kit's sign-in leaves no session, and succeeds for another user and after the block")
    func social() async throws {
        let bench = TokenBench(social: SocialVerifiers([.google: Verifier()])) {
            $0.socialLogins = $0.clientID == "native-app" ? [.google] : []
        }
        func exchange(_ artefact: String) async -> Answer {
            await bench.post(json: [
                "grant_type": TokenBench.exchange, "client_id": "native-app", "subject_token": artefact,
                "subject_token_type": "http://auth0.com/oauth/token-type/google-id-token",
                "scope": "openid offline_access",
            ])
        }
        try await Self.block("google-oauth2|2", in: bench)
        #expect(await exchange("a").status == 200)
        let before = bench.store.sessionCount
        try await Self.block("google-oauth2|1", in: bench)
        let refused = await exchange("b")
        #expect(refused.status == 400 && refused.error == "invalid_grant" && refused.reason == .signInBlocked)
        let record = try #require(bench.records.all.last)
        #expect(record.reason == .signInBlocked && record.subject == "google-oauth2|1" && record.sessionID == nil)
        #expect(bench.store.sessionCount == before)
        try await bench.blocks.lift(["google-oauth2|1"], by: "ops")
        #expect(await exchange("c").status == 200)
    }
}
