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
    private func signIn(_ desk: OpenIDDesk, nulls: [String]) async throws -> Completion {
        let begun = try await desk.begin()
        let claims = Self.with(nulls, desk.claims(nonce: begun.parameters["nonce"]))
        desk.transport.on(OpenIDDesk.tokenURL, .json(OpenIDDesk.tokens(idToken: desk.idToken(claims))))
        return await desk.provider.completion(begun.callback(), state: begun.state)
    }

    private static let optional = [
        "azp", "at_hash", "c_hash", "sid", "nbf", "jti", "acr", "amr", "auth_time", "token_use", "events", "cnf",
        "email_verified", "groups", "unknown",
    ]

    @Test("An id_token", arguments: optional.map { [$0] } + [optional])
    func idToken(_ nulls: [String]) async throws {
        let desk = try OpenIDDesk()
        let completion = try await self.signIn(desk, nulls: nulls)
        #expect(completion.user != nil, "\(completion)")
        // The same at a refresh, which has no nonce.
        let tokens = try #require(completion.evidence?.tokens)
        let renewed = desk.idToken(Self.with(nulls + ["nonce"], desk.claims(nonce: nil, ["email": "new@example.com"])))
        desk.transport.on(OpenIDDesk.tokenURL, .json(OpenIDDesk.tokens(idToken: renewed)))
        guard case .refreshed(_, let user) = await desk.provider.refresh(tokens, of: OpenIDDesk.subject) else {
            Issue.record("the session ended")
            return
        }
        #expect(user?.identity.traits == ["email": "new@example.com"])
    }

    @Test("An id_token that lacks what it must have", arguments: ["iss", "sub", "aud", "exp", "iat", "nonce"])
    func incompleteIDToken(_ claim: String) async throws {
        let desk = try OpenIDDesk()
        let null = try await self.signIn(desk, nulls: [claim])
        let missing = try await desk.signIn(claims: [claim: .null])
        #expect(null.cause == .signInInvalidToken && null.detail == missing.detail, "\(null)")
    }

    @Test("A key set") func keySet() async throws {
        let desk = try OpenIDDesk()
        let names = ["alg", "use", "key_ops", "x5c", "x5t", "x5u", "d", "k", "exp"]
        let key = Self.with(names, desk.key.publicKey.value)
        desk.transport.on(OpenIDDesk.keysURL, .json(["keys": [key, .null, Self.with(["kty"], key)]]))
        let completion = try await desk.signIn()
        #expect(completion.user != nil, "\(completion)")
    }

    @Test("A discovery document") func discovery() async throws {
        let desk = try OpenIDDesk()
        let names = [
            "userinfo_endpoint", "end_session_endpoint", "revocation_endpoint", "introspection_endpoint",
            "authorization_response_iss_parameter_supported", "backchannel_logout_session_supported",
            "id_token_signing_alg_values_supported", "code_challenge_methods_supported",
            "token_endpoint_auth_methods_supported",
        ]
        desk.transport.on(OpenIDDesk.metadataURL, .json(Self.with(names, OpenIDDesk.metadata())))
        #expect(try await desk.signIn().user != nil)
        #expect(await desk.provider.signOutURL(idToken: nil, returnTo: "https://app.example.com", state: nil) == nil)
        for name in ["issuer", "authorization_endpoint", "token_endpoint", "jwks_uri"] {
            let document = JSONText.encode(Self.with([name], OpenIDDesk.metadata()))
            let error = #expect(throws: MetadataError.self) {
                try ProviderMetadata(document, of: try ProviderURL(OpenIDDesk.issuer))
            }
            #expect(error?.description == "\(name) is missing")
        }
    }

    @Test("An answer of the token endpoint") func tokenAnswer() async throws {
        let desk = try OpenIDDesk()
        let begun = try await desk.begin()
        let names = ["token_type", "expires_in", "refresh_token", "scope", "error", "error_description", "other"]
        let tokens = OpenIDDesk.tokens(idToken: desk.idToken(desk.claims(nonce: begun.parameters["nonce"])))
        desk.transport.on(OpenIDDesk.tokenURL, .json(Self.with(names, tokens)))
        let kept = await desk.provider.completion(begun.callback(), state: begun.state).evidence?.tokens
        #expect(kept?.accessToken == Secret("access-1") && kept?.refreshToken == nil && kept?.expiresAt == nil)
        #expect(kept?.scopes == ["openid", "profile", "email"] && kept?.tokenType == "Bearer")
        desk.transport.on(OpenIDDesk.tokenURL, .json(Self.with(["access_token"], tokens)))
        #expect(await desk.provider.completion(begun.callback(), state: begun.state).outage != nil)
        desk.transport.on(OpenIDDesk.tokenURL, .json(Self.with(["id_token"], tokens)))
        #expect(await desk.provider.completion(begun.callback(), state: begun.state).cause == .signInInvalidToken)
    }

    @Test("A logout token") func logoutToken() async throws {
        let desk = try OpenIDDesk()
        let good = desk.claims(
            nonce: nil,
            ["jti": "logout-1", "events": ["http://schemas.openid.net/event/backchannel-logout": [:]]]
        )
        func verdict(_ nulls: [String]) async -> Result<LogoutToken, NotDone> {
            let claims = JSONText.encode(Self.with(nulls, good))
            let token = Secret(desk.key.sign(claims, header: [("typ", .null)]))
            return await Result(try await desk.provider.logoutToken(token))
        }
        for nulls in [["sub"], ["sid"], ["nonce", "nbf", "exp", "azp", "email", "at_hash"]] {
            guard case .success(let token) = await verdict(nulls) else {
                Issue.record("refused: \(nulls)")
                continue
            }
            #expect(token.subject == (nulls == ["sub"] ? nil : OpenIDDesk.subject))
            #expect(token.sessionID == (nulls == ["sid"] ? nil : "s-1"))
        }
        for nulls in [["sub", "sid"], ["jti"], ["iat"], ["iss"], ["aud"], ["events"]] {
            #expect(await verdict(nulls).cause == .logoutInvalidToken, "\(nulls)")
        }
    }

    @Test("A signed access token") func accessToken() async throws {
        let desk = try BearerDesk()
        func judge(_ nulls: [String], type: JSONValue = "at+jwt") async -> TokenVerdict {
            let claims = JSONText.encode(Self.with(nulls, desk.claims()))
            return await desk.judge(Secret(desk.desk.key.sign(claims, header: [("typ", type)])))
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
        let desk = try OpenIDDesk { settings in
            settings.claims.traits = ["email", "name", "zoneinfo"].map { ClaimSettings.Trait(name: $0, path: [$0]) }
        }
        desk.transport.on(
            OpenIDDesk.userinfoURL,
            .json(["sub": .string(OpenIDDesk.subject), "email": .null, "name": "Jane", "zoneinfo": .null])
        )
        let user = try #require(try await desk.signIn(claims: ["name": .null]).user)
        #expect(user.identity.traits == ["email": "jane@example.com", "name": "Jane"])
    }

    @Test("Google's and Facebook's documents, and what an app says about a user") func social() async throws {
        let desk = try SocialDesk()
        let token = desk.network.googleToken(nulls: [
            "azp", "nbf", "jti", "nonce", "at_hash", "picture", "locale", "hd",
        ])
        let verdict = try await desk.verify(.google, token, ["name": .null, "email": .null, "given_name": .null])
        #expect(verdict.user?.identity.traits["picture"] == nil && verdict.user != nil, "\(verdict)")
        #expect(
            try await desk.verify(.google, desk.network.googleToken(nulls: ["aud"])).refusal?.contains("aud") == true
        )
        let info = desk.network.facebookToken(nulls: ["type", "profile_id", "issued_at", "expires_at", "error"])
        #expect(
            try await desk.verify(.facebook, info, ["name": ["firstName": JSONValue.null, "lastName": "L"]]).user != nil
        )
        #expect(try await desk.verify(.facebook, desk.network.facebookToken(nulls: ["is_valid"])).outage != nil)
        #expect(try await desk.verify(.facebook, desk.network.facebookToken(nulls: ["user_id"])).outage != nil)
    }

    @Test("Kratos's session and its errors") func kratos() async throws {
        let desk = KratosDesk()
        let token = Secret(KratosDesk.token)
        let identity: JSONValue = [
            "id": "i-1", "schema_id": .null, "state": .null, "traits": .null, "metadata_public": .null,
            "verifiable_addresses": .null,
        ]
        desk.transport.on(
            KratosDesk.whoami,
            .json(
                desk.session([
                    "active": .null, "expires_at": .null, "authenticated_at": .null, "issued_at": .null,
                    "authenticator_assurance_level": .null, "authentication_methods": .null, "devices": .null,
                    "tokenized": .null, "identity": identity,
                ])
            )
        )
        #expect(await desk.provider.introspect(token).known?.identity == Identity(id: "i-1", traits: [:]))
        let denied: JSONValue = ["error": ["code": 401, "id": .null, "reason": .null]]
        let documents: [JSONValue] = [denied, ["error": ["code": .null]], ["error": .null], .null]
        for document in documents {
            let verdict = document == denied ? TokenVerdict.unknown(.credentialInvalidToken) : .unavailable
            let desk = KratosDesk()
            desk.transport.on(KratosDesk.whoami, .json(document, status: 401))
            #expect(await desk.provider.introspect(token) == verdict, "\(document)")
        }
        let demand: JSONValue = ["error": ["code": 403, "id": "session_aal2_required"], "redirect_browser_to": .null]
        let demanding = KratosDesk()
        demanding.transport.on(KratosDesk.whoami, .json(demand, status: 403))
        guard case .insufficient(let wanted) = await demanding.provider.introspect(token) else {
            Issue.record("no demand for another factor")
            return
        }
        #expect(wanted.page == nil)
        let empty = ProviderAnswer.json(["session": .null, "session_token": .null])
        #expect(KratosProvider.signedInAt(empty) == nil)
    }
}
