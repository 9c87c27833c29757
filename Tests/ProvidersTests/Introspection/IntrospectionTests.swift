import Calls
import Cryptography
import JOSE
import Providers
import Sessions
import Settings
import StoreBench
import TestSupport
import Testing
import Vocabulary

@Suite("Opaque access tokens (RFC 7662)")
struct IntrospectionTests {
    private static let url = "https://idp.example.com/introspect"
    private static let now: Int64 = 1_800_000_000

    private let transport = ScriptedTransport()
    private let clock = MovableClock()

    private func settings(_ change: (inout IntrospectionSettings) -> Void = { _ in }) -> IntrospectionSettings {
        let client = ProviderClientSettings(id: "gateway", secret: Secret("client:secret"))
        var settings = IntrospectionSettings(url: Self.url, client: client, audiences: ["api", "other"])
        settings.claims.traits = [ClaimSettings.Trait(name: "email", path: ["email"])]
        change(&settings)
        return settings
    }

    private func provider(
        _ change: (inout IntrospectionSettings) -> Void = { _ in }
    ) throws -> IntrospectionProvider {
        try IntrospectionProvider(self.settings(change), transport: self.transport, clock: self.clock.clock)
    }

    private static func answer(_ changes: [String: JSONValue] = [:]) -> CallAnswer {
        var members: [String: JSONValue] = [
            "active": true, "sub": "user-1", "aud": "api", "exp": .integer(now + 300), "iat": .integer(now - 10),
            "token_type": "Bearer", "client_id": "app", "scope": "a b", "email": "jane@example.com",
        ]
        for (name, value) in changes { members[name] = value == "absent" ? nil : value }
        return .json(.object(members))
    }

    @Test("The token is sent in a form with the client's own credentials, and the answer describes the user")
    func good() async throws {
        self.transport.on(Self.url, Self.answer(["sid": "sid-1"]))
        let provider = try self.provider()
        let known = try #require(await provider.introspect(Secret("a+b/c~d.e=")).known)
        #expect(known.identity == Identity(id: "user-1", traits: ["email": "jane@example.com"]))
        #expect(known.scopes == ["a", "b"] && known.clientID == "app" && known.sessionID == "sid-1")
        #expect(known.expiresAt == UnixTime(seconds: Self.now + 300) && known.cacheLifetime == .seconds(30))
        #expect(known.issuedAt == UnixTime(seconds: Self.now - 10))
        let call = try #require(self.transport.calls.first)
        #expect(call.method == "POST" && call.url == Self.url && call.purpose == .introspection)
        #expect(
            String(decoding: call.body, as: UTF8.self).hasPrefix("token=a%2Bb%2Fc~d.e%3D&token_type_hint=access_token")
        )
        let fields = Dictionary(call.fields.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        #expect(fields["accept"] == "application/json")
        #expect(fields["content-type"] == "application/x-www-form-urlencoded")
        // gateway:client%3Asecret
        #expect(fields["authorization"] == "Basic Z2F0ZXdheTpjbGllbnQlM0FzZWNyZXQ=")
    }

    struct Change: Sendable, CustomTestStringConvertible {
        let description: String
        let members: [String: JSONValue]
        let reason: Reason?

        init(_ description: String, _ members: [String: JSONValue], _ reason: Reason?) {
            (self.description, self.members, self.reason) = (description, members, reason)
        }

        var testDescription: String { self.description }
    }

    private static let hash = SHA256.digest(Array("certificate".utf8)).base64URL

    static let changes: [Change] = [
        Change("nothing", [:], nil),
        Change("not active", ["active": false], .credentialInvalidToken),
        Change("no audience", ["aud": "absent"], .credentialOtherAudience),
        Change("null for the audience", ["aud": .null], .credentialOtherAudience),
        Change("another audience", ["aud": ["x", "y"]], .credentialOtherAudience),
        Change("the second accepted audience", ["aud": ["x", "other"]], nil),
        Change("no subject", ["sub": "absent"], .credentialInvalidToken),
        Change("null for the subject", ["sub": .null], .credentialInvalidToken),
        Change("an empty subject", ["sub": ""], .credentialInvalidToken),
        Change("no issuer", ["iss": "absent"], nil),
        Change("the issuer", ["iss": "https://idp.example.com"], nil),
        Change("another issuer", ["iss": "https://evil.example.com"], .credentialInvalidToken),
        Change("no end", ["exp": "absent"], nil),
        Change("an end now", ["exp": .integer(now)], .credentialExpired),
        Change("an end long ago", ["exp": .integer(now - 100)], .credentialExpired),
        Change("an endless end", ["exp": .number(1e300)], .credentialInvalidToken),
        Change("a later beginning", ["nbf": .integer(now + 100)], .credentialInvalidToken),
        Change("no kind", ["token_type": "absent"], nil),
        Change("bearer in small letters", ["token_type": "bearer"], nil),
        Change("access_token, as some write", ["token_type": "access_token"], nil),
        Change("bound to a key", ["token_type": "DPoP"], .credentialInvalidToken),
        Change("bound to a key, by cnf", ["cnf": ["jkt": "x"]], .credentialInvalidToken),
        Change("bound to a key that is named", ["token_type": "DPoP", "cnf": ["jkt": .string(hash)]], nil),
        Change("bound to a certificate", ["cnf": ["x5t#S256": .string(hash)]], nil),
        Change("another kind", ["token_type": "N_A"], .credentialInvalidToken),
        Change("a refresh token (Hydra)", ["token_use": "refresh_token"], .credentialInvalidToken),
        Change("a refresh token (Keycloak)", ["typ": "Refresh"], .credentialInvalidToken),
        Change("a refresh token that outlives the session (Keycloak)", ["typ": "Offline"], .credentialInvalidToken),
        Change("an access token (Hydra)", ["token_use": "access_token"], nil),
        Change("an access token (Keycloak)", ["typ": "Bearer"], nil),
        Change("null for what is not known", ["iss": .null, "sid": .null, "nbf": .null, "exp": .null], nil),
    ]

    @Test("Each member is checked", arguments: changes)
    func members(change: Change) async throws {
        self.transport.on(Self.url, Self.answer(change.members))
        let verdict = try await self.provider { $0.issuer = "https://idp.example.com" }.introspect(Secret("token-one"))
        if let reason = change.reason {
            #expect(verdict == .unknown(reason))
        } else {
            #expect(verdict.known != nil)
        }
    }

    @Test("Where client_id is the audience, an answer about another client's token is refused")
    func clientIDAsAudience() async throws {
        let provider = try self.provider {
            $0.audiences = ["app"]
            $0.audienceClaim = .clientID
        }
        for (members, reason) in [
            (["aud": "absent"], nil), (["aud": .null], nil), (["aud": ["app", "x"]], nil),
            (["aud": "api"], .credentialOtherAudience),
            (["aud": "absent", "client_id": "other"], .credentialOtherAudience),
            (["aud": "absent", "client_id": .null], .credentialOtherAudience),
        ] as [([String: JSONValue], Reason?)] {
            self.transport.on(Self.url, Self.answer(members))
            let verdict = await provider.introspect(Secret("token-one"))
            if let reason {
                #expect(verdict == .unknown(reason), "\(members)")
            } else {
                #expect(verdict.known != nil, "\(members)")
            }
        }
    }

    /// An answer about a refresh token of the client `app`, as Hydra gives it.
    private static func refreshAnswer(_ changes: [String: JSONValue] = [:]) -> CallAnswer {
        let usual: [String: JSONValue] = ["token_use": "refresh_token", "aud": "absent"]
        return Self.answer(usual.merging(changes) { $1 })
    }

    private func refreshTokens(
        _ change: (inout IntrospectionSettings) -> Void = { _ in }
    ) throws -> IntrospectionProvider {
        let issuer = try OpenIDProviderBench().provider.issuer
        let settings = self.settings {
            $0.refreshTokenClients = ["app", "tablet"]
            change(&$0)
        }
        return try IntrospectionProvider(
            settings,
            of: issuer,
            judging: .refresh,
            transport: self.transport,
            clock: self.clock.clock
        )
    }

    static let refreshChanges: [Change] = [
        Change("nothing", [:], nil),
        Change("Keycloak's word", ["token_use": "absent", "typ": "Refresh", "token_type": "Refresh"], nil),
        Change("Keycloak's word for one without end", ["token_use": "absent", "typ": "Offline", "exp": "absent"], nil),
        Change("the kind in token_type", ["token_use": "absent", "token_type": "refresh_token"], nil),
        Change("another accepted client", ["client_id": "tablet"], nil),
        Change("an audience", ["aud": "https://idp.example.com/realms/main"], nil),
        Change("not active", ["active": false], .credentialInvalidToken),
        Change("an access token (Hydra)", ["token_use": "access_token"], .credentialInvalidToken),
        Change("an access token (Keycloak)", ["token_use": "absent", "typ": "Bearer"], .credentialInvalidToken),
        Change("an access token, beside it", ["token_type": "access_token"], .credentialInvalidToken),
        Change("two kinds", ["typ": "Bearer"], .credentialInvalidToken),
        Change("no kind", ["token_use": "absent", "token_type": "absent"], .credentialInvalidToken),
        Change("Bearer alone", ["token_use": "absent"], .credentialInvalidToken),
        Change("a kind that is no text", ["token_use": 1], .credentialInvalidToken),
        Change("another client", ["client_id": "web"], .credentialOtherAudience),
        Change("no client", ["client_id": "absent"], .credentialOtherAudience),
        Change("the audience is no client", ["client_id": "absent", "aud": "app"], .credentialOtherAudience),
        Change("no subject", ["sub": "absent"], .credentialInvalidToken),
        Change("another issuer", ["iss": "https://evil.example.com"], .credentialInvalidToken),
        Change("an end now", ["exp": .integer(now)], .credentialExpired),
        Change("bound to a key", ["token_type": "DPoP"], .credentialInvalidToken),
        Change("bound to a key, by cnf", ["cnf": ["jkt": "x"]], .credentialInvalidToken),
    ]

    @Test("The kind of a refresh token must be said, and its client must be accepted", arguments: refreshChanges)
    func refreshMembers(change: Change) async throws {
        self.transport.on(Self.url, Self.refreshAnswer(change.members))
        let verdict = try await self.refreshTokens().introspect(Secret("token-one"))
        if let reason = change.reason {
            #expect(verdict == .unknown(reason))
        } else {
            #expect(verdict.known?.identity.id == "user-1" && verdict.known?.cacheLifetime == .seconds(30))
        }
    }

    @Test("Only the refresh tokens of users who may sign in are accepted")
    func refreshTokenAdmission() async throws {
        let provider = try self.refreshTokens { $0.allow.emailDomains = ["example.com"] }
        for (members, isAllowed) in [
            (["email_verified": true], true), ([:], false),
            (["email_verified": true, "email": "a@example.org"], false),
        ] as [([String: JSONValue], Bool)] {
            self.transport.on(Self.url, Self.refreshAnswer(members))
            let verdict = await provider.introspect(Secret("token-one"))
            #expect(isAllowed ? verdict.known != nil : verdict == .unknown(.signInNotAllowed), "\(members)")
        }
        #expect(try provider.configuration != self.refreshTokens().configuration)
    }

    @Test("The access tokens of users who may not sign in are good for requests, and are marked")
    func accessTokenAdmission() async throws {
        let provider = try self.provider { $0.allow.groups = ["staff"] }
        for (groups, isAdmitted) in [(["staff"], true), (["guests"], false), ([], false)] as [([JSONValue], Bool)] {
            self.transport.on(Self.url, Self.answer(["groups": .array(groups)]))
            let verdict = await provider.introspect(Secret("token-one"))
            #expect(verdict.known?.isAdmitted == isAdmitted, "\(groups)")
        }
        #expect(try provider.configuration != self.provider().configuration)
    }

    @Test("A refresh token is asked about as one, and no verdict about it serves as one about an access token")
    func refreshTokenKind() async throws {
        self.transport.on(Self.url, Self.refreshAnswer())
        let provider = try self.refreshTokens()
        #expect(await provider.introspect(Secret("a+b/c~d.e=")).known != nil)
        let call = try #require(self.transport.calls.first)
        #expect(String(decoding: call.body, as: UTF8.self).contains("token_type_hint=refresh_token"))
        #expect(try provider.configuration != self.provider().configuration)
        #expect(try provider.configuration != self.refreshTokens { $0.refreshTokenClients = ["app"] }.configuration)
        #expect(throws: ProviderSetUpError.self) { try self.refreshTokens { $0.refreshTokenClients = [] } }
        #expect(try self.refreshTokens { $0.audiences = [] }.name == OpenIDProviderBench.issuer)
    }

    @Test(
        "What is no answer says nothing about the token",
        arguments: [
            CallAnswer(status: 500), CallAnswer(status: 503), CallAnswer(status: 429),
            CallAnswer(status: 401), CallAnswer(status: 403), CallAnswer(status: 404),
            CallAnswer(status: 302), CallAnswer(status: 400), CallAnswer(status: 200),
            CallAnswer(status: 200, body: Array("<html>".utf8)), .json([]), .json([:]), .json(["active": "true"]),
            .json(["active": 1]), .json(["active": .null]),
        ]
    )
    func noAnswer(answer: CallAnswer) async throws {
        self.transport.on(Self.url, answer)
        #expect(try await self.provider().introspect(Secret("token-one")) == .unavailable)
    }

    @Test("Why there is no verdict is told, and a verdict is not")
    func told() async throws {
        let told = NotedWords()
        let provider = try IntrospectionProvider(
            self.settings(),
            transport: self.transport,
            clock: self.clock.clock,
            reportOutage: { told.add($0) }
        )
        self.transport.on(Self.url, .json(["active": "true"]))
        #expect(await provider.introspect(Secret("token-one")) == .unavailable)
        self.transport.on(Self.url, .json(["error": "invalid_client"], status: 401))
        #expect(await provider.introspect(Secret("token-one")) == .unavailable)
        self.transport.on(Self.url, .json(["active": false]))
        #expect(await provider.introspect(Secret("token-one")) == .unknown(.credentialInvalidToken))
        #expect(
            told.all == [
                "the introspection endpoint did not say whether a token is active (RFC 7662 2.2)",
                "the introspection endpoint answered with status 401",
            ]
        )
    }

    @Test("A provider that cannot be reached is unavailable, and is asked again")
    func unreachable() async throws {
        self.transport.on(Self.url, failing: CallError(isUnsent: true, detail: "refused"))
        let provider = try self.provider()
        #expect(await provider.introspect(Secret("token-one")) == .unavailable)
        self.transport.on(Self.url, Self.answer())
        #expect(await provider.introspect(Secret("token-one")).known != nil)
    }

    @Test("The answer is capped, and a flood of tokens is not passed on without limit")
    func limits() async throws {
        let provider = try self.provider()
        self.transport.on(Self.url, Self.answer())
        self.transport.hold()
        let verdicts = Task {
            await withTaskGroup(of: TokenVerdict.self) { group in
                for index in 0..<200 { group.addTask { await provider.introspect(Secret("token-\(index)")) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }
        try await waitUntil("128 calls") { self.transport.calls.count == 128 }
        self.transport.release()
        let all = await verdicts.value
        #expect(all.allSatisfy { $0 == .unavailable || $0.known != nil } && all.count == 200)
        #expect(self.transport.calls.allSatisfy { $0.bodyLimit == 65_536 })
        #expect(await provider.introspect(Secret("token-one")).known != nil, "there is room again")
    }

    @Test("Any token68 may be one, within bounds")
    func syntax() throws {
        let provider = try self.provider()
        for (token, mayKnow) in [
            ("abcdefgh", true), ("aA0-._~+/=", true), ("eyJ.a.b.c.d", true), ("abcdefgh==", true), ("abcdefg", false),
            ("", false), ("========", false), ("abc=defgh", false), ("abcd efgh", false), ("abcdäfgh", false),
            ("abcd%20efgh", false), ("abcdefg\u{0}", false), ("abcd\"efgh", false), ("abcd,efgh", false),
            (String(repeating: "a", count: 8192), true), (String(repeating: "a", count: 8193), false),
        ] {
            #expect(Array(token.utf8).withUnsafeBytes { provider.mayKnow($0) } == mayKnow, "\(token.prefix(20))")
        }
    }

    @Test("No token of the gateway's own form is ever sent to a provider", arguments: ["sps_", "spt_", "spr_", "spa_"])
    func ownTokens(prefix: String) async throws {
        self.transport.on(Self.url, Self.answer())
        let tokens = try await TokenEndpointBench([try self.provider()])
        let token = prefix + String(repeating: "A", count: TokenAuthority.tokenLength - 4)
        #expect(try await tokens.resolve(token).session == nil)
        #expect(try await tokens.resolve("x" + token.dropFirst()).session != nil)
        #expect(self.transport.calls.count == 1)
    }

    @Test(
        "An issuer's endpoint is found in its metadata; what it signs is judged by its keys, and only the rest is asked"
    )
    func discovered() async throws {
        let bench = try BearerBench()
        let introspection = "https://idp.example.com/realms/main/introspect"
        let metadata = OpenIDProviderBench.metadata(["introspection_endpoint": .string(introspection)])
        bench.openID.transport.on(OpenIDProviderBench.metadataURL, .json(metadata))
        bench.openID.transport.on(introspection, Self.answer())
        let opaque = try IntrospectionProvider(
            self.settings { $0.url = nil },
            of: bench.openID.provider.issuer,
            transport: bench.openID.transport,
            clock: bench.openID.clock.clock
        )
        #expect(opaque.name == bench.provider.name)
        let tokens = try await TokenEndpointBench([bench.provider, opaque])
        let signed = String(decoding: bench.token().bytes, as: UTF8.self)
        #expect(try await tokens.resolve(signed).session?.subject == "user-1")
        #expect(bench.openID.transport.calls(of: introspection).isEmpty)
        #expect(try await tokens.resolve("opaque-token").session?.subject == "user-1")
        #expect(bench.openID.transport.calls(of: introspection).count == 1)
        // A forged one is not tried there either.
        #expect(try await tokens.resolve(signed + "A") == .none(.credentialInvalidToken))
        #expect(bench.openID.transport.calls(of: introspection).count == 1)
    }

    @Test("Settings that cannot be used are named")
    func setUp() {
        for change: (inout IntrospectionSettings) -> Void in [
            { $0.audiences = [] }, { $0.url = nil }, { $0.url = "http://idp.example.com/introspect" },
            { $0.client.secret = nil },
        ] {
            #expect(throws: ProviderSetUpError.self) { try self.provider(change) }
        }
    }

    @Test("A revoked token is refused when the last verdict has run out, at the latest after 30 seconds")
    func revoked() async throws {
        self.transport.on(Self.url, Self.answer())
        let tokens = try await TokenEndpointBench([try self.provider()])
        #expect(try await tokens.resolve("token-one").session != nil)
        self.transport.on(Self.url, .json(["active": false]))
        tokens.clock.advance(by: .seconds(23))
        #expect(try await tokens.resolve("token-one").session != nil)
        tokens.clock.advance(by: .seconds(7))
        #expect(try await tokens.resolve("token-one") == .none(.credentialInvalidToken))
        self.transport.on(Self.url, Self.answer(["exp": "absent", "sid": .null]))
        tokens.clock.advance(by: .seconds(2))
        #expect(try await tokens.resolve("token-one").session != nil, "a negative answer is used for two seconds")
    }
}
