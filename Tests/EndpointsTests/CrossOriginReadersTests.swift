import Endpoints
import Testing
import Vocabulary

@Suite("Other origins' scripts at the gateway's endpoints")
struct CrossOriginReadersTests {
    private static let spa = "https://spa.example.com"
    private static let some = CrossOriginReaders.some { $0 == Self.spa }

    private static func fields(_ fields: [(name: String, value: String)]) -> [String: String] {
        Dictionary(uniqueKeysWithValues: fields.map { ($0.name, $0.value) })
    }

    @Test("an admitted origin may read the answer and the fields that clients need")
    func admitted() {
        let fields = Self.fields(Self.some.fields(for: Self.spa))
        #expect(fields["access-control-allow-origin"] == Self.spa && fields["vary"] == "Origin")
        let exposed = fields["access-control-expose-headers"] ?? ""
        #expect(exposed.contains("DPoP-Nonce") && exposed.contains("WWW-Authenticate"))
        #expect(fields["access-control-allow-credentials"] == nil)
    }

    @Test(
        "an admitted origin in another spelling gets its own bytes back",
        arguments: [spa + ":443", spa + "/", "HTTPS://Spa.example.com"]
    )
    func respelt(origin: String) {
        #expect(Self.fields(Self.some.fields(for: origin))["access-control-allow-origin"] == origin)
        #expect(Self.some.preflight(from: origin, methods: ["POST"], requestID: nil).status == 204)
    }

    @Test("any other origin may not, and caches keep the two apart", arguments: [nil, "null", "https://evil.example"])
    func others(origin: String?) {
        #expect(Self.fields(Self.some.fields(for: origin)) == ["vary": "Origin"])
        let refused = Self.some.preflight(from: origin, methods: ["POST"], requestID: "1")
        #expect(refused.status == 403 && refused.reason == .requestCrossSite)
        #expect(!refused.fields.contains { $0.name.hasPrefix("access-control-") })
    }

    @Test("a preflight names the methods, and the fields that the SDKs send")
    func preflight() {
        let answer = Self.some.preflight(from: Self.spa, methods: ["POST", "OPTIONS"], requestID: "1")
        let fields = Self.fields(answer.fields)
        #expect(answer.status == 204 && answer.body.isEmpty)
        #expect(fields["access-control-allow-methods"] == "POST, OPTIONS")
        let headers = fields["access-control-allow-headers"] ?? ""
        for name in ["Authorization", "Content-Type", "DPoP", "Auth0-Client"] { #expect(headers.contains(name)) }
    }

    @Test("what is the same for everybody may be read by every origin, without credentials")
    func everyone() {
        for origin in [nil, Self.spa] {
            let fields = Self.fields(CrossOriginReaders.everyone.fields(for: origin))
            #expect(fields["access-control-allow-origin"] == "*" && fields["vary"] == nil)
            #expect(fields["access-control-allow-credentials"] == nil)
        }
        #expect(CrossOriginReaders.everyone.preflight(from: nil, methods: ["GET"], requestID: nil).status == 204)
    }

    @Test("an endpoint that scripts may read takes preflights")
    func endpoint() {
        let endpoint = Endpoint(path: "/x", methods: ["POST"]) { _ in .noContent() }
        #expect(endpoint.readers == nil && endpoint.methods == ["POST"])
        let readable = endpoint.readable(by: .everyone)
        #expect(readable.readers != nil && readable.methods == ["POST", "OPTIONS"])
    }
}
