import JOSE
import Providers
import Sessions
import Settings
import SocialBench
import StoreBench
import Testing
import Vocabulary

@Suite("id_tokens of sign-in kits")
struct SocialIDTokenTests {
    private func verify(
        _ bench: SocialVerifierBench,
        _ kind: SocialIDToken,
        _ claims: [String: JSONValue] = [:],
        nonce: String? = nil,
        by key: SigningKey? = nil
    ) async throws -> SocialOutcome {
        let token =
            kind == .google
            ? bench.network.googleToken(claims, by: key) : bench.network.appleToken(claims, by: key)
        let signIn = SocialSignIn(artefact: token, nonce: nonce, isNonceCompared: true)
        let verifier = try #require(bench.verifiers[idToken: kind])
        return await verifier.outcome(of: signIn)
    }

    @Test("Both sign the user in whom the token exchange signs in as well")
    func users() async throws {
        let bench = try SocialVerifierBench()
        let google = try await self.verify(bench, .google)
        #expect(google.user?.identity.id == "google-oauth2|\(SocialNetwork.googleSubject)", "\(google)")
        let apple = try await self.verify(bench, .apple)
        #expect(apple.user?.identity.id == "apple|\(SocialNetwork.appleSubject)", "\(apple)")
    }

    @Test(
        "A nonce in the token is demanded, and one that was sent must stand in it",
        arguments: SocialIDToken.allCases
    )
    func nonce(kind: SocialIDToken) async throws {
        let bench = try SocialVerifierBench()
        #expect(try await self.verify(bench, kind, ["nonce": "n-1"], nonce: "n-1").user != nil)
        for (claim, sent) in [(JSONValue.string("n-1"), nil), ("n-1", "n-2"), (.null, "n-1"), (1, "1")]
            as [(JSONValue, String?)]
        {
            let verdict = try await self.verify(bench, kind, ["nonce": claim], nonce: sent)
            #expect(verdict.user == nil, "\(claim) \(sent ?? "nothing")")
        }
    }

    @Test("Apple's devices that support a nonce need one")
    func supported() async throws {
        let bench = try SocialVerifierBench()
        #expect(try await self.verify(bench, .apple, ["nonce_supported": true]).user == nil)
        #expect(try await self.verify(bench, .apple, ["nonce_supported": false]).user != nil)
        let verdict = try await self.verify(bench, .apple, ["nonce_supported": true, "nonce": "n-1"], nonce: "n-1")
        #expect(verdict.user != nil)
    }

    private static let wrong: [[String: JSONValue]] = [
        ["iss": "https://evil.example.com"], ["iss": .null], ["aud": "com.example.other"], ["aud": .null],
        ["aud": ["com.example.app", "com.example.other"]], ["exp": 1_799_999_939], ["exp": .null], ["iat": .null],
        ["sub": .null], ["sub": ""], ["azp": "com.example.other"],
    ]

    @Test("Apple's claims are each checked", arguments: Self.wrong)
    func faults(claims: [String: JSONValue]) async throws {
        let verdict = try await self.verify(try SocialVerifierBench(), .apple, claims)
        #expect(verdict.refusal != nil, "\(verdict)")
    }

    @Test("Only the provider's key counts; an outage is no refusal")
    func keys() async throws {
        let bench = try SocialVerifierBench()
        #expect(try await self.verify(bench, .apple, by: .generated(.rs256)).refusal != nil)
        let other = try SocialVerifierBench()
        other.network.breakDown(.appleKeys, with: .silence)
        #expect(try await self.verify(other, .apple).outage != nil)
    }

    @Test("The same token is the same artefact, also with another signature")
    func artefact() async throws {
        let bench = try SocialVerifierBench()
        let token = bench.network.appleToken()
        let verifier = try #require(bench.verifiers[idToken: .apple])
        var ids: Set<String> = []
        for _ in 0..<2 {
            ids.insert("\(try await verifier.verify(SocialSignIn(artefact: token)).artefact.id)")
        }
        #expect(ids.count == 1)
    }
}
