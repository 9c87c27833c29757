import AddressIntelligence
import Endpoints
import JOSE
import NIOCore
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("id_tokens in answers, and /userinfo")
struct IDTokenAnswerTests {
    private func claims(_ token: String) throws -> JSONValue {
        let keys = TokenBench.idTokenKeys.published
        let verified = try JWS.verify(Array(token.utf8), with: keys, allowing: [.rs256])
        return try JWTClaims(verified.payload).value
    }

    private static let scope: [String: String?] = ["scope": "openid email offline_access", "nonce": "n-0S6_WzA2Mj"]

    @Test("with openid every answer has a complete id_token for the client: code, refresh, mint and exchange")
    func answers() async throws {
        let bench = TokenBench()
        let first = await bench.redeem(try await bench.code(Self.scope))
        let claims = try self.claims(first.text("id_token"))
        #expect(claims["iss"] == "https://auth.example.com/")
        #expect(claims["aud"] == "native-app")
        #expect(claims["sub"] == "alice")
        #expect(claims["nonce"] == "n-0S6_WzA2Mj")
        #expect(claims["email"] == "a@example.com")
        #expect(claims["name"] == nil)
        #expect(claims["auth_time"] == .integer(TokenBench.now.seconds))
        #expect(claims["at_hash"]?.string == IDToken.hash(of: Secret(first.text("access_token"))))

        let second = await bench.refresh(first.text("refresh_token"))
        let renewed = try self.claims(second.text("id_token"))
        #expect(renewed["sid"] == claims["sid"])
        #expect(renewed["nonce"] == nil)

        let minted = await bench.refresh(
            second.text("refresh_token"),
            ["audience": "urn:auth.example.com:session_transfer"]
        )
        #expect(minted.text("access_token").hasPrefix("spt_"))
        #expect(try self.claims(minted.text("id_token"))["aud"] == "native-app")

        var exchange = bench.parameters(try await bench.signIn())
        exchange["audience"] = TokenBench.api
        exchange["scope"] = "openid profile"
        #expect(try self.claims(await bench.form(exchange).text("id_token"))["name"] == "Ada")
    }

    @Test("without openid there is none")
    func without() async throws {
        let bench = TokenBench()
        #expect(try await bench.tokens().body["id_token"] == nil)
    }

    // MARK: response_type=id_token

    private static let implicit: [String: String?] = [
        "response_type": "id_token", "response_mode": "form_post", "nonce": "abc", "scope": "openid profile email",
        "code_challenge": nil, "code_challenge_method": nil,
    ]

    @Test("express-openid-connect's default: an id_token with nonce, posted to the callback")
    func implicit() async throws {
        let bench = TokenBench { $0.grantTypes.insert(.implicit) }
        let cookie = try await bench.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        let answer = await bench.authorize(Self.implicit, cookie: cookie)
        let page = String(decoding: answer.response.body, as: UTF8.self)
        let token = try #require(page.firstMatch(of: /name="id_token" value="([^"]+)"/)).1
        let claims = try self.claims(String(token))
        #expect(claims["nonce"] == "abc")
        #expect(claims["email"] == "a@example.com")
        #expect(claims["at_hash"] == nil)
        #expect(answer.field("location") == nil)
    }

    @Test("it needs the grant implicit, form_post and a nonce")
    func implicitDemands() async throws {
        let without = TokenBench()
        let cookie = try await without.signIn(kind: .web, origin: .browser, host: "auth.example.com")
        let refused = await without.authorize(Self.implicit, cookie: cookie)
        #expect(String(decoding: refused.response.body, as: UTF8.self).contains("unauthorized_client"))
        let bench = TokenBench { $0.grantTypes.insert(.implicit) }
        for change in [["response_mode": nil], ["response_mode": "query"]] as [[String: String?]] {
            let answer = await bench.authorize(Self.implicit.merging(change) { $1 })
            #expect(answer.redirect["error"] == "invalid_request")
        }
        let answer = await bench.authorize(Self.implicit.merging(["nonce": nil]) { $1 })
        #expect(String(decoding: answer.response.body, as: UTF8.self).contains("invalid_request"))
        #expect(
            await bench.form(["grant_type": "implicit", "client_id": "native-app"]).error == "unsupported_grant_type"
        )
    }

    // MARK: /userinfo

    private func userInfo(_ bench: TokenBench, _ token: String?) async -> Answer {
        var fields: [(name: String, value: String)] = []
        if let token { fields.append(("authorization", "Bearer \(token)")) }
        return await bench.post([], fields: fields, to: bench.userInfo.endpoint)
    }

    @Test("it says what the scopes ask for, in JSON")
    func userInfo() async throws {
        let bench = TokenBench()
        let token = await bench.redeem(try await bench.code(Self.scope)).text("access_token")
        let answer = await self.userInfo(bench, token)
        #expect(answer.status == 200)
        #expect(answer.body == ["sub": "alice", "email": "a@example.com"])
        #expect(answer.field("cache-control") == "no-store")
    }

    @Test("refusals have RFC 6750's challenge and a JSON body")
    func userInfoRefusals() async throws {
        let bench = TokenBench()
        let narrow = try await bench.tokens().text("access_token")
        let session = try await bench.signIn()
        for (token, status, challenge) in [
            (nil, 401, #"Bearer realm="sallyport", DPoP algs="ES256 EdDSA""#),
            ("x", 401, "Bearer error=\"invalid_token\""),
            (session, 401, "Bearer error=\"invalid_token\""), (narrow, 403, "Bearer error=\"insufficient_scope\""),
        ] {
            let answer = await self.userInfo(bench, token)
            #expect(answer.status == status)
            #expect(answer.field("www-authenticate") == challenge)
            #expect(answer.field("content-type")?.hasPrefix("application/json") == true)
        }
        bench.store.change { $0.failure = .unavailable }
        #expect(await self.userInfo(bench, narrow).status == 503)
    }
}
