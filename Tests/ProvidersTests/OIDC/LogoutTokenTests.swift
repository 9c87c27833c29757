import Calls
import JOSE
import Providers
import StoreBench
import Testing
import Vocabulary

@Suite("Logout tokens (OpenID Connect Back-Channel Logout 1.0)")
struct LogoutTokenTests {
    private static let event: JSONValue = ["http://schemas.openid.net/event/backchannel-logout": [:]]

    /// The verdict on a token that is good but for the changes; `.null` removes a claim.
    private func verdict(
        _ changes: [String: JSONValue] = [:],
        type: String? = "logout+jwt",
        bench: OpenIDProviderBench? = nil,
        key: SigningKey? = nil
    ) async throws -> Result<LogoutToken, NotDone> {
        let bench = try bench ?? OpenIDProviderBench()
        var all: [String: JSONValue] = [
            "jti": "logout-1", "events": Self.event, "nonce": .null, "email": .null,
        ]
        for (name, value) in changes { all[name] = value }
        let claims = bench.claims(nonce: nil, all)
        let header = type.map { [("typ", JSONValue.string($0))] } ?? []
        let token = Secret((key ?? bench.key).sign(JSONText.encode(claims), header: header))
        return await Result(try await bench.provider.logoutToken(token))
    }

    private static let longestSessionID = String(repeating: "a", count: ProviderEvidence.longestSessionID)

    @Test("A token names a session, a subject or both")
    func good() async throws {
        for (changes, subject, session) in [
            ([:], "user-1", "s-1"), (["sub": .null], nil, "s-1"), (["sid": .null], "user-1", nil),
            (["sid": ""], "user-1", nil),
            (["sid": .string(Self.longestSessionID)], "user-1", Self.longestSessionID),
        ] as [([String: JSONValue], String?, String?)] {
            guard case .success(let token) = try await self.verdict(changes) else {
                Issue.record("\(changes)")
                continue
            }
            #expect(token.id == "logout-1" && token.subject == subject && token.sessionID == session)
        }
        for type in [nil, "JWT", "logout+JWT", "application/logout+jwt"] {
            #expect(try await self.verdict(type: type).value != nil, "\(type ?? "none")")
        }
    }

    @Test("Where the issuer names its sessions in id_tokens, a session that is not known stands for no other")
    func namesSessions() async throws {
        for announced in [.bool(true), .bool(false), .null] as [JSONValue] {
            let bench = try OpenIDProviderBench(metadata: ["backchannel_logout_session_supported": announced])
            guard case .success(let token) = try await self.verdict(bench: bench) else {
                Issue.record("\(announced)")
                continue
            }
            #expect(token.namesEverySession == (announced == .bool(true)))
        }
    }

    @Test("A token that fails one check ends nothing")
    func refused() async throws {
        let now = try OpenIDProviderBench().clock.now.seconds
        for changes in [
            ["iss": "https://other.example.com"], ["aud": "other"], ["aud": .null], ["iat": .null], ["jti": .null],
            ["events": .null], ["events": [:]],
            ["events": ["http://schemas.openid.net/event/backchannel-logout": true]],
            ["nonce": "n"], ["sub": .null, "sid": .null], ["sub": .null, "sid": ""], ["sub": ""],
            ["iat": .integer(now + 120)],
            ["iat": .integer(now - 400)], ["exp": .integer(now - 61)], ["nbf": .integer(now + 120)],
            ["sid": .string(String(repeating: "a", count: 1025))], ["jti": 7],
        ] as [[String: JSONValue]] {
            #expect(try await self.verdict(changes).cause == .logoutInvalidToken, "\(changes)")
        }
        for type in ["at+jwt", "JWS", "id_token"] {
            #expect(try await self.verdict(type: type).cause == .logoutInvalidToken, "\(type)")
        }
    }

    @Test("A token of another key is refused; an issuer whose keys are unknown is no refusal")
    func keys() async throws {
        #expect(try await self.verdict(key: SigningKey.generated(.es256)).cause == .logoutInvalidToken)
        let flooded = try OpenIDProviderBench()
        for _ in 0..<5 { _ = try await self.verdict(bench: flooded, key: SigningKey.generated(.es256)) }
        let next = SigningKey.generated(.es256)
        flooded.transport.on(OpenIDProviderBench.keysURL, .json(JWKSet(keys: [next.publicKey]).value))
        #expect(try await self.verdict(bench: flooded, key: next).outage != nil, "the provider is to repeat it")
        let bench = try OpenIDProviderBench()
        bench.transport.on(OpenIDProviderBench.keysURL, CallAnswer(status: 503))
        #expect(try await self.verdict(bench: bench).outage != nil)
    }
}
