import Endpoints
import JOSE
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

/// Tokens bound to keys (RFC 9449) at the token endpoint, `/userinfo` and `/oauth/introspect`.
@Suite("DPoP")
struct ProofTests {
    private static let tokenURL = "https://auth.example.com/oauth/token"
    private static let userInfoURL = "https://auth.example.com/userinfo"
    private let maker = DPoPProofMaker(.generated(.es256))
    private let other = DPoPProofMaker(.generated(.edDSA))

    private func proof(
        _ bench: TokenBench,
        nonce: String? = nil,
        skew: Duration = .zero,
        id: String? = nil,
        by maker: DPoPProofMaker? = nil
    ) -> String {
        (maker ?? self.maker).proof(
            method: "POST",
            url: Self.tokenURL,
            nonce: nonce,
            at: bench.clock.now.advanced(by: skew),
            id: id
        )
    }

    /// The answer to a redeemed code, with tokens that are bound to a key.
    private func bound(_ bench: TokenBench, _ parameters: [String: String?] = [:]) async throws -> Answer {
        await bench.redeem(try await bench.code(parameters), proof: self.proof(bench))
    }

    // MARK: The token endpoint

    @Test("A proof binds the access token and the refresh token, and the answer brings a nonce")
    func binds() async throws {
        let secret = "a secret of the client"
        let bench = TokenBench { if $0.clientID == "native-app" { $0.clientSecrets = [Secret(secret)] } }
        let code = try await bench.code(["scope": "openid offline_access orders:read"])
        let answer = await bench.redeem(code, ["client_secret": secret], proof: self.proof(bench))
        #expect(answer.status == 200)
        #expect(answer.text("token_type") == "DPoP")
        #expect(answer.field("dpop-nonce") != nil)
        for (member, type) in [("access_token", JSONValue.string("DPoP")), ("refresh_token", nil)] {
            let shown = await bench.form(
                ["client_id": "native-app", "client_secret": secret, "token": answer.text(member)],
                to: bench.introspection.endpoint
            )
            #expect(shown.body["cnf"]?["jkt"]?.string == self.maker.thumbprint)
            #expect(shown.body["token_type"] == type)
        }
    }

    @Test("Without a proof tokens are bearer tokens, as before")
    func unbound() async throws {
        let bench = TokenBench()
        let answer = try await bench.tokens()
        #expect(answer.text("token_type") == "Bearer" && answer.field("dpop-nonce") == nil)
        #expect(bench.onces.seen.isEmpty)
    }

    @Test("A bound refresh token needs its key: without, the family stays as it is and the error is not invalid_grant")
    func boundFamily() async throws {
        let bench = TokenBench()
        let first = try await self.bound(bench)
        let token = first.text("refresh_token")
        for (proof, reason) in [
            (nil, Reason.proofMissing), (self.proof(bench, by: self.other), Reason.proofOtherKey),
        ] {
            let refused = await bench.refresh(token, proof: proof)
            #expect(refused.status == 400 && refused.error == "invalid_dpop_proof" && refused.reason == reason)
        }
        let second = await bench.refresh(token, proof: self.proof(bench))
        #expect(second.status == 200 && second.text("token_type") == "DPoP")
        let lost = await bench.refresh(token, proof: self.proof(bench))
        #expect(lost.text("refresh_token") == second.text("refresh_token"))
        #expect(bench.records.all.last { $0.reason != nil }?.reason == .proofOtherKey)
    }

    @Test("A family that is bound to no key is bound by its first rotation with a proof")
    func upgrade() async throws {
        let bench = TokenBench()
        let first = try await bench.tokens()
        let second = await bench.refresh(first.text("refresh_token"), proof: self.proof(bench))
        #expect(second.text("token_type") == "DPoP")
        #expect(await bench.refresh(second.text("refresh_token")).reason == .proofMissing)
        // Somebody else's binding shows when the owner comes back: the family ends.
        bench.clock.advance(by: .seconds(61))
        #expect(await bench.refresh(first.text("refresh_token")).reason == .refreshReplayed)
        #expect(
            await bench.refresh(second.text("refresh_token"), proof: self.proof(bench)).reason == .refreshUnknown
        )
    }

    @Test("More than 60 s of leeway count for bound families only", arguments: [true, false])
    func leeway(isBound: Bool) async throws {
        let bench = TokenBench { $0.refreshToken.leeway = .seconds(600) }
        let first = isBound ? try await self.bound(bench) : try await bench.tokens()
        let token = first.text("refresh_token")
        let second = await bench.refresh(token, proof: isBound ? self.proof(bench) : nil)
        bench.clock.advance(by: .seconds(599))
        let again = await bench.refresh(token, proof: isBound ? self.proof(bench) : nil)
        if isBound {
            #expect(again.text("refresh_token") == second.text("refresh_token") && again.status == 200)
        } else {
            #expect(again.reason == .refreshReplayed)
        }
    }

    @Test("dpop_jkt: the code is good with that key only, and a refusal does not use it up")
    func boundCode() async throws {
        let bench = TokenBench()
        let code = try await bench.code(["dpop_jkt": self.maker.thumbprint])
        #expect(await bench.redeem(code).reason == .proofMissing)
        #expect(await bench.redeem(code, proof: self.proof(bench, by: self.other)).reason == .proofOtherKey)
        #expect(await bench.redeem(code, proof: self.proof(bench)).text("token_type") == "DPoP")
        let cookie = try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        for malformed in ["short", String(repeating: "a", count: 42) + "!"] {
            let refused = await bench.authorize(["dpop_jkt": malformed], cookie: cookie)
            #expect(refused.redirect["error"] == "invalid_request")
        }
    }

    @Test("A proof is accepted once, and remembered for longer than it is good")
    func replay() async throws {
        let bench = TokenBench()
        let proof = self.proof(bench)
        let code = try await bench.code()
        #expect(await bench.redeem(code, proof: proof).status == 200)
        let replayed = await bench.refresh("spr_x", proof: proof)
        #expect(replayed.status == 400 && replayed.error == "invalid_dpop_proof" && replayed.reason == .proofReplayed)
        let seen = bench.onces.seen
        #expect(seen.count == 1 && seen.values.allSatisfy { $0 >= DPoPJudge.greatestAge })
    }

    @Test("A request whose grant is refused has used its proof, and brings a nonce all the same")
    func refusedGrant() async throws {
        let bench = TokenBench()
        let refused = await bench.refresh("spr_x", proof: self.proof(bench))
        #expect(refused.error == "invalid_grant" && refused.field("dpop-nonce") != nil)
    }

    @Test("A device with a wrong clock is told so and gets a nonce; with it, its clock does not matter")
    func wrongClock() async throws {
        let bench = TokenBench()
        let code = try await bench.code()
        let sent = await bench.redeem(code, proof: self.proof(bench, skew: .seconds(7200)))
        #expect(sent.status == 400 && sent.error == "use_dpop_nonce" && sent.reason == .proofNonceNeeded)
        #expect(sent.description?.contains("clock") == true)
        let nonce = try #require(sent.field("dpop-nonce"))
        let answer = await bench.redeem(code, proof: self.proof(bench, nonce: nonce, skew: .seconds(7200)))
        #expect(answer.status == 200 && answer.field("dpop-nonce") == nil)
    }

    @Test("After a failover a proof needs a nonce of the new epoch, also one that was judged before it")
    func failover() async throws {
        let bench = TokenBench()
        let former = try #require(try await self.bound(bench).field("dpop-nonce"))
        let code = try await bench.code()
        bench.onces.script.memory = OnceMemory(epoch: 2, since: bench.clock.now)
        let sent = await bench.redeem(code, proof: self.proof(bench))
        #expect(sent.error == "use_dpop_nonce")
        #expect(await bench.redeem(code, proof: self.proof(bench, nonce: former)).error == "use_dpop_nonce")
        let nonce = try #require(sent.field("dpop-nonce"))
        bench.onces.script.nextMemory = OnceMemory(epoch: 3, since: bench.clock.now)
        let raced = await bench.redeem(code, proof: self.proof(bench, nonce: nonce))
        #expect(raced.error == "use_dpop_nonce")
        let last = try #require(raced.field("dpop-nonce"))
        #expect(last != nonce)
        #expect(await bench.redeem(code, proof: self.proof(bench, nonce: last)).status == 200)
        bench.onces.script.nextMemory = nil
        bench.clock.advance(by: .seconds(361))
        #expect(await bench.refresh("spr_x", proof: self.proof(bench)).error == "invalid_grant")
    }

    @Test(
        "F30: A store that cannot remember the proof is 503, never a refusal of the token",
        arguments: [StoreError.unavailable, .full]
    )
    func outage(_ error: StoreError) async throws {
        let bench = TokenBench()
        let token = try await self.bound(bench).text("refresh_token")
        bench.onces.script.failure = error
        let refused = await bench.refresh(token, proof: self.proof(bench))
        #expect(refused.status == 503 && refused.error == "temporarily_unavailable")
        #expect(refused.field("retry-after") != nil)
        bench.onces.script.failure = nil
        #expect(await bench.refresh(token, proof: self.proof(bench)).status == 200)
    }

    @Test("Proofs for another method, URL or moment are refused, and so is more than one")
    func unfit() async throws {
        let bench = TokenBench()
        let now = bench.clock.now
        let proofs = [
            "x", "", self.proof(bench) + "," + self.proof(bench),
            self.maker.proof(method: "GET", url: Self.tokenURL, at: now),
            self.maker.proof(method: "POST", url: "https://evil.example.com/oauth/token", at: now),
            self.maker.proof(method: "POST", url: "https://auth.example.com/oauth/revoke", at: now),
            self.maker.proof(method: "POST", url: "http://auth.example.com/oauth/token", at: now),
        ]
        for proof in proofs {
            let refused = await bench.refresh("spr_x", proof: proof)
            #expect(refused.error == "invalid_dpop_proof" && refused.reason == .proofInvalid, "\(proof)")
        }
        #expect(bench.onces.seen.isEmpty)
    }

    @Test("require_proof_of_possession: every grant of the client needs a proof; a revocation does not")
    func required() async throws {
        let bench = TokenBench { $0.requiresProof = true }
        let code = try await bench.code()
        for answer in [
            await bench.redeem(code), await bench.refresh("spr_x"),
            await bench.form(bench.parameters(try await bench.signIn())),
        ] {
            #expect(answer.error == "invalid_dpop_proof" && answer.reason == .proofMissing)
        }
        let tokens = await bench.redeem(code, proof: self.proof(bench))
        #expect(tokens.status == 200)
        let revoked = await bench.form(
            ["client_id": "native-app", "token": tokens.text("refresh_token")],
            to: bench.revocation.endpoint
        )
        #expect(revoked.status == 200)
        #expect(try await !bench.lives(tokens.text("access_token")))
    }

    @Test("A session token gives a bound access token, and that one a transfer token with its proof only")
    func exchanges() async throws {
        let bench = TokenBench()
        let session = try await bench.signIn()
        var parameters = bench.parameters(session)
        parameters["audience"] = TokenBench.api
        let access = await bench.form(parameters, fields: TokenBench.fields(self.proof(bench)))
        #expect(access.text("token_type") == "DPoP")
        var mint = bench.parameters(access.text("access_token"))
        mint["subject_token_type"] = TokenExchange.accessTokenType
        #expect(await bench.form(mint).reason == .proofMissing)
        let foreign = TokenBench.fields(self.proof(bench, by: self.other))
        #expect(await bench.form(mint, fields: foreign).reason == .proofOtherKey)
        let minted = await bench.form(mint, fields: TokenBench.fields(self.proof(bench)))
        #expect(minted.status == 200 && minted.text("access_token").hasPrefix("spt_"))
    }

    @Test("A refresh token that is bound gives a transfer token with its proof only")
    func transferOfRefreshToken() async throws {
        let bench = TokenBench()
        let token = try await self.bound(bench).text("refresh_token")
        let wish = ["audience": "urn:auth.example.com:session_transfer"]
        #expect(await bench.refresh(token, wish).reason == .proofMissing)
        #expect(await bench.refresh(token, wish, proof: self.proof(bench)).text("access_token").hasPrefix("spt_"))
    }

    // MARK: /userinfo

    private func userInfo(
        _ bench: TokenBench,
        _ token: String,
        scheme: String = "DPoP",
        proof: String?
    ) async -> Answer {
        await bench.post(
            [],
            fields: [("authorization", "\(scheme) \(token)")] + TokenBench.fields(proof),
            to: bench.userInfo.endpoint
        )
    }

    private func userInfoProof(_ bench: TokenBench, _ token: String, nonce: String? = nil) -> String {
        self.maker.proof(
            method: "POST",
            url: Self.userInfoURL,
            accessToken: Secret(token),
            nonce: nonce,
            at: bench.clock.now
        )
    }

    @Test("/userinfo takes a bound token with its proof, once, and nothing less")
    func userInfo() async throws {
        let bench = TokenBench()
        let token = try await self.bound(bench, ["scope": "openid email"]).text("access_token")
        let proof = self.userInfoProof(bench, token)
        let good = await self.userInfo(bench, token, proof: proof)
        #expect(good.status == 200 && good.text("sub") == "alice" && good.field("dpop-nonce") != nil)

        let refusals: [(Answer, Reason, String)] = [
            (await self.userInfo(bench, token, proof: proof), .proofReplayed, "invalid_dpop_proof"),
            (await self.userInfo(bench, token, proof: nil), .proofMissing, "invalid_dpop_proof"),
            (
                await self.userInfo(bench, token, scheme: "Bearer", proof: self.userInfoProof(bench, token)),
                .credentialBoundToKey, "invalid_token"
            ),
            (
                await self.userInfo(bench, token, proof: self.userInfoProof(bench, "spa_another")), .proofInvalid,
                "invalid_dpop_proof"
            ),
        ]
        for (answer, reason, error) in refusals {
            let challenge = answer.field("www-authenticate") ?? ""
            #expect(answer.status == 401 && answer.reason == reason && answer.error == error, "\(answer.body)")
            #expect(challenge.hasPrefix("DPoP error=\"\(error)\", error_description=\""), "\(challenge)")
            #expect(answer.response.fields.count { $0.name == "www-authenticate" } == 1)
        }
    }

    @Test("/userinfo asks for a nonce with one challenge, as the SDKs parse it")
    func userInfoNonce() async throws {
        let bench = TokenBench()
        let token = try await self.bound(bench, ["scope": "openid"]).text("access_token")
        bench.onces.script.memory = OnceMemory(epoch: 2, since: bench.clock.now)
        let sent = await self.userInfo(bench, token, proof: self.userInfoProof(bench, token))
        #expect(sent.status == 401 && sent.error == "use_dpop_nonce")
        #expect(sent.field("www-authenticate")?.hasPrefix("DPoP error=\"use_dpop_nonce\", ") == true)
        let nonce = try #require(sent.field("dpop-nonce"))
        #expect(await self.userInfo(bench, token, proof: self.userInfoProof(bench, token, nonce: nonce)).status == 200)
    }

    @Test("A bearer token stays one at /userinfo: as DPoP it is refused, a proof beside it is ignored")
    func bearerAtUserInfo() async throws {
        let bench = TokenBench()
        let token = await bench.redeem(try await bench.code(["scope": "openid"])).text("access_token")
        let proof = self.userInfoProof(bench, token)
        #expect(await self.userInfo(bench, token, proof: proof).reason == .credentialNotBound)
        #expect(await self.userInfo(bench, token, scheme: "Bearer", proof: proof).status == 200)
        let nothing = await bench.post([], fields: [], to: bench.userInfo.endpoint)
        #expect(nothing.field("www-authenticate") == #"Bearer realm="sallyport", DPoP algs="ES256 EdDSA""#)
    }
}
