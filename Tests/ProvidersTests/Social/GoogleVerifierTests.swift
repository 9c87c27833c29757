import Cryptography
import JOSE
import Providers
import Sessions
import Settings
import SocialBench
import StoreBench
import Testing
import Vocabulary

@Suite("Google's id_tokens")
struct GoogleVerifierTests {
    @Test("A token for a known audience signs the user in, who is named by Google's id and never by an address")
    func signIn() async throws {
        let bench = try SocialVerifierBench()
        let verdict = try await bench.verify(.google, bench.network.googleToken())
        let user = try #require(verdict.user, "\(verdict)")
        #expect(user.identity.id == "google-oauth2|\(SocialNetwork.googleSubject)")
        #expect(
            user.identity.traits == [
                "email": "ada@gmail.com", "email_verified": true, "name": "Ada Lovelace", "given_name": "Ada",
                "family_name": "Lovelace", "picture": "https://img.example.com/a",
            ]
        )
        #expect(user.aal == .aal1 && user.methods == ["google-oauth2"])
        #expect(user.authenticatedAt == Authentication.unknownTime)
        #expect(verdict.evidence == ProviderEvidence(provider: "google-oauth2"))
        let again = try await bench.verify(.google, bench.network.googleToken(["email": "other@gmail.com"]))
        #expect(again.user?.identity.id == user.identity.id)
        #expect(bench.network.complaints.isEmpty)
    }

    private static let variants: [[String: JSONValue]] = [
        ["iss": "accounts.google.com"], ["aud": ["1234-web.apps.googleusercontent.com"]], ["azp": .null],
        ["azp": "1234-android.apps.googleusercontent.com"], ["exp": 1_799_999_941], ["iat": 1_800_000_060],
        ["nonce": "of the app"], ["aud": ["1234-web.apps.googleusercontent.com", "second"]],
    ]

    @Test(
        "Either issuer, any known audience and party, and clocks that differ by a minute are right",
        arguments: variants
    )
    func accepted(_ claims: [String: JSONValue]) async throws {
        let bench = try SocialVerifierBench {
            $0.google?.audiences.append("second")
            $0.google?.authorizedParties = ["1234-android.apps.googleusercontent.com"]
        }
        let verdict = try await bench.verify(.google, bench.network.googleToken(claims))
        #expect(verdict.user != nil, "\(verdict)")
    }

    private static let faults: [(claim: String, value: JSONValue, detail: String)] = [
        ("iss", "https://accounts.google.com/", "iss"), ("iss", "https://evil.example.com", "iss"),
        ("iss", .null, "iss"),
        ("iss", 1, "iss"), ("aud", "other", "aud"), ("aud", .null, "aud"), ("aud", [], "aud"),
        ("aud", ["other"], "aud"),
        ("aud", ["1234-web.apps.googleusercontent.com", "other"], "aud"), ("aud", 1, "aud"), ("azp", "other", "azp"),
        ("azp", 1, "azp"), ("azp", "", "azp"), ("azp", ["1234-web.apps.googleusercontent.com"], "azp"),
        ("azp", "1234-android.apps.googleusercontent.com", "azp"), ("exp", .null, "exp"), ("exp", 1_799_999_940, "exp"),
        ("exp", "1", "exp"), ("iat", .null, "iat"), ("iat", 1_800_000_061, "iat"), ("nbf", 1_800_000_061, "nbf"),
        ("sub", .null, "subject"), ("sub", "", "subject"), ("sub", 7, "sub"), ("sub", "a\nb", "subject"),
        ("sub", .string(String(repeating: "1", count: 256)), "subject"),
    ]

    @Test("A token with a wrong claim is refused, and the detail names the claim", arguments: Self.faults)
    func refused(_ fault: (claim: String, value: JSONValue, detail: String)) async throws {
        let bench = try SocialVerifierBench()
        let verdict = try await bench.verify(.google, bench.network.googleToken([fault.claim: fault.value]))
        #expect(verdict.refusal?.contains(fault.detail) == true, "\(verdict)")
    }

    @Test("Only Google's published RS256 keys count")
    func signatures() async throws {
        let bench = try SocialVerifierBench()
        let network = bench.network
        #expect(try await bench.verify(.google, network.googleToken()).user != nil)
        let good = String(decoding: network.googleToken().bytes, as: UTF8.self)
        let parts = good.split(separator: ".").map(String.init)
        func header(_ members: JSONValue) -> String { Base64URL.encode(JSONText.encode(members)) }
        let keyID = JSONValue.string(network.googleKey.keyID ?? "")
        // Signed with the public key as if it were a shared secret.
        let confused = header(["alg": "HS256", "kid": keyID]) + "." + parts[1]
        let code = SHA2.sha256.code(of: Array(confused.utf8), by: JSONText.encode(network.googleKey.value))
        let forged: [(String, String)] = [
            (header(["alg": "none", "kid": keyID]) + ".\(parts[1]).", "alg"),
            (header(["alg": "None"]) + ".\(parts[1]).\(parts[2])", "alg"),
            (confused + "." + Base64URL.encode(code), "HS256"),
            (header(["alg": "RS512", "kid": keyID]) + ".\(parts[1]).\(parts[2])", "RS512"),
            ("\(parts[0]).\(parts[1]).", "signature"), ("\(parts[0]).\(parts[1]).AAAA", "signature"),
            ("\(parts[0]).\(header(["sub": "1"])).\(parts[2])", "signature"), ("", "three parts"),
            ("a.b", "three parts"),
            ("\(good).x", "three parts"),
        ]
        for (token, words) in forged {
            let verdict = try await bench.verify(.google, Secret(token))
            #expect(verdict.refusal?.contains(words) == true, "\(token.prefix(40)): \(verdict)")
        }
        let other = network.googleToken(by: SocialNetwork.strangeKey, header: [("kid", keyID)])
        #expect(try await bench.verify(.google, other).refusal != nil)
        #expect(
            try await bench.verify(.google, network.googleToken(by: .generated(.es256))).refusal?.contains("ES256")
                == true
        )
        let access = network.googleToken(header: [("typ", "at+jwt")])
        #expect(try await bench.verify(.google, access).refusal?.contains("typ") == true)
    }

    @Test("A new key of Google's is found; unknown ones cost few fetches per cool-down")
    func rotation() async throws {
        let bench = try SocialVerifierBench()
        #expect(try await bench.verify(.google, bench.network.googleToken()).user != nil)
        bench.network.rotateGoogleKey()
        #expect(try await bench.verify(.google, bench.network.googleToken()).user != nil)
        #expect(bench.network.requests(of: .googleKeys).count == 2)
        let unknown = bench.network.googleToken(by: SocialNetwork.strangeKey)
        for _ in 0..<3 {
            #expect(try await bench.verify(.google, unknown).refusal?.contains("kid") == true)
        }
        #expect(try await bench.verify(.google, unknown).outage?.contains("cannot be asked") == true)
        #expect(bench.network.requests(of: .googleKeys).count == 5)
        bench.clock.advance(by: .seconds(31))
        #expect(try await bench.verify(.google, unknown).refusal != nil)
        #expect(bench.network.requests(of: .googleKeys).count == 6)
    }

    @Test(
        "Without Google's keys nothing is decided",
        arguments: [SocialFault.silence, .answer(500, ""), .answer(200, "<html>"), .answer(200, "{\"keys\":[]}")]
    )
    func outage(_ fault: SocialFault) async throws {
        let bench = try SocialVerifierBench()
        bench.network.breakDown(.googleKeys, with: fault)
        #expect(try await bench.verify(.google, bench.network.googleToken()).outage?.contains("keys") == true)
        bench.network.breakDown(.googleKeys, with: nil)
        bench.clock.advance(by: .seconds(2))
        #expect(try await bench.verify(.google, bench.network.googleToken()).user != nil)
    }

    @Test("While the keys cannot be read, a token by an unknown key may be good")
    func outageOfRotation() async throws {
        let bench = try SocialVerifierBench()
        #expect(try await bench.verify(.google, bench.network.googleToken()).user != nil)
        bench.network.breakDown(.googleKeys, with: .answer(503, ""))
        let unknown = bench.network.googleToken(by: SocialNetwork.strangeKey)
        #expect(try await bench.verify(.google, unknown).outage != nil)
        #expect(try await bench.verify(.google, bench.network.googleToken()).user != nil)
    }

    @Test("A nonce counts only where it is demanded, and then it must be there")
    func nonce() async throws {
        let bench = try SocialVerifierBench()
        for (claim, demanded, isGood) in [
            (JSONValue.null, nil, true), ("n", nil, true), ("n", "n", true), ("n", "m", false), (.null, "n", false),
            ("", "n", false),
        ] as [(JSONValue, String?, Bool)] {
            let token = bench.network.googleToken(["nonce": claim])
            let verdict = await bench.verify(.google, SocialSignIn(artefact: token, nonce: demanded))
            #expect((verdict.user != nil) == isGood && (verdict.refusal != nil) != isGood, "\(verdict)")
        }
    }

    @Test(
        "The same token has the same id for as long as it is good, whatever is said besides; another token has another"
    )
    func artefacts() async throws {
        let bench = try SocialVerifierBench()
        let token = bench.network.googleToken()
        let first = try #require(try await bench.verify(.google, token).artefact)
        #expect(first.lifetime == .seconds(3660) && first.issuedAt == bench.clock.now)
        bench.clock.advance(by: .seconds(60))
        let second = try #require(try await bench.verify(.google, token, ["name": "B"]).artefact)
        #expect(second.id == first.id && second.lifetime == .seconds(3600))
        let other = try #require(try await bench.verify(.google, bench.network.googleToken()).artefact)
        #expect(other.id != first.id)
        #expect(!first.id.id.contains(String(decoding: token.bytes.suffix(20), as: UTF8.self)))
    }

    @Test("What the app says fills gaps only, and verifies nothing")
    func profile() async throws {
        let bench = try SocialVerifierBench()
        let profile: JSONValue = [
            "email": "admin@example.com", "email_verified": true, "given_name": "Eve", "family_name": "E",
            "name": "Eve E",
            "sub": "1", "groups": ["admin"],
        ]
        func traits(_ changes: [String: JSONValue]) async throws -> JSONValue? {
            try await bench.verify(.google, bench.network.googleToken(changes), profile).user?.identity.traits
        }
        let full = try await traits([:])
        #expect(full?["email"] == "ada@gmail.com" && full?["email_verified"] == true && full?["name"] == "Ada Lovelace")
        #expect(full?["groups"] == nil)
        let bare = try await traits(["email": .null, "name": .null, "given_name": .null, "picture": .null])
        #expect(
            bare == [
                "email": "admin@example.com", "email_verified": false, "name": "Eve E", "given_name": "Eve",
                "family_name": "Lovelace",
            ]
        )
        // Verified is what stands beside an address of Google's.
        let halves = try await traits(["email_verified": .null])
        #expect(halves?["email"] == "ada@gmail.com" && halves?["email_verified"] == nil)
        let same = try await bench.verify(
            .google,
            bench.network.googleToken(["email": "admin@example.com", "email_verified": false]),
            profile
        )
        #expect(same.user?.identity.traits["email_verified"] == false)
    }
}

extension SHA2 {
    fileprivate func code(of message: [UInt8], by key: [UInt8]) -> [UInt8] {
        message.withUnsafeBytes { self.code(of: $0, key: key) }
    }
}
