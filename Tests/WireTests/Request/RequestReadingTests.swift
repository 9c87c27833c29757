import RequestPath
import Testing
import Vocabulary

/// How the parser reads requests that it accepts.
@Suite struct RequestReadingTests {
    private static func accepted(_ text: String, _ body: (RequestHead, ParsedBytes) -> Void) {
        Heads.parse(Array(text.utf8)) { result, head, bytes in
            #expect(result == .complete, "\(text.debugDescription)")
            if result == .complete { body(head, bytes) }
        }
    }

    @Test func readsMethodTargetAndFields() {
        let text =
            "QUERY /a/b%20c?d=e&f HTTP/1.1\r\nHost: App.Example:8080\r\nX-One:  two three\t\r\nEmpty:\r\nX: \u{E9}\r\n\r\nrest"
        Self.accepted(text) { head, bytes in
            #expect(bytes.text(head.method) == "QUERY")
            #expect(head.knownMethod == .other)
            #expect(bytes.text(head.target) == "/a/b%20c?d=e&f")
            #expect(bytes.text(head.path) == "/a/b%20c")
            #expect(bytes.text(head.query) == "d=e&f")
            #expect(head.hasQuery)
            #expect(bytes.text(head.authority) == "App.Example:8080")
            #expect(
                head.fields(in: bytes).dropFirst() == [
                    Field("X-One", "two three"), Field("Empty", ""), Field("X", "\u{E9}"),
                ]
            )
            #expect(head.byteCount == text.utf8.count - 4)
            #expect(head.framing == .none)
            #expect(head.keepsAlive)
        }
    }

    @Test(arguments: [
        ("GET", KnownMethod.get), ("HEAD", .head), ("POST", .post), ("PUT", .put), ("PATCH", .patch),
        ("DELETE", .delete),
        ("OPTIONS", .options), ("get", .other), ("GETS", .other), ("M-SEARCH", .other), ("TRACER", .other),
        ("!#$%&'*+-.^_`|~", .other),
    ]) func knowsMethodsByTheirExactBytes(_ name: String, _ method: KnownMethod) {
        Self.accepted(head("\(name) / HTTP/1.1")) { head, _ in #expect(head.knownMethod == method) }
    }

    @Test func keepsOneEmptyLineOutOfTheRequest() {
        Self.accepted("\r\n" + head("GET /x HTTP/1.1")) { head, bytes in
            #expect(bytes.text(head.method) == "GET")
            #expect(bytes.text(head.target) == "/x")
        }
    }

    @Test func emptyQueryIsAQuery() {
        Self.accepted(head("GET /a? HTTP/1.1")) { head, bytes in
            #expect(head.hasQuery && head.query.isEmpty)
            #expect(bytes.text(head.path) == "/a")
            #expect(bytes.text(head.target) == "/a?")
        }
        Self.accepted(head("GET /a?b?c HTTP/1.1")) { head, bytes in #expect(bytes.text(head.query) == "b?c") }
    }

    @Test func keepsNothingOfAnEarlierRequest() {
        let parser = Heads.request
        let head = RequestHead(fieldCount: 100)
        func parse(_ text: String) -> ParseResult {
            Array(text.utf8).withUnsafeBufferPointer {
                $0.baseAddress.map { parser.parse($0, text.utf8.count, into: head) } ?? .incomplete
            }
        }
        #expect(
            parse("POST /a?q HTTP/1.0\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\nCookie: a\r\n\r\n")
                == .complete
        )
        #expect(parse("GET /b HTTP/1.1\r\nHost: b\r\n\r\n") == .complete)
        #expect(head.framing == .none && head.minorVersion == 1 && head.keepsAlive && !head.expectsContinue)
        #expect(head.line(.cookie) == nil && !head.hasQuery && head.fields.count == 1)
        #expect(parse("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n") == .complete)
        #expect(parse("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n") == .complete)
        #expect(head.framing == .length(1) && !head.hasTransferEncoding)
    }

    // MARK: Versions and persistence

    @Test(arguments: [
        ("HTTP/1.1", "", true), ("HTTP/1.1", "Connection: close", false), ("HTTP/1.1", "Connection: keep-alive", true),
        ("HTTP/1.1", "Connection: keep-alive, close", false),
        ("HTTP/1.1", "Connection: CLOSE\r\nConnection: keep-alive", false),
        ("HTTP/1.0", "", false), ("HTTP/1.0", "Connection: keep-alive", true),
        ("HTTP/1.0", "Connection: Keep-Alive", true),
        ("HTTP/1.0", "Connection: close", false), ("HTTP/1.0", "Connection: keep-alive, close", false),
    ]) func persistsAsTheVersionAndConnectionSay(_ version: String, _ field: String, _ keepsAlive: Bool) {
        let text = "GET / \(version)\r\nHost: a\r\n\(field.isEmpty ? "" : field + "\r\n")\r\n"
        Self.accepted(text) { head, _ in
            #expect(head.keepsAlive == keepsAlive)
            #expect(head.minorVersion == (version == "HTTP/1.1" ? 1 : 0))
        }
    }

    @Test func expectationOf10IsNotAnswered() {
        Self.accepted(head("PUT / HTTP/1.0", "Expect: 100-continue", "Content-Length: 1")) { head, _ in
            #expect(!head.expectsContinue)
        }
        Self.accepted(head("PUT / HTTP/1.1", "Expect: 100-Continue", "Content-Length: 1")) { head, bytes in
            #expect(head.expectsContinue)
            #expect(head.fields(in: bytes) { $0.isDropped } == [Field("Expect", "100-Continue")])
        }
    }

    // MARK: Targets

    @Test(arguments: [
        ("http://a/x/y?z", "a", "/x/y?z"), ("HTTP://A/", "a", "/"), ("https://a:443/x", "a:443", "/x"),
        ("http://[::1]:80/", "[::1]:80", "/"),
    ]) func cutsAbsoluteFormDownToItsPath(_ target: String, _ host: String, _ expected: String) {
        Self.accepted("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n") { head, bytes in
            #expect(bytes.text(head.target) == expected)
            #expect(bytes.text(head.authority) == host)
        }
    }

    @Test func asteriskIsForOptions() {
        Self.accepted(head("OPTIONS * HTTP/1.1")) { head, bytes in
            #expect(bytes.text(head.target) == "*" && bytes.text(head.path) == "*")
        }
    }

    @Test(arguments: [
        "a", "a.b-c", "a_b", "A.", "127.0.0.1", "127.0.0.1:0", "a:65535", "[::1]", "[2001:db8::1.2.3.4]:8080",
    ])
    func takesTheHost(_ value: String) {
        Self.accepted("GET / HTTP/1.1\r\nHost: \(value)\r\n\r\n") { head, bytes in
            #expect(bytes.text(head.authority) == value)
        }
    }

    // MARK: Framing

    @Test(arguments: [
        ("Content-Length: 0", BodyFraming.none), ("Content-Length: 5", .length(5)),
        ("content-LENGTH:\t 00012 ", .length(12)),
        ("Content-Length: 999999999999999999", .length(999_999_999_999_999_999)),
        ("Transfer-Encoding: chunked", .chunked),
        ("transfer-encoding:CHUNKED\t", .chunked), ("X: 1", .none),
    ]) func framesTheBody(_ field: String, _ framing: BodyFraming) {
        Self.accepted(head("POST / HTTP/1.1", field)) { head, _ in #expect(head.framing == framing) }
    }

    // MARK: Removed fields

    @Test func takesOffHopByHopFieldsAndWhatConnectionNames() {
        let text = head(
            "GET / HTTP/1.1",
            "Connection: close, X-Private, x-other",
            "X-Private: 1",
            "x-PRIVATE: 2",
            "Keep-Alive: timeout=5",
            "Proxy-Connection: x",
            "Proxy-Authorization: Basic x",
            "TE: trailers",
            "Trailer: x",
            "Upgrade: h2c",
            "HTTP2-Settings: AAMAAABkAAQAAP__",
            "X-Stays: 1"
        )
        Self.accepted(text) { head, bytes in
            #expect(head.fields(in: bytes) { !$0.isDropped } == [Field("Host", "a"), Field("X-Stays", "1")])
            #expect(!head.isWebSocketUpgrade)
        }
    }

    /// CVE-2025-64484, CVE-2026-39858, CVE-2026-54763: every spelling, and any client field with `_`.
    @Test(arguments: [
        "X-Auth-Subject", "x-auth-subject", "X_Auth_Subject", "x-auth_EMAIL", "X-Auth.Email", "x.auth_groups",
        "X-AUTH-Anything-At-All", "Remote-User", "REMOTE_USER",
        "X-Real-IP", "x_real_ip", "X-Forwarded-For", "X_Forwarded_For", "X-Forwarded-Proto", "X_FORWARDED-PROTO",
        "X-Forwarded-Host",
        "Forwarded", "X-Request-Id", "My_Field", "_", "a_",
    ]) func takesOffWhatIsNotTheClientsToSay(_ name: String) {
        Self.accepted(head("GET / HTTP/1.1", "\(name): evil")) { head, bytes in
            #expect(head.fields(in: bytes) { !$0.isDropped } == [Field("Host", "a")])
        }
    }

    @Test func namesThatAreLongerThanAnyKnownOnePass() {
        let long = "X-Fine-" + String(repeating: "n", count: 200)
        Self.accepted(head("GET / HTTP/1.1", "\(long): 1")) { head, bytes in
            #expect(head.fields(in: bytes) { !$0.isDropped } == [Field("Host", "a"), Field(long, "1")])
        }
        let managed = "X-Auth-" + String(repeating: "n", count: 200)
        Self.accepted(head("GET / HTTP/1.1", "\(managed): 1")) { head, bytes in
            #expect(head.fields(in: bytes) { !$0.isDropped } == [Field("Host", "a")])
        }
    }

    @Test(arguments: [
        ("GET / HTTP/1.0\r\n\r\n", ParseResult.complete, ""),
        ("GET / HTTP/1.0\r\nHost: a\r\n\r\n", .complete, "a"),
        ("GET http://b/ HTTP/1.0\r\n\r\n", .complete, "b"),
        ("GET http://user@b/ HTTP/1.0\r\n\r\n", .refused(.requestHost), ""),
        ("GET http://b%2Fc/ HTTP/1.0\r\n\r\n", .refused(.requestHost), ""),
        ("GET http://b/ HTTP/1.0\r\nHost: a\r\n\r\n", .refused(.requestHost), ""),
        ("GET / HTTP/1.1\r\n\r\n", .refused(.requestHost), ""),
    ])
    func onlyHTTP10MayLackAHost(_ text: String, _ expected: ParseResult, _ authority: String) {
        let parser = RequestParser(
            names: Heads.requestNames,
            limits: Heads.limits,
            dropsUnderscore: true,
            allowsMissingHost: true
        )
        Heads.parse(Array(text.utf8), with: parser) { result, head, bytes in
            #expect(result == expected)
            if result == .complete { #expect(bytes.text(head.authority) == authority) }
        }
    }

    @Test func underscoredFieldsPassWhereTheyMay() {
        let parser = RequestParser(names: Heads.requestNames, limits: Heads.limits, dropsUnderscore: false)
        let text = head(
            "POST / HTTP/1.1",
            "My_Field: 1",
            "X_Auth_Subject: evil",
            "Content_Length: 5",
            "Transfer_Encoding: chunked",
            "Cookie_: 1"
        )
        Heads.parse(Array(text.utf8), with: parser) { result, head, bytes in
            #expect(result == .complete)
            // An alias of a field that the gateway interprets is never forwarded and never interpreted.
            #expect(
                head.fields(in: bytes) { !$0.isDropped } == [
                    Field("Host", "a"), Field("My_Field", "1"), Field("Cookie_", "1"),
                ]
            )
            #expect(head.framing == .none)
        }
    }

    /// An alias of `Host`, `Content-Length` or `Connection` is not that field.
    @Test func underscoredAliasesDoNotFrame() {
        let text = head(
            "POST / HTTP/1.1",
            "Content_Length: 5",
            "Transfer_Encoding: chunked",
            "Keep_Alive: 1",
            "Content.Length: 5",
            "transfer.encoding: chunked"
        )
        Self.accepted(text) { head, _ in #expect(head.framing == .none && head.keepsAlive) }
    }

    // MARK: Upgrades

    @Test(arguments: [
        ("GET / HTTP/1.1", ["Connection: Upgrade", "Upgrade: websocket"], true),
        ("GET / HTTP/1.1", ["Connection: keep-alive, upgrade", "Upgrade: WebSocket"], true),
        ("GET / HTTP/1.1", ["Upgrade: websocket"], false),
        ("GET / HTTP/1.1", ["Connection: Upgrade"], false),
        ("GET / HTTP/1.1", ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: x"], false),
        ("GET / HTTP/1.1", ["Connection: Upgrade", "Upgrade: websocket, h2c"], false),
        ("POST / HTTP/1.1", ["Connection: Upgrade", "Upgrade: websocket"], false),
        ("GET / HTTP/1.0", ["Connection: Upgrade", "Upgrade: websocket"], false),
        ("GET / HTTP/1.1", ["Connection: Upgrade", "Upgrade: websocket", "Content-Length: 3"], false),
        ("GET / HTTP/1.1", ["Connection: Upgrade", "Upgrade: websocket", "Transfer-Encoding: chunked"], false),
    ]) func onlyAWebSocketMayTakeTheConnection(_ line: String, _ fields: [String], _ upgrades: Bool) {
        Self.accepted("\(line)\r\nHost: a\r\n\(fields.map { $0 + "\r\n" }.joined())\r\n") { head, bytes in
            #expect(head.isWebSocketUpgrade == upgrades)
            // The field itself is never forwarded: the gateway writes its own.
            #expect(head.fields(in: bytes) { !$0.isDropped && $0.role.isHopByHop }.isEmpty)
        }
    }
}
