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
        _ world: TokenWorld,
        nonce: String? = nil,
        skew: Duration = .zero,
        id: String? = nil,
        by maker: DPoPProofMaker? = nil
    ) -> String {
        (maker ?? self.maker).proof(
            method: "POST",
            url: Self.tokenURL,
            nonce: nonce,
            at: world.clock.now.advanced(by: skew),
            id: id
        )
    }

    /// The answer to a redeemed code, with tokens that are bound to a key.
    private func bound(_ world: TokenWorld, _ parameters: [String: String?] = [:]) async throws -> Answer {
        await world.redeem(try await world.code(parameters), proof: self.proof(world))
    }

    // MARK: The token endpoint

    @Test("A proof binds the access token and the refresh token, and the answer brings a nonce")
    func binds() async throws {
        let secret = "a secret of the client"
        let world = TokenWorld { if $0.clientID == "native-app" { $0.clientSecrets = [Secret(secret)] } }
        let code = try await world.code(["scope": "openid offline_access orders:read"])
        let answer = await world.redeem(code, ["client_secret": secret], proof: self.proof(world))
        #expect(answer.status == 200)
        #expect(answer.text("token_type") == "DPoP")
        #expect(answer.field("dpop-nonce") != nil)
        for (member, type) in [("access_token", JSONValue.string("DPoP")), ("refresh_token", nil)] {
            let shown = await world.form(
                ["client_id": "native-app", "client_secret": secret, "token": answer.text(member)],
                to: world.introspection.endpoint
            )
            #expect(shown.body["cnf"]?["jkt"]?.string == self.maker.thumbprint)
            #expect(shown.body["token_type"] == type)
        }
    }

    @Test("Without a proof tokens are bearer tokens, as before")
    func unbound() async throws {
        let world = TokenWorld()
        let answer = try await world.tokens()
        #expect(answer.text("token_type") == "Bearer" && answer.field("dpop-nonce") == nil)
        #expect(world.onces.seen.isEmpty)
    }

    @Test("A bound refresh token needs its key: without, the family stays as it is and the error is not invalid_grant")
    func boundFamily() async throws {
        let world = TokenWorld()
        let first = try await self.bound(world)
        let token = first.text("refresh_token")
        for (proof, reason) in [
            (nil, Reason.proofMissing), (self.proof(world, by: self.other), Reason.proofOtherKey),
        ] {
            let refused = await world.refresh(token, proof: proof)
            #expect(refused.status == 400 && refused.error == "invalid_dpop_proof" && refused.reason == reason)
        }
        let second = await world.refresh(token, proof: self.proof(world))
        #expect(second.status == 200 && second.text("token_type") == "DPoP")
        let lost = await world.refresh(token, proof: self.proof(world))
        #expect(lost.text("refresh_token") == second.text("refresh_token"))
        #expect(world.records.all.last { $0.reason != nil }?.reason == .proofOtherKey)
    }

    @Test("A family that is bound to no key is bound by its first rotation with a proof")
    func upgrade() async throws {
        let world = TokenWorld()
        let first = try await world.tokens()
        let second = await world.refresh(first.text("refresh_token"), proof: self.proof(world))
        #expect(second.text("token_type") == "DPoP")
        #expect(await world.refresh(second.text("refresh_token")).reason == .proofMissing)
        // Somebody else's binding shows when the owner comes back: the family ends.
        world.clock.advance(by: .seconds(61))
        #expect(await world.refresh(first.text("refresh_token")).reason == .refreshReplayed)
        #expect(
            await world.refresh(second.text("refresh_token"), proof: self.proof(world)).reason == .refreshUnknown
        )
    }

    @Test("More than 60 s of leeway count for bound families only", arguments: [true, false])
    func leeway(isBound: Bool) async throws {
        let world = TokenWorld { $0.refreshToken.leeway = .seconds(600) }
        let first = isBound ? try await self.bound(world) : try await world.tokens()
        let token = first.text("refresh_token")
        let second = await world.refresh(token, proof: isBound ? self.proof(world) : nil)
        world.clock.advance(by: .seconds(599))
        let again = await world.refresh(token, proof: isBound ? self.proof(world) : nil)
        if isBound {
            #expect(again.text("refresh_token") == second.text("refresh_token") && again.status == 200)
        } else {
            #expect(again.reason == .refreshReplayed)
        }
    }

    @Test("dpop_jkt: the code is good with that key only, and a refusal does not use it up")
    func boundCode() async throws {
        let world = TokenWorld()
        let code = try await world.code(["dpop_jkt": self.maker.thumbprint])
        #expect(await world.redeem(code).reason == .proofMissing)
        #expect(await world.redeem(code, proof: self.proof(world, by: self.other)).reason == .proofOtherKey)
        #expect(await world.redeem(code, proof: self.proof(world)).text("token_type") == "DPoP")
        let cookie = try await world.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        for malformed in ["short", String(repeating: "a", count: 42) + "!"] {
            let refused = await world.authorize(["dpop_jkt": malformed], cookie: cookie)
            #expect(refused.redirect["error"] == "invalid_request")
        }
    }

    @Test("A proof is accepted once, and remembered for longer than it is good")
    func replay() async throws {
        let world = TokenWorld()
        let proof = self.proof(world)
        let code = try await world.code()
        #expect(await world.redeem(code, proof: proof).status == 200)
        let replayed = await world.refresh("spr_x", proof: proof)
        #expect(replayed.status == 400 && replayed.error == "invalid_dpop_proof" && replayed.reason == .proofReplayed)
        let seen = world.onces.seen
        #expect(seen.count == 1 && seen.values.allSatisfy { $0 >= DPoPJudge.greatestAge })
    }

    @Test("A request whose grant is refused has used its proof, and brings a nonce all the same")
    func refusedGrant() async throws {
        let world = TokenWorld()
        let refused = await world.refresh("spr_x", proof: self.proof(world))
        #expect(refused.error == "invalid_grant" && refused.field("dpop-nonce") != nil)
    }

    @Test("A device with a wrong clock is told so and gets a nonce; with it, its clock does not matter")
    func wrongClock() async throws {
        let world = TokenWorld()
        let code = try await world.code()
        let sent = await world.redeem(code, proof: self.proof(world, skew: .seconds(7200)))
        #expect(sent.status == 400 && sent.error == "use_dpop_nonce" && sent.reason == .proofNonceNeeded)
        #expect(sent.description?.contains("clock") == true)
        let nonce = try #require(sent.field("dpop-nonce"))
        let answer = await world.redeem(code, proof: self.proof(world, nonce: nonce, skew: .seconds(7200)))
        #expect(answer.status == 200 && answer.field("dpop-nonce") == nil)
    }

    @Test("After a failover a proof needs a nonce of the new epoch, also one that was judged before it")
    func failover() async throws {
        let world = TokenWorld()
        let former = try #require(try await self.bound(world).field("dpop-nonce"))
        let code = try await world.code()
        world.onces.script.memory = OnceMemory(epoch: 2, since: world.clock.now)
        let sent = await world.redeem(code, proof: self.proof(world))
        #expect(sent.error == "use_dpop_nonce")
        #expect(await world.redeem(code, proof: self.proof(world, nonce: former)).error == "use_dpop_nonce")
        let nonce = try #require(sent.field("dpop-nonce"))
        world.onces.script.nextMemory = OnceMemory(epoch: 3, since: world.clock.now)
        let raced = await world.redeem(code, proof: self.proof(world, nonce: nonce))
        #expect(raced.error == "use_dpop_nonce")
        let last = try #require(raced.field("dpop-nonce"))
        #expect(last != nonce)
        #expect(await world.redeem(code, proof: self.proof(world, nonce: last)).status == 200)
        world.onces.script.nextMemory = nil
        world.clock.advance(by: .seconds(361))
        #expect(await world.refresh("spr_x", proof: self.proof(world)).error == "invalid_grant")
    }

    @Test(
        "A store that cannot remember the proof is 503, never a refusal of the token",
        arguments: [StoreError.unavailable, .full]
    )
    func outage(_ error: StoreError) async throws {
        let world = TokenWorld()
        let token = try await self.bound(world).text("refresh_token")
        world.onces.script.failure = error
        let refused = await world.refresh(token, proof: self.proof(world))
        #expect(refused.status == 503 && refused.error == "temporarily_unavailable")
        #expect(refused.field("retry-after") != nil)
        world.onces.script.failure = nil
        #expect(await world.refresh(token, proof: self.proof(world)).status == 200)
    }

    @Test("Proofs for another method, URL or moment are refused, and so is more than one")
    func unfit() async throws {
        let world = TokenWorld()
        let now = world.clock.now
        let proofs = [
            "x", "", self.proof(world) + "," + self.proof(world),
            self.maker.proof(method: "GET", url: Self.tokenURL, at: now),
            self.maker.proof(method: "POST", url: "https://evil.example.com/oauth/token", at: now),
            self.maker.proof(method: "POST", url: "https://auth.example.com/oauth/revoke", at: now),
            self.maker.proof(method: "POST", url: "http://auth.example.com/oauth/token", at: now),
        ]
        for proof in proofs {
            let refused = await world.refresh("spr_x", proof: proof)
            #expect(refused.error == "invalid_dpop_proof" && refused.reason == .proofInvalid, "\(proof)")
        }
        #expect(world.onces.seen.isEmpty)
    }

    @Test("require_proof_of_possession: every grant of the client needs a proof; a revocation does not")
    func required() async throws {
        let world = TokenWorld { $0.requiresProof = true }
        let code = try await world.code()
        for answer in [
            await world.redeem(code), await world.refresh("spr_x"),
            await world.form(world.parameters(try await world.signIn())),
        ] {
            #expect(answer.error == "invalid_dpop_proof" && answer.reason == .proofMissing)
        }
        let tokens = await world.redeem(code, proof: self.proof(world))
        #expect(tokens.status == 200)
        let revoked = await world.form(
            ["client_id": "native-app", "token": tokens.text("refresh_token")],
            to: world.revocation.endpoint
        )
        #expect(revoked.status == 200)
        #expect(try await !world.lives(tokens.text("access_token")))
    }

    @Test("A session token gives a bound access token, and that one a transfer token with its proof only")
    func exchanges() async throws {
        let world = TokenWorld()
        let session = try await world.signIn()
        var parameters = world.parameters(session)
        parameters["audience"] = TokenWorld.api
        let access = await world.form(parameters, fields: TokenWorld.fields(self.proof(world)))
        #expect(access.text("token_type") == "DPoP")
        var mint = world.parameters(access.text("access_token"))
        mint["subject_token_type"] = TokenExchange.accessTokenType
        #expect(await world.form(mint).reason == .proofMissing)
        let foreign = TokenWorld.fields(self.proof(world, by: self.other))
        #expect(await world.form(mint, fields: foreign).reason == .proofOtherKey)
        let minted = await world.form(mint, fields: TokenWorld.fields(self.proof(world)))
        #expect(minted.status == 200 && minted.text("access_token").hasPrefix("spt_"))
    }

    @Test("A refresh token that is bound gives a transfer token with its proof only")
    func transferOfRefreshToken() async throws {
        let world = TokenWorld()
        let token = try await self.bound(world).text("refresh_token")
        let wish = ["audience": "urn:auth.example.com:session_transfer"]
        #expect(await world.refresh(token, wish).reason == .proofMissing)
        #expect(await world.refresh(token, wish, proof: self.proof(world)).text("access_token").hasPrefix("spt_"))
    }

    // MARK: /userinfo

    private func userInfo(
        _ world: TokenWorld,
        _ token: String,
        scheme: String = "DPoP",
        proof: String?
    ) async -> Answer {
        await world.post(
            [],
            fields: [("authorization", "\(scheme) \(token)")] + TokenWorld.fields(proof),
            to: world.userInfo.endpoint
        )
    }

    private func userInfoProof(_ world: TokenWorld, _ token: String, nonce: String? = nil) -> String {
        self.maker.proof(
            method: "POST",
            url: Self.userInfoURL,
            accessToken: Secret(token),
            nonce: nonce,
            at: world.clock.now
        )
    }

    @Test("/userinfo takes a bound token with its proof, once, and nothing less")
    func userInfo() async throws {
        let world = TokenWorld()
        let token = try await self.bound(world, ["scope": "openid email"]).text("access_token")
        let proof = self.userInfoProof(world, token)
        let good = await self.userInfo(world, token, proof: proof)
        #expect(good.status == 200 && good.text("sub") == "alice" && good.field("dpop-nonce") != nil)

        let refusals: [(Answer, Reason, String)] = [
            (await self.userInfo(world, token, proof: proof), .proofReplayed, "invalid_dpop_proof"),
            (await self.userInfo(world, token, proof: nil), .proofMissing, "invalid_dpop_proof"),
            (
                await self.userInfo(world, token, scheme: "Bearer", proof: self.userInfoProof(world, token)),
                .credentialBoundToKey, "invalid_token"
            ),
            (
                await self.userInfo(world, token, proof: self.userInfoProof(world, "spa_another")), .proofInvalid,
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
        let world = TokenWorld()
        let token = try await self.bound(world, ["scope": "openid"]).text("access_token")
        world.onces.script.memory = OnceMemory(epoch: 2, since: world.clock.now)
        let sent = await self.userInfo(world, token, proof: self.userInfoProof(world, token))
        #expect(sent.status == 401 && sent.error == "use_dpop_nonce")
        #expect(sent.field("www-authenticate")?.hasPrefix("DPoP error=\"use_dpop_nonce\", ") == true)
        let nonce = try #require(sent.field("dpop-nonce"))
        #expect(await self.userInfo(world, token, proof: self.userInfoProof(world, token, nonce: nonce)).status == 200)
    }

    @Test("A bearer token stays one at /userinfo: as DPoP it is refused, a proof beside it is ignored")
    func bearerAtUserInfo() async throws {
        let world = TokenWorld()
        let token = await world.redeem(try await world.code(["scope": "openid"])).text("access_token")
        let proof = self.userInfoProof(world, token)
        #expect(await self.userInfo(world, token, proof: proof).reason == .credentialNotBound)
        #expect(await self.userInfo(world, token, scheme: "Bearer", proof: proof).status == 200)
        let nothing = await world.post([], fields: [], to: world.userInfo.endpoint)
        #expect(nothing.field("www-authenticate") == #"Bearer, DPoP algs="ES256 EdDSA""#)
    }
}
