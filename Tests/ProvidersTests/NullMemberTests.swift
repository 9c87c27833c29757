import Calls
import JOSE
import Providers
import Sessions
import Settings
import SocialBench
import StoreBench
import Testing
import Vocabulary

/// Many servers write null for what they do not know. It is read as if the member were missing.
@Suite("Null is absent in each document of a provider")
struct NullMemberTests {
    /// An object with these members written as null.
    private static func with(_ nulls: [String], _ object: JSONValue) -> JSONValue {
        guard case .object(let members) = object else { return object }
        return .object(members.merging(nulls.map { ($0, .null) }) { $1 })
    }

    /// Signs in with these claims written as null.
    private func signIn(_ bench: OpenIDProviderBench, nulls: [String]) async throws -> Completion {
        let begun = try await bench.begin()
        let claims = Self.with(nulls, bench.claims(nonce: begun.parameters["nonce"]))
        bench.transport.on(
            OpenIDProviderBench.tokenURL,
            .json(OpenIDProviderBench.tokens(idToken: bench.idToken(claims)))
        )
        return await bench.provider.completion(begun.callback(), state: begun.state)
    }

    private static let optional = [
        "azp", "at_hash", "c_hash", "sid", "nbf", "jti", "acr", "amr", "auth_time", "token_use", "events", "cnf",
        "email_verified", "groups", "unknown",
    ]

    @Test("An id_token", arguments: optional.map { [$0] } + [optional])
    func idToken(_ nulls: [String]) async throws {
        let bench = try OpenIDProviderBench()
        let completion = try await self.signIn(bench, nulls: nulls)
        #expect(completion.user != nil, "\(completion)")
        // The same at a refresh, which has no nonce.
        let tokens = try #require(completion.evidence?.tokens)
        let renewed = bench.idToken(
            Self.with(nulls + ["nonce"], bench.claims(nonce: nil, ["email": "new@example.com"]))
        )
        bench.transport.on(OpenIDProviderBench.tokenURL, .json(OpenIDProviderBench.tokens(idToken: renewed)))
        guard
            case .refreshed(_, let user) = await bench.provider.refresh(
                tokens,
                of: Identity(id: OpenIDProviderBench.subject, traits: [:])
            )
        else {
            Issue.record("the session ended")
            return
        }
        #expect(user?.identity.traits == ["email": "new@example.com"])
    }

    @Test("An id_token that lacks what it must have", arguments: ["iss", "sub", "aud", "exp", "iat", "nonce"])
    func incompleteIDToken(_ claim: String) async throws {
        let bench = try OpenIDProviderBench()
        let null = try await self.signIn(bench, nulls: [claim])
        let missing = try await bench.signIn(claims: [claim: .null])
        #expect(null.cause == .signInInvalidToken && null.detail == missing.detail, "\(null)")
    }

    @Test("A key set") func keySet() async throws {
        let bench = try OpenIDProviderBench()
        let names = ["alg", "use", "key_ops", "x5c", "x5t", "x5u", "d", "k", "exp"]
        let key = Self.with(names, bench.key.publicKey.value)
        bench.transport.on(OpenIDProviderBench.keysURL, .json(["keys": [key, .null, Self.with(["kty"], key)]]))
        let completion = try await bench.signIn()
        #expect(completion.user != nil, "\(completion)")
    }

    @Test("A discovery document") func discovery() async throws {
        let bench = try OpenIDProviderBench()
        let names = [
            "userinfo_endpoint", "end_session_endpoint", "revocation_endpoint", "introspection_endpoint",
            "authorization_response_iss_parameter_supported", "backchannel_logout_session_supported",
            "id_token_signing_alg_values_supported", "code_challenge_methods_supported",
            "token_endpoint_auth_methods_supported",
        ]
        bench.transport.on(OpenIDProviderBench.metadataURL, .json(Self.with(names, OpenIDProviderBench.metadata())))
        #expect(try await bench.signIn().user != nil)
        #expect(await bench.provider.signOutURL(idToken: nil, returnTo: "https://app.example.com", state: nil) == nil)
        for name in ["issuer", "authorization_endpoint", "token_endpoint", "jwks_uri"] {
            let document = JSONText.encode(Self.with([name], OpenIDProviderBench.metadata()))
            let error = #expect(throws: MetadataError.self) {
                try ProviderMetadata(document, of: try EndpointURL(OpenIDProviderBench.issuer))
            }
            #expect(error?.description == "\(name) is missing")
        }
    }

    @Test("An answer of the token endpoint") func tokenAnswer() async throws {
        let bench = try OpenIDProviderBench()
        let begun = try await bench.begin()
        let names = ["token_type", "expires_in", "refresh_token", "scope", "error", "error_description", "other"]
        let tokens = OpenIDProviderBench.tokens(idToken: bench.idToken(bench.claims(nonce: begun.parameters["nonce"])))
        bench.transport.on(OpenIDProviderBench.tokenURL, .json(Self.with(names, tokens)))
        let kept = await bench.provider.completion(begun.callback(), state: begun.state).evidence?.tokens
        #expect(kept?.accessToken == Secret("access-1") && kept?.refreshToken == nil && kept?.expiresAt == nil)
        #expect(kept?.scopes == ["openid", "profile", "email"] && kept?.tokenType == "Bearer")
        bench.transport.on(OpenIDProviderBench.tokenURL, .json(Self.with(["access_token"], tokens)))
        #expect(await bench.provider.completion(begun.callback(), state: begun.state).outage != nil)
        bench.transport.on(OpenIDProviderBench.tokenURL, .json(Self.with(["id_token"], tokens)))
        #expect(await bench.provider.completion(begun.callback(), state: begun.state).cause == .signInInvalidToken)
    }

    @Test("A logout token") func logoutToken() async throws {
        let bench = try OpenIDProviderBench()
        let good = bench.claims(
            nonce: nil,
            ["jti": "logout-1", "events": ["http://schemas.openid.net/event/backchannel-logout": [:]]]
        )
        func verdict(_ nulls: [String]) async -> Result<LogoutToken, NotDone> {
            let claims = JSONText.encode(Self.with(nulls, good))
            let token = Secret(bench.key.sign(claims, header: [("typ", .null)]))
            return await Result(try await bench.provider.logoutToken(token))
        }
        for nulls in [["sub"], ["sid"], ["nonce", "nbf", "exp", "azp", "email", "at_hash"]] {
            guard case .success(let token) = await verdict(nulls) else {
                Issue.record("refused: \(nulls)")
                continue
            }
            #expect(token.subject == (nulls == ["sub"] ? nil : OpenIDProviderBench.subject))
            #expect(token.sessionID == (nulls == ["sid"] ? nil : "s-1"))
        }
        for nulls in [["sub", "sid"], ["jti"], ["iat"], ["iss"], ["aud"], ["events"]] {
            #expect(await verdict(nulls).cause == .logoutInvalidToken, "\(nulls)")
        }
    }

    @Test("A signed access token") func accessToken() async throws {
        let bench = try BearerBench()
        func judge(_ nulls: [String], type: JSONValue = "at+jwt") async -> TokenVerdict {
            let claims = JSONText.encode(Self.with(nulls, bench.claims()))
            return await bench.judge(Secret(bench.openID.key.sign(claims, header: [("typ", type)])))
        }
        let optional = [
            "nbf", "iat", "jti", "cnf", "nonce", "at_hash", "c_hash", "s_hash", "events", "token_use", "typ", "azp",
            "acr",
            "amr", "auth_time", "sid", "scope", "scp", "client_id", "act",
        ]
        for nulls in optional.map({ [$0] }) + [optional] {
            for type: JSONValue in ["at+jwt", "JWT", .null] {
                #expect(await judge(nulls, type: type).known != nil, "\(nulls) \(type)")
            }
        }
        for (claim, reason) in [
            ("iss", Reason.credentialInvalidToken), ("aud", .credentialOtherAudience), ("exp", .credentialInvalidToken),
            ("sub", .credentialInvalidToken),
        ] {
            #expect(await judge([claim]) == .unknown(reason), "\(claim)")
        }
    }

    @Test("An answer of userinfo, whose null claims say nothing about those of the id_token") func userinfo()
        async throws
    {
        let bench = try OpenIDProviderBench { settings in
            settings.claims.traits = ["email", "name", "zoneinfo"].map { ClaimSettings.Trait(name: $0, path: [$0]) }
        }
        bench.transport.on(
            OpenIDProviderBench.userinfoURL,
            .json(["sub": .string(OpenIDProviderBench.subject), "email": .null, "name": "Jane", "zoneinfo": .null])
        )
        let user = try #require(try await bench.signIn(claims: ["name": .null]).user)
        #expect(user.identity.traits == ["email": "jane@example.com", "name": "Jane"])
    }

    @Test("Google's and Facebook's documents, and what an app says about a user") func social() async throws {
        let bench = try SocialVerifierBench()
        let token = bench.network.googleToken(nulls: [
            "azp", "nbf", "jti", "nonce", "at_hash", "picture", "locale", "hd",
        ])
        let verdict = try await bench.verify(.google, token, ["name": .null, "email": .null, "given_name": .null])
        #expect(verdict.user?.identity.traits["picture"] == nil && verdict.user != nil, "\(verdict)")
        #expect(
            try await bench.verify(.google, bench.network.googleToken(nulls: ["aud"])).refusal?.contains("aud") == true
        )
        let info = bench.network.facebookToken(nulls: ["type", "profile_id", "issued_at", "expires_at", "error"])
        #expect(
            try await bench.verify(.facebook, info, ["name": ["firstName": JSONValue.null, "lastName": "L"]]).user
                != nil
        )
        #expect(try await bench.verify(.facebook, bench.network.facebookToken(nulls: ["is_valid"])).outage != nil)
        #expect(try await bench.verify(.facebook, bench.network.facebookToken(nulls: ["user_id"])).outage != nil)
    }

    @Test("Kratos's session and its errors") func kratos() async throws {
        let bench = KratosProviderBench()
        let token = Secret(KratosProviderBench.token)
        let identity: JSONValue = [
            "id": "i-1", "schema_id": .null, "state": .null, "traits": .null, "metadata_public": .null,
            "verifiable_addresses": .null,
        ]
        bench.transport.on(
            KratosProviderBench.whoami,
            .json(
                bench.session([
                    "active": .null, "expires_at": .null, "authenticated_at": .null, "issued_at": .null,
                    "authenticator_assurance_level": .null, "authentication_methods": .null, "devices": .null,
                    "tokenized": .null, "identity": identity,
                ])
            )
        )
        #expect(await bench.provider.introspect(token).known?.identity == Identity(id: "i-1", traits: [:]))
        let denied: JSONValue = ["error": ["code": 401, "id": .null, "reason": .null]]
        let documents: [JSONValue] = [denied, ["error": ["code": .null]], ["error": .null], .null]
        for document in documents {
            let verdict = document == denied ? TokenVerdict.unknown(.credentialInvalidToken) : .unavailable
            let bench = KratosProviderBench()
            bench.transport.on(KratosProviderBench.whoami, .json(document, status: 401))
            #expect(await bench.provider.introspect(token) == verdict, "\(document)")
        }
        let demand: JSONValue = ["error": ["code": 403, "id": "session_aal2_required"], "redirect_browser_to": .null]
        let demanding = KratosProviderBench()
        demanding.transport.on(KratosProviderBench.whoami, .json(demand, status: 403))
        guard case .insufficient(let wanted) = await demanding.provider.introspect(token) else {
            Issue.record("no demand for another factor")
            return
        }
        #expect(wanted.page == nil)
        let empty = CallAnswer.json(["session": .null, "session_token": .null])
        #expect(KratosProviderBench().provider.signedInAt(empty) == nil)
    }
}
