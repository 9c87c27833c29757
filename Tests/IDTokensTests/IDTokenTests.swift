import Cryptography
import JOSE
import Sessions
import SignOn
import Testing
import Vocabulary

@Suite("id_tokens")
struct IDTokenTests {
    private static let key = SigningKey.generated(.rs256)
    private static let now = UnixTime(milliseconds: 1_800_000_000_700)

    private func token(_ change: (inout IDToken) -> Void = { _ in }) -> IDToken {
        let session = Session(
            id: "ses_1",
            kind: .native,
            origin: .native,
            lineage: Lineage(tag: "t"),
            identity: Identity(id: "user-1815", traits: ["name": "Ada Lovelace", "email": "ada@example.com"]),
            aal: .aal0,
            methods: [],
            authenticatedAt: UnixTime(seconds: 0),
            issuedAt: Self.now,
            expiresAt: Self.now,
            idleLifetime: .seconds(60)
        )
        var token = IDToken(
            of: session,
            issuer: "https://app.example.com/",
            clientID: "native",
            scopes: ["openid"],
            issuedAt: Self.now
        )
        change(&token)
        return token
    }

    @Test("They are signed with RS256 under the key's name")
    func signature() throws {
        let signed = Array(self.token().signed(by: Self.key).utf8)
        let read = try JWS.verify(signed, with: JWKSet(keys: [Self.key.publicKey]), allowing: [.rs256])
        #expect(read.header == ["alg": "RS256", "kid": .string(Self.key.publicKey.thumbprint), "typ": "JWT"])
        try JWTClaims(read.payload).check(
            issuer: "https://app.example.com/",
            audience: ["native"],
            now: UnixTime(seconds: 1_800_000_000)
        )
        #expect(JSONText.decode(read.payload) == self.token().claims)
    }

    @Test("What is unknown is left out")
    func minimal() {
        #expect(
            self.token().claims == [
                "iss": "https://app.example.com/", "sub": "user-1815", "aud": "native", "sid": "ses_1",
                "iat": 1_800_000_000, "exp": 1_800_036_000,
            ]
        )
    }

    @Test("A whole one has all claims of its session and of its scopes")
    func whole() {
        let claims = self.token {
            $0.authenticatedAt = UnixTime(seconds: 1_799_999_000)
            $0.level = .aal2
            $0.methods = ["password", "totp"]
            $0.scopes = ["openid", "profile", "email", "offline_access"]
            $0.nonce = "n-0S6_WzA2Mj"
            $0.accessToken = Secret("jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y")
            $0.lifetime = .seconds(600)
        }.claims
        #expect(
            claims == [
                "iss": "https://app.example.com/", "sub": "user-1815", "aud": "native", "sid": "ses_1",
                "iat": 1_800_000_000, "exp": 1_800_000_600, "auth_time": 1_799_999_000, "acr": "aal2",
                "amr": ["pwd", "otp", "mfa"], "nonce": "n-0S6_WzA2Mj", "at_hash": "77QmUPtjPfzWtF2AnpK9RQ",
                "name": "Ada Lovelace", "email": "ada@example.com",
            ]
        )
    }

    @Test(
        "amr has the registered values (RFC 8176); what is registered or unknown keeps its name",
        arguments: [
            (["password"], AssuranceLevel.aal1, ["pwd"]), (["password", "totp"], .aal2, ["pwd", "otp", "mfa"]),
            (["password", "webauthn"], .aal2, ["pwd", "hwk", "mfa"]), (["totp", "lookup_secret"], .aal1, ["otp"]),
            (["passkey"], .aal1, ["pop"]), (["code"], .aal1, ["otp"]), (["oidc"], .aal1, ["oidc"]),
            (["pwd", "mfa"], .aal2, ["pwd", "mfa"]), (["pwd", "password"], .aal1, ["pwd"]), (["pwd"], .aal2, ["pwd"]),
        ]
    )
    func methods(_ methods: [String], _ level: AssuranceLevel, _ names: [String]) {
        let claims = self.token { ($0.methods, $0.level) = (methods, level) }.claims
        #expect(claims["amr"] == .array(names.map(JSONValue.string)))
    }

    @Test("The hash of an access token is that of the specification's example")
    func hash() {
        // OpenID Connect Core A.3.
        #expect(
            IDToken.hash(of: Secret("jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y")) == "77QmUPtjPfzWtF2AnpK9RQ"
        )
    }

    @Test(
        "None lives longer than the keys are published, nor ends before it begins",
        arguments: [
            (Duration.seconds(1_000_000), Int64(86_400)), (.seconds(86_400), 86_400), (.zero, 1), (.seconds(-5), 1),
        ]
    )
    func lifetime(_ asked: Duration, _ given: Int64) {
        #expect(self.token { $0.lifetime = asked }.claims["exp"] == .integer(1_800_000_000 + given))
    }

    @Test("A session gives its identity, its id, and how and when the user authenticated, as far as that is known")
    func session() throws {
        var session = Session(
            id: "ses_2",
            kind: .native,
            origin: .native,
            lineage: Lineage(tag: "t"),
            identity: Identity(id: "user-1906", traits: ["email": "grace@example.com"]),
            aal: .aal1,
            methods: ["password"],
            authenticatedAt: UnixTime(seconds: 1_700_000_000),
            issuedAt: Self.now,
            expiresAt: Self.now.advanced(by: .seconds(60)),
            idleLifetime: .seconds(60)
        )
        func claims() -> JSONValue {
            IDToken(of: session, issuer: "https://a/", clientID: "c", scopes: ["openid", "email"], issuedAt: Self.now)
                .claims
        }
        let known = claims()
        #expect(known["sub"] == "user-1906" && known["sid"] == "ses_2" && known["email"] == "grace@example.com")
        #expect(known["auth_time"] == 1_700_000_000 && known["acr"] == "aal1" && known["amr"] == ["pwd"])
        (session.authenticatedAt, session.aal, session.methods) = (UnixTime(seconds: 0), .aal0, [])
        let unknown = claims()
        #expect(unknown["auth_time"] == nil && unknown["acr"] == nil && unknown["amr"] == nil)
    }
}

@Suite("The claims of scopes")
struct UserInfoClaimsTests {
    private func claims(_ traits: JSONValue, _ scopes: String...) -> JSONValue {
        .object(UserInfoClaims.claims(of: Identity(id: "user", traits: traits), scopes: scopes))
    }

    private static let traits: JSONValue = [
        "name": "Ada King", "given_name": "Ada", "family_name": "King", "middle_name": "A.", "nickname": "ada",
        "preferred_username": "ada", "profile": "https://ada.example/", "picture": "https://ada.example/p.png",
        "website": "https://ada.example/w", "gender": "female", "birthdate": "1815-12-10", "zoneinfo": "Europe/London",
        "locale": "en-GB", "updated_at": 1_700_000_000, "email": "ada@example.com", "email_verified": true,
        "phone_number": "+44 20 7946 0000", "phone_number_verified": false,
        "address": ["locality": "London", "country": "GB"],
        "org_id": "org_1", "org_name": "acme", "groups": ["staff"], "iss": "https://evil.example/", "sub": "another",
        "sid": "another",
    ]

    @Test("Each scope gives its claims and no others, whatever other traits there are")
    func scopes() {
        func names(_ scope: String) -> [String] {
            guard case .object(let members) = self.claims(Self.traits, scope) else { return [] }
            return members.keys.sorted()
        }
        #expect(names("openid") == ["org_id", "org_name"] && names("groups") == [])
        #expect(names("email") == ["email", "email_verified"] && names("address") == ["address"])
        #expect(names("phone") == ["phone_number", "phone_number_verified"])
        #expect(names("profile").count == 14)
        #expect(UserInfoClaims.scopes.flatMap(names).sorted() == UserInfoClaims.names.sorted())
        for name in UserInfoClaims.names {
            let scope = UserInfoClaims.scopes.first { names($0).contains(name) } ?? ""
            #expect(self.claims(Self.traits, scope)[name] == Self.traits[name], "\(name)")
        }
    }

    @Test("A name in parts, as in Kratos's schemas, gives the parts and the whole name")
    func parts() {
        let claims = self.claims(["name": ["first": "Ada", "last": "Lovelace"]], "profile")
        #expect(claims == ["name": "Ada Lovelace", "given_name": "Ada", "family_name": "Lovelace"])
        #expect(
            self.claims(["name": ["first": "Ada", "last": ""]], "profile") == ["name": "Ada", "given_name": "Ada"]
        )
        let other = self.claims(["name": ["given": "Ada", "middle": "A.", "family": "King"]], "profile")
        #expect(
            other == ["name": "Ada A. King", "given_name": "Ada", "middle_name": "A.", "family_name": "King"]
        )
    }

    @Test("Other usual names of traits are known")
    func otherNames() {
        let traits: JSONValue = [
            "username": "ada", "first_name": "Ada", "last_name": "King", "phone": "+441", "phone_verified": "true",
            "address": "12 St James's Square",
        ]
        #expect(
            self.claims(traits, "profile", "phone", "address") == [
                "preferred_username": "ada", "given_name": "Ada", "family_name": "King", "phone_number": "+441",
                "phone_number_verified": true, "address": ["formatted": "12 St James's Square"],
            ]
        )
    }

    @Test("What has the wrong type, is empty, or verifies nothing is left out")
    func wrong() {
        let traits: JSONValue = [
            "name": ["first": 1], "nickname": "", "picture": .null, "locale": ["en"], "updated_at": "yesterday",
            "email": 7, "email_verified": true, "phone_number_verified": true, "address": [:],
        ]
        #expect(self.claims(traits, "profile", "email", "phone", "address") == [:])
        #expect(self.claims(["email": "a@b", "email_verified": "maybe"], "email") == ["email": "a@b"])
        #expect(
            self.claims(["email": "a@b", "email_verified": "false"], "email") == [
                "email": "a@b", "email_verified": false,
            ]
        )
    }
}
