import EndpointBench
import Endpoints
import JOSE
import Synchronization
import Testing
import Vocabulary

@Suite("The published keys")
struct KeySetEndpointsTests {
    private static let keys = JWKSet(keys: [
        SigningKey.generated(.es256).publicKey, SigningKey.generated(.es256).publicKey,
    ])

    private func answer(_ method: String, _ endpoint: Endpoint) async -> EndpointResponse {
        await WireRequest(method, endpoint.path).answer(of: endpoint)
    }

    @Test("They are at one path of every host, and at the usual path of hosts with endpoints")
    func paths() {
        let endpoints = KeySetEndpoints(Self.keys).endpoints
        #expect(endpoints.map(\.path) == ["/.sallyport/jwks.json", "/.well-known/jwks.json"])
        for (endpoint, isEverywhere) in zip(endpoints, [true, false]) {
            if case .everyHost = endpoint.scope { #expect(isEverywhere) } else { #expect(!isEverywhere) }
            #expect(endpoint.methods == ["GET", "HEAD", "OPTIONS"])
        }
    }

    @Test("The answer is the whole set, which scripts of any origin may read and caches keep for minutes")
    func answer() async throws {
        let endpoints = KeySetEndpoints(Self.keys).endpoints
        #expect(!endpoints.isEmpty)
        for endpoint in endpoints {
            for method in ["GET", "HEAD"] {
                let answer = await self.answer(method, endpoint)
                #expect(answer.status == 200 && JSONText.decode(answer.body) == Self.keys.value)
                let fields = Dictionary(uniqueKeysWithValues: answer.fields.map { ($0.name, $0.value) })
                #expect(fields["content-type"] == "application/json")
                #expect(fields["cache-control"] == "public, max-age=300")
            }
            let readers = try #require(endpoint.readers)
            let fields = readers.fields(for: "https://any.example")
            #expect(fields.contains { $0.name == "access-control-allow-origin" && $0.value == "*" })
        }
    }

    @Test("The keys of id_tokens are at the usual path alone, and no cache keeps a set that lacks them")
    func idTokens() async throws {
        let rsa = SigningKey.generated(.rs256).publicKey
        let known = Mutex<JWKSet?>(JWKSet(keys: []))
        let endpoints = KeySetEndpoints(Self.keys) { known.withLock { $0 } }.endpoints
        func asked(_ index: Int) async -> (keys: JSONValue?, cache: String?) {
            let answer = await self.answer("GET", endpoints[index])
            return (JSONText.decode(answer.body), answer.fields.first { $0.name == "cache-control" }?.value)
        }
        #expect(await asked(1) == (Self.keys.value, "public, max-age=300"))
        known.withLock { $0 = JWKSet(keys: [rsa]) }
        #expect(await asked(0) == (Self.keys.value, "public, max-age=300"))
        #expect(await asked(1) == (JWKSet(keys: Self.keys.keys + [rsa]).value, "public, max-age=300"))
        known.withLock { $0 = nil }
        #expect(await asked(0).cache == "public, max-age=300")
        #expect(await asked(1) == (Self.keys.value, "no-store"))
    }

    @Test("A key is known everywhere long before the instructions let it sign")
    func settling() {
        #expect(KeySetEndpoints.maxAge * 10 <= KeySetEndpoints.settlingTime)
    }
}
