import Calls
import Cryptography
import JOSE
import Providers
import Sessions
import Settings
import StoreBench
import Testing
import Vocabulary

@Suite("Access tokens that an issuer signs (RFC 9068)")
struct BearerTests {
    @Test("A good token becomes a user with scopes, client and session")
    func good() async throws {
        let bench = try BearerBench { settings in
            settings.claims.levels = [ClaimSettings.Level(claim: .acr, value: "gold", level: .aal2)]
        }
        let token = bench.token([
            "sid": "sid-1", "acr": "gold", "amr": ["pwd", "otp"], "auth_time": .integer(bench.now.seconds - 60),
        ])
        #expect(bench.provider.judge(token) == nil, "the keys are not known yet")
        let known = try #require(await bench.judge(token).known)
        #expect(known.identity == Identity(id: "user-1", traits: ["email": "jane@example.com"]))
        #expect(known.scopes == ["orders:read", "orders:write"] && known.clientID == "app")
        #expect(known.sessionID == "sid-1" && known.aal == .aal2 && known.methods == ["pwd", "otp"])
        #expect(known.authenticatedAt == bench.now.advanced(by: .seconds(-60)))
        #expect(known.issuedAt == bench.now.advanced(by: .seconds(-10)))
        #expect(known.expiresAt == bench.now.advanced(by: .seconds(360)), "with the leeway")
        #expect(bench.provider.judge(token) == .known(known), "now at once")
    }

    @Test("A token's groups may be objects, and only those that matter are kept")
    func groups() async throws {
        let bench = try BearerBench { settings in
            settings.claims.traits = [ClaimSettings.Trait(name: "groups", path: ["groups", "name"])]
            settings.claims.groupsOnly = ["app-*"]
        }
        let groups = (0..<1500).map { JSONValue.object(["name": .string("everyone-\($0)")]) } + [["name": "app-a"]]
        let known = try #require(await bench.judge(bench.token(["groups": .array(groups)])).known)
        #expect(known.identity == Identity(id: "user-1", traits: ["groups": ["app-a"]]))
    }

    @Test("A token of a user who may not sign in is good for requests, and is marked")
    func admission() async throws {
        let bench = try BearerBench { $0.allow.emailDomains = ["example.com"] }
        for (claims, isAdmitted) in [
            (["email_verified": true], true), ([:], false),
            (["email_verified": true, "email": "a@example.org"], false),
        ] as [([String: JSONValue], Bool)] {
            let known = try #require(await bench.judge(bench.token(claims)).known)
            #expect(known.isAdmitted == isAdmitted, "\(claims)")
        }
        #expect(try bench.provider.configuration != BearerBench().provider.configuration)
    }

    /// Changes to a good token, and the reason for which it is refused then; nil: it is accepted.
    struct Change: Sendable, CustomTestStringConvertible {
        let description: String
        let claims: [String: JSONValue]
        let reason: Reason?

        init(_ description: String, _ claims: [String: JSONValue], _ reason: Reason?) {
            (self.description, self.claims, self.reason) = (description, claims, reason)
        }

        var testDescription: String { self.description }
    }

    private static let now: Int64 = 1_800_000_000
    private static let hash = SHA256.digest(Array("certificate".utf8)).base64URL

    static let changes: [Change] = [
        Change("nothing", [:], nil),
        Change("no issuer", ["iss": .null], .credentialInvalidToken),
        Change("another issuer", ["iss": "https://evil.example.com"], .credentialInvalidToken),
        Change("the issuer with a slash", ["iss": .string(OpenIDProviderBench.issuer + "/")], .credentialInvalidToken),
        Change("no audience", ["aud": .null], .credentialOtherAudience),
        Change("an empty list of audiences", ["aud": []], .credentialOtherAudience),
        Change("another audience", ["aud": "https://api.example.com.evil.example"], .credentialOtherAudience),
        Change("an audience in a longer list", ["aud": ["x", .string(BearerBench.audience)]], nil),
        Change("the second accepted audience", ["aud": "https://other.example.com"], nil),
        Change("an audience that is no text", ["aud": [1, .string(BearerBench.audience)]], .credentialInvalidToken),
        Change("no end", ["exp": .null], .credentialInvalidToken),
        Change("an end in the last minute", ["exp": .integer(now - 59)], nil),
        Change("an end a minute ago", ["exp": .integer(now - 60)], .credentialExpired),
        Change("an end long ago", ["exp": 1], .credentialExpired),
        Change("an end with a fraction", ["exp": .number(Double(now) + 1.5)], nil),
        Change("an end after 2038", ["exp": .integer(4_102_444_800)], nil),
        Change("a negative end", ["exp": -1], .credentialInvalidToken),
        Change("an endless end", ["exp": .number(1e300)], .credentialInvalidToken),
        Change("an end as a text", ["exp": "1900000000"], .credentialInvalidToken),
        Change("a beginning within the leeway", ["nbf": .integer(now + 60)], nil),
        Change("a later beginning", ["nbf": .integer(now + 61)], .credentialInvalidToken),
        Change("issued within the leeway", ["iat": .integer(now + 60)], nil),
        Change("issued in the future", ["iat": .integer(now + 61)], .credentialInvalidToken),
        Change("no time of issue", ["iat": .null], nil),
        Change("no subject", ["sub": .null], .credentialInvalidToken),
        Change("an empty subject", ["sub": ""], .credentialInvalidToken),
        Change("a subject with a line break", ["sub": "a\nb"], .credentialInvalidToken),
        Change("a subject with a NUL", ["sub": "a\u{0}b"], .credentialInvalidToken),
        Change("a subject that is a list", ["sub": ["user-1"]], .credentialInvalidToken),
        Change("bound to a key (DPoP)", ["cnf": ["jkt": "x"]], .credentialInvalidToken),
        Change("bound to a certificate", ["cnf": ["x5t#S256": "x"]], .credentialInvalidToken),
        Change("bound to something", ["cnf": [:]], .credentialInvalidToken),
        Change(
            "bound to a certificate and something",
            ["cnf": ["x5t#S256": .string(hash), "x": "y"]],
            .credentialInvalidToken
        ),
        Change("bound by a text", ["cnf": .string(hash)], .credentialInvalidToken),
        Change("bound to a number", ["cnf": ["x5t#S256": 7]], .credentialInvalidToken),
        Change("bound to a certificate by SHA-256", ["cnf": ["x5t#S256": .string(hash)]], nil),
    ]

    @Test("Each claim is checked", arguments: changes)
    func claims(change: Change) async throws {
        let bench = try BearerBench()
        let verdict = await bench.judge(bench.token(change.claims))
        if let reason = change.reason {
            #expect(verdict == .unknown(reason))
        } else {
            #expect(verdict.known != nil)
        }
    }

    @Test("What a token is bound to becomes a demand on whoever presents it (RFC 8705 3.1, RFC 9449 6.1)")
    func confirmation() async throws {
        let bench = try BearerBench()
        let bound: JSONValue = ["x5t#S256": .string(Self.hash), "jkt": .string(Self.hash), "kid": .null]
        let demanded = await bench.judge(bench.token(["cnf": bound])).known?.confirmation
        #expect(demanded?.certificateHash?.base64URL == Self.hash && demanded?.keyThumbprint == Self.hash)
        #expect(await bench.judge(bench.token([:])).known?.confirmation == nil)
    }

    @Test(
        "Scopes are read from scope and scp, as text or list",
        arguments: [
            (["scope": "a b"], ["a", "b"]), (["scope": ["a", "b c"]], ["a", "b", "c"]), (["scp": "a"], ["a"]),
            (["scp": ["a", "b"], "scope": "b  c"], ["b", "c", "a"]), (["scope": 7], []), ([:], []),
        ] as [([String: JSONValue], [String])]
    )
    func scopes(claims: [String: JSONValue], expected: [String]) async throws {
        let bench = try BearerBench()
        let known = await bench.judge(bench.token(["scope": .null].merging(claims) { $1 })).known
        #expect(known?.scopes == expected)
    }

    @Test("Without auth_time no recent sign-in is claimed, and none from the future is believed")
    func authenticatedAt() async throws {
        let bench = try BearerBench()
        #expect(await bench.judge(bench.token()).known?.authenticatedAt == UnixTime(seconds: 0))
        let future = bench.token(["auth_time": .integer(bench.now.seconds + 86_400)])
        #expect(await bench.judge(future).known?.authenticatedAt == bench.now.advanced(by: .seconds(-10)))
    }

    @Test("Without audiences no access token is accepted")
    func noAudience() {
        #expect(throws: BenchFailure.self) { try BearerBench { $0.audiences = [] } }
    }

    /// Amazon Cognito's access tokens have no `aud`, and its id_tokens no `client_id`.
    @Test("Where client_id is the audience, a token of another client is refused, and so is one whose aud names others")
    func clientIDAsAudience() async throws {
        let change: (inout OpenIDSettings) -> Void = {
            $0.audiences = ["app", "tablet"]
            $0.audienceClaim = .clientID
        }
        let bench = try BearerBench(change: change)
        for (claims, reason) in [
            (["aud": .null], nil), (["aud": .null, "client_id": "tablet"], nil),
            (["aud": .null, "token_use": "access"], nil),
            (["aud": ["x", "app"]], nil), (["aud": "app", "token_use": "access"], nil),
            (["aud": "https://api.example.com"], .credentialOtherAudience), (["aud": []], .credentialOtherAudience),
            (["aud": .null, "client_id": "other"], .credentialOtherAudience),
            (["aud": .null, "client_id": "APP"], .credentialOtherAudience),
            (["aud": .null, "client_id": ""], .credentialOtherAudience),
            (["aud": .null, "client_id": .null], .credentialOtherAudience),
            (["aud": .null, "client_id": .null, "azp": "app"], .credentialOtherAudience),
            (["aud": .null, "client_id": .null, "cid": "app"], .credentialOtherAudience),
            (["aud": .null, "client_id": ["app"]], .credentialOtherAudience),
            (["aud": "app", "client_id": .null], .credentialOtherAudience),
            (["aud": "app", "client_id": "other"], .credentialOtherAudience),
            (["aud": "app", "client_id": .null, "token_use": "id"], .credentialInvalidToken),
            (["aud": .null, "token_use": "id"], .credentialInvalidToken),
            (["aud": .null, "token_use": "refresh"], .credentialInvalidToken),
            (["aud": .null, "exp": .null], .credentialInvalidToken),
        ] as [([String: JSONValue], Reason?)] {
            let verdict = await bench.judge(bench.token(claims, type: "JWT"))
            if let reason {
                #expect(verdict == .unknown(reason), "\(claims)")
            } else {
                #expect(verdict.known != nil, "\(claims)")
            }
        }
        // Where it is not told, such a token is for nobody.
        let usual = try BearerBench { $0.audiences = ["app"] }
        #expect(await usual.judge(usual.token(["aud": .null])) == .unknown(.credentialOtherAudience))
        #expect(
            try usual.provider.configuration
                != BearerBench(change: {
                    $0.audiences = ["app"]
                    $0.audienceClaim = .clientID
                }).provider.configuration
        )
    }

    @Test("Codes of a shared secret are never accepted, whatever the settings allow")
    func sharedSecret() async throws {
        let bench = try BearerBench { $0.algorithms = ["ES256", "HS256"] }
        _ = await bench.judge(bench.token())
        for (algorithm, key) in [("HS256", "client-secret"), ("none", "")] {
            let signed = Self.signed(algorithm, bench.claims(), key)
            #expect(await bench.judge(signed) == .unknown(.credentialInvalidToken))
        }
    }

    private static func signed(_ algorithm: String, _ claims: JSONValue, _ key: String) -> Secret {
        let header = JSONText.encode(["alg": .string(algorithm), "typ": "at+jwt"])
        let text = Base64URL.encode(header) + "." + Base64URL.encode(JSONText.encode(claims))
        let code = HMACKey(Array(key.utf8)).sha256(Array(text.utf8))
        return Secret(text + "." + code.base64URL)
    }

    @Test("A key of another issuer, a changed token and a header that brings its own key are refused")
    func forged() async throws {
        let bench = try BearerBench()
        let other = SigningKey.generated(.es256)
        let good = bench.token()
        #expect(await bench.judge(good).known != nil)
        let fetches = bench.openID.transport.calls(of: OpenIDProviderBench.keysURL).count
        var changed = good.bytes
        changed[60] = changed[60] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        let keyID = bench.openID.key.publicKey.keyID.map(JSONValue.string) ?? .null
        let tokens = [
            Secret(changed), bench.token(header: [("kid", keyID)], by: other),
            bench.token(header: [("jwk", other.publicKey.value)], by: other),
            bench.token(header: [("jku", "https://evil.example.com/keys")]), bench.token(header: [("crit", ["exp"])]),
            bench.token(header: [("kid", "../../../dev/null")], by: other),
            bench.token(header: [("kid", "x' UNION SELECT 'y")], by: other),
        ]
        for token in tokens { #expect(await bench.judge(token) == .unknown(.credentialInvalidToken)) }
        #expect(bench.openID.transport.calls(of: OpenIDProviderBench.keysURL).count <= fetches + 4)
    }

    @Test(
        "F16: A flood of unknown key ids causes few fetches in each cool-down, no outage, and a new key is found after one"
    )
    func rotation() async throws {
        let bench = try BearerBench()
        #expect(await bench.judge(bench.token()).known != nil)
        let other = SigningKey.generated(.es256)
        for index in 0..<200 {
            #expect(
                await bench.judge(bench.token(header: [("kid", .string("k\(index)"))], by: other))
                    == .unknown(.credentialInvalidToken)
            )
        }
        #expect(bench.openID.transport.calls(of: OpenIDProviderBench.keysURL).count <= 5)
        bench.openID.clock.advance(by: .seconds(31))
        bench.openID.transport.on(
            OpenIDProviderBench.keysURL,
            .json(JWKSet(keys: [bench.openID.key.publicKey, other.publicKey]).value)
        )
        #expect(await bench.judge(bench.token(by: other)).known != nil)
        #expect(await bench.judge(bench.token()).known != nil, "the old key is still published")
    }

    @Test("While the issuer's keys were never read, no token is refused; afterwards an outage changes nothing")
    func outage() async throws {
        let bench = try BearerBench()
        let answer = CallAnswer(status: 503)
        bench.openID.transport.on(OpenIDProviderBench.keysURL, answer)
        #expect(await bench.judge(bench.token()) == .unavailable)
        bench.openID.transport.on(OpenIDProviderBench.keysURL, .json(JWKSet(keys: [bench.openID.key.publicKey]).value))
        bench.openID.clock.advance(by: .seconds(60))
        #expect(await bench.judge(bench.token()).known != nil)
        bench.openID.transport.on(OpenIDProviderBench.keysURL, answer)
        bench.openID.clock.advance(by: .seconds(3600))
        #expect(await bench.judge(bench.token()).known != nil)
    }

    @Test(
        "Every algorithm of key pairs is accepted",
        arguments: JWSAlgorithm.asymmetric.sorted { $0.rawValue < $1.rawValue }
    )
    func algorithms(algorithm: JWSAlgorithm) async throws {
        let bench = try BearerBench(algorithm)
        #expect(await bench.judge(bench.token()).known != nil)
    }

    @Test("Only what looks like a signed token is tried as one")
    func syntax() throws {
        let bench = try BearerBench()
        let long = "eyJ." + String(repeating: "a", count: 8187) + ".s"
        for (token, mayKnow) in [
            ("eyJhbGciOiJFUzI1NiJ9.eyJ9.c2ln", true), (long, false), (String(long.dropLast()), false),
            (String(long.dropFirst(4)).replacing("aaa.s", with: ""), false), ("eyJ.a.b", true), ("eyJ.a.", false),
            ("eyJ..b", false), ("eyJ.a", false), ("eyJ.a.b.c", false), ("eyJ.a.b.c.d", false), ("", false),
            ("ey.a.b", false), (".a.b", false), ("eyJ.a b.c", false), ("eyJ.a%2e.c", false), ("eyJ.a+.c", false),
            ("eyJ.a=.c", false), ("eyJ.ä.c", false), ("eyJ.a\u{0}.c", false), ("a.eyJ.b", false),
        ] {
            #expect(Array(token.utf8).withUnsafeBytes { bench.provider.mayKnow($0) } == mayKnow, "\(token.prefix(30))")
        }
        let longest = "eyJ." + String(repeating: "a", count: 8186) + ".s"
        #expect(longest.utf8.count == 8192 && Array(longest.utf8).withUnsafeBytes { bench.provider.mayKnow($0) })
    }

    @Test("The configuration has another name when something that decides about tokens changes")
    func configuration() throws {
        let base = try BearerBench().provider.configuration
        #expect(try BearerBench().provider.configuration == base)
        let changes: [(inout OpenIDSettings) -> Void] = [
            { $0.audiences = [BearerBench.audience] }, { $0.algorithms = ["ES256"] }, { $0.client.id = "other" },
            { $0.claims.subject = ["email"] },
        ]
        for change in changes { #expect(try BearerBench(change: change).provider.configuration != base) }
    }
}
