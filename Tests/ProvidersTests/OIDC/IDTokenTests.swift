import Calls
import Cryptography
import JOSE
import Providers
import Sessions
import Settings
import StoreBench
import Testing
import Vocabulary

@Suite("Checks of id_tokens")
struct IDTokenTests {
    @Test(
        "A token of each allowed algorithm signs the user in",
        arguments: [JWSAlgorithm.rs256, .ps256, .es256, .edDSA, .rs384, .es384, .ps512, .es512]
    )
    func algorithms(_ algorithm: JWSAlgorithm) async throws {
        let bench = try OpenIDProviderBench(algorithm)
        let completion = try await bench.signIn()
        let user = try #require(completion.user, "\(completion)")
        #expect(user.identity.id == OpenIDProviderBench.subject && user.aal == .aal1 && user.methods == ["oidc"])
        #expect(user.identity.traits == ["email": "jane@example.com"])
        #expect(user.authenticatedAt == Authentication.unknownTime)
        let evidence = try #require(completion.evidence)
        #expect(evidence.provider == OpenIDProviderBench.issuer && evidence.sessionID == "s-1")
        let tokens = try #require(evidence.tokens)
        #expect(tokens.accessToken == Secret("access-1") && tokens.refreshToken == Secret("refresh-1"))
        #expect(tokens.tokenType == "Bearer" && tokens.dpopKey == nil && tokens.idToken != nil)
        #expect(tokens.expiresAt == bench.clock.now.advanced(by: .seconds(600)))
        #expect(tokens.scopes == ["openid", "profile", "email"])
    }

    /// A claim, its value, and a part of the refusal's detail.
    private static let faults: [(claim: String, value: JSONValue, detail: String)] = [
        ("iss", "https://idp.example.com/realms/main/", "iss"), ("iss", "https://evil.example.com", "iss"),
        ("iss", .null, "iss"), ("iss", 1, "iss"), ("aud", "other", "aud"), ("aud", .null, "aud"), ("aud", [], "aud"),
        ("aud", ["other"], "aud"), ("aud", ["other", "another"], "aud"), ("aud", ["gateway", 1], "aud"),
        ("azp", "other", "azp"), ("azp", 1, "azp"), ("azp", ["gateway"], "azp"), ("sub", .null, "sub"),
        ("sub", "", "subject"), ("sub", 7, "sub"), ("sub", "a\nb", "subject"), ("sub", "a\u{85}b", "subject"),
        ("sub", .string(String(repeating: "a", count: 256)), "subject"), ("exp", .null, "exp"), ("exp", "1", "exp"),
        ("exp", -1, "exp"), ("exp", .number(1e300), "exp"), ("exp", 1_799_999_940, "exp"), ("iat", .null, "iat"),
        ("iat", 1_800_000_061, "iat"), ("iat", .number(1e300), "iat"), ("nbf", 1_800_000_061, "nbf"),
        ("nonce", .null, "nonce"), ("nonce", "other", "nonce"), ("nonce", "", "nonce"), ("nonce", 1, "nonce"),
        ("at_hash", "", "at_hash"), ("at_hash", "AAAAAAAAAAAAAAAAAAAAAA", "at_hash"), ("at_hash", 1, "at_hash"),
        ("token_use", "access", "token_use"), ("token_use", ["id"], "token_use"),
    ]

    @Test("A token with a wrong claim is refused, and the detail names the claim", arguments: Self.faults)
    func refused(_ fault: (claim: String, value: JSONValue, detail: String)) async throws {
        let bench = try OpenIDProviderBench()
        let completion = try await bench.signIn(claims: [fault.claim: fault.value])
        #expect(completion.cause == .signInInvalidToken, "\(completion)")
        #expect(completion.detail?.contains(fault.detail) == true, "\(completion)")
    }

    @Test("A token whose typ is that of another kind of token is refused")
    func types() async throws {
        let bench = try OpenIDProviderBench()
        for type in ["at+jwt", "application/at+jwt", "logout+jwt", "AT+JWT", "dpop+jwt", "secevent+jwt"] {
            let completion = try await bench.signIn(type: type)
            #expect(completion.cause == .signInInvalidToken && completion.detail?.contains("typ") == true, "\(type)")
        }
        for type in [nil, "JWT", "jwt", "id_token+jwt"] {
            #expect(try await bench.signIn(type: type).user != nil, "\(type ?? "none")")
        }
    }

    private static let variants: [[String: JSONValue]] = [
        ["exp": 1_799_999_941], ["exp": .number(1_800_000_000.5)], ["iat": 1_800_000_060], ["iat": 1],
        ["exp": 4_102_444_800], ["aud": ["gateway"]], ["aud": ["gateway", "other"], "azp": "gateway"],
        ["aud": ["gateway", "gateway"]], ["aud": ["other", "gateway"]], ["aud": ["gateway"], "azp": "gateway"],
        ["azp": "gateway"], ["token_use": "id"], ["sub": .string(String(repeating: "a", count: 255))],
        ["at_hash": .string(Base64URL.encode(SHA2.sha256.digest(of: Array("access-1".utf8)).prefix(16)))],
    ]

    @Test("F17: Clocks may differ by a minute, and what is right in another form is right", arguments: Self.variants)
    func accepted(_ claims: [String: JSONValue]) async throws {
        let completion = try await OpenIDProviderBench().signIn(claims: claims)
        #expect(completion.user != nil, "\(completion)")
    }

    @Test("at_hash is compared with the hash of the token's algorithm")
    func accessTokenHash() async throws {
        let cases: [(JWSAlgorithm, SHA2)] = [(.rs384, .sha384), (.es512, .sha512), (.edDSA, .sha512)]
        for (algorithm, hash) in cases {
            let digest = hash.digest(of: Array("access-1".utf8))
            let right = JSONValue.string(Base64URL.encode(digest.prefix(digest.count / 2)))
            #expect(try await OpenIDProviderBench(algorithm).signIn(claims: ["at_hash": right]).user != nil)
            let other = try await OpenIDProviderBench(algorithm).signIn(
                claims: ["at_hash": right],
                tokens: ["access_token": "access-2"]
            )
            #expect(other.cause == .signInInvalidToken)
        }
    }

    @Test("A token by another key, of an algorithm that is not allowed, without signature, or by the secret is refused")
    func signature() async throws {
        let bench = try OpenIDProviderBench { $0.algorithms = ["ES256"] }
        #expect(try await bench.signIn(by: SigningKey.generated(.es256)).cause == .signInInvalidToken)
        #expect(try await bench.signIn(by: SigningKey.generated(.rs256)).cause == .signInInvalidToken)
        let begun = try await bench.begin()
        let claims = JSONText.encode(bench.claims(nonce: begun.parameters["nonce"]))
        let payload = Base64URL.encode(claims)
        let secret = Array("client-secret".utf8)
        func token(_ header: String, _ signature: (String) -> [UInt8]) -> String {
            let signed = Base64URL.encode(Array(header.utf8)) + "." + payload
            return signed + "." + Base64URL.encode(signature(signed))
        }
        let good = bench.idToken(bench.claims(nonce: begun.parameters["nonce"]))
        let forged = [
            token(#"{"alg":"none"}"#) { _ in [] },
            token(#"{"alg":"HS256"}"#) { HMACKey(secret).sha256(Array($0.utf8)).bytes },
            token(#"{"alg":"ES256","crit":["x"],"x":1}"#) { _ in [UInt8](repeating: 1, count: 64) },
            String(good.dropLast(2)) + "AA", "a.b.c", "", "a", good + ".e",
        ]
        for text in forged {
            bench.transport.on(OpenIDProviderBench.tokenURL, .json(OpenIDProviderBench.tokens(idToken: text)))
            let completion = await bench.provider.completion(begun.callback(), state: begun.state)
            #expect(completion.cause == .signInInvalidToken, "\(text.prefix(20)): \(completion)")
            #expect(completion.detail?.contains("client-secret") == false)
        }
        bench.transport.on(OpenIDProviderBench.tokenURL, .json(OpenIDProviderBench.tokens(idToken: nil)))
        #expect(await bench.provider.completion(begun.callback(), state: begun.state).cause == .signInInvalidToken)
    }

    @Test("A key that the issuer has begun to use is fetched once; unknown ones do not make it fetch again and again")
    func rotation() async throws {
        let bench = try OpenIDProviderBench()
        #expect(try await bench.signIn().user != nil)
        let next = SigningKey.generated(.es256)
        bench.transport.on(
            OpenIDProviderBench.keysURL,
            .json(JWKSet(keys: [next.publicKey, bench.key.publicKey]).value)
        )
        #expect(try await bench.signIn(by: next).user != nil)
        #expect(try await bench.signIn().user != nil)
        let fetches = bench.transport.calls(of: OpenIDProviderBench.keysURL).count
        #expect(fetches == 2)
        for _ in 0..<3 {
            #expect(try await bench.signIn(by: SigningKey.generated(.es256)).cause == .signInInvalidToken)
        }
        for _ in 0..<20 {
            #expect(try await bench.signIn(by: SigningKey.generated(.es256)).outage?.contains("may be new") == true)
        }
        #expect(bench.transport.calls(of: OpenIDProviderBench.keysURL).count == fetches + 3)
    }

    @Test("A key that takes the kid of the former one signs users in at once")
    func sameKeyID() async throws {
        let bench = try OpenIDProviderBench()
        #expect(try await bench.signIn().user != nil)
        let next = SigningKey.generated(.es256)
        let value = next.publicKey.value.merged(with: ["kid": .string(bench.key.publicKey.keyID ?? "")])
        bench.transport.on(OpenIDProviderBench.keysURL, .json(["keys": [value]]))
        let begun = try await bench.begin()
        let claims = JSONText.encode(bench.claims(nonce: begun.parameters["nonce"]))
        let token = Secret(next.sign(claims, keyID: bench.key.publicKey.keyID))
        bench.transport.on(
            OpenIDProviderBench.tokenURL,
            .json(OpenIDProviderBench.tokens(idToken: String(decoding: token.bytes, as: UTF8.self)))
        )
        let completion = await bench.provider.completion(begun.callback(), state: begun.state)
        #expect(completion.user != nil, "\(completion)")
    }

    @Test("One kid for several keys: each signs users in by its own algorithm, and by no other")
    func sharedKeyID() async throws {
        let bench = try OpenIDProviderBench()
        let keys = [JWSAlgorithm.es256, .rs256, .rs256, .es384].map { SigningKey.generated($0) }
        let published = keys.map { $0.publicKey.value.merged(with: ["kid": "one", "alg": .null]) }
        bench.transport.on(OpenIDProviderBench.keysURL, .json(["keys": .array(published)]))
        func signIn(_ key: SigningKey, _ algorithm: JWSAlgorithm) async throws -> Completion {
            // So that the keys may be asked for again.
            bench.clock.advance(by: .seconds(30))
            let begun = try await bench.begin()
            let header = JSONText.encode(["alg": .string(algorithm.rawValue), "kid": "one"])
            let claims = JSONText.encode(bench.claims(nonce: begun.parameters["nonce"]))
            let text = Base64URL.encode(header) + "." + Base64URL.encode(claims)
            let token = text + "." + Base64URL.encode(key.signature(of: Array(text.utf8)))
            bench.transport.on(OpenIDProviderBench.tokenURL, .json(OpenIDProviderBench.tokens(idToken: token)))
            return await bench.provider.completion(begun.callback(), state: begun.state)
        }
        for key in keys {
            let completion = try await signIn(key, key.algorithm)
            #expect(completion.user != nil, "\(key.algorithm): \(completion)")
            for other in JWSAlgorithm.allCases where other != key.algorithm {
                #expect(try await signIn(key, other).cause == .signInInvalidToken, "\(key.algorithm) as \(other)")
            }
        }
        #expect(try await signIn(.generated(.rs256), .rs256).cause == .signInInvalidToken)
    }

    /// A sign-in whose id_token has half a surrogate pair in place of each `~` in these claims.
    private func cutSignIn(_ claims: [String: JSONValue]) async throws -> Completion {
        let bench = try OpenIDProviderBench {
            $0.claims.traits = ["email", "name", "groups"].map { .init(name: $0, path: [$0]) }
        }
        let begun = try await bench.begin()
        let whole = String(
            decoding: JSONText.encode(bench.claims(nonce: begun.parameters["nonce"], claims)),
            as: UTF8.self
        )
        let cut = whole.split(separator: "~", omittingEmptySubsequences: false).joined(separator: #"\ud83d"#)
        let token = String(decoding: bench.key.sign(Array(cut.utf8)), as: UTF8.self)
        bench.transport.on(OpenIDProviderBench.tokenURL, .json(OpenIDProviderBench.tokens(idToken: token)))
        return await bench.provider.completion(begun.callback(), state: begun.state)
    }

    @Test("A claim that was cut within a character keeps nobody from signing in, unless it names somebody")
    func cutClaims() async throws {
        let completion = try await self.cutSignIn(["name": "Anna ~", "groups": ["staff", "~"], "x": ["y": "~"]])
        let user = try #require(completion.user, "\(completion)")
        #expect(user.identity.traits["name"] == "Anna \u{FFFD}")
        #expect(user.identity.traits["groups"] == ["staff", "\u{FFFD}"])
        for claims in [
            ["sub": "user-~"], ["iss": .string(OpenIDProviderBench.issuer + "~")], ["aud": ["gateway", "~"]],
            ["sid": "s-~"], ["nonce": "~"], ["jti": "~"], ["~": "a"],
        ] as [[String: JSONValue]] {
            #expect(try await self.cutSignIn(claims).cause == .signInInvalidToken, "\(claims)")
        }
    }

    @Test("Without the issuer's keys nothing is decided")
    func noKeys() async throws {
        let bench = try OpenIDProviderBench()
        bench.transport.on(OpenIDProviderBench.keysURL, CallAnswer(status: 503))
        #expect(try await bench.signIn().outage?.contains("the issuer's keys are not known") == true)
    }
}
