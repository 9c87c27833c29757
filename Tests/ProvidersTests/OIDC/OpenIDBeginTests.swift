import Calls
import Cryptography
import Providers
import Settings
import StoreBench
import Testing
import Vocabulary

@Suite("The beginning of a sign-in at an OpenID provider")
struct OpenIDBeginTests {
    @Test("The browser is sent with PKCE, state, nonce, and what is configured; all of them new each time")
    func request() async throws {
        let bench = try OpenIDProviderBench()
        let begun = try await bench.begin()
        #expect(begun.url.hasPrefix(OpenIDProviderBench.authorizationURL + "?"))
        let parameters = begun.parameters
        #expect(
            Set(parameters.keys) == [
                "response_type", "client_id", "redirect_uri", "state", "scope", "nonce", "code_challenge",
                "code_challenge_method",
            ]
        )
        #expect(parameters["response_type"] == "code" && parameters["client_id"] == OpenIDProviderBench.clientID)
        #expect(
            parameters["redirect_uri"] == OpenIDProviderBench.callback && parameters["scope"] == "openid profile email"
        )
        #expect(parameters["code_challenge_method"] == "S256" && parameters["code_challenge"]?.utf8.count == 43)
        // 128 bits find the sign-in, 256 bits protect it.
        #expect(parameters["state"] == begun.state.id && begun.state.id.utf8.count == 22)
        #expect(parameters["nonce"]?.utf8.count == 43)
        let other = try await bench.begin().parameters
        for name in ["state", "nonce", "code_challenge"] { #expect(parameters[name] != other[name]) }
    }

    @Test("The code is redeemed with the verifier of the challenge and the same callback")
    func redemption() async throws {
        let bench = try OpenIDProviderBench()
        let begun = try await bench.begin()
        bench.transport.on(
            OpenIDProviderBench.tokenURL,
            .json(OpenIDProviderBench.tokens(idToken: bench.idToken(bench.claims(nonce: begun.parameters["nonce"]))))
        )
        #expect(await bench.provider.completion(begun.callback(), state: begun.state).user != nil)
        let call = try #require(bench.transport.calls(of: OpenIDProviderBench.tokenURL).first)
        #expect(call.method == "POST" && call.field("content-type") == "application/x-www-form-urlencoded")
        #expect(call.field("authorization") == "Basic " + Base64.encode(Array("gateway:client-secret".utf8)))
        let form = call.form
        #expect(Set(form.keys) == ["grant_type", "code", "redirect_uri", "code_verifier"])
        #expect(form["grant_type"] == "authorization_code" && form["code"] == "code-1")
        #expect(form["redirect_uri"] == OpenIDProviderBench.callback)
        let verifier = try #require(form["code_verifier"])
        #expect(begun.parameters["code_challenge"] == SHA256.digest(Array(verifier.utf8)).base64URL)
    }

    @Test("A wish becomes prompt, max_age, acr_values and login_hint; the shorter age counts")
    func wishes() async throws {
        let bench = try OpenIDProviderBench {
            $0.authorization.maxAge = .seconds(3600)
            $0.authorization.prompt = "select_account"
            $0.authorization.acrValues = [.aal2: "urn:two phr", .aal3: "phrh"]
        }
        let plain = try await bench.begin().parameters
        #expect(plain["prompt"] == "select_account" && plain["max_age"] == "3600" && plain["acr_values"] == nil)
        let wish = BrowserSignIn(
            callback: OpenIDProviderBench.callback,
            demand: SignInDemand(isAgain: true, aal: .aal2, maxAge: .seconds(60), loginHint: "jane@example.com")
        )
        let asked = try await bench.begin(wish).parameters
        #expect(asked["prompt"] == "login select_account" && asked["max_age"] == "60")
        #expect(asked["acr_values"] == "urn:two phr" && asked["login_hint"] == "jane@example.com")
        let levels: [(AssuranceLevel, String)] = [(.aal1, "urn:two phr"), (.aal3, "phrh")]
        for (level, values) in levels {
            let wish = BrowserSignIn(callback: OpenIDProviderBench.callback, demand: SignInDemand(aal: level))
            #expect(try await bench.begin(wish).parameters["acr_values"] == values)
        }
        for hint in ["", "a\nb", String(repeating: "a", count: 321)] {
            let wish = BrowserSignIn(callback: OpenIDProviderBench.callback, demand: SignInDemand(loginHint: hint))
            #expect(try await bench.begin(wish).parameters["login_hint"] == nil)
        }
    }

    @Test("Configured parameters are sent, but never in place of the gateway's own; openid is always asked for")
    func parameters() async throws {
        let own = [
            "state", "nonce", "client_id", "redirect_uri", "response_type", "code_challenge", "code_challenge_method",
            "scope", "response_mode", "request", "request_uri", "prompt", "max_age", "acr_values",
        ]
        let bench = try OpenIDProviderBench {
            $0.authorization.scopes = ["profile"]
            $0.authorization.parameters =
                own.map { AuthorizationRequestSettings.Parameter(name: $0, value: "evil") }
                + [AuthorizationRequestSettings.Parameter(name: "hd", value: "example.com & more")]
        }
        let parameters = try await bench.begin().parameters
        #expect(parameters["hd"] == "example.com & more" && parameters["scope"] == "openid profile")
        #expect(!parameters.values.contains { $0.contains("evil") })
    }

    @Test("A query of the authorization endpoint is kept")
    func endpointQuery() async throws {
        let metadata: [String: JSONValue] = [
            "authorization_endpoint": .string(OpenIDProviderBench.authorizationURL + "?p=1")
        ]
        let url = try await OpenIDProviderBench(metadata: metadata).begin().url
        #expect(url.hasPrefix(OpenIDProviderBench.authorizationURL + "?p=1&response_type=code&"))
    }

    @Test("While the issuer is away sign-ins are unavailable; when it is back they are not")
    func away() async throws {
        let bench = try OpenIDProviderBench()
        let wish = BrowserSignIn(callback: OpenIDProviderBench.callback)
        bench.transport.on(OpenIDProviderBench.metadataURL, CallAnswer(status: 502))
        #expect(!bench.provider.issuer.isKnown)
        #expect(await Result(try await bench.provider.begin(wish)).error?.reason == .providerUnavailable)
        #expect(!bench.provider.issuer.isKnown)
        bench.transport.on(OpenIDProviderBench.metadataURL, .json(OpenIDProviderBench.metadata()))
        // Not before the pause after a failure is over.
        #expect(await Result(try await bench.provider.begin(wish)).error?.reason == .providerUnavailable)
        #expect(bench.transport.calls(of: OpenIDProviderBench.metadataURL).count == 1)
        bench.clock.advance(by: .seconds(1))
        _ = try await bench.begin()
        #expect(bench.provider.issuer.isKnown)
    }

    @Test("Settings that cannot work are refused, and the key is named")
    func settings() throws {
        let cases: [(String, (inout OpenIDSettings) -> Void)] = [
            ("issuer", { $0.issuer = "http://idp.example.com" }),
            ("algorithms", { $0.algorithms = ["ES256", "ES000"] }),
            ("client_secret_file", { $0.client = ProviderClientSettings(id: "a", method: .post) }),
            ("client_key_file", { $0.client = ProviderClientSettings(id: "a", method: .privateKeyJWT) }),
            ("client_key_file", { $0.client = ProviderClientSettings(id: "a", privateKey: Secret("no PEM")) }),
        ]
        for (key, change) in cases {
            do {
                _ = try OpenIDProviderBench(change: change)
                Issue.record("\(key) was accepted")
            } catch let error as ProviderSetUpError {
                #expect(error.description.contains(key), "\(error)")
            }
        }
    }
}
