import JOSE
import Providers
import Sessions
import Settings
import SocialBench
import StoreBench
import Testing
import Vocabulary

@Suite("Apple's authorization codes")
struct AppleVerifierTests {
    @Test("A code is redeemed as the app, without a redirect, by a client secret that Apple accepts")
    func signIn() async throws {
        let bench = try SocialVerifierBench()
        let profile: JSONValue = ["name": ["firstName": "Ada", "lastName": "King"], "email": "ada@example.com"]
        let verdict = try await bench.verify(.apple, bench.network.appleCode(), profile)
        let user = try #require(verdict.user, "\(verdict)")
        #expect(user.identity.id == "apple|\(SocialNetwork.appleSubject)")
        #expect(
            user.identity.traits == [
                "email": "x7@privaterelay.appleid.com", "email_verified": true, "name": "Ada King", "given_name": "Ada",
                "family_name": "King",
            ]
        )
        #expect(user.authenticatedAt == bench.clock.now && user.methods == ["apple"])
        #expect(verdict.evidence?.provider == "apple" && verdict.evidence?.tokens == nil)
        // The double verifies the client secret.
        #expect(bench.network.complaints.isEmpty)
        let request = try #require(bench.network.requests(of: .appleToken).first)
        #expect(request["redirect_uri"] == nil && request["client_id"] == "com.example.app")
    }

    @Test("A code that Apple does not redeem is refused: used, unknown, of another app")
    func refused() async throws {
        var registration = SocialNetwork.Registration()
        registration.bundleIDs.append("com.example.second")
        let bench = try SocialVerifierBench(registration) { $0.apple?.bundleIDs = ["com.example.app"] }
        let code = bench.network.appleCode()
        #expect(try await bench.verify(.apple, code).user != nil)
        let cases = [code, Secret("unknown-secret-part"), bench.network.appleCode(for: "com.example.second")]
        for code in cases {
            let verdict = try await bench.verify(.apple, code)
            #expect(verdict.refusal?.contains("invalid_grant") == true, "\(verdict)")
            #expect(!"\(verdict)".contains("secret-part"))
        }
        #expect(bench.network.complaints.isEmpty)
    }

    @Test(
        "What no code can be is not sent to Apple",
        arguments: ["", "a b", "a\nb", "\u{E9}", String(repeating: "a", count: 2049)]
    )
    func malformed(_ code: String) async throws {
        let bench = try SocialVerifierBench()
        #expect(try await bench.verify(.apple, Secret(code)).refusal != nil)
        #expect(bench.network.requests(of: .appleToken).isEmpty)
    }

    private static let outages: [(fault: SocialFault, words: String)] = [
        (.silence, "no answer in time"), (.answer(500, "{\"error\":\"invalid_grant\"}"), "500"),
        (.answer(503, ""), "503"),
        (.answer(429, "{\"error\":\"invalid_grant\"}"), "429"), (.answer(200, "<html>"), "is not JSON"),
        (.answer(200, "{}"), "has no access_token"),
        (.answer(200, "{\"access_token\":\"a\",\"token_type\":\"bearer\"}"), "no usable id_token"),
        (.answer(404, "not here"), "404"), (.answer(302, ""), "302"), (.answer(400, "{}"), "400"),
        (.answer(400, "{\"error\":\"invalid_client\"}"), "invalid_client"),
        (.answer(400, "{\"error\":\"invalid_request\"}"), "invalid_request"),
        (.answer(400, "{\"error\":\"unauthorized_client\"}"), "unauthorized_client"),
        (.answer(401, "{\"error\":\"Evil words\\nin a log\"}"), "without an error code"),
    ]

    @Test("An outage, garbage and Apple's doubts of the gateway itself are never the code's fault", arguments: outages)
    func outage(_ outage: (fault: SocialFault, words: String)) async throws {
        let bench = try SocialVerifierBench()
        bench.network.breakDown(.appleToken, with: outage.fault)
        let code = bench.network.appleCode()
        let verdict = try await bench.verify(.apple, code)
        #expect(verdict.outage?.contains(outage.words) == true, "\(verdict)")
        #expect(verdict.outage?.contains("\n") == false)
        // The code is still good.
        bench.network.breakDown(.appleToken, with: nil)
        #expect(try await bench.verify(.apple, code).user != nil)
    }

    @Test("Wrong credentials of the gateway are an outage")
    func credentials() async throws {
        let changes: [(inout NativeSocialSettings) -> Void] = [
            { $0.apple?.teamID = "TEAM000002" }, { $0.apple?.keyID = "KEY0000002" },
            { $0.apple?.privateKey = SocialNetwork.Registration().applePEM },
            { $0.apple?.bundleIDs = ["com.example.unregistered"] },
        ]
        for change in changes {
            let bench = try SocialVerifierBench(change: change)
            let verdict = try await bench.verify(.apple, bench.network.appleCode())
            #expect(verdict.outage?.contains("invalid_client") == true, "\(verdict)")
        }
    }

    private static let faults: [(claim: String, value: JSONValue, detail: String)] = [
        ("iss", "https://appleid.apple.com/", "iss"), ("iss", .null, "iss"), ("aud", "com.example.other", "aud"),
        ("aud", .null, "aud"), ("aud", ["com.example.other"], "aud"), ("exp", 1_799_999_940, "exp"),
        ("exp", .null, "exp"), ("iat", .null, "iat"), ("iat", 1_800_000_061, "iat"), ("sub", .null, "sub"),
        ("sub", "", "subject"), ("nonce", "of the app", "nonce"), ("nonce", "", "nonce"), ("nonce", 1, "nonce"),
        ("at_hash", "AAAAAAAAAAAAAAAAAAAAAA", "at_hash"),
    ]

    @Test("An id_token with a wrong claim is refused, also one with a nonce", arguments: Self.faults)
    func claims(_ fault: (claim: String, value: JSONValue, detail: String)) async throws {
        let bench = try SocialVerifierBench()
        let verdict = try await bench.verify(.apple, bench.network.appleCode(claims: [fault.claim: fault.value]))
        #expect(verdict.refusal?.contains(fault.detail) == true, "\(verdict)")
    }

    @Test("A nonce that is demanded must be that of the id_token")
    func nonce() async throws {
        let bench = try SocialVerifierBench()
        for (claim, isGood) in [("n", true), ("m", false), (.null, false)] as [(JSONValue, Bool)] {
            let code = bench.network.appleCode(claims: ["nonce": claim])
            let verdict = await bench.verify(.apple, SocialSignIn(artefact: code, nonce: "n"))
            #expect((verdict.user != nil) == isGood && (verdict.refusal != nil) != isGood, "\(verdict)")
        }
    }

    @Test("Only an id_token by Apple's RS256 key counts, and without the keys nothing is decided")
    func keys() async throws {
        let bench = try SocialVerifierBench()
        for key in [SocialNetwork.strangeKey, .generated(.es256)] {
            #expect(
                try await bench.verify(.apple, bench.network.appleCode(by: key)).refusal?.contains("id_token") == true
            )
        }
        let cut = try SocialVerifierBench()
        cut.network.breakDown(.appleKeys, with: .answer(500, ""))
        #expect(try await cut.verify(.apple, cut.network.appleCode()).outage?.contains("keys") == true)
    }

    @Test("The bundle id is the client's, else the only one that is configured")
    func bundleIDs() async throws {
        var registration = SocialNetwork.Registration()
        registration.bundleIDs.append("com.example.second")
        let bench = try SocialVerifierBench(registration)
        func verify(_ bundleID: String?) async -> SocialOutcome {
            let code = bench.network.appleCode(for: "com.example.second")
            return await bench.verify(.apple, SocialSignIn(artefact: code, bundleID: bundleID))
        }
        #expect(await verify("com.example.second").user != nil)
        #expect(await verify("com.example.app").refusal?.contains("invalid_grant") == true)
        #expect(await verify(nil).refusal?.contains("several") == true)
        #expect(await verify("com.example.other").refusal?.contains("not in") == true)
        #expect(bench.network.requests(of: .appleToken).count == 2)
    }

    @Test("The same code has the same id, and its form does not show the code")
    func artefacts() async throws {
        let (one, two) = (try SocialVerifierBench(), try SocialVerifierBench())
        let code = one.network.appleCode()
        #expect(two.network.appleCode() == code)
        let first = try #require(try await one.verify(.apple, code).artefact)
        let second = try #require(try await two.verify(.apple, code).artefact)
        #expect(first.id == second.id && first.lifetime == .seconds(600))
        let next = try #require(try await one.verify(.apple, one.network.appleCode()).artefact)
        #expect(next.id != first.id && !"\(first)".contains("secret-part"))
    }

    @Test("A key that is not on P-256 and URLs that cannot be used are named")
    func setUp() throws {
        let cases: [(String, (inout NativeSocialSettings) -> Void)] = [
            ("apple.private_key_file", { $0.apple?.privateKey = Secret("canary") }),
            ("apple.token_url", { $0.apple?.tokenURL = "http://appleid.apple.com" }),
            ("apple.jwks_url", { $0.apple?.keysURL = "" }), ("google.jwks_url", { $0.google?.keysURL = "x" }),
            ("facebook.debug_url", { $0.facebook?.debugURL = "https://a@b" }),
        ]
        for (key, change) in cases {
            do {
                _ = try SocialVerifierBench(change: change)
                Issue.record("\(key) was accepted")
            } catch let error as ProviderSetUpError {
                #expect(error.description.hasPrefix(key) && !error.description.contains("canary"))
            }
        }
    }
}
