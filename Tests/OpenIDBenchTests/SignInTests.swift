import JOSE
import OpenIDBench
import StoreBench
import Testing
import Vocabulary

@Suite struct SignInTests {
    @Test func signsInByTheCodeFlow() throws {
        let provider = try OpenIDProvider()
        let flow = CodeFlow(provider: provider)
        let back = flow.authorize()
        #expect(back["state"] == "s t&=" && back["iss"] == provider.issuer)
        let answer = try #require(flow.exchange(back["code"]))
        #expect(answer.status == 200 && answer["token_type"] == "Bearer" && answer["refresh_token"] != nil)
        let claims = try flow.claims(answer)
        try claims.check(issuer: provider.issuer, audience: ["gateway"], now: Clock.system.now())
        #expect(claims.subject == "user-1" && claims.nonce == "n" && claims.sessionID == provider.sessionID)
        #expect(claims["email"] == "ada@example.com" && claims["at_hash"] != nil && claims["amr"] == ["pwd"])
        let userinfo = try #require(flow.userinfo(answer["access_token"]))
        #expect(userinfo["sub"] == "user-1" && userinfo["name"] == "Ada")
        #expect(flow.userinfo("another")?.status == 401)
        #expect(provider.count(.token) == 1 && provider.count(.userinfo) == 2)
    }

    /// The mistakes of a client that real providers do not forgive.
    @Test func refusesMistakes() throws {
        let provider = try OpenIDProvider()
        var flow = CodeFlow(provider: provider)
        #expect(flow.authorize(["client_id": "another"]).isEmpty)
        for (more, error) in [
            (["response_type": "token"], "unsupported_response_type"), (["scope": "profile"], "invalid_scope"),
            (["code_challenge": ""], "invalid_request"), (["code_challenge_method": "plain"], "invalid_request"),
            (["prompt": "none"], "login_required"),
        ] {
            #expect(flow.authorize(more)["error"] == error, "\(more)")
        }
        let code = flow.authorize()["code"]
        let other = CodeFlow(provider: provider)
        #expect(other.exchange(code)?["error"] == "invalid_grant", "another verifier")
        let second = flow.authorize()["code"]
        let answer = flow.exchange(second)
        #expect(flow.exchange(second)?["error"] == "invalid_grant", "the second use of a code")
        #expect(flow.refresh(answer?["refresh_token"])?["error"] == "invalid_grant", "ended by the second use")
        #expect(flow.userinfo(answer?["access_token"])?.status == 401)
        flow.secret = "wrong"
        #expect(flow.signIn()?.status == 401)
        flow.secret = nil
        #expect(flow.signIn()?["error"] == "invalid_client")
    }

    @Test func authenticatesAgainWhenItIsAskedTo() throws {
        let clock = MovableClock()
        let provider = try OpenIDProvider(clock: clock.clock)
        provider.change { $0.levels = ["mfa"] }
        let flow = CodeFlow(provider: provider)
        let first = try flow.claims(flow.signIn())
        clock.advance(by: .seconds(100))
        let second = try flow.claims(flow.signIn(["max_age": "100"]))
        #expect(second["auth_time"] == first["auth_time"] && second.sessionID == first.sessionID)
        #expect(second["acr"] == nil)
        let third = try flow.claims(flow.signIn(["max_age": "99", "acr_values": "phr mfa"]))
        #expect(third["auth_time"] != first["auth_time"] && third["acr"] == "mfa")
        #expect(third.sessionID == first.sessionID)
        clock.advance(by: .seconds(1))
        #expect(try flow.claims(flow.signIn(["prompt": "login"]))["auth_time"] != third["auth_time"])
        #expect(flow.authorize(["prompt": "none"])["code"] != nil)
        provider.endSession()
        #expect(flow.authorize(["prompt": "none"])["error"] == "login_required")
        #expect(try flow.claims(flow.signIn()).sessionID != first.sessionID)
    }

    @Test func mayUseASessionIDAgain() throws {
        let provider = try OpenIDProvider()
        provider.change { $0.keepsSessionID = true }
        let flow = CodeFlow(provider: provider)
        let first = try flow.claims(flow.signIn())
        provider.endSession()
        #expect(try flow.claims(flow.signIn()).sessionID == first.sessionID)
    }

    @Test func signsInOneOfSeveralUsers() throws {
        let provider = try OpenIDProvider()
        provider.change { $0.users["eve"] = OpenIDScript.User("user-2", claims: ["name": "Eve"]) }
        let flow = CodeFlow(provider: provider)
        #expect(try flow.claims(flow.signIn(["login_hint": "eve"])).subject == "user-2")
        #expect(try flow.claims(flow.signIn(["login_hint": "unknown"])).subject == "user-1")
    }

    @Test func isAProviderOfPlainOAuthToo() throws {
        let provider = try OpenIDProvider()
        provider.change { script in
            script.isOpenID = false
            script.requiresPKCE = false
            script.refresh = .none
            script.user.userinfo = ["id": 17, "login": "ada"]
        }
        let flow = CodeFlow(provider: provider)
        #expect(provider.answer(to: OpenIDCall("GET", "/.well-known/openid-configuration"))?.status == 404)
        let code = flow.authorize(["code_challenge": "", "code_challenge_method": "", "scope": "read"])["code"]
        let parameters = ["grant_type": "authorization_code", "code": code ?? "", "redirect_uri": flow.callback]
        let answer = try #require(flow.post(.token, parameters))
        #expect(answer["id_token"] == nil && answer["refresh_token"] == nil)
        let user = try #require(flow.userinfo(answer["access_token"]))
        #expect(user.document["id"] == 17 && user["sub"] == nil)
    }

    @Test func announcesWhatItHas() throws {
        let provider = try OpenIDProvider(OpenIDScript(), algorithm: .rs256)
        provider.change { script in
            script.missing = [.logout, .introspection]
            script.alterMetadata = { $0["extra"] = true }
        }
        let metadata = try #require(provider.answer(to: OpenIDCall("GET", "/.well-known/openid-configuration")))
        #expect(metadata["issuer"] == provider.issuer && metadata["token_endpoint"] == provider.issuer + "/token")
        #expect(metadata["end_session_endpoint"] == nil && metadata.document["extra"] == true)
        #expect(metadata.document["id_token_signing_alg_values_supported"] == ["RS256"])
        #expect(provider.answer(to: OpenIDCall("GET", "/logout"))?.status == 404)
    }

    @Test func endsItsSessionAndSendsTheBrowserBack() throws {
        let provider = try OpenIDProvider()
        let flow = CodeFlow(provider: provider)
        let token = try #require(flow.signIn()?["id_token"])
        let url =
            "/logout?id_token_hint=\(token)&state=a%20b"
            + "&post_logout_redirect_uri=https%3A%2F%2Fapp.example%2F"
        let answer = provider.answer(to: OpenIDCall("GET", url))
        #expect(answer?.field("location") == "https://app.example/?state=a%20b" && provider.sessionID == nil)
        #expect(provider.answer(to: OpenIDCall("GET", "/logout?post_logout_redirect_uri=https://a"))?.status == 400)
    }

    @Test func authenticatesClientsInFourWays() throws {
        let key = SigningKey.generated(.es256)
        let provider = try OpenIDProvider(
            OpenIDScript(clients: [
                OpenIDScript.Client(id: "a:b c", secret: "p:w d"), OpenIDScript.Client(id: "public"),
                OpenIDScript.Client(id: "signer", keys: JWKSet(keys: [key.publicKey])),
            ])
        )
        var flow = CodeFlow(provider: provider, client: "a:b c", secret: "p:w d")
        #expect(flow.signIn()?.status == 200)
        flow.secret = nil
        let basic = (name: "authorization", value: "Basic YSUzQWIrYzpwJTNBdytk")
        #expect(flow.exchange(flow.authorize()["code"], fields: [basic])?.status == 200)
        flow.client = "public"
        #expect(flow.signIn()?.status == 200)
        flow.client = "signer"
        #expect(flow.signIn()?.status == 401)
        let now = Clock.system.now().seconds
        func assertion(_ id: String) -> [String: String] {
            let claims: JSONValue = [
                "iss": "signer", "sub": "signer", "aud": .string(provider.issuer + "/token"), "jti": .string(id),
                "exp": .integer(now + 60),
            ]
            return [
                "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                "client_assertion": String(decoding: key.sign(JSONText.encode(claims)), as: UTF8.self),
                "grant_type": "authorization_code", "code": flow.authorize()["code"] ?? "",
                "redirect_uri": flow.callback, "code_verifier": flow.verifier,
            ]
        }
        #expect(flow.post(.token, assertion("1"))?.status == 200)
        #expect(flow.post(.token, assertion("1"))?.status == 401, "an assertion is good once")
    }
}
