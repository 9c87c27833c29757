import Providers
import Sessions
import Settings
import SocialBench
import StoreBench
import Testing
import Vocabulary

@Suite("Facebook's session-info access tokens")
struct FacebookVerifierTests {
    @Test("Facebook says who the user is, and only the app what they are called")
    func signIn() async throws {
        let bench = try SocialVerifierBench()
        let profile: JSONValue = ["email": "ada@example.com", "name": "Ada", "email_verified": true]
        let verdict = try await bench.verify(.facebook, bench.network.facebookToken(), profile)
        let user = try #require(verdict.user, "\(verdict)")
        #expect(user.identity.id == "facebook|\(SocialNetwork.facebookUser)")
        #expect(user.identity.traits == ["email": "ada@example.com", "email_verified": false, "name": "Ada"])
        #expect(user.methods == ["facebook"] && verdict.evidence?.provider == "facebook")
        // The double verifies the app's access token and its proof.
        #expect(bench.network.complaints.isEmpty && bench.network.requests(of: .facebookDebug).count == 1)
        let nameless = try await bench.verify(.facebook, bench.network.facebookToken())
        #expect(nameless.user?.identity.traits == [:])
    }

    private static let faults: [(changes: [String: JSONValue], words: String)] = [
        (["is_valid": false], "not valid"), (["app_id": "999"], "another app"), (["app_id": 999], "another app"),
        (["type": "APP"], "not that of a user"), (["type": "PAGE"], "not that of a user"),
        (["type": "SYSTEM_USER"], "not that of a user"), (["type": 1], "not that of a user"),
        (["profile_id": "1"], "not that of a user"), (["expires_at": 1_799_999_940], "expired"),
        (["expires_at": 0, "data_access_expires_at": 1_799_999_940], "expired"),
        (["expires_at": 0, "data_access_expires_at": 0], "no end"),
        (["expires_at": .null, "data_access_expires_at": .null], "no end"),
        (["user_id": "a\nb"], "subject"), (["user_id": .string(String(repeating: "1", count: 250))], "subject"),
    ]

    @Test("A token that is invalid, expired, of another app or of another kind is refused", arguments: Self.faults)
    func refused(_ fault: (changes: [String: JSONValue], words: String)) async throws {
        let bench = try SocialVerifierBench()
        let verdict = try await bench.verify(.facebook, bench.network.facebookToken(fault.changes))
        #expect(verdict.refusal?.contains(fault.words) == true, "\(verdict)")
    }

    private static let variants: [[String: JSONValue]] = [
        ["app_id": 1_234_567_890], ["user_id": 10_215_241_773_831_025], ["type": .null], ["expires_at": 1_799_999_941],
        ["expires_at": 0], ["expires_at": .null],
    ]

    @Test("What is right in another form is right", arguments: Self.variants)
    func accepted(_ changes: [String: JSONValue]) async throws {
        let bench = try SocialVerifierBench()
        let verdict = try await bench.verify(.facebook, bench.network.facebookToken(changes))
        #expect(verdict.user?.identity.id == "facebook|\(SocialNetwork.facebookUser)", "\(verdict)")
    }

    @Test("A token that Facebook does not know is refused, and so is what no token can be")
    func unknown() async throws {
        let bench = try SocialVerifierBench()
        #expect(try await bench.verify(.facebook, Secret("unknownsecretpart")).refusal?.contains("not valid") == true)
        bench.network.breakDown(
            .facebookDebug,
            with: .answer(400, #"{"error":{"type":"OAuthException","code":100,"message":"of another app"}}"#)
        )
        #expect(try await bench.verify(.facebook, bench.network.facebookToken()).refusal?.contains("100") == true)
        let count = bench.network.requests(of: .facebookDebug).count
        for text in ["", "a b", "a&access_token=b", "a\r\n", "\u{E9}", String(repeating: "a", count: 1025)] {
            #expect(try await bench.verify(.facebook, Secret(text)).refusal != nil)
        }
        let demanding = SocialSignIn(artefact: bench.network.facebookToken(), nonce: "n")
        #expect(await bench.verify(.facebook, demanding).refusal?.contains("nonce") == true)
        #expect(bench.network.requests(of: .facebookDebug).count == count)
    }

    private static let outages: [(fault: SocialFault, words: String)] = [
        (.silence, "no answer in time"), (.answer(500, ""), "500"), (.answer(429, ""), "429"),
        (.answer(302, ""), "302"),
        (.answer(200, "<html>"), "cannot be read"), (.answer(200, "{}"), "cannot be read"),
        (.answer(200, #"{"data":{"is_valid":"true"}}"#), "cannot be read"),
        (.answer(200, #"{"data":{"is_valid":true}}"#), "no app"),
        (.answer(200, #"{"data":{"is_valid":true,"app_id":"1234567890","expires_at":1900000000}}"#), "no user"),
        (.answer(400, #"{"error":{"type":"OAuthException","code":190,"message":"the app's token"}}"#), "code 190"),
        (.answer(400, #"{"error":{"type":"GraphMethodException","code":100,"message":"the proof"}}"#), "code 100"),
        (.answer(400, #"{"error":{"type":"OAuthException","code":4,"message":"too many calls"}}"#), "code 4"),
        (.answer(503, #"{"error":{"type":"OAuthException","code":100}}"#), "503"),
    ]

    @Test(
        "An outage, garbage and Facebook's doubts of the gateway itself are never the token's fault",
        arguments: outages
    )
    func outage(_ outage: (fault: SocialFault, words: String)) async throws {
        let bench = try SocialVerifierBench()
        bench.network.breakDown(.facebookDebug, with: outage.fault)
        let verdict = try await bench.verify(.facebook, bench.network.facebookToken())
        #expect(verdict.outage?.contains(outage.words) == true, "\(verdict)")
    }

    @Test("A wrong secret of the app is an outage, and no detail shows a secret or the token")
    func credentials() async throws {
        for change in [
            { $0.facebook?.appSecret = Secret("wrong-canary") }, { $0.facebook?.appID = "77" },
        ] as [(inout NativeSocialSettings) -> Void] {
            let bench = try SocialVerifierBench(change: change)
            let verdict = try await bench.verify(.facebook, bench.network.facebookToken())
            #expect(verdict.outage?.contains("code 190") == true, "\(verdict)")
            #expect(!"\(verdict)".contains("canary") && !"\(verdict)".contains("secretpart"))
            #expect(bench.network.complaints == ["access_token is not the app's"])
            #expect(!"\(bench.verifiers)".contains("canary"))
        }
    }

    @Test("The same token has the same id, with and without its padding, until it ends")
    func artefacts() async throws {
        let bench = try SocialVerifierBench()
        let token = bench.network.facebookToken()
        let first = try #require(try await bench.verify(.facebook, token).artefact)
        #expect(first.lifetime == .seconds(5_183_924 + 60) && first.issuedAt == bench.clock.now)
        let ageless = bench.network.facebookToken(["issued_at": .null])
        let unknown = try #require(try await bench.verify(.facebook, ageless).artefact)
        #expect(unknown.issuedAt == nil)
        #expect(try await bench.verify(.facebook, token, ["name": "B"]).artefact?.id == first.id)
        for bytes in [Array(token.bytes.dropLast(2)), token.bytes.dropLast(4), token.bytes + Array("ZD".utf8)] {
            #expect(try await bench.verify(.facebook, Secret(bytes)).artefact?.id == first.id)
        }
        #expect(try await bench.verify(.facebook, bench.network.facebookToken()).artefact?.id != first.id)
        #expect(!"\(first)".contains("secretpart"))
    }

    @Test("Each kind has its own scope: the bytes of one artefact are not another's")
    func scopes() async throws {
        let bench = try SocialVerifierBench()
        let ids = [
            try await bench.verify(.google, bench.network.googleToken()).artefact?.id.scope,
            try await bench.verify(.apple, bench.network.appleCode()).artefact?.id.scope,
            try await bench.verify(.facebook, bench.network.facebookToken()).artefact?.id.scope,
        ]
        #expect(Set(ids).count == 3 && !ids.contains(nil))
    }

    @Test("A kind that is not configured has no verifier, and the kinds have Auth0's names")
    func kinds() throws {
        let bench = try SocialVerifierBench { $0 = NativeSocialSettings(google: $0.google) }
        #expect(bench.verifiers[.google] != nil && bench.verifiers[.apple] == nil && bench.verifiers[.facebook] == nil)
        #expect(
            SocialSubjectToken.allCases.map(\.rawValue) == [
                "http://auth0.com/oauth/token-type/google-id-token",
                "http://auth0.com/oauth/token-type/apple-authz-code",
                "http://auth0.com/oauth/token-type/facebook-info-session-access-token",
            ]
        )
    }
}
