import NIOCore
import RequestPath
import Testing
import Vocabulary

/// Fields of HTTP/2 as the one parser reads them: each rule of RFC 9113 that HTTP/1 does not have, and what a gateway
/// that lets it pass would forward.
@Suite struct HTTP2RequestHeadTests {
    private typealias Outcome = HTTP2RequestHead.Outcome

    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var fields: [(String, String)]
        var outcome: HTTP2RequestHead.Outcome
        var endsStream = true

        init(
            _ name: String,
            _ fields: [(String, String)],
            _ outcome: HTTP2RequestHead.Outcome,
            endsStream: Bool = true
        ) {
            self.name = name
            self.fields = fields
            self.outcome = outcome
            self.endsStream = endsStream
        }

        var testDescription: String { self.name }
    }

    /// A request with other or further fields; nil leaves a pseudo-field out.
    private static func request(
        method: String? = "GET",
        scheme: String? = "https",
        authority: String? = "app.example.com",
        path: String? = "/x?y=1",
        _ more: [(String, String)] = []
    ) -> [(String, String)] {
        [(":method", method), (":scheme", scheme), (":authority", authority), (":path", path)]
            .compactMap { name, value in value.map { (name, $0) } } + more
    }

    private static func write(_ item: Case) -> (Outcome, ByteBuffer) {
        var head = HTTP2RequestHead(limits: Heads.limits)
        head.begin()
        for (name, value) in item.fields {
            // Each scalar is one byte.
            let bytes = [name, value].map { $0.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }
            bytes[0].withUnsafeBufferPointer { name in bytes[1].withUnsafeBufferPointer { head.append(name, $0) } }
        }
        var buffer = ByteBuffer()
        let outcome = head.write(
            isSecure: true,
            endsStream: item.endsStream,
            webSocketKey: Array("dGhlIHNhbXBsZSBub25jZQ==".utf8),
            into: &buffer
        )
        return (outcome, buffer)
    }

    // MARK: What is refused

    static let names: [Case] = [
        Case("an empty name (CVE-2023-25725)", request([("", "x")]), .malformed),
        Case("upper case", request([("X-a", "x")]), .malformed),
        Case("a colon in a name", request([("a:b", "x")]), .malformed),
        Case("a colon behind a name", request([("a:", "x")]), .malformed),
        Case("a space in a name", request([("a b", "x")]), .malformed),
        Case("CR LF in a name", request([("a\r\nb", "x")]), .malformed),
        Case("NUL in a name", request([("a\0", "x")]), .malformed),
        Case("a name beyond ASCII", request([("\u{E9}", "x")]), .malformed),
    ]
    static let values: [Case] = [
        Case("CR LF in a value", request([("a", "x\r\nb: c")]), .malformed),
        Case("LF in a value", request([("a", "x\nb: c")]), .malformed),
        Case("CR in a value", request([("a", "x\rb")]), .malformed),
        Case("NUL in a value", request([("a", "x\0")]), .malformed),
        Case("a space in front", request([("a", " x")]), .malformed),
        Case("a TAB behind", request([("a", "x\t")]), .malformed),
        Case("nothing but a space", request([("a", " ")]), .malformed),
        Case("CR LF in a cookie", request([("cookie", "a=1\r\nb: c")]), .malformed),
    ]
    static let pseudoFields: [Case] = [
        Case("two methods", request([(":method", "GET")]), .malformed),
        Case("two paths (CVE-2021-39241)", [(":path", "/admin")] + request(), .malformed),
        Case("behind another field", request(path: nil, [("a", "x"), (":path", "/")]), .malformed),
        Case("an unknown one", request([(":status", "200")]), .malformed),
        Case("one in upper case", request(path: nil, [(":Path", "/")]), .malformed),
        Case("no method", request(method: nil), .malformed),
        Case("no scheme", request(scheme: nil), .malformed),
        Case(":protocol without CONNECT", request([(":protocol", "websocket")]), .malformed, endsStream: false),
        Case("CR LF in a method", request(method: "GET / HTTP/1.1\r\nx: y"), .malformed),
        Case("CR LF in a path", request(path: "/ HTTP/1.1\r\nx: y"), .malformed),
        Case("CR LF in a scheme", request(scheme: "https\r\nx: y"), .malformed),
        Case("CR LF in an authority", request(authority: "a\r\nx: y"), .malformed),
    ]
    static let methods: [Case] = [
        Case("a space (CVE-2021-33193)", request(method: "GET / HTTP/1.1"), .refused(.requestMethod)),
        Case("an empty method", request(method: ""), .refused(.requestMethod)),
        Case("a slash", request(method: "GET/"), .refused(.requestMethod)),
        Case("CONNECT as for a proxy", [(":method", "CONNECT"), (":authority", "a:443")], .refused(.requestMethod)),
        Case("CONNECT with a path", request(method: "CONNECT"), .refused(.requestMethod)),
    ]
    static let paths: [Case] = [
        Case("no path", request(path: nil), .refused(.requestTarget)),
        Case("an empty path", request(path: ""), .refused(.requestTarget)),
        Case("no slash (CVE-2021-39240)", request(path: ".evil.example/"), .refused(.requestTarget)),
        Case("an absolute URL", request(path: "http://evil.example/"), .refused(.requestTarget)),
        Case("a fragment (CVE-2023-45539)", request(path: "/a#b"), .refused(.requestTarget)),
        Case("a space", request(path: "/a b"), .refused(.requestTarget)),
        Case("a whole request line", request(path: "/ HTTP/1.1"), .refused(.requestTarget)),
        Case("beyond ASCII", request(path: "/\u{E9}"), .refused(.requestTarget)),
        Case("DEL", request(path: "/\u{7F}"), .malformed),
        Case("* with GET", request(path: "*"), .refused(.requestTarget)),
        Case("** with OPTIONS", request(method: "OPTIONS", path: "**"), .refused(.requestTarget)),
    ]
    static let schemes: [Case] = [
        Case("the other one", request(scheme: "http"), .refused(.requestTarget)),
        Case("upper case", request(scheme: "HTTPS"), .refused(.requestTarget)),
        Case("a URL", request(scheme: "https://evil.example/"), .refused(.requestTarget)),
        Case("an empty one", request(scheme: ""), .refused(.requestTarget)),
    ]
    static let authorities: [Case] = [
        Case("none", request(authority: nil), .refused(.requestHost)),
        Case("an empty one", request(authority: ""), .refused(.requestHost)),
        Case("another Host (CVE-2021-39242)", request([("host", "evil.example")]), .refused(.requestHost)),
        Case("the same with a port", request([("host", "app.example.com:443")]), .refused(.requestHost)),
        Case("an empty Host", request([("host", "")]), .refused(.requestHost)),
        Case("two Hosts", request(authority: nil, [("host", "a"), ("host", "a")]), .refused(.requestHost)),
        Case("a user", request(authority: "u@app.example.com"), .refused(.requestHost)),
        Case("a list", request(authority: "a, b"), .refused(.requestHost)),
        Case("a path", request(authority: "a/b"), .refused(.requestHost)),
    ]
    static let hops: [Case] = [
        ("connection", "close"), ("connection", "x-auth-subject"), ("proxy-connection", "keep-alive"),
        ("keep-alive", "timeout=5"), ("transfer-encoding", "chunked"), ("transfer-encoding", "identity"),
        ("upgrade", "h2c"), ("upgrade", "websocket"), ("http2-settings", "AAMAAABk"), ("te", "gzip"),
        ("te", "trailers, chunked"), ("te", ""),
    ].map { Case("\($0): \($1)", request([($0, $1)]), .malformed, endsStream: false) }
    static let lengths: [Case] = [
        Case("two", request([("content-length", "1"), ("content-length", "1")]), .malformed, endsStream: false),
        Case("empty (CVE-2023-40225)", request([("content-length", "")]), .malformed, endsStream: false),
        Case("a sign", request([("content-length", "+1")]), .malformed, endsStream: false),
        Case("a list", request([("content-length", "1, 1")]), .malformed, endsStream: false),
        Case("in hexadecimal", request([("content-length", "0x1")]), .malformed, endsStream: false),
        Case("no body (CVE-2021-21409)", request([("content-length", "1")]), .malformed, endsStream: true),
    ]
    static let sizes: [Case] = [
        Case(
            "a large field",
            request([("a", String(repeating: "x", count: 70_000))]),
            .refused(.requestFieldsTooLarge)
        ),
        Case(
            "many empty fields (CVE-2019-9516)",
            request(Array(repeating: ("a", ""), count: 2100)),
            .refused(.requestFieldsTooLarge)
        ),
        Case(
            "257 crumbs (CVE-2026-47774)",
            request(Array(repeating: ("cookie", "a=1"), count: 257)),
            .refused(.requestFieldsTooLarge)
        ),
        Case(
            "crumbs of more than 16 KiB",
            request(Array(repeating: ("cookie", String(repeating: "x", count: 200)), count: 90)),
            .refused(.requestFieldsTooLarge)
        ),
    ]
    static let tunnels: [Case] = [
        Case("another protocol", connect("connect-udp"), .refused(.requestProtocol), endsStream: false),
        Case("in other letters", connect("WebSocket"), .refused(.requestProtocol), endsStream: false),
        Case("that ends with its head", connect("websocket"), .malformed),
        Case("of a known length", connect("websocket") + [("content-length", "3")], .malformed, endsStream: false),
    ]

    private static func connect(_ name: String) -> [(String, String)] {
        [(":method", "CONNECT"), (":protocol", name)] + Array(request().dropFirst())
    }

    private static func check(_ item: Case) {
        let (outcome, buffer) = self.write(item)
        #expect(outcome == item.outcome, "\(item.name)")
        #expect(buffer.readableBytes == 0)
    }

    @Test("Names are lower-case tokens", arguments: names) func name(_ item: Case) { Self.check(item) }
    @Test("Values hold no end of a line", arguments: values) func value(_ item: Case) { Self.check(item) }
    @Test("Pseudo-fields come first, once, and are known", arguments: pseudoFields)
    func pseudoField(_ item: Case) { Self.check(item) }
    @Test("The method is a token, and CONNECT opens WebSockets only", arguments: methods)
    func method(_ item: Case) { Self.check(item) }
    @Test("The path is one", arguments: paths) func path(_ item: Case) { Self.check(item) }
    @Test("The scheme is the connection's", arguments: schemes) func scheme(_ item: Case) { Self.check(item) }
    @Test("There is one authority", arguments: authorities) func authority(_ item: Case) { Self.check(item) }
    @Test("Fields of one hop are none of HTTP/2", arguments: hops) func hop(_ item: Case) { Self.check(item) }
    @Test("A length is one number, and there is none without a body", arguments: lengths)
    func length(_ item: Case) { Self.check(item) }
    @Test("Fields and crumbs count with what they cost", arguments: sizes) func size(_ item: Case) { Self.check(item) }
    @Test("A tunnel for another protocol than WebSocket is not implemented", arguments: tunnels)
    func tunnel(_ item: Case) {
        Self.check(item)
        #expect(Reason.requestProtocol.refusal?.status == 501)
    }

    // MARK: What is written

    static let heads: [Case] = [
        Case("GET", request([("accept", "*/*")]), .written),
        Case("POST with a length", request(method: "POST", [("content-length", "5")]), .written, endsStream: false),
        Case("POST of no length", request(method: "POST"), .written, endsStream: false),
        Case("no body of length 0", request(method: "POST", [("content-length", "0")]), .written),
        Case("OPTIONS of all", request(method: "OPTIONS", path: "*"), .written),
        Case("two slashes", request(path: "//evil.example/"), .written),
        Case("Host in place of :authority", request(authority: nil, [("host", "app.example.com")]), .written),
        Case("both in other letters", request([("host", "APP.example.com")]), .written),
        Case("te: trailers", request([("te", "trailers")]), .written),
        Case("names with _ and our own", request([("x_auth_subject", "x"), ("remote-user", "y")]), .written),
        Case("values with spaces and beyond ASCII", request([("a", "b c\t\u{E9}")]), .written),
        Case("an empty value", request([("a", "")]), .written),
        Case("256 crumbs", request(Array(repeating: ("cookie", "a=1"), count: 256)), .written),
        Case("90 crumbs and 15 fields (envoy#45483)", manyFields, .written),
    ]
    private static let manyFields = request(
        Array(repeating: ("cookie", "a=1"), count: 90) + (0..<15).map { ("x-\($0)", "1") }
    )

    /// llhttp reads the same one request in it, and nothing behind it.
    @Test("The parser and llhttp read one head in what is written, and take all of it", arguments: heads)
    func head(_ item: Case) throws {
        let (outcome, buffer) = Self.write(item)
        #expect(outcome == .written)
        let bytes = Array(buffer.readableBytesView)
        let ours = Heads.parse(bytes) { result, head, text in
            #expect(result == .complete && head.byteCount == bytes.count, "\(result)")
            return Oracle.Request(
                method: text.text(head.method),
                target: text.text(head.target),
                minorVersion: head.minorVersion,
                fields: (0..<head.fields.count).map { index in
                    Field(text.text(head.fields[index].name), text.text(head.fields[index].value))
                },
                body: head.framing == .length(5) ? Array("hello".utf8) : [],
                isComplete: true
            )
        }
        let oracle = try Oracle.read(bytes + ours.body)
        #expect(oracle.requests == [ours] && oracle.failure == nil)
    }

    @Test("Crumbs of a cookie become one line, in their order") func crumbs() {
        let fields = Self.request([("cookie", "a=1"), ("x", "y"), ("cookie", "b=2; c=3"), ("cookie", "")])
        let (_, buffer) = Self.write(Case("", fields, .written))
        let text = String(buffer: buffer)
        #expect(text.contains("\r\nCookie: a=1; b=2; c=3\r\n") && text.components(of: "Cookie:") == 2)
    }

    @Test("A tunnel for WebSocket becomes the request for an upgrade, with a key of the gateway") func webSocket() {
        let fields = Self.connect("websocket") + [("sec-websocket-version", "13"), ("sec-websocket-key", "theirs")]
        let (outcome, buffer) = Self.write(Case("", fields, .written, endsStream: false))
        #expect(outcome == .written)
        let text = String(buffer: buffer)
        #expect(text.hasPrefix("GET /x?y=1 HTTP/1.1\r\nHost: app.example.com\r\nConnection: Upgrade\r\n"))
        #expect(text.contains("\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n") && !text.contains("theirs"))
        Heads.parse(Array(buffer.readableBytesView)) { result, head, _ in
            #expect(result == .complete && head.isWebSocketUpgrade)
        }
    }

    @Test("Fields far beyond the limit are not worth an answer") func farTooLarge() {
        var head = HTTP2RequestHead(limits: Heads.limits)
        head.begin()
        for _ in 0..<5 {
            let value = [UInt8](repeating: 0x61, count: 60_000)
            [0x61].withUnsafeBufferPointer { name in value.withUnsafeBufferPointer { head.append(name, $0) } }
        }
        #expect(head.isFarTooLarge)
    }
}

extension String {
    /// The number of parts between occurrences of `text`.
    fileprivate func components(of text: String) -> Int {
        self.split(separator: text, omittingEmptySubsequences: false).count
    }
}
