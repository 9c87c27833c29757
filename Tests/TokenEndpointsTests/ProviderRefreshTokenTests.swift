import Endpoints
import JOSE
import Providers
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

/// A provider's own refresh token mints a session-transfer token, and stays as it is.
@Suite("Mint by a provider's refresh token")
struct ProviderRefreshTokenTests {
    private static let token = "1//0gprovidersOwnRefreshToken"
    private static let transfer: [String: String?] = ["audience": "urn:auth.example.com:session_transfer"]
    private static let good = TokenVerdict.known(
        KnownToken(
            identity: Identity(id: "user-1", traits: ["email": "ada@example.com", "name": "Ada"]),
            aal: .aal1,
            methods: ["bearer"],
            authenticatedAt: TokenBench.now,
            expiresAt: TokenBench.now.advanced(by: .seconds(3600)),
            clientID: "mobile",
            scopes: ["email", "offline_access", "orders:read"],
            cacheLifetime: .seconds(30)
        )
    )

    private let provider = ScriptedProvider(Self.good)

    private static func expect(_ answer: Answer, _ status: Int, _ error: String, _ text: String) {
        #expect(answer.status == status, "\(answer.body)")
        #expect(answer.body == ["error": .string(error), "error_description": .string(text)])
    }

    private static func expectRefused(_ answer: Answer) {
        Self.expect(answer, 400, "invalid_grant", "Unknown or invalid refresh token.")
    }

    @Test("the answer has what SDKs need, an id_token for the client among it, and no other refresh token")
    func mints() async throws {
        let bench = TokenBench(refreshTokens: self.provider)
        let answer = await bench.refresh(Self.token, Self.transfer)
        #expect(answer.status == 200 && answer.text("access_token").hasPrefix("spt_"), "\(answer.body)")
        #expect(answer.text("issued_token_type") == "urn:auth0:params:oauth:token-type:session_transfer_token")
        #expect(answer.text("token_type") == "N_A" && answer.body["expires_in"] == 60)
        #expect(answer.body["refresh_token"] == nil && answer.text("scope") == "openid email")
        let signed = Array(answer.text("id_token").utf8)
        let claims = try JWTClaims(
            JWS.verify(signed, with: TokenBench.idTokenKeys.published, allowing: [.rs256]).payload
        )
        #expect(claims.subject == "user-1" && claims.audience == ["native-app"])
        #expect(claims["email"] == "ada@example.com" && claims["name"] == nil && claims["at_hash"] == nil)
        let record = try #require(bench.records.all.last)
        #expect(record.tokenAct == .refreshed && record.reason == nil && record.subject == "user-1")
        // It is still good, and the provider is not asked again at once.
        #expect(await bench.refresh(Self.token, Self.transfer).status == 200)
        #expect(self.provider.asked == [Self.token])
    }

    @Test("when the provider does not accept it any more, it is refused within 30 seconds")
    func ends() async {
        let bench = TokenBench(refreshTokens: self.provider)
        #expect(await bench.refresh(Self.token, Self.transfer).status == 200)
        self.provider.say(.unknown(.credentialInvalidToken))
        bench.clock.advance(by: .seconds(30))
        Self.expectRefused(await bench.refresh(Self.token, Self.transfer))
        #expect(self.provider.asked.count == 2)
    }

    @Test(
        "whatever the provider says against it, the client gets one answer, and the audit stream the reason",
        arguments: [Reason.credentialInvalidToken, .credentialExpired, .credentialOtherAudience]
    )
    func refused(reason: Reason) async {
        let bench = TokenBench(refreshTokens: self.provider)
        self.provider.say(.unknown(reason))
        let answer = await bench.refresh(Self.token, Self.transfer)
        Self.expectRefused(answer)
        #expect(answer.reason == reason && bench.records.all.last?.reason == reason)
        #expect(bench.records.all.last?.tokenAct == .refreshed)
    }

    @Test("an outage of the provider or of the store is 503 and blames no token")
    func unavailable() async {
        let bench = TokenBench(refreshTokens: self.provider)
        self.provider.say(.unavailable)
        let text = "The service is temporarily unavailable."
        Self.expect(await bench.refresh(Self.token, Self.transfer), 503, "temporarily_unavailable", text)
        self.provider.say(Self.good)
        bench.store.fail(with: .unavailable)
        Self.expect(await bench.refresh(Self.token, Self.transfer), 503, "temporarily_unavailable", text)
        bench.store.fail(with: nil)
        #expect(await bench.refresh(Self.token, Self.transfer).status == 200)
    }

    @Test("the provider is asked about a mint only, by a client that may mint, and never about a token of the gateway")
    func asksSeldom() async throws {
        let bench = TokenBench(refreshTokens: self.provider)
        Self.expectRefused(await bench.refresh(Self.token))
        Self.expectRefused(await bench.refresh("short", Self.transfer))
        let own = try await bench.tokens().text("refresh_token")
        #expect(await bench.refresh(own, Self.transfer).status == 200)
        Self.expectRefused(await bench.refresh(String(own.dropLast()) + "_", Self.transfer))
        var exchange = bench.parameters(Self.token)
        exchange["subject_token_type"] = "urn:ietf:params:oauth:token-type:access_token"
        #expect(await bench.form(exchange).error == "invalid_grant", "it is no access token")
        let forbidden = TokenBench(refreshTokens: self.provider) { $0.canCreateTransferToken = false }
        #expect(await forbidden.refresh(Self.token, Self.transfer).error == "unauthorized_client")
        #expect(self.provider.asked.isEmpty)
    }

    @Test("ten mints at once are allowed, as by any other token")
    func throttled() async {
        let bench = TokenBench(refreshTokens: self.provider)
        for _ in 0..<10 { #expect(await bench.refresh(Self.token, Self.transfer).status == 200) }
        let answer = await bench.refresh(Self.token, Self.transfer)
        Self.expect(answer, 429, "too_many_requests", "Too many requests. Please try again later.")
    }

    @Test("a mint with a proof binds the token to the key, and without it nothing is minted any more")
    func boundToKey() async {
        let bench = TokenBench(refreshTokens: self.provider)
        func proof(_ maker: DPoPProofMaker) -> String {
            maker.proof(
                method: "POST",
                url: "https://auth.example.com/oauth/token",
                nonce: nil,
                at: bench.clock.now,
                id: nil
            )
        }
        let maker = DPoPProofMaker(.generated(.es256))
        #expect(await bench.refresh(Self.token, Self.transfer, proof: proof(maker)).status == 200)
        #expect(await bench.refresh(Self.token, Self.transfer).error == "invalid_dpop_proof")
        let thief = proof(DPoPProofMaker(.generated(.es256)))
        #expect(await bench.refresh(Self.token, Self.transfer, proof: thief).error == "invalid_dpop_proof")
        #expect(await bench.refresh(Self.token, Self.transfer, proof: proof(maker)).status == 200)
    }
}
