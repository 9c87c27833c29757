import Cryptography
import JOSE
import Providers
import RequestPath
import Sessions
import Settings
import SignOn
import TestSupport
import Vocabulary

/// What a provider says about a user, on its way to an app: fields, assertions, claims, a session in the store.
enum ClaimsFuzzing {
    static let now = UnixTime(seconds: 1_800_000_000)

    private static let members: [ArbitraryJSON.Member] = [
        ("sub", #""user-1""#), ("email", #""ada@example.com""#), ("email_verified", "true"), ("name", #""Ada""#),
        ("name", #"{"first":"Ada","last":"Lovelace"}"#), ("groups", #"["staff","",null,"admins"]"#),
        ("groups", #"[{"name":"staff"},["admins"]]"#), ("roles", #"["a",""]"#), ("username", #""ada""#),
        ("amr", #"["pwd","mfa"]"#), ("acr", #""aal2""#), ("auth_time", "1799999000"), ("updated_at", "1799999000.5"),
        ("phone_number", #""+49 30 1""#), ("address", #"{"locality":"Berlin"}"#),
        ("iss", #""https://idp.example.com""#),
        ("aud", #"["gateway","other"]"#), ("exp", "1800000300"), ("iat", "1800000000"), ("nbf", "1799999999"),
        ("jti", #""1""#), ("a", #"{"b":{"c":["x","","y"]}}"#),
    ]

    /// Claims as chance has them.
    static func sample(_ chance: inout ArbitraryJSON) -> [UInt8] {
        chance.bytes(of: chance.object(like: self.members))
    }

    static func claims(_ bytes: [UInt8]) -> String? {
        if let claims = try? JWTClaims(bytes) {
            try? claims.check(issuer: "https://idp.example.com", audience: ["gateway"], now: self.now)
            try? claims.checkTimes(now: UnixTime(milliseconds: .max))
        }
        guard let document = JSONText.decode(bytes) else { return nil }
        let claims = UserClaims([document, ["email": "ada@example.com", "groups": ["staff"]]])
        for claims in [claims, UserClaims([document])] {
            _ = self.admission.refusal(claims)
            _ = self.mapping.lacksTraits(claims)
            guard let subject = try? self.mapping.subject(claims) else { continue }
            let user = try? self.mapping.authentication(subject, claims, fallback: "oidc", now: self.now)
            if let user, let fault = self.violation(of: user.identity, user) { return fault }
        }
        // Kratos's traits are whatever its schema allows, and a session may have any of them.
        return self.violation(of: Identity(id: "user-1", traits: document, metadataPublic: document))
    }

    // MARK: An identity

    private static let mapping = ClaimsMapping(Self.settings)
    private static let admission = Admission(Self.allow, Self.settings)
    private static let settings: ClaimSettings = {
        var settings = ClaimSettings()
        settings.traits += [
            ClaimSettings.Trait(name: "roles", path: ["roles"]),
            ClaimSettings.Trait(name: "deep", path: ["a", "b", "c"]),
            ClaimSettings.Trait(name: "all", path: []),
        ]
        return settings
    }()
    private static let allow: AdmissionSettings = {
        var allow = AdmissionSettings()
        allow.emailDomains = ["example.com"]
        allow.groups = ["staff"]
        return allow
    }()

    private static let listed = "x-list"
    private static let profiles: [IdentityProfile] = IdentitySettings.Encoding.allCases.flatMap { encoding in
        var settings = IdentitySettings()
        settings.encoding = encoding
        let presets = IdentitySettings.Preset.allCases.map { preset in
            settings.preset = preset
            return IdentityProfile(settings)
        }
        settings.fields = [
            IdentitySettings.Field(name: Self.listed, path: "identity.traits.groups"),
            IdentitySettings.Field(name: "x-roles", path: "identity.metadata_public.roles"),
            IdentitySettings.Field(name: "x-deep", path: "identity.traits.a.b.c"),
            IdentitySettings.Field(name: "x-methods", path: "methods"),
            IdentitySettings.Field(name: "x-time", path: "authenticated_at"),
        ]
        settings.basic = IdentitySettings.BasicAuth(usernamePath: "identity.traits.username", password: Secret("p"))
        return presets + [IdentityProfile(settings)]
    }
    private static let signer: AssertionSigner = {
        let claims = ["groups", "name", "a"].map {
            IdentitySettings.Claim(name: $0, path: "identity.traits.\($0)")
        }
        let key = SigningKey.derivedP256(from: Secret("fuzzing"), purpose: "fuzzing")
        return AssertionSigner(IdentitySettings.Assertion(claims: claims), issuers: [.default: "a"], key: key)
    }()

    /// The promise that is broken for a user whom a provider has named; nil: none.
    static func violation(of identity: Identity, _ user: Authentication? = nil) -> String? {
        let session = Session(
            id: "ses_1",
            kind: .web,
            origin: .browser,
            lineage: Lineage(tag: "0123456789"),
            identity: identity,
            aal: user?.aal ?? .aal1,
            methods: user?.methods ?? ["password"],
            authenticatedAt: user?.authenticatedAt ?? self.now,
            issuedAt: self.now,
            expiresAt: self.now.advanced(by: .seconds(3600)),
            idleLifetime: .seconds(900)
        )
        guard let kept = try? Session.decoded(session.encoded), kept == session else {
            return "a session is not read as it was written"
        }
        for profile in self.profiles {
            guard let lines = try? profile.render(session) else { continue }
            if let fault = self.fault(in: lines) { return fault }
        }
        let audience = Audience(index: 0, text: "https://app.example.com")
        let assertion = self.signer.sign(session, for: audience, now: self.now, wallNow: self.now)
        guard assertion.line.suffix(2).elementsEqual("\r\n".utf8) else { return "an assertion has no end" }
        var json = JSONWriter()
        json.write(
            .object(UserInfoClaims.claims(of: identity, scopes: ["openid", "profile", "email", "phone", "address"]))
        )
        return JSONText.decode(json.bytes, maxDepth: 128) == nil ? "claims are no JSON" : nil
    }

    /// Each line is a name, a value, and nothing that ends it early; a list has no element without a text.
    private static func fault(in lines: ContiguousArray<UInt8>) -> String? {
        guard lines.isEmpty || lines.suffix(2).elementsEqual("\r\n".utf8) else { return "the last line has no end" }
        for line in lines.split(separator: 0x0A) {
            guard line.last == 0x0D, let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return "half a line" }
            let value = line[(colon + 1)...].dropLast().drop { $0 == 0x20 }
            guard !value.isEmpty else { return "an empty value" }
            guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return "a control character in a value" }
            guard line[..<colon].elementsEqual(self.listed.utf8) else { continue }
            let elements = value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
            if elements.contains(where: \.isEmpty) { return "an element without a text" }
        }
        return nil
    }
}
