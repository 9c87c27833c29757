import Calls
import JOSE
import Providers
import Sessions
import Settings
import StoreBench
import Testing
import Vocabulary

@Suite("What an OpenID provider says about a user")
struct OpenIDClaimsTests {
    private static func traits(_ names: [String]) -> [ClaimSettings.Trait] {
        names.map { ClaimSettings.Trait(name: $0, path: [$0]) }
    }

    @Test("The userinfo endpoint is asked only for what the id_token lacks; the id_token counts first")
    func userinfo() async throws {
        let complete = try OpenIDProviderBench()
        #expect(try await complete.signIn().user != nil)
        #expect(complete.transport.calls(of: OpenIDProviderBench.userinfoURL).isEmpty)

        let bench = try OpenIDProviderBench { $0.claims.traits = Self.traits(["email", "name", "picture"]) }
        bench.transport.on(
            OpenIDProviderBench.userinfoURL,
            .json(["sub": .string(OpenIDProviderBench.subject), "email": "other@example.com", "name": "Jane"])
        )
        let user = try #require(try await bench.signIn().user)
        #expect(user.identity.traits == ["email": "jane@example.com", "name": "Jane"])
        let call = try #require(bench.transport.calls(of: OpenIDProviderBench.userinfoURL).first)
        #expect(call.method == "GET" && call.field("authorization") == "Bearer access-1" && call.field("dpop") == nil)
        #expect(call.field("accept") == "application/json, application/jwt;q=0.9")

        let without = try OpenIDProviderBench(metadata: ["userinfo_endpoint": .null]) {
            $0.claims.traits = Self.traits(["email", "name"])
        }
        #expect(try await without.signIn().user?.identity.traits == ["email": "jane@example.com"])
    }

    @Test("How and when the user authenticated stands in the id_token, and never in userinfo")
    func userinfoOfSignIn() async throws {
        let bench = try OpenIDProviderBench {
            $0.claims.traits = Self.traits(["name"])
            $0.claims.levels = [
                ClaimSettings.Level(claim: .acr, value: "phr", level: .aal2),
                ClaimSettings.Level(claim: .amr, value: "otp", level: .aal3),
            ]
        }
        bench.transport.on(
            OpenIDProviderBench.userinfoURL,
            .json([
                "sub": .string(OpenIDProviderBench.subject), "name": "Jane", "acr": "phr", "amr": ["otp"],
                "auth_time": .integer(bench.clock.now.seconds),
            ])
        )
        let user = try #require(try await bench.signIn().user)
        #expect(user.identity.traits == ["name": "Jane"] && user.aal == .aal1 && user.methods == ["oidc"])
        #expect(user.authenticatedAt == Authentication.unknownTime)
        let wish = BrowserSignIn(callback: OpenIDProviderBench.callback, demand: SignInDemand(aal: .aal2))
        #expect(try await bench.signIn(wish).cause == .signInInsufficient)
    }

    @Test("Whether an address is verified is said of the address in the same document only")
    func verifiedElsewhere() async throws {
        let bench = try OpenIDProviderBench {
            $0.claims.traits = Self.traits(["email", "email_verified"])
            $0.allow.emailDomains = ["example.com"]
        }
        for (email, verified, isAdmitted) in [
            ("eve@evil.example", true, false), ("Jane@example.com", true, false), ("jane@example.com", false, false),
            ("jane@example.com", true, true),
        ] as [(String, Bool, Bool)] {
            bench.transport.on(
                OpenIDProviderBench.userinfoURL,
                .json([
                    "sub": .string(OpenIDProviderBench.subject), "email": .string(email),
                    "email_verified": .bool(verified),
                ])
            )
            let completion = try await bench.signIn()
            #expect(completion.cause == (isAdmitted ? nil : .signInNotAllowed), "\(email)")
            if isAdmitted {
                #expect(
                    completion.user?.identity.traits == ["email": "jane@example.com", "email_verified": true]
                )
            }
        }
    }

    @Test("An id_token with the groups of a large company signs the user in")
    func largeToken() async throws {
        let bench = try OpenIDProviderBench { $0.claims.traits = Self.traits(["email"]) }
        let groups = (0..<900).map { JSONValue.string("group-\($0)-" + String(repeating: "g", count: 24)) }
        #expect(try await bench.signIn(claims: ["groups": .array(groups)]).user != nil)
        let tooMany = (0..<3000).map { JSONValue.string("group-\($0)-" + String(repeating: "g", count: 24)) }
        #expect(try await bench.signIn(claims: ["groups": .array(tooMany)]).cause == .signInInvalidToken)
    }

    @Test("Traits come from paths; lists, texts and numbers keep their form; a missing one is left out")
    func traits() async throws {
        let bench = try OpenIDProviderBench(metadata: ["userinfo_endpoint": .null]) {
            $0.claims.traits = [
                ClaimSettings.Trait(name: "groups", path: ["realm_access", "roles"]),
                ClaimSettings.Trait(name: "level", path: ["custom", "level"]),
                ClaimSettings.Trait(name: "roles", path: ["https://example.com/roles"]),
                ClaimSettings.Trait(name: "none", path: ["custom", "none"]),
                ClaimSettings.Trait(name: "null", path: ["nothing"]),
                ClaimSettings.Trait(name: "deep", path: ["email", "x"]),
            ]
        }
        let completion = try await bench.signIn(claims: [
            "realm_access": ["roles": ["staff", "admin"]], "custom": ["level": 3],
            "https://example.com/roles": ["one"],
        ])
        #expect(
            completion.user?.identity.traits == ["groups": ["staff", "admin"], "level": 3, "roles": ["one"]],
            "\(completion)"
        )
    }

    @Test("Traits that would take much memory in each session are refused")
    func size() throws {
        var settings = ClaimSettings()
        settings.traits = (0..<4).map { ClaimSettings.Trait(name: "t\($0)", path: ["c\($0)"]) }
        let mapping = ClaimsMapping(settings)
        func identity(_ sizes: [Int]) throws -> Int {
            let members = sizes.enumerated().map { ("c\($0)", JSONValue.string(String(repeating: "a", count: $1 - 2))) }
            let claims = UserClaims([.object(Dictionary(uniqueKeysWithValues: members))])
            guard case .object(let traits) = try mapping.identity("a", claims).traits else { return 0 }
            return traits.count
        }
        #expect(try identity([16_384]) == 1)
        #expect(throws: ClaimsError.self) { try identity([16_385]) }
        #expect(try identity([16_384, 16_384]) == 2)
        #expect(throws: ClaimsError.self) { try identity([16_384, 16_384, 3]) }
    }

    @Test("The level is the highest that acr or amr stands for, compared byte for byte, and otherwise aal1")
    func levels() {
        var settings = ClaimSettings()
        settings.levels = [
            ClaimSettings.Level(claim: .acr, value: "urn:gold", level: .aal3),
            ClaimSettings.Level(claim: .acr, value: "phr", level: .aal2),
            ClaimSettings.Level(claim: .amr, value: "otp", level: .aal2),
            ClaimSettings.Level(claim: .acr, value: "\u{E9}", level: .aal3),
            ClaimSettings.Level(claim: .acr, value: "0", level: .aal1),
        ]
        let mapping = ClaimsMapping(settings)
        let cases: [([String: JSONValue], AssuranceLevel)] = [
            ([:], .aal1), (["acr": "phr"], .aal2), (["acr": "urn:gold", "amr": ["otp"]], .aal3),
            (["acr": "0", "amr": ["pwd", "otp"]], .aal2), (["amr": "otp"], .aal2), (["acr": "PHR"], .aal1),
            (["acr": "phr "], .aal1), (["acr": "aal3"], .aal1), (["acr": "e\u{301}"], .aal1), (["acr": 2], .aal1),
            (["amr": ["phr"]], .aal1), (["acr": "otp"], .aal1), (["acr": "0"], .aal1),
        ]
        for (claims, level) in cases {
            #expect(mapping.level(UserClaims([.object(claims)])) == level, "\(claims)")
        }
        #expect(ClaimsMapping(ClaimSettings()).level(UserClaims([["acr": "aal3"]])) == .aal1)
    }

    @Test("Methods are those of amr, bounded; the time of the sign-in is auth_time, and unknown without it")
    func methods() async throws {
        let bench = try OpenIDProviderBench()
        let amr: [JSONValue] = ["pwd", 1, "o\ntp", .string(String(repeating: "a", count: 65)), "otp"]
        let user = try await bench.signIn(claims: ["amr": .array(amr), "auth_time": 1_799_999_000]).user
        #expect(user?.methods == ["pwd", "otp"] && user?.authenticatedAt == UnixTime(seconds: 1_799_999_000))
        let many = try await bench.signIn(claims: ["amr": .array((0..<40).map { .string("m\($0)") })]).user
        #expect(many?.methods.count == 16)
        let times: [(JSONValue, UnixTime)] = [
            (1_800_000_050, UnixTime(seconds: 1_800_000_000)), (.number(1.5), UnixTime(milliseconds: 1500)),
            ("1799999000", Authentication.unknownTime), (-1, Authentication.unknownTime),
            (.number(1e300), Authentication.unknownTime),
        ]
        for (claim, time) in times {
            #expect(try await bench.signIn(claims: ["auth_time": claim]).user?.authenticatedAt == time, "\(claim)")
        }
    }

    @Test("A subject is a text without control characters, or an integer, written without exponent")
    func subjects() throws {
        let good: [(JSONValue, String)] = [
            ("u-1", "u-1"), ("\u{E4} b", "\u{E4} b"), (583_231, "583231"),
            (1_000_000_000_000_000_000, "1000000000000000000"),
            (0, "0"), (-5, "-5"),
        ]
        for (value, text) in good { #expect(try ClaimsMapping.subject(value) == text) }
        let bad: [JSONValue] = [
            "", "a\u{0}", "a\r\nb", "a\u{7F}", "a\u{9C}", .string(String(repeating: "\u{E4}", count: 128)),
            .number(1.5),
            .number(1e19), true, .null, ["a"], ["id": 1],
        ]
        for value in bad { #expect(throws: ClaimsError.self) { try ClaimsMapping.subject(value) } }
    }

    @Test("The session id of the provider is left out if it could not stand in logs")
    func sessionID() async throws {
        let bench = try OpenIDProviderBench()
        for sid: JSONValue in [.null, "", "a\nb", .string(String(repeating: "a", count: 1025))] {
            let completion = try await bench.signIn(claims: ["sid": sid])
            #expect(completion.evidence != nil && completion.evidence?.sessionID == nil)
        }
        let longest = String(repeating: "a", count: ProviderEvidence.longestSessionID)
        #expect(try await bench.signIn(claims: ["sid": .string(longest)]).evidence?.sessionID == longest)
    }
}
