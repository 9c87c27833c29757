import Endpoints
import NIOCore
import RequestPath
import Testing
import Vocabulary

/// What clients of a protocol with an envelope of its own get when a request ends before the endpoint's handler.
struct RefusalEnvelopeTests {
    private let bench: ExchangeBench
    private var client: ScriptedClient { self.bench.client }

    private static let envelope: RefusalEnvelope = { reason, requestID in
        .json(reason.status, ["error": .string(reason.rawValue)], fields: [("pragma", "no-cache")], reason: reason)
    }

    init() throws {
        self.bench = try ExchangeBench([
            Endpoint(path: "/token", methods: ["POST"], bodyLimit: 10, envelope: Self.envelope) { _ in
                .problem(.storeUnavailable, requestID: nil)
            }.readable(by: .some { $0 == "https://spa.example.com" }),
            Endpoint(path: "/page", methods: ["POST"], bodyLimit: 10) { _ in .noContent() },
        ])
    }

    private func expectEnvelope(_ status: Int, _ reason: Reason, sourceLocation: SourceLocation = #_sourceLocation) {
        let sent = self.client.sent
        #expect(sent.hasPrefix("HTTP/1.1 \(status) "), sourceLocation: sourceLocation)
        #expect(sent.contains("\r\ncontent-type: application/json; charset=utf-8\r\n"), sourceLocation: sourceLocation)
        #expect(sent.occurrences("cache-control: no-store") == 1, sourceLocation: sourceLocation)
        #expect(sent.hasSuffix(#"{"error":"\#(reason.rawValue)"}"#), sourceLocation: sourceLocation)
    }

    @Test func aWrongMethod() throws {
        try self.bench.begin(ExchangeBench.request("GET", path: "/token", ["Accept: text/html"]))
        self.expectEnvelope(405, .routeMethodNotAllowed)
        #expect(self.client.sent.contains("\r\nAllow: POST, OPTIONS\r\n"))
    }

    @Test(arguments: ["Content-Length: 11", "Transfer-Encoding: chunked"]) func aLargeBody(_ field: String) throws {
        let fields = ["Origin: https://spa.example.com", field]
        try self.bench.begin(ExchangeBench.request("POST", path: "/token", fields, body: "b\r\nhello world\r\n"))
        self.expectEnvelope(413, .requestBodyTooLarge)
        #expect(self.client.sent.contains("\r\naccess-control-allow-origin: https://spa.example.com\r\n"))
    }

    @Test func aBodyThatIsNoBody() throws {
        let fields = ["Transfer-Encoding: chunked"]
        try self.bench.begin(ExchangeBench.request("POST", path: "/token", fields, body: "x\r\n"))
        self.expectEnvelope(400, .requestFraming)
    }

    @Test func aBodyThatDoesNotCome() throws {
        try self.bench.begin(ExchangeBench.request("POST", path: "/token", ["Content-Length: 5"]))
        self.bench.exchange.sweep(.now() + .hours(1))
        self.expectEnvelope(408, .requestTimeout)
    }

    @Test func anotherSpellingOfThePath() throws {
        try self.bench.begin(ExchangeBench.request("POST", path: "//token"))
        self.expectEnvelope(400, .pathAmbiguous)
    }

    @Test func thePreflightOfAForeignScript() throws {
        let fields = ["Origin: https://evil.example", "Access-Control-Request-Method: POST"]
        try self.bench.begin(ExchangeBench.request("OPTIONS", path: "/token", fields))
        self.expectEnvelope(403, .requestCrossSite)
        #expect(self.client.sent.contains("\r\nvary: Origin\r\n"))
    }

    /// A page for a person would be of no use to the client either.
    @Test func navigationsToo() throws {
        try self.bench.begin(ExchangeBench.request("GET", path: "/token", ["Sec-Fetch-Mode: navigate"]))
        self.expectEnvelope(405, .routeMethodNotAllowed)
    }

    @Test(arguments: [
        ("POST /token HTTP/1.1\r\nHost: app.exa", true), ("\r\nPOST /token?a HTTP/1.1\r\n", true),
        ("POST /token", false), ("POST /token/ HTTP/1.1\r\n", false), ("POST\r\n/token HTTP/1.1", false), ("", false),
        (" ", false),
    ]) func aHeadThatIsRefusedByTheEndpointInItsFirstLine(_ bytes: String, _ isKnown: Bool) {
        self.bench.exchange.refuse(.requestFieldsTooLarge, ByteBuffer(string: bytes), by: self.bench.configuration)
        #expect(self.client.sent.hasPrefix("HTTP/1.1 431 ") && self.client.ends == [.close])
        #expect(self.client.sent.contains(ProblemDocument.mediaType) != isKnown)
    }

    @Test func otherEndpointsAnswerProblemDocuments() throws {
        try self.bench.begin(ExchangeBench.request("GET", path: "/page"))
        #expect(self.client.sent.contains("\r\ncontent-type: application/problem+json\r\n"))
    }

    /// The next request on the connection is not refused in the envelope of the one before it.
    @Test func theNextRequestHasItsOwnFormat() throws {
        try self.bench.begin(ExchangeBench.request("GET", path: "/token"))
        let first = self.client.sent.utf8.count
        try self.bench.begin(ExchangeBench.request("GET", path: "/none"))
        #expect(self.client.sent.utf8.dropFirst(first).starts(with: "HTTP/1.1 404 ".utf8))
        #expect(self.client.sent.contains(ProblemDocument.mediaType))
    }
}

extension String {
    /// How often `text` occurs.
    fileprivate func occurrences(_ text: String) -> Int { self.ranges(of: text).count }
}
