import Calls
import Cryptography
import JOSE
import Providers
import Settings
import StoreBench
import Testing
import Vocabulary

@Suite("Client authentication at a provider")
struct ProviderClientAuthenticationTests {
    private let clock = MovableClock()

    private func call(_ settings: ProviderClientSettings, _ parameters: [(name: String, value: String)] = [])
        async throws
        -> OutgoingCall
    {
        let client = try ProviderClientAuthentication(settings, clock: self.clock.clock)
        let url = try EndpointURL("https://idp.example.com/introspect")
        return await client.post(parameters, to: url, audience: try EndpointURL("https://idp.example.com/token"))
    }

    @Test("client_secret_basic form-encodes the id and the secret first")
    func basic() async throws {
        let settings = ProviderClientSettings(id: "a:b c", secret: Secret("p%+\u{E4}/:"), method: .basic)
        let call = try await self.call(settings, [("grant_type", "x y&=")])
        let expected = "a%3Ab%20c:p%25%2B%C3%A4%2F%3A"
        #expect(call.field("authorization") == "Basic " + Base64.encode(Array(expected.utf8)))
        #expect(call.form == ["grant_type": "x y&="] && call.method == "POST")
        #expect(call.url == "https://idp.example.com/introspect" && call.field("accept") == "application/json")
    }

    @Test("client_secret_post and public clients name themselves in the form")
    func form() async throws {
        let post = try await self.call(
            ProviderClientSettings(id: "a", secret: Secret("s&="), method: .post),
            [("x", "1")]
        )
        #expect(post.form == ["x": "1", "client_id": "a", "client_secret": "s&="])
        #expect(post.field("authorization") == nil)
        let none = try await self.call(ProviderClientSettings(id: "a"), [("x", "1")])
        #expect(none.form == ["x": "1", "client_id": "a"] && none.field("authorization") == nil)
    }

    @Test("private_key_jwt signs a short assertion for the token endpoint, a new one each time")
    func assertion() async throws {
        let pem = Secret(try Self.pem())
        let settings = ProviderClientSettings(id: "a", privateKey: pem)
        #expect(settings.method == .privateKeyJWT)
        let key = try SigningKey(pem: pem)
        var ids: Set<String> = []
        for _ in 0..<2 {
            let form = try await self.call(settings, [("x", "1")]).form
            #expect(Set(form.keys) == ["x", "client_id", "client_assertion", "client_assertion_type"])
            #expect(form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
            let token = try #require(form["client_assertion"])
            let verified = try JWS.verify(Array(token.utf8), with: JWKSet(keys: [key.publicKey]), allowing: [.es256])
            let claims = try JWTClaims(verified.payload)
            #expect(claims.issuer == "a" && claims.subject == "a")
            #expect(claims.audience == ["https://idp.example.com/token"])
            #expect(claims.issuedAt == self.clock.now)
            #expect(claims.expiresAt == self.clock.now.advanced(by: .seconds(60)))
            ids.insert(try #require(claims.id))
        }
        #expect(ids.count == 2)
    }

    /// A new P-256 key.
    private static func pem() throws -> String {
        let key = SigningKey.generated(.es256).pkcs8
        let lines = stride(from: 0, to: key.bytes.count, by: 48).map {
            Base64.encode(Array(key.bytes[$0..<min($0 + 48, key.bytes.count)]))
        }
        return (["-----BEGIN PRIVATE KEY-----"] + lines + ["-----END PRIVATE KEY-----", ""]).joined(separator: "\n")
    }
}
