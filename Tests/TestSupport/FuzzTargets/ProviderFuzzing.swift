import Calls
import JOSE
import Providers
import Sessions
import Settings
import TestSupport
import Vocabulary

/// Answers what each kind of call is to get, and nothing to any other.
struct FuzzedTransport: CallTransport {
    let answers: [OutgoingCall.Purpose: CallAnswer]

    func send(_ call: OutgoingCall) async throws(CallError) -> CallAnswer {
        guard let answer = self.answers[call.purpose] else { throw CallError(isUnsent: true, detail: "nobody") }
        return answer
    }
}

extension CallAnswer {
    /// A JSON document with these bytes.
    static func fuzzed(_ body: [UInt8], status: Int = 200) -> CallAnswer {
        CallAnswer(status: status, fields: [("content-type", "application/json")], body: body)
    }
}

/// The documents and tokens of OAuth and OpenID providers: the first byte says which one the others are. The rest of the
/// conversation is as it should be, so that the document is read to its end.
enum ProviderFuzzing {
    private enum Document: Int, CaseIterable {
        case metadata, keys, idToken, userInfo, tokens, refresh, logoutToken, accessToken, introspection, plainTokens
        case plainUser, social
    }

    private static let now = ClaimsFuzzing.now
    private static let clock = Clock { Self.now }
    private static let key = SigningKey.derivedP256(from: Secret("fuzzing"), purpose: "fuzzing")
    private static let keys = JSONText.encode(JWKSet(keys: [Self.key.publicKey]).value)
    private static let issuer = "https://idp.example.com"
    private static let callback = "https://app.example.com/.sallyport/callback"
    /// Stands for the nonce of the sign-in, which chance would not find.
    private static let nonce = "the-nonce-of-the-sign-in"

    // MARK: Samples

    private static let metadata: [ArbitraryJSON.Member] =
        [
            ("issuer", "\"\(Self.issuer)\""), ("code_challenge_methods_supported", #"["plain","S256"]"#),
            ("id_token_signing_alg_values_supported", #"["ES256"]"#), ("claims_supported", #"["sub","email"]"#),
            ("token_endpoint_auth_methods_supported", #"["client_secret_basic"]"#),
            ("authorization_response_iss_parameter_supported", "true"),
            ("backchannel_logout_session_supported", "true"),
        ]
        + [
            "authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri", "introspection_endpoint",
            "revocation_endpoint", "end_session_endpoint",
        ].map { ($0, "\"\(Self.issuer)/\($0)\"") }

    private static let claims: [ArbitraryJSON.Member] = [
        ("iss", "\"\(Self.issuer)\""), ("sub", #""user-1""#), ("aud", #""gateway""#), ("azp", #""gateway""#),
        ("exp", "1800000300"), ("iat", "1800000000"), ("nbf", "1800000000"), ("auth_time", "1799999990"),
        ("nonce", "\"\(Self.nonce)\""), ("sid", #""s-1""#), ("email", #""ada@example.com""#),
        ("email_verified", "true"),
        ("groups", #"["staff",""]"#), ("name", #""Ada""#), ("amr", #"["pwd"]"#),
    ]
    private static let logout: [ArbitraryJSON.Member] =
        Self.claims.filter { ["iss", "aud", "sub", "iat", "exp", "sid"].contains($0.name) }
        + [("jti", #""1""#), ("events", #"{"http://schemas.openid.net/event/backchannel-logout":{}}"#)]
    private static let access: [ArbitraryJSON.Member] =
        Self.claims.filter { $0.name != "aud" && $0.name != "nonce" && $0.name != "azp" }
        + [
            ("aud", #"["https://api.example.com","other"]"#), ("scope", #""a b""#), ("scp", #"["a","b"]"#),
            ("client_id", #""app""#), ("active", "true"), ("jti", #""1""#), ("cnf", #"{"jkt":"x"}"#),
            ("token_type", #""Bearer""#),
        ]
    private static let tokens: [ArbitraryJSON.Member] = [
        ("access_token", #""access-1""#), ("token_type", #""Bearer""#), ("expires_in", "3600"), ("scope", #""a b""#),
        ("refresh_token", #""refresh-1""#), ("error", #""invalid_grant""#), ("error_description", #""no""#),
    ]

    /// A document as chance has it.
    static func sample(_ chance: inout ArbitraryJSON) -> [UInt8] {
        let document = chance.element(of: Document.allCases)
        let text =
            switch document {
            case .metadata: chance.object(like: self.metadata)
            case .keys:
                chance.object(like: [
                    ("keys", "[\(self.publicKey(&chance)),\(self.publicKey(&chance)),\(chance.value())]")
                ])
            case .idToken, .userInfo: chance.object(like: self.claims)
            case .tokens, .refresh, .plainTokens: chance.object(like: self.tokens)
            case .logoutToken: chance.object(like: self.logout)
            case .accessToken, .introspection: chance.object(like: self.access)
            case .plainUser: chance.object(like: [("id", "583231"), ("login", #""ada""#), ("email", "null")])
            case .social: chance.object(like: [("name", #"{"firstName":"Ada"}"#), ("email", #""ada@example.com""#)])
            }
        return [UInt8(truncatingIfNeeded: document.rawValue)] + chance.bytes(of: text)
    }

    private static func publicKey(_ chance: inout ArbitraryJSON) -> String {
        guard case .object(let members) = self.key.publicKey.value else { return "{}" }
        return chance.object(
            like: members.sorted { $0.key < $1.key }.map { ($0.key, "\"\($0.value.string ?? "")\"") }
                + [("key_ops", #"["verify"]"#), ("x5c", "[]"), ("n", #""AQAB""#), ("e", #""AQAB""#)]
        )
    }

    // MARK: Conversations

    static func document(_ bytes: [UInt8]) async -> String? {
        guard let first = bytes.first,
            let document = Document(rawValue: Int(first) % Document.allCases.count)
        else { return nil }
        let body = Array(bytes.dropFirst())
        do {
            switch document {
            case .plainTokens, .plainUser: return try await self.plain(document, body)
            case .introspection: return try await self.introspection(body)
            case .social:
                if let value = JSONText.decode(body) { _ = try? SocialProfile(value) }
                return nil
            default: return try await self.openID(document, body)
            }
        } catch {
            return "the provider cannot be set up: \(error)"
        }
    }

    private static func openID(_ document: Document, _ body: [UInt8]) async throws -> String? {
        var settings = OpenIDSettings(
            issuer: self.issuer,
            client: ProviderClientSettings(id: "gateway", secret: Secret("a secret of the tests, long enough"))
        )
        settings.audiences = ["https://api.example.com"]
        var answers = self.answers
        if document == .metadata { answers[.metadata] = .fuzzed(body) }
        if document == .keys { answers[.keys] = .fuzzed(body) }
        if document == .userInfo { answers[.userinfo] = .fuzzed(body) }
        let provider = try OpenIDProvider(settings, transport: FuzzedTransport(answers: answers), clock: self.clock)
        let wish = BrowserSignIn(callback: self.callback)
        guard let begun = try? await provider.begin(wish) else { return nil }
        _ = await provider.signOutURL(idToken: Secret("a"), returnTo: self.callback, state: "s")
        switch document {
        case .logoutToken:
            _ = try? await provider.logoutToken(Secret(self.key.sign(body, header: [("typ", "logout+jwt")])))
            return nil
        case .accessToken:
            guard let bearer = BearerProvider(settings, issuer: provider.issuer, clock: self.clock) else { return nil }
            let token = Secret(self.key.sign(body, header: [("typ", "at+jwt")]))
            return self.violation(of: await bearer.introspect(PresentedToken(token)))
        case .refresh:
            let transport = FuzzedTransport(answers: self.answers.merging([.token: .fuzzed(body)]) { $1 })
            let again = try OpenIDProvider(settings, transport: transport, clock: self.clock)
            _ = try? await again.begin(wish)
            let former = ProviderTokenSet(accessToken: Secret("access-0"), refreshToken: Secret("refresh-0"))
            let identity = Identity(id: "user-1", traits: [:])
            guard case .refreshed(let tokens, let user) = await again.refresh(former, of: identity) else { return nil }
            _ = tokens.renewAt(from: self.now)
            return user.flatMap { ClaimsFuzzing.violation(of: $0.identity, $0) }
        default: break
        }
        // The sign-in, in which the browser comes back and the code is redeemed.
        let query = FormText.pairs(begun.url.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst())
        let nonce = query.first { $0.name == "nonce" }?.value ?? ""
        let text = String(decoding: JSONText.encode(self.goodClaims), as: UTF8.self)
        let claims = document == .idToken ? body : Array(text.utf8)
        let token = self.key.sign(self.replacing(Array(self.nonce.utf8), by: Array(nonce.utf8), in: claims))
        var good = self.goodTokens
        good["id_token"] = .string(String(decoding: token, as: UTF8.self))
        answers[.token] = .fuzzed(document == .tokens ? body : JSONText.encode(.object(good)))
        let answering = try OpenIDProvider(settings, transport: FuzzedTransport(answers: answers), clock: self.clock)
        _ = try? await answering.begin(wish)
        let callback = [(name: "state", value: begun.pending.id), (name: "code", value: "c")]
        return self.violation(of: try? await answering.complete(begun.pending, callback))
    }

    private static func plain(_ document: Document, _ body: [UInt8]) async throws -> String? {
        let settings = OAuth2Settings(
            name: "git",
            authorizationURL: "\(self.issuer)/authorize",
            tokenURL: "\(self.issuer)/token",
            userinfoURL: "\(self.issuer)/user",
            client: ProviderClientSettings(id: "gateway", secret: Secret("secret"))
        )
        let answers: [OutgoingCall.Purpose: CallAnswer] = [
            .token: .fuzzed(document == .plainTokens ? body : JSONText.encode(.object(self.goodTokens))),
            .userinfo: .fuzzed(document == .plainUser ? body : Array(#"{"id":1,"sub":"user-1"}"#.utf8)),
        ]
        let provider = try OAuth2Provider(settings, transport: FuzzedTransport(answers: answers), clock: self.clock)
        let begun = provider.begin(BrowserSignIn(callback: self.callback))
        let callback = [(name: "state", value: begun.pending.id), (name: "code", value: "c")]
        return self.violation(of: try? await provider.complete(begun.pending, callback))
    }

    private static func introspection(_ body: [UInt8]) async throws -> String? {
        let settings = IntrospectionSettings(
            url: "\(self.issuer)/introspect",
            client: ProviderClientSettings(id: "gateway", secret: Secret("secret")),
            audiences: ["https://api.example.com"]
        )
        let transport = FuzzedTransport(answers: [.introspection: .fuzzed(body)])
        let provider = try IntrospectionProvider(settings, transport: transport, clock: self.clock)
        return self.violation(of: await provider.introspect(PresentedToken(Secret("opaque"))))
    }

    // MARK: What is as it should be

    private static let answers: [OutgoingCall.Purpose: CallAnswer] = [
        .metadata: .fuzzed(
            JSONText.encode(
                .object(
                    Dictionary(
                        Self.metadata.compactMap { member in
                            JSONText.decode(Array(member.sample.utf8)).map { (member.name, $0) }
                        },
                        uniquingKeysWith: { $1 }
                    )
                )
            )
        ),
        .keys: .fuzzed(Self.keys), .userinfo: .fuzzed(Array(#"{"sub":"user-1","groups":["staff",""]}"#.utf8)),
        .token: .fuzzed([]),
    ]
    private static let goodTokens: [String: JSONValue] = [
        "access_token": "access-1", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "refresh-1",
    ]
    private static let goodClaims: JSONValue = [
        "iss": .string(Self.issuer), "sub": "user-1", "aud": "gateway", "exp": 1_800_000_300, "iat": 1_800_000_000,
        "nonce": .string(Self.nonce),
    ]

    private static func replacing(_ sought: [UInt8], by other: [UInt8], in bytes: [UInt8]) -> [UInt8] {
        bytes.indices.first { bytes[$0...].starts(with: sought) }.map {
            Array(bytes[..<$0]) + other + bytes[($0 + sought.count)...]
        } ?? bytes
    }

    // MARK: Verdicts

    private static func violation(of user: ProvenUser?) -> String? {
        guard let user else { return nil }
        if let tokens = user.evidence.tokens { _ = tokens.renewAt(from: self.now) }
        return ClaimsFuzzing.violation(of: user.authentication.identity, user.authentication)
    }

    static func violation(of verdict: TokenVerdict) -> String? {
        guard case .known(let token) = verdict else { return nil }
        return ClaimsFuzzing.violation(of: token.identity)
    }
}
