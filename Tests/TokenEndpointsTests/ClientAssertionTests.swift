import Cryptography
import Endpoints
import JOSE
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

/// RFC 7523 3, OpenID Connect Core 9.
@Suite("Client assertions (private_key_jwt)")
struct ClientAssertionTests {
    private static let client = "server app"
    private static let key = SigningKey.generated(.es256)

    /// `server app` proves itself with `keys` only.
    private static func bench(_ keys: [SigningKey] = [key], secret: Secret? = nil) -> TokenBench {
        TokenBench { client in
            guard client.clientID == Self.client else { return }
            client.keySet = JSONText.encode(JWKSet(keys: keys.map(\.publicKey)).value)
            client.clientSecrets = secret.map { [$0] } ?? []
        }
    }

    private static func assertion(
        _ change: [String: JSONValue?] = [:],
        key: SigningKey = Self.key,
        header: [(String, JSONValue)] = [("typ", "JWT")],
        keyID: String? = nil
    ) -> String {
        var claims: [String: JSONValue] = [
            "iss": .string(Self.client), "sub": .string(Self.client), "aud": "https://auth.example.com/oauth/token",
            "jti": .string(Random.base64URL(16)), "exp": .integer(TokenBench.now.seconds + 60),
            "iat": .integer(TokenBench.now.seconds),
        ]
        for (name, value) in change { claims[name] = value }
        return String(
            decoding: key.sign(JSONText.encode(.object(claims)), header: header, keyID: keyID),
            as: UTF8.self
        )
    }

    /// A grant type that does not exist: only an authenticated client gets the error for it.
    private static func form(_ assertion: String, _ more: [String: String?] = [:]) -> [String: String] {
        var form: [String: String] = [
            "grant_type": "none", "client_assertion": assertion,
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        ]
        for (name, value) in more { form[name] = value }
        return form
    }

    @Test("each announced algorithm is accepted", arguments: [JWSAlgorithm.rs256, .ps256, .es256, .edDSA])
    func algorithms(algorithm: JWSAlgorithm) async {
        let key = SigningKey.generated(algorithm)
        let answer = await Self.bench([key]).form(Self.form(Self.assertion(key: key)))
        #expect(answer.error == "unsupported_grant_type")
    }

    @Test(
        "the issuer with and without its slash, the token endpoint and the URL that is called are the audience",
        arguments: [
            "https://auth.example.com", "https://auth.example.com/", "https://auth.example.com/oauth/token",
        ]
    )
    func audiences(audience: String) async {
        let bench = Self.bench()
        for value: JSONValue in [.string(audience), [.string(audience)]] {
            #expect(await bench.form(Self.form(Self.assertion(["aud": value]))).error == "unsupported_grant_type")
        }
    }

    @Test("the URL of another endpoint is the audience there, and nowhere else")
    func otherEndpoint() async {
        let bench = Self.bench()
        let here: [String: JSONValue?] = ["aud": "https://auth.example.com/oauth/revoke"]
        let revoked = await bench.form(Self.form(Self.assertion(here), ["token": "x"]), to: bench.revocation.endpoint)
        #expect(revoked.status == 200)
        #expect(await bench.form(Self.form(Self.assertion(here))).error == "invalid_client")
    }

    @Test("null claims are absent ones")
    func null() async {
        let bench = Self.bench()
        for name in ["nbf", "nonce", "sid", "azp", "cnf"] {
            let answer = await bench.form(Self.form(Self.assertion([name: .some(.null)], header: [("typ", .null)])))
            #expect(answer.error == "unsupported_grant_type", "\(name)")
        }
        for name in ["iss", "sub", "aud", "exp", "iat", "jti"] {
            let answer = await bench.form(Self.form(Self.assertion([name: .some(.null)])))
            #expect(answer.error == "invalid_client", "\(name)")
        }
    }

    @Test("client_id may be repeated in the body, but not be another one")
    func clientID() async {
        let bench = Self.bench()
        let same = await bench.form(Self.form(Self.assertion(), ["client_id": Self.client]))
        #expect(same.error == "unsupported_grant_type")
        let other = await bench.form(Self.form(Self.assertion(), ["client_id": "native-app"]))
        #expect(other.error == "invalid_client")
    }

    @Test("an assertion is accepted once, also at another endpoint")
    func once() async {
        let bench = Self.bench()
        let form = Self.form(Self.assertion(), ["token": "x"])
        #expect(await bench.form(form).error == "unsupported_grant_type")
        let again = await bench.form(form, to: bench.revocation.endpoint)
        #expect(again.error == "invalid_client" && again.status == 400 && again.field("www-authenticate") == nil)
    }

    @Test("several keys of a client may have one kid, and each verifies what it signed")
    func sharedKeyID() async {
        let keys = [JWSAlgorithm.es256, .rs256, .es256, .edDSA].map { SigningKey.generated($0) }
        let values = keys.map { $0.publicKey.value.merged(with: ["kid": "one", "alg": .null, "use": .null]) }
        let set = JSONText.encode(["keys": .array(values)])
        #expect(ClientAssertions.fault(inKeys: set) == nil)
        let bench = TokenBench { client in
            guard client.clientID == Self.client else { return }
            client.keySet = set
            client.clientSecrets = []
        }
        for key in keys {
            let assertion = Self.assertion(key: key, keyID: "one")
            #expect(await bench.form(Self.form(assertion)).error == "unsupported_grant_type", "\(key.algorithm)")
        }
        let stranger = Self.assertion(key: .generated(.es256), keyID: "one")
        #expect(await bench.form(Self.form(stranger)).error == "invalid_client")
    }

    @Test("two clients may use the same jti")
    func scope() async {
        let bench = TokenBench { client in
            client.clientSecrets = []
            client.keySet = JSONText.encode(JWKSet(keys: [Self.key.publicKey]).value)
        }
        for client in [Self.client, "web"] {
            let claims: [String: JSONValue?] = ["iss": .string(client), "sub": .string(client), "jti": "1"]
            #expect(await bench.form(Self.form(Self.assertion(claims))).error == "unsupported_grant_type")
        }
    }

    @Test("an assertion that was refused is not used up")
    func refusedFirst() async {
        let bench = Self.bench()
        let form = Self.form(Self.assertion())
        let refused = await bench.form(form.merging(["client_id": "web"]) { $1 })
        #expect(refused.error == "invalid_client")
        #expect(await bench.form(form).error == "unsupported_grant_type")
    }

    @Test(
        "what does not prove the client is invalid_client",
        arguments: [
            ("another issuer", ["iss": "web"]), ("no issuer", ["iss": nil]), ("another subject", ["sub": "web"]),
            ("an unknown client", ["iss": "nobody", "sub": "nobody"]), ("no subject", ["sub": nil]),
            ("another audience", ["aud": "https://other.example.com/oauth/token"]), ("no audience", ["aud": nil]),
            ("an empty audience", ["aud": []]),
            ("another server as well", ["aud": ["https://auth.example.com/", "https://other.example.com/"]]),
            ("expired", ["exp": .integer(TokenBench.now.seconds - 60)]), ("no exp", ["exp": nil]),
            ("valid for too long", ["exp": .integer(TokenBench.now.seconds + 3661)]),
            ("not valid yet", ["nbf": .integer(TokenBench.now.seconds + 61)]),
            ("from the future", ["iat": .integer(TokenBench.now.seconds + 61)]),
            ("no jti", ["jti": nil]), ("an empty jti", ["jti": ""]), ("a jti of another type", ["jti": 1]),
        ] as [(String, [String: JSONValue?])]
    )
    func refused(name: String, claims: [String: JSONValue?]) async {
        let answer = await Self.bench().form(Self.form(Self.assertion(claims)))
        #expect(answer.error == "invalid_client" && answer.reason == .oauthInvalidClient, "\(name)")
    }

    @Test("clocks may differ by a minute")
    func clocks() async {
        let bench = Self.bench()
        for claims: [String: JSONValue?] in [
            ["exp": .integer(TokenBench.now.seconds - 59)], ["exp": .integer(TokenBench.now.seconds + 3660)],
        ] {
            #expect(await bench.form(Self.form(Self.assertion(claims))).error == "unsupported_grant_type")
        }
    }

    @Test("keys, algorithms and kinds of token that the client has not registered are refused")
    func otherKeys() async {
        let rsa = SigningKey.generated(.rs256)
        let bench = Self.bench([Self.key, rsa])
        let secret = Secret(Array(repeating: 7, count: 32))
        let unsigned = Base64URL.encode(Array(#"{"alg":"none"}"#.utf8)) + "." + Base64URL.encode(Array("{}".utf8)) + "."
        for token in [
            Self.assertion(key: .generated(.es256)), Self.assertion(key: .generated(.es384)),
            Self.assertion(header: [("typ", "oauth-authz-req+jwt")]), unsigned, "a.b.c", "x",
            Self.assertion(header: [("jku", "https://evil.example.com/jwks.json")]),
            String(Self.assertion().dropLast(4)) + "AAAA",
        ] {
            #expect(await bench.form(Self.form(token)).error == "invalid_client", "\(secret.bytes.count) \(token)")
        }
    }

    @Test("a client without keys, and one whose method is another, cannot use assertions")
    func withoutKeys() async {
        let plain: [String: JSONValue?] = ["iss": "plain", "sub": "plain"]
        #expect(await TokenBench().form(Self.form(Self.assertion(plain))).error == "invalid_client")
        #expect(await TokenBench().form(Self.form(Self.assertion())).error == "invalid_client")
    }

    @Test("two methods at once are invalid_request, right or wrong")
    func twoMethods() async {
        let secret = Secret("a secret of sixteen bytes")
        let bench = Self.bench(secret: secret)
        let text = String(decoding: secret.bytes, as: UTF8.self)
        let post = await bench.form(Self.form(Self.assertion(), ["client_id": Self.client, "client_secret": text]))
        #expect(post.error == "invalid_request")
        let basic = Base64.encode(Array("\(Self.client):\(text)".utf8))
        let both = await bench.form(Self.form(Self.assertion()), fields: [("authorization", "Basic \(basic)")])
        #expect(both.error == "invalid_request" && both.status == 400)
    }

    @Test("client_assertion_type must be there, and be the one for JWTs")
    func type() async {
        let bench = Self.bench()
        let missing = await bench.form(Self.form(Self.assertion(), ["client_assertion_type": nil]))
        #expect(missing.error == "invalid_request")
        let saml = "urn:ietf:params:oauth:client-assertion-type:saml2-bearer"
        let other = await bench.form(Self.form(Self.assertion(), ["client_assertion_type": saml]))
        #expect(other.error == "invalid_client")
    }

    @Test("a store that cannot say whether an assertion was used is 503 and never invalid_client")
    func outage() async {
        let bench = Self.bench()
        let form = Self.form(Self.assertion())
        for (error, reason) in [(StoreError.unavailable, Reason.storeUnavailable), (.full, .storeFull)] {
            bench.onces.script.failure = error
            let answer = await bench.form(form)
            #expect(answer.status == 503 && answer.error == "temporarily_unavailable" && answer.reason == reason)
            #expect(answer.field("retry-after") != nil)
        }
        bench.onces.script.failure = nil
        #expect(await bench.form(form).error == "unsupported_grant_type")
    }

    @Test("an assertion that the store may have forgotten is 503, whether it forgot before or meanwhile")
    func forgotten() async throws {
        let bench = Self.bench()
        let now = TokenBench.now.seconds
        bench.onces.script.memory = OnceMemory(epoch: 2, since: TokenBench.now)
        let answer = await bench.form(Self.form(Self.assertion(["iat": .integer(now - 1)])))
        #expect(answer.status == 503 && answer.reason == .storeUnavailable)
        // It would be unknown for an hour whether such a one was presented before.
        #expect(await bench.form(Self.form(Self.assertion(["iat": JSONValue?.none]))).error == "invalid_client")
        #expect(bench.onces.seen.isEmpty)
        let fresh: [String: JSONValue?] = ["iat": .integer(now)]
        #expect(await bench.form(Self.form(Self.assertion(fresh))).error == "unsupported_grant_type")
        bench.onces.script.nextMemory = OnceMemory(epoch: 3, since: TokenBench.now)
        #expect(await bench.form(Self.form(Self.assertion(fresh))).status == 503)
    }

    @Test("what is remembered outlives the assertion, clocks that differ included")
    func lifetime() async throws {
        let bench = Self.bench()
        _ = await bench.form(Self.form(Self.assertion()))
        #expect(bench.onces.seen.values.map { $0 } == [.seconds(120)])
    }

    @Test("a configured method is the only one; without one each counts for which there is a secret or key")
    func enforced() async {
        let text = "a secret of sixteen bytes"
        let basic = [(name: "authorization", value: "Basic " + Base64.encode(Array("\(Self.client):\(text)".utf8)))]
        for method in ClientAuthenticationMethod.allCases.map(Optional.some) + [nil] {
            let bench = TokenBench { client in
                guard client.clientID == Self.client else { return }
                client.clientSecrets = [Secret(text)]
                client.keySet = JSONText.encode(JWKSet(keys: [Self.key.publicKey]).value)
                client.authenticationMethod = method
            }
            let post = ["grant_type": "none", "client_id": Self.client, "client_secret": text]
            let answers: [ClientAuthenticationMethod: Answer] = [
                .basic: await bench.form(["grant_type": "none"], fields: basic),
                .post: await bench.form(post),
                .privateKeyJWT: await bench.form(Self.form(Self.assertion())),
                .none: await bench.form(["grant_type": "none", "client_id": Self.client]),
            ]
            for (used, answer) in answers {
                let isAllowed = method == nil ? used != .none : used == method
                #expect(
                    answer.error == (isAllowed ? "unsupported_grant_type" : "invalid_client"),
                    "\(used) \(method as Any)"
                )
            }
        }
    }

    @Test("the faults of a client's key set are told: private keys, other uses, none at all")
    func faults() throws {
        func fault(_ value: JSONValue) -> String? { ClientAssertions.fault(inKeys: JSONText.encode(value)) }
        let key = Self.key.publicKey.value
        guard case .object(var members) = key else {
            Issue.record("no object: \(key)")
            return
        }
        #expect(fault(["keys": [key]]) == nil)
        #expect(fault(["keys": []]) == "the key set is empty")
        #expect(fault(["kid": "a"]) != nil && ClientAssertions.fault(inKeys: [0x7B]) != nil)
        #expect(fault(["keys": [SigningKey.generated(.es512).publicKey.value]])?.contains("algorithms") == true)
        members["d"] = "AAAA"
        #expect(fault(["keys": [key, .object(members)]])?.contains("not public") == true)
        #expect(fault(["keys": [["kty": "oct", "k": "AAAA"]]])?.contains("not public") == true)
    }
}
