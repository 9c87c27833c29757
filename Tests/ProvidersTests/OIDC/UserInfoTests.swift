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
    /// A desk whose id_token has `email`, so that `name` can come from userinfo only.
    private static func desk(
        _ use: UserInfoUse = .auto,
        _ change: (inout OpenIDSettings) -> Void = { _ in }
    ) throws -> OpenIDDesk {
        try OpenIDDesk {
            $0.userinfo = use
            $0.claims.traits = ["email", "name"].map { ClaimSettings.Trait(name: $0, path: [$0]) }
            change(&$0)
        }
    }

    private static let alone: JSONValue = ["email": "jane@example.com"]

    private static func document(_ changes: [String: JSONValue] = [:]) -> JSONValue {
        let usual: [String: JSONValue] = ["sub": .string(OpenIDDesk.subject), "name": "Jane"]
        return .object(usual.merging(changes) { $1 })
    }

    private static func token(_ text: String, type: String = "application/jwt") -> ProviderAnswer {
        ProviderAnswer(status: 200, fields: [("content-type", type)], body: Array(text.utf8))
    }

    /// Answers that cannot be used, and whether that may pass by itself.
    private static let failures: [(answer: ProviderAnswer, isOutage: Bool)] = [
        (ProviderAnswer(status: 401), false), (ProviderAnswer(status: 403), false),
        (ProviderAnswer(status: 404), false),
        (ProviderAnswer(status: 204), false), (ProviderAnswer(status: 200), false),
        (ProviderAnswer(status: 406), false),
        (ProviderAnswer(status: 302, fields: [("location", "https://idp.example.com/login")]), false),
        (ProviderAnswer(status: 200, fields: [("content-type", "text/html")], body: Array("<html>".utf8)), false),
        (ProviderAnswer(status: 200, body: Array(#"{"sub":"user-1","name":"Ja"#.utf8)), false),
        (.json([1]), false), (.json(.null), false), (.json("user-1"), false), (.json([:]), false),
        (.json(["name": "Eve"]), false), (.json(["sub": .null, "name": "Eve"]), false),
        (.json(["sub": 1, "name": "Eve"]), false), (.json(["error": "invalid_token"]), false),
        (ProviderAnswer(status: 200, fields: [("content-type", "application/jwt")], body: Array("{}".utf8)), false),
        (ProviderAnswer(status: 500), true), (ProviderAnswer(status: 503), true), (ProviderAnswer(status: 429), true),
    ]

    @Test("Without a usable answer a sign-in goes on with the id_token's claims, and that is told")
    func failing() async throws {
        let desk = try Self.desk()
        for (answer, _) in Self.failures {
            desk.transport.on(OpenIDDesk.userinfoURL, answer)
            let completion = try await desk.signIn()
            #expect(completion.user?.identity.traits == Self.alone, "\(answer): \(completion)")
        }
        desk.transport.on(
            OpenIDDesk.userinfoURL,
            failing: ProviderCallError(isUnsent: false, detail: "no answer in 5 s", cause: .time)
        )
        #expect(try await desk.signIn().user?.identity.traits == Self.alone)
        #expect(desk.notes.count == Self.failures.count + 1)
        #expect(desk.notes.first == "the userinfo endpoint answered with status 401")
        #expect(desk.notes.last == "no answer in 5 s")
        desk.transport.on(OpenIDDesk.userinfoURL, .json(Self.document()))
        #expect(try await desk.signIn().user?.identity.traits == ["email": "jane@example.com", "name": "Jane"])
        #expect(desk.notes.count == Self.failures.count + 1)
    }

    @Test("Where each sign-in needs userinfo, none goes on without it")
    func required() async throws {
        let desk = try Self.desk(.required)
        for (answer, isOutage) in Self.failures {
            desk.transport.on(OpenIDDesk.userinfoURL, answer)
            let completion = try await desk.signIn(claims: ["name": "Jane"])
            #expect(
                completion.user == nil && completion.cause == (isOutage ? nil : .signInProviderError),
                "\(completion)"
            )
            #expect((completion.outage != nil) == isOutage)
        }
        #expect(desk.notes.isEmpty)
        // It is asked also where the id_token has all traits.
        desk.transport.on(OpenIDDesk.userinfoURL, .json(Self.document(["name": "Other"])))
        let user = try await desk.signIn(claims: ["name": "Jane"]).user
        #expect(user?.identity.traits == ["email": "jane@example.com", "name": "Jane"])
        let without = try OpenIDDesk(metadata: ["userinfo_endpoint": .null]) { $0.userinfo = .required }
        #expect(try await without.signIn().cause == .signInProviderError)
    }

    @Test("Where it is off, userinfo is never asked")
    func off() async throws {
        let desk = try Self.desk(.off)
        desk.transport.on(OpenIDDesk.userinfoURL, .json(Self.document(["sub": "user-2"])))
        #expect(try await desk.signIn().user?.identity.traits == Self.alone)
        #expect(desk.transport.calls(of: OpenIDDesk.userinfoURL).isEmpty && desk.notes.isEmpty)
    }

    @Test(
        "Userinfo about another user ends the sign-in wherever it is asked",
        arguments: [UserInfoUse.auto, .required]
    )
    func foreign(_ use: UserInfoUse) async throws {
        let desk = try Self.desk(use)
        for subject in ["user-2", "", "USER-1", "user-1 ", "user-1\u{301}"] {
            let document = Self.document(["sub": .string(subject)])
            desk.transport.on(OpenIDDesk.userinfoURL, .json(document))
            #expect(try await desk.signIn().cause == .signInInvalidToken, "\(subject)")
            guard case .object(var members) = document else { return }
            (members["iss"], members["aud"]) = (.string(OpenIDDesk.issuer), .string(OpenIDDesk.clientID))
            desk.transport.on(OpenIDDesk.userinfoURL, Self.token(desk.idToken(.object(members))))
            #expect(try await desk.signIn().cause == .signInInvalidToken, "\(subject), signed")
        }
    }

    @Test(
        "Without userinfo the rules of admission are judged by what the id_token says; what it lacks is not held against the user"
    )
    func admission() async throws {
        let desk = try Self.desk { $0.allow.groups = ["staff"] }
        for (status, claims, cause) in [
            (403, [:], .signInProviderError), (503, [:], nil), (403, ["groups": ["other"]], .signInNotAllowed),
            (503, ["groups": ["other"]], .signInNotAllowed),
        ] as [(Int, [String: JSONValue], Reason?)] {
            desk.transport.on(OpenIDDesk.userinfoURL, ProviderAnswer(status: status))
            let completion = try await desk.signIn(claims: claims)
            #expect(completion.user == nil && completion.cause == cause, "\(status) \(claims): \(completion)")
            if claims.isEmpty {
                let words = completion.detail ?? completion.outage ?? ""
                #expect(words.contains("status \(status)") && words.contains("allow.groups"), "\(words)")
            }
        }
        #expect(desk.notes.isEmpty, "no sign-in went on")
        #expect(try await desk.signIn(claims: ["groups": ["staff"]]).user != nil)
        // An address that userinfo alone could call verified.
        let verified = try Self.desk { $0.allow.emailDomains = ["example.com"] }
        verified.transport.on(OpenIDDesk.userinfoURL, ProviderAnswer(status: 401))
        #expect(try await verified.signIn().cause == .signInProviderError)
        #expect(try await verified.signIn(claims: ["email_verified": false]).cause == .signInNotAllowed)
        #expect(try await verified.signIn(claims: ["email_verified": true]).user != nil)
    }

    // MARK: Signed answers

    @Test("A signed answer is verified with the issuer's keys", arguments: [JWSAlgorithm.rs256, .es256, .edDSA])
    func signed(_ algorithm: JWSAlgorithm) async throws {
        let key = SigningKey.generated(algorithm)
        let desk = try Self.desk()
        desk.transport.on(
            OpenIDDesk.keysURL,
            .json(JWKSet(keys: [desk.key.publicKey, key.publicKey]).value)
        )
        let claims = Self.document(["iss": .string(OpenIDDesk.issuer), "aud": ["other", .string(OpenIDDesk.clientID)]])
        for (type, end) in [("application/jwt", ""), ("application/jwt; charset=utf-8", "\n"), ("Application/JWT", "")]
        {
            desk.transport.on(OpenIDDesk.userinfoURL, Self.token(desk.idToken(claims, by: key) + end, type: type))
            let traits = try await desk.signIn().user?.identity.traits
            #expect(traits == ["email": "jane@example.com", "name": "Jane"], "\(type)")
        }
    }

    @Test(
        "A signed answer that is not the issuer's, not for this client, unsigned, encrypted or of another kind is not used"
    )
    func unusableSigned() async throws {
        for use in [UserInfoUse.auto, .required] {
            let desk = try Self.desk(use)
            desk.transport.on(OpenIDDesk.userinfoURL, Self.token(Self.signed(desk)))
            #expect(try await desk.signIn().user?.identity.traits["name"] == "Jane", "the token without a change")
            let past = JSONValue.integer(desk.clock.now.seconds - 61)
            let secret = Array("client-secret".utf8)
            let tokens: [(String, String)] = [
                (Self.signed(desk, by: .generated(.es256)), "another key"),
                (Self.signed(desk, ["iss": "absent"]), "no iss"),
                (Self.signed(desk, ["iss": .null]), "null iss"),
                (Self.signed(desk, ["iss": "https://evil.example.com"]), "another iss"),
                (Self.signed(desk, ["aud": "absent"]), "no aud"), (Self.signed(desk, ["aud": "other"]), "another aud"),
                (Self.signed(desk, ["aud": []]), "an empty aud"), (Self.signed(desk, ["exp": past]), "past"),
                (Self.signed(desk, type: "logout+jwt"), "a logout token"),
                (Self.forged(#"{"alg":"none"}"#) { _ in [] }, "unsigned"),
                (Self.forged(#"{"alg":"none"}"#) { _ in [1] }, "unsigned, with a signature"),
                (Self.forged(#"{"alg":"HS256"}"#) { HMACKey(secret).sha256(Array($0.utf8)).bytes }, "by the secret"),
                ("a.b.c.d.e", "encrypted"), ("", "empty"), (Self.signed(desk) + ".e30", "four parts"),
                (String(Self.signed(desk).dropLast(3)), "a cut signature"),
                (Self.signed(desk, ["sub": 7]), "sub as a number"),
            ]
            for (token, name) in tokens {
                desk.transport.on(OpenIDDesk.userinfoURL, Self.token(token))
                let completion = try await desk.signIn()
                #expect(
                    completion.user?.identity.traits == (use == .auto ? Self.alone : nil),
                    "\(name): \(completion)"
                )
            }
            #expect(desk.notes.count == (use == .auto ? tokens.count : 0))
            #expect(desk.notes.allSatisfy { !$0.contains("Jane") })
        }
    }

    /// A signed answer that is good but for the changes; `absent` removes a claim.
    private static func signed(
        _ desk: OpenIDDesk,
        _ changes: [String: JSONValue] = [:],
        by key: SigningKey? = nil,
        type: String? = nil
    ) -> String {
        let usual: [String: JSONValue] = ["iss": .string(OpenIDDesk.issuer), "aud": .string(OpenIDDesk.clientID)]
        let claims = usual.merging(changes) { $1 }.filter { $0.value != "absent" }
        return desk.idToken(Self.document(claims), by: key, type: type)
    }

    /// A token with this header, and claims that would be good.
    private static func forged(_ header: String, _ signature: (String) -> [UInt8]) -> String {
        let claims = Self.document(["iss": .string(OpenIDDesk.issuer), "aud": .string(OpenIDDesk.clientID)])
        let text = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(JSONText.encode(claims))
        return text + "." + Base64URL.encode(signature(text))
    }

    // MARK: Refreshes

    private func refresh(
        _ desk: OpenIDDesk,
        _ tokens: ProviderTokenSet,
        _ claims: [String: JSONValue]?
    ) async -> ProviderRefresh {
        let idToken = claims.map { desk.idToken(desk.claims(nonce: nil, $0)) }
        desk.transport.on(OpenIDDesk.tokenURL, .json(OpenIDDesk.tokens(idToken: idToken)))
        return await desk.provider.refresh(tokens, of: OpenIDDesk.subject)
    }

    @Test("At a refresh without userinfo the id_token's claims are new, and what it lacks stays as it was")
    func refreshed() async throws {
        let desk = try Self.desk { $0.allow.groups = ["staff"] }
        desk.transport.on(OpenIDDesk.userinfoURL, .json(Self.document()))
        let tokens = try #require(try await desk.signIn(claims: ["groups": ["staff"]]).evidence?.tokens)
        for (answer, _) in Self.failures {
            desk.transport.on(OpenIDDesk.userinfoURL, answer)
            guard
                case .refreshedInPart(_, let user) = await self.refresh(desk, tokens, ["email": "new@example.com"])
            else {
                Issue.record("\(answer)")
                continue
            }
            #expect(user.identity.traits == ["email": "new@example.com"])
        }
        #expect(desk.notes.count == Self.failures.count)
        // Nothing new is known: the answer has no id_token, or one without traits.
        for claims in [nil, ["email": .null]] as [[String: JSONValue]?] {
            guard case .refreshed(_, nil) = await self.refresh(desk, tokens, claims) else {
                Issue.record("\(String(describing: claims))")
                continue
            }
        }
        // What the id_token says of groups counts at once.
        guard case .ended = await self.refresh(desk, tokens, ["groups": ["other"]]) else {
            Issue.record("a user who may not sign in any more")
            return
        }
        desk.transport.on(OpenIDDesk.userinfoURL, .json(Self.document(["sub": "user-2"])))
        guard case .ended = await self.refresh(desk, tokens, [:]) else {
            Issue.record("userinfo of another user")
            return
        }
    }

    @Test("At a refresh userinfo is not asked where it is off, and changes nothing by its failure where it is required")
    func refreshedOtherwise() async throws {
        let email: JSONValue = ["email": "new@example.com"]
        for (use, traits) in [(UserInfoUse.off, Optional(email)), (.required, nil)] {
            let desk = try Self.desk(use)
            desk.transport.on(OpenIDDesk.userinfoURL, .json(Self.document()))
            let tokens = try #require(try await desk.signIn().evidence?.tokens)
            desk.transport.on(OpenIDDesk.userinfoURL, ProviderAnswer(status: 500))
            guard case .refreshed(_, let user) = await self.refresh(desk, tokens, ["email": "new@example.com"]) else {
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
