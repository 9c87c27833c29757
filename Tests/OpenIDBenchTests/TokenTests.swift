import Cryptography
import JOSE
import OpenIDBench
import StoreBench
import Testing
import Vocabulary

@Suite struct TokenTests {
    private let clock = MovableClock()
    private let provider: OpenIDProvider
    private let flow: CodeFlow

    init() throws {
        self.provider = try OpenIDProvider(clock: self.clock.clock, isUp: false)
        self.flow = CodeFlow(provider: self.provider)
    }

    private func introspect(_ token: String?) -> JSONValue {
        self.flow.post(.introspection, ["token": token ?? ""])?.document ?? .null
    }

    // MARK: Refresh

    @Test func rotatesRefreshTokensAndPunishesReuse() throws {
        let first = self.flow.signIn()?["refresh_token"]
        let answer = self.flow.refresh(first)
        let second = answer?["refresh_token"]
        #expect(second != nil && second != first && self.provider.reuses == 0)
        #expect(try self.flow.claims(answer).nonce == nil)
        #expect(self.flow.refresh(second)?.status == 200)
        #expect(self.flow.refresh(first)?["error"] == "invalid_grant")
        #expect(self.provider.reuses == 1 && self.provider.grantCount == 0)
        #expect(self.flow.refresh(second)?["error"] == "invalid_grant" && self.provider.refreshes == 4)
    }

    @Test func forgivesOneReuseWithinTheOverlap() {
        self.provider.change { $0.refresh = .rotating(overlap: .seconds(30)) }
        let first = self.flow.signIn()?["refresh_token"]
        #expect(self.flow.refresh(first)?.status == 200)
        self.clock.advance(by: .seconds(29))
        let again = self.flow.refresh(first)
        #expect(again?.status == 200 && self.provider.reuses == 0)
        #expect(self.flow.refresh(first)?["error"] == "invalid_grant")
        #expect(self.provider.reuses == 1)
        #expect(self.flow.refresh(again?["refresh_token"])?["error"] == "invalid_grant")
    }

    @Test func keepsARefreshTokenWhereItIsToldTo() {
        self.provider.change { $0.refresh = .kept }
        let token = self.flow.signIn()?["refresh_token"]
        for _ in 0..<3 {
            let answer = self.flow.refresh(token)
            #expect(answer?.status == 200 && answer?["refresh_token"] == nil)
        }
        self.provider.endGrants()
        #expect(self.flow.refresh(token)?["error"] == "invalid_grant")
    }

    @Test func aRefreshBringsNewClaims() throws {
        let token = self.flow.signIn()?["refresh_token"]
        self.provider.change { $0.user.claims["groups"] = ["admins"] }
        let answer = self.flow.refresh(token)
        #expect(try self.flow.claims(answer)["groups"] == ["admins"])
        #expect(self.flow.userinfo(answer?["access_token"])?.document["groups"] == ["admins"])
    }

    // MARK: Access tokens

    @Test func introspectsAndRevokes() {
        let answer = self.flow.signIn()
        let token = answer?["access_token"]
        let document = self.introspect(token)
        #expect(document["active"] == true && document["sub"] == "user-1" && document["client_id"] == "gateway")
        #expect(document["aud"] == "api" && document["scope"] == "openid profile")
        #expect(self.introspect("another") == ["active": false])
        #expect(self.flow.post(.revocation, ["token": token ?? ""])?.status == 200)
        #expect(self.introspect(token) == ["active": false])
        #expect(self.flow.userinfo(token)?.status == 401)
        // The refresh token is still good, and its revocation ends the grant.
        let next = self.flow.refresh(answer?["refresh_token"])
        #expect(self.introspect(next?["access_token"])["active"] == true)
        #expect(self.flow.post(.revocation, ["token": next?["refresh_token"] ?? ""])?.status == 200)
        #expect(self.introspect(next?["access_token"])["active"] == false)
        #expect(self.flow.refresh(next?["refresh_token"])?["error"] == "invalid_grant")
    }

    @Test func introspectsRefreshTokensThatAreNotUsed() {
        let token = self.flow.signIn()?["refresh_token"]
        let document = self.introspect(token)
        #expect(document["active"] == true && document["token_use"] == "refresh_token" && document["sub"] == "user-1")
        #expect(document["client_id"] == "gateway" && document["aud"] == nil && self.provider.refreshes == 0)
        #expect(self.flow.refresh(token)?.status == 200)
        #expect(self.introspect(token) == ["active": false])
        let native = self.provider.refreshToken()
        #expect(self.introspect(native)["client_id"] == "native-app")
        self.provider.endGrants()
        #expect(self.introspect(native) == ["active": false])
    }

    @Test func accessTokensExpire() {
        let token = self.flow.signIn()?["access_token"]
        let other = self.provider.opaqueAccessToken(lifetime: .seconds(299))
        self.clock.advance(by: .seconds(299))
        #expect(self.introspect(token)["active"] == true && self.introspect(other)["active"] == false)
        self.clock.advance(by: .seconds(1))
        #expect(self.introspect(token)["active"] == false)
    }

    @Test func introspectionDemandsAClient() {
        var flow = self.flow
        flow.secret = "wrong"
        #expect(flow.post(.introspection, ["token": "a"])?.status == 401)
    }

    @Test func makesJWTAccessTokens() throws {
        self.provider.change { script in
            script.accessTokenForm = .jwt
            script.accessTokenAudience = ["api", "other"]
        }
        let answer = self.flow.signIn()
        let own = Array((answer?["access_token"] ?? "").utf8)
        let loose = Array(self.provider.accessToken(for: "user-7") { $0["aud"] = "api" }.utf8)
        let keys = try JWKSet(self.provider.answer(to: OpenIDCall("GET", "/jwks.json"))?.body ?? [])
        for (token, subject) in [(own, "user-1"), (loose, "user-7")] {
            let verified = try JWS.verify(token, with: keys, allowing: [.es256])
            let claims = try JWTClaims(verified.payload)
            try claims.check(issuer: self.provider.issuer, audience: ["api"], now: self.clock.now)
            #expect(verified.isType("at+jwt") && claims.subject == subject && claims.id != nil)
        }
        #expect(self.introspect(answer?["access_token"])["active"] == true)
    }

    @Test func makesLogoutTokens() throws {
        let text = self.provider.logoutToken(sessionID: "s", subject: nil) { $0["extra"] = 1 }
        let keys = try JWKSet(self.provider.answer(to: OpenIDCall("GET", "/jwks.json"))?.body ?? [])
        let verified = try JWS.verify(Array(text.utf8), with: keys, allowing: [.es256])
        let claims = try JWTClaims(verified.payload)
        try claims.check(issuer: self.provider.issuer, audience: ["gateway"], now: self.clock.now)
        #expect(verified.isType("logout+jwt") && claims.sessionID == "s" && claims.subject == nil)
        #expect(claims["events"]?["http://schemas.openid.net/event/backchannel-logout"] == [:] && claims["extra"] == 1)
    }

    // MARK: Keys

    @Test func rotatesKeys() throws {
        func keys() throws -> [String?] {
            try JWKSet(self.provider.answer(to: OpenIDCall("GET", "/jwks.json"))?.body ?? []).keys.map(\.keyID)
        }
        let first = try keys()
        self.provider.rotateKey()
        let second = try keys()
        #expect(second.count == 2 && second.last == first.first)
        #expect(try self.flow.claims(self.flow.signIn()).subject == "user-1")
        self.provider.rotateKey(.rs256, keepsOld: false)
        #expect(try keys().count == 1)
        self.provider.rotateKey(isPublished: false)
        let answer = self.flow.signIn()
        #expect(throws: JOSEError.self) { try self.flow.claims(answer) }
    }

    // MARK: DPoP

    private func proof(_ key: SigningKey, _ more: [String: JSONValue] = [:]) -> [(name: String, value: String)] {
        let claims: [String: JSONValue] = [
            "jti": .string(Random.base64URL(12)), "htm": "POST", "htu": .string(self.provider.issuer + "/token"),
            "iat": .integer(self.clock.now.seconds),
        ].merging(more) { $1 }
        let header: [(String, JSONValue)] = [("typ", "dpop+jwt"), ("jwk", key.publicKey.value)]
        let token = key.sign(JSONText.encode(.object(claims)), header: header)
        return [(name: "dpop", value: String(decoding: token, as: UTF8.self))]
    }

    @Test func bindsTokensToAKey() {
        let key = SigningKey.generated(.es256)
        let proof = self.proof(key)
        let answer = self.flow.exchange(self.flow.authorize()["code"], fields: proof)
        #expect(answer?["token_type"] == "DPoP")
        let token = answer?["access_token"] ?? ""
        #expect(self.flow.userinfo(token)?.status == 401, "as a bearer token")
        let refreshToken = answer?["refresh_token"]
        #expect(self.flow.refresh(refreshToken)?["error"] == "invalid_dpop_proof", "without a proof")
        #expect(self.flow.refresh(refreshToken, fields: proof)?["error"] == "invalid_dpop_proof", "the same proof")
        let other = self.proof(SigningKey.generated(.es256))
        #expect(self.flow.refresh(refreshToken, fields: other)?["error"] == "invalid_dpop_proof", "another key")
        let fields = self.proof(
            key,
            [
                "htm": "GET", "htu": .string(self.provider.issuer + "/userinfo"),
                "ath": .string(SHA256.digest(Array(token.utf8)).base64URL),
            ]
        )
        let authorization = [(name: "authorization", value: "DPoP " + token)]
        #expect(
            self.provider.answer(to: OpenIDCall("GET", "/userinfo", fields: authorization + fields))?.status == 200
        )
        #expect(self.flow.refresh(refreshToken, fields: self.proof(key))?["token_type"] == "DPoP")
    }

    @Test func demandsProofsAndNonces() {
        let key = SigningKey.generated(.es256)
        self.provider.change { $0.dpop = .required }
        #expect(self.flow.signIn()?["error"] == "invalid_dpop_proof")
        for wrong: [String: JSONValue] in [["htm": "GET"], ["htu": "https://a"], ["iat": 1], ["ath": "a"]] {
            let code = self.flow.authorize()["code"]
            #expect(self.flow.exchange(code, fields: self.proof(key, wrong))?["error"] == "invalid_dpop_proof")
        }
        self.provider.change { $0.dpop = .requiredWithNonce }
        let code = self.flow.authorize()["code"]
        let refusal = self.flow.exchange(code, fields: self.proof(key))
        #expect(refusal?["error"] == "use_dpop_nonce")
        let nonce = JSONValue.string(refusal?.field("dpop-nonce") ?? "")
        #expect(self.flow.exchange(code, fields: self.proof(key, ["nonce": nonce]))?.status == 200)
    }
}
