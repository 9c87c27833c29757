import Calls
import Cryptography
import JOSE
import Providers
import Sessions
import Settings
import StoreBench
import Synchronization
import Testing
import Vocabulary

@Suite("The userinfo endpoint beside an id_token")
struct UserInfoTests {
    /// A bench whose id_token has `email`, so that `name` can come from userinfo only.
    private static func bench(
        _ use: UserInfoUse = .auto,
        _ change: (inout OpenIDSettings) -> Void = { _ in }
    ) throws -> OpenIDProviderBench {
        try OpenIDProviderBench {
            $0.userinfo = use
            $0.claims.traits = ["email", "name"].map { ClaimSettings.Trait(name: $0, path: [$0]) }
            change(&$0)
        }
    }

    private static let alone: JSONValue = ["email": "jane@example.com"]

    private static func document(_ changes: [String: JSONValue] = [:]) -> JSONValue {
        let usual: [String: JSONValue] = ["sub": .string(OpenIDProviderBench.subject), "name": "Jane"]
        return .object(usual.merging(changes) { $1 })
    }

    private static func token(_ text: String, type: String = "application/jwt") -> CallAnswer {
        CallAnswer(status: 200, fields: [("content-type", type)], body: Array(text.utf8))
    }

    /// Answers that cannot be used, and whether that may pass by itself.
    private static let failures: [(answer: CallAnswer, isOutage: Bool)] = [
        (CallAnswer(status: 401), false), (CallAnswer(status: 403), false),
        (CallAnswer(status: 404), false),
        (CallAnswer(status: 204), false), (CallAnswer(status: 200), false),
        (CallAnswer(status: 406), false),
        (CallAnswer(status: 302, fields: [("location", "https://idp.example.com/login")]), false),
        (CallAnswer(status: 200, fields: [("content-type", "text/html")], body: Array("<html>".utf8)), false),
        (CallAnswer(status: 200, body: Array(#"{"sub":"user-1","name":"Ja"#.utf8)), false),
        (.json([1]), false), (.json(.null), false), (.json("user-1"), false), (.json([:]), false),
        (.json(["name": "Eve"]), false), (.json(["sub": .null, "name": "Eve"]), false),
        (.json(["sub": 1, "name": "Eve"]), false), (.json(["error": "invalid_token"]), false),
        (CallAnswer(status: 200, fields: [("content-type", "application/jwt")], body: Array("{}".utf8)), false),
        (CallAnswer(status: 500), true), (CallAnswer(status: 503), true), (CallAnswer(status: 429), true),
    ]

    @Test("Without a usable answer a sign-in goes on with the id_token's claims, and that is told")
    func failing() async throws {
        let bench = try Self.bench()
        for (answer, _) in Self.failures {
            bench.transport.on(OpenIDProviderBench.userinfoURL, answer)
            let completion = try await bench.signIn()
            #expect(completion.user?.identity.traits == Self.alone, "\(answer): \(completion)")
        }
        bench.transport.on(
            OpenIDProviderBench.userinfoURL,
            failing: CallError(isUnsent: false, detail: "no answer in 5 s", cause: .time)
        )
        #expect(try await bench.signIn().user?.identity.traits == Self.alone)
        #expect(bench.notes.count == Self.failures.count + 1)
        #expect(bench.notes.first == "the userinfo endpoint answered with status 401")
        #expect(bench.notes.last == "no answer in 5 s")
        bench.transport.on(OpenIDProviderBench.userinfoURL, .json(Self.document()))
        #expect(try await bench.signIn().user?.identity.traits == ["email": "jane@example.com", "name": "Jane"])
        #expect(bench.notes.count == Self.failures.count + 1)
    }

    @Test("Where each sign-in needs userinfo, none goes on without it")
    func required() async throws {
        let bench = try Self.bench(.required)
        for (answer, isOutage) in Self.failures {
            bench.transport.on(OpenIDProviderBench.userinfoURL, answer)
            let completion = try await bench.signIn(claims: ["name": "Jane"])
            #expect(
                completion.user == nil && completion.cause == (isOutage ? nil : .signInProviderError),
                "\(completion)"
            )
            #expect((completion.outage != nil) == isOutage)
        }
        #expect(bench.notes.isEmpty)
        // It is asked also where the id_token has all traits.
        bench.transport.on(OpenIDProviderBench.userinfoURL, .json(Self.document(["name": "Other"])))
        let user = try await bench.signIn(claims: ["name": "Jane"]).user
        #expect(user?.identity.traits == ["email": "jane@example.com", "name": "Jane"])
        let without = try OpenIDProviderBench(metadata: ["userinfo_endpoint": .null]) { $0.userinfo = .required }
        #expect(try await without.signIn().cause == .signInProviderError)
    }

    @Test("Where it is off, userinfo is never asked")
    func off() async throws {
        let bench = try Self.bench(.off)
        bench.transport.on(OpenIDProviderBench.userinfoURL, .json(Self.document(["sub": "user-2"])))
        #expect(try await bench.signIn().user?.identity.traits == Self.alone)
        #expect(bench.transport.calls(of: OpenIDProviderBench.userinfoURL).isEmpty && bench.notes.isEmpty)
    }

    @Test(
        "Userinfo about another user ends the sign-in wherever it is asked",
        arguments: [UserInfoUse.auto, .required]
    )
    func foreign(_ use: UserInfoUse) async throws {
        let bench = try Self.bench(use)
        for subject in ["user-2", "", "USER-1", "user-1 ", "user-1\u{301}"] {
            let document = Self.document(["sub": .string(subject)])
            bench.transport.on(OpenIDProviderBench.userinfoURL, .json(document))
            #expect(try await bench.signIn().cause == .signInInvalidToken, "\(subject)")
            guard case .object(var members) = document else { return }
            (members["iss"], members["aud"]) = (
                .string(OpenIDProviderBench.issuer), .string(OpenIDProviderBench.clientID)
            )
            bench.transport.on(OpenIDProviderBench.userinfoURL, Self.token(bench.idToken(.object(members))))
            #expect(try await bench.signIn().cause == .signInInvalidToken, "\(subject), signed")
        }
    }

    @Test(
        "Without userinfo the rules of admission are judged by what the id_token says; what it lacks is not held against the user"
    )
    func admission() async throws {
        let bench = try Self.bench { $0.allow.groups = ["staff"] }
        for (status, claims, cause) in [
            (403, [:], .signInProviderError), (503, [:], nil), (403, ["groups": ["other"]], .signInNotAllowed),
            (503, ["groups": ["other"]], .signInNotAllowed),
        ] as [(Int, [String: JSONValue], Reason?)] {
            bench.transport.on(OpenIDProviderBench.userinfoURL, CallAnswer(status: status))
            let completion = try await bench.signIn(claims: claims)
            #expect(completion.user == nil && completion.cause == cause, "\(status) \(claims): \(completion)")
            if claims.isEmpty {
                let words = completion.detail ?? completion.outage ?? ""
                #expect(words.contains("status \(status)") && words.contains("allow.groups"), "\(words)")
            }
        }
        #expect(bench.notes.isEmpty, "no sign-in went on")
        #expect(try await bench.signIn(claims: ["groups": ["staff"]]).user != nil)
        // An address that userinfo alone could call verified.
        let verified = try Self.bench { $0.allow.emailDomains = ["example.com"] }
        verified.transport.on(OpenIDProviderBench.userinfoURL, CallAnswer(status: 401))
        #expect(try await verified.signIn().cause == .signInProviderError)
        #expect(try await verified.signIn(claims: ["email_verified": false]).cause == .signInNotAllowed)
        #expect(try await verified.signIn(claims: ["email_verified": true]).user != nil)
    }

    // MARK: Signed answers

    @Test("A signed answer is verified with the issuer's keys", arguments: [JWSAlgorithm.rs256, .es256, .edDSA])
    func signed(_ algorithm: JWSAlgorithm) async throws {
        let key = SigningKey.generated(algorithm)
        let bench = try Self.bench()
        bench.transport.on(
            OpenIDProviderBench.keysURL,
            .json(JWKSet(keys: [bench.key.publicKey, key.publicKey]).value)
        )
        let claims = Self.document([
            "iss": .string(OpenIDProviderBench.issuer), "aud": ["other", .string(OpenIDProviderBench.clientID)],
        ])
        for (type, end) in [("application/jwt", ""), ("application/jwt; charset=utf-8", "\n"), ("Application/JWT", "")]
        {
            bench.transport.on(
                OpenIDProviderBench.userinfoURL,
                Self.token(bench.idToken(claims, by: key) + end, type: type)
            )
            let traits = try await bench.signIn().user?.identity.traits
            #expect(traits == ["email": "jane@example.com", "name": "Jane"], "\(type)")
        }
    }

    @Test(
        "A signed answer that is not the issuer's, not for this client, unsigned, encrypted or of another kind is not used"
    )
    func unusableSigned() async throws {
        for use in [UserInfoUse.auto, .required] {
            let bench = try Self.bench(use)
            bench.transport.on(OpenIDProviderBench.userinfoURL, Self.token(Self.signed(bench)))
            #expect(try await bench.signIn().user?.identity.traits["name"] == "Jane", "the token without a change")
            let past = JSONValue.integer(bench.clock.now.seconds - 61)
            let secret = Array("client-secret".utf8)
            let tokens: [(String, String)] = [
                (Self.signed(bench, by: .generated(.es256)), "another key"),
                (Self.signed(bench, ["iss": "absent"]), "no iss"),
                (Self.signed(bench, ["iss": .null]), "null iss"),
                (Self.signed(bench, ["iss": "https://evil.example.com"]), "another iss"),
                (Self.signed(bench, ["aud": "absent"]), "no aud"),
                (Self.signed(bench, ["aud": "other"]), "another aud"),
                (Self.signed(bench, ["aud": []]), "an empty aud"), (Self.signed(bench, ["exp": past]), "past"),
                (Self.signed(bench, type: "logout+jwt"), "a logout token"),
                (Self.forged(#"{"alg":"none"}"#) { _ in [] }, "unsigned"),
                (Self.forged(#"{"alg":"none"}"#) { _ in [1] }, "unsigned, with a signature"),
                (Self.forged(#"{"alg":"HS256"}"#) { HMACKey(secret).sha256(Array($0.utf8)).bytes }, "by the secret"),
                ("a.b.c.d.e", "encrypted"), ("", "empty"), (Self.signed(bench) + ".e30", "four parts"),
                (String(Self.signed(bench).dropLast(3)), "a cut signature"),
                (Self.signed(bench, ["sub": 7]), "sub as a number"),
            ]
            for (token, name) in tokens {
                bench.transport.on(OpenIDProviderBench.userinfoURL, Self.token(token))
                let completion = try await bench.signIn()
                #expect(
                    completion.user?.identity.traits == (use == .auto ? Self.alone : nil),
                    "\(name): \(completion)"
                )
            }
            #expect(bench.notes.count == (use == .auto ? tokens.count : 0))
            #expect(bench.notes.allSatisfy { !$0.contains("Jane") })
        }
    }

    /// A signed answer that is good but for the changes; `absent` removes a claim.
    private static func signed(
        _ bench: OpenIDProviderBench,
        _ changes: [String: JSONValue] = [:],
        by key: SigningKey? = nil,
        type: String? = nil
    ) -> String {
        let usual: [String: JSONValue] = [
            "iss": .string(OpenIDProviderBench.issuer), "aud": .string(OpenIDProviderBench.clientID),
        ]
        let claims = usual.merging(changes) { $1 }.filter { $0.value != "absent" }
        return bench.idToken(Self.document(claims), by: key, type: type)
    }

    /// A token with this header, and claims that would be good.
    private static func forged(_ header: String, _ signature: (String) -> [UInt8]) -> String {
        let claims = Self.document([
            "iss": .string(OpenIDProviderBench.issuer), "aud": .string(OpenIDProviderBench.clientID),
        ])
        let text = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(JSONText.encode(claims))
        return text + "." + Base64URL.encode(signature(text))
    }

    // MARK: Refreshes

    private func refresh(
        _ bench: OpenIDProviderBench,
        _ tokens: ProviderTokenSet,
        _ claims: [String: JSONValue]?
    ) async -> ProviderRefresh {
        let idToken = claims.map { bench.idToken(bench.claims(nonce: nil, $0)) }
        bench.transport.on(OpenIDProviderBench.tokenURL, .json(OpenIDProviderBench.tokens(idToken: idToken)))
        return await bench.provider.refresh(tokens, of: Identity(id: OpenIDProviderBench.subject, traits: [:]))
    }

    @Test("At a refresh without userinfo the id_token's claims are new, and what it lacks stays as it was")
    func refreshed() async throws {
        let bench = try Self.bench { $0.allow.groups = ["staff"] }
        bench.transport.on(OpenIDProviderBench.userinfoURL, .json(Self.document()))
        let tokens = try #require(try await bench.signIn(claims: ["groups": ["staff"]]).evidence?.tokens)
        for (answer, _) in Self.failures {
            bench.transport.on(OpenIDProviderBench.userinfoURL, answer)
            guard
                case .refreshedInPart(_, let user) = await self.refresh(bench, tokens, ["email": "new@example.com"])
            else {
                Issue.record("\(answer)")
                continue
            }
            #expect(user.identity.traits == ["email": "new@example.com"])
        }
        #expect(bench.notes.count == Self.failures.count)
        // Nothing new is known: the answer has no id_token, or one without traits.
        for claims in [nil, ["email": .null]] as [[String: JSONValue]?] {
            guard case .refreshed(_, nil) = await self.refresh(bench, tokens, claims) else {
                Issue.record("\(String(describing: claims))")
                continue
            }
        }
        // What the id_token says of groups counts at once.
        guard case .ended = await self.refresh(bench, tokens, ["groups": ["other"]]) else {
            Issue.record("a user who may not sign in any more")
            return
        }
        bench.transport.on(OpenIDProviderBench.userinfoURL, .json(Self.document(["sub": "user-2"])))
        guard case .ended = await self.refresh(bench, tokens, [:]) else {
            Issue.record("userinfo of another user")
            return
        }
    }

    @Test("At a refresh userinfo is not asked where it is off, and changes nothing by its failure where it is required")
    func refreshedOtherwise() async throws {
        let email: JSONValue = ["email": "new@example.com"]
        for (use, traits) in [(UserInfoUse.off, Optional(email)), (.required, nil)] {
            let bench = try Self.bench(use)
            bench.transport.on(OpenIDProviderBench.userinfoURL, .json(Self.document()))
            let tokens = try #require(try await bench.signIn().evidence?.tokens)
            bench.transport.on(OpenIDProviderBench.userinfoURL, CallAnswer(status: 500))
            guard case .refreshed(_, let user) = await self.refresh(bench, tokens, ["email": "new@example.com"]) else {
                Issue.record("\(use)")
                continue
            }
            #expect(user?.identity.traits == traits)
        }
    }

    @Test("A user known in part keeps the other traits, but not that another address is verified")
    func completed() {
        let former = Identity(id: "a", traits: ["email": "a@x", "email_verified": true, "name": "A", "groups": ["x"]])
        func completed(_ traits: JSONValue) -> JSONValue {
            Identity(id: "a", traits: traits).completed(by: former).traits
        }
        #expect(completed(["groups": ["y"]]) == former.traits.merged(with: ["groups": ["y"]]))
        #expect(completed(["email": "a@x"]) == former.traits)
        #expect(completed(["email": "b@x"]) == ["email": "b@x", "name": "A", "groups": ["x"]])
        #expect(completed(["email": "b@x", "email_verified": false])["email_verified"] == .bool(false))
    }
}
