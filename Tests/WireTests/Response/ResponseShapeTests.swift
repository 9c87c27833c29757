import RequestPath
import Testing

/// Responses of the shapes that llhttp tests: read as they are, or refused whole.
@Suite struct ResponseShapeTests {
    struct Shape: Sendable, CustomTestStringConvertible {
        var name: String
        var text: String
        /// nil: malformed, which gives 502.
        var expected: Expected?

        struct Expected: Equatable, Sendable {
            var status: Int
            var reason: String
            var minorVersion: Int
            var framing: BodyFraming
            var keepsAlive: Bool
        }

        init(_ name: String, _ text: String, _ expected: Expected?) {
            self.name = name
            self.text = text
            self.expected = expected
        }

        var testDescription: String { self.name }
    }

    private static func answer(
        _ status: Int = 200,
        _ reason: String = "OK",
        minor: Int = 1,
        _ framing: BodyFraming = .untilClose,
        keepsAlive: Bool = true
    ) -> Shape.Expected {
        Shape.Expected(status: status, reason: reason, minorVersion: minor, framing: framing, keepsAlive: keepsAlive)
    }

    private static func answer(_ framing: BodyFraming, minor: Int = 1, keepsAlive: Bool = true) -> Shape.Expected {
        self.answer(200, "OK", minor: minor, framing, keepsAlive: keepsAlive)
    }

    private static func ok(_ fields: String...) -> String {
        "HTTP/1.1 200 OK\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
    }

    static let statusLines: [Shape] = [
        Shape("plain", "HTTP/1.1 200 OK\r\n\r\n", answer()),
        Shape("version 1.0", "HTTP/1.0 200 OK\r\n\r\n", answer(minor: 0, keepsAlive: false)),
        Shape("empty reason", "HTTP/1.1 200 \r\n\r\n", answer(200, "")),
        Shape("no reason and no space", "HTTP/1.1 200\r\n\r\n", answer(200, "")),
        Shape("reason of several words", "HTTP/1.1 404 Not  Found\tat all\r\n\r\n", answer(404, "Not  Found\tat all")),
        Shape("reason beyond ASCII", "HTTP/1.1 500 Oxyg\u{E8}ne\r\n\r\n", answer(500, "Oxyg\u{E8}ne")),
        Shape("lowest status", "HTTP/1.1 100 Continue\r\n\r\n", answer(100, "Continue", .none)),
        Shape("highest status", "HTTP/1.1 599 x\r\n\r\n", answer(599, "x")),
        Shape("status 099", "HTTP/1.1 099 x\r\n\r\n", nil),
        Shape("status 600", "HTTP/1.1 600 x\r\n\r\n", nil),
        Shape("status of two digits", "HTTP/1.1 20 OK\r\n\r\n", nil),
        Shape("status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", nil),
        Shape("status with a letter", "HTTP/1.1 20x OK\r\n\r\n", nil),
        Shape("negative status", "HTTP/1.1 -20 OK\r\n\r\n", nil),
        Shape("two spaces before the status", "HTTP/1.1  200 OK\r\n\r\n", nil),
        Shape("TAB before the status", "HTTP/1.1\t200 OK\r\n\r\n", nil),
        Shape("TAB behind the status", "HTTP/1.1 200\tOK\r\n\r\n", nil),
        Shape("no space behind the status", "HTTP/1.1 200OK\r\n\r\n", nil),
        Shape("version 0.9", "HTTP/0.9 200 OK\r\n\r\n", nil),
        Shape("version 1.2", "HTTP/1.2 200 OK\r\n\r\n", nil),
        Shape("version 2.0", "HTTP/2.0 200 OK\r\n\r\n", nil),
        Shape("version in lower case", "http/1.1 200 OK\r\n\r\n", nil),
        Shape("another protocol", "ICY 200 OK\r\n\r\n", nil),
        Shape("a letter before", "AHTTP/1.1 200 OK\r\n\r\n", nil),
        Shape("a space before", " HTTP/1.1 200 OK\r\n\r\n", nil),
        Shape("an empty line before", "\r\nHTTP/1.1 200 OK\r\n\r\n", nil),
        Shape("a page without a head", "<html>\r\n\r\n", nil),
        Shape("bare LF behind the reason", "HTTP/1.1 200 OK\n\r\n", nil),
        Shape("bare LF behind the status", "HTTP/1.1 200\n\r\n", nil),
        Shape("bare CR in the reason", "HTTP/1.1 200 O\rK\r\n\r\n", nil),
        Shape("bare CR behind the reason", "HTTP/1.1 200 OK\r\r\n\r\n", nil),
        Shape("NUL in the reason", "HTTP/1.1 200 O\u{0}K\r\n\r\n", nil),
        Shape("DEL in the reason", "HTTP/1.1 200 O\u{7F}K\r\n\r\n", nil),
    ]

    static let fields: [Shape] = [
        Shape("length", ok("Content-Length: 11"), answer(.length(11))),
        Shape("length with zeros and spaces", ok("content-length: \t0011 \t"), answer(.length(11))),
        Shape("length 0", ok("Content-Length: 0"), answer(.none)),
        Shape("chunked", ok("Transfer-Encoding: chunked"), answer(.chunked)),
        Shape("chunked in capitals", ok("TRANSFER-ENCODING:CHUNKED"), answer(.chunked)),
        Shape("close", ok("Connection: close"), answer(.untilClose, keepsAlive: false)),
        Shape("close among others", ok("Connection: x, Close ,y"), answer(.untilClose, keepsAlive: false)),
        Shape(
            "keep-alive and close",
            ok("Connection: close", "Connection: keep-alive"),
            answer(.untilClose, keepsAlive: false)
        ),
        Shape(
            "1.0 that stays",
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n",
            answer(.length(1), minor: 0)
        ),
        Shape("a value beyond ASCII", ok("X: \u{E9}"), answer()),
        Shape("an empty value", ok("X:"), answer()),
        Shape("TE gzip", ok("Transfer-Encoding: gzip"), nil),
        Shape("TE gzip, chunked", ok("Transfer-Encoding: gzip, chunked"), nil),
        Shape("TE chunked, gzip", ok("Transfer-Encoding: chunked, gzip"), nil),
        Shape("TE identity", ok("Transfer-Encoding: identity"), nil),
        Shape("TE with a parameter", ok("Transfer-Encoding: chunked;a=b"), nil),
        Shape("empty TE", ok("Transfer-Encoding:"), nil),
        Shape("TE twice", ok("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), nil),
        Shape("TE on 1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", nil),
        Shape("TE and length", ok("Transfer-Encoding: chunked", "Content-Length: 5"), nil),
        Shape("length and TE", ok("Content-Length: 5", "Transfer-Encoding: chunked"), nil),
        Shape("length 0 and TE", ok("Content-Length: 0", "Transfer-Encoding: chunked"), nil),
        Shape("two lengths that agree", ok("Content-Length: 5", "Content-Length: 5"), nil),
        Shape("two lengths that differ", ok("Content-Length: 5", "Content-Length: 6"), nil),
        Shape("a list of lengths", ok("Content-Length: 5, 5"), nil),
        Shape("a length with a sign", ok("Content-Length: +5"), nil),
        Shape("a negative length", ok("Content-Length: -1"), nil),
        Shape("an empty length", ok("Content-Length:"), nil),
        Shape("a length in hexadecimal", ok("Content-Length: 0x5"), nil),
        Shape("a length with words", ok("Content-Length: 5 bytes"), nil),
        Shape("a length beyond any number", ok("Content-Length: 99999999999999999999"), nil),
        Shape("space before the colon", ok("Content-Length : 5"), nil),
        Shape("space before a name", ok("X: 1", " Y: 2"), nil),
        Shape("folded value", ok("X: 1", "\tfolded"), nil),
        Shape("one Location", ok("Location: /a"), answer()),
        Shape("two Locations", ok("Location: /a", "location: /b"), nil),
        Shape("no colon", ok("X"), nil),
        Shape("no name", ok(": 1"), nil),
        Shape("name with a space", ok("X Y: 1"), nil),
        Shape("name beyond ASCII", ok("X\u{E9}: 1"), nil),
        Shape("NUL in a value", ok("X: a\u{0}b"), nil),
        Shape("bare CR in a value", ok("X: a\rb"), nil),
        Shape("bare CR behind a value", ok("X: a\r"), nil),
        Shape("bare LF between fields", "HTTP/1.1 200 OK\r\nX: a\nY: b\r\n\r\n", nil),
        Shape("bare LF at the end", "HTTP/1.1 200 OK\r\nX: a\r\n\n", nil),
        // Readers that do not map such names see no length. The gateway must not see one either, or the body would end
        // elsewhere for them.
        Shape("an alias of the length", ok("Content_Length: 5"), answer(.untilClose)),
        Shape("an alias of the encoding", ok("Transfer_Encoding: chunked"), answer(.untilClose)),
        Shape("an alias beside the length", ok("Content-Length: 5", "Content_Length: 6"), answer(.length(5))),
    ]

    /// RFC 9112 6.3: such a response ends with its head, whatever its fields say.
    @Test(
        arguments: [100, 101, 103, 199, 204, 304],
        [
            [], ["Content-Length: 0"], ["Content-Length: 5"], ["Transfer-Encoding: chunked"],
            ["Transfer-Encoding: gzip"],
            ["Content-Length: 5", "Content-Length: 6"], ["Content-Length: -1"],
            ["Content-Length: 5", "Transfer-Encoding: chunked"],
            ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
        ]
    ) func endsWithItsHead(_ status: Int, _ fields: [String]) {
        let text = "HTTP/1.1 \(status) x\r\n" + (fields + ["A: b"]).map { $0 + "\r\n" }.joined() + "\r\n"
        Heads.parseResponse(Array(text.utf8)) { result, head, bytes in
            #expect(result == .complete && head.framing == .none && head.fault == nil)
            let kept = head.fields(in: bytes) { !$0.isDropped }
            // The length of what 304 stands for is no framing (RFC 9110 8.6).
            let stays = status == 304 && ["Content-Length: 0", "Content-Length: 5"].contains(fields.joined())
            #expect(kept.count == (stays ? 2 : 1), "\(kept)")
            #expect(head.announcesContent == (status != 304 && !["", "Content-Length: 0"].contains(fields.joined())))
        }
    }

    @Test(
        arguments: [
            ("Content-Length : 1", ResponseFault.Rule.blank, "Content-Length"), ("X-Y\t : a", .blank, "X-Y"),
            ("x_y :", .blank, "x_y"), ("A: b\r\nX Y: a", .noField, ""), ("X: 1\r\n 2", .folded, "X"),
            ("A: b\r\nX-Y:\r\n\t2", .folded, "X-Y"), ("X: 1\r\n Y: 2", .folded, "X"), (" X: 1", .noField, ""),
            ("X", .noField, ""), ("X ", .noField, ""), ("", .noField, ""),
            ("X-Y: a\rb", .control, "X-Y"), ("Content-Length: 1\r\ncontent-length: 1", .repeated, "content-length"),
            ("Content-Length: 1,1", .length, "Content-Length"),
            ("Transfer-Encoding: gzip, chunked", .encoding, "Transfer-Encoding"),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", .repeated, "Transfer-Encoding"),
            ("Content-Length: 1\r\nTransfer-Encoding: chunked", .lengthAndEncoding, "Content-Length"),
            ("Location: /a\r\nLocation: /b", .repeated, "Location"), ("X: a\nY: b", .lineEnd, "X"),
        ] as [(String, ResponseFault.Rule, String)]
    ) func saysWhyItIsRefused(_ line: String, _ rule: ResponseFault.Rule, _ field: String) {
        let text = line.isEmpty ? "HTTP/1.1 200 OK\r\n: x\r\n\r\n" : Self.ok(line)
        Heads.parseResponse(Array(text.utf8)) { result, head, bytes in
            #expect(result == .malformed && head.fault?.rule == rule)
            #expect(head.fault.map { bytes.text($0.field) } == field)
        }
    }

    @Test(arguments: [
        ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", ResponseFault.Rule.encodingVersion),
        ("HTTP/2 200\r\n", .startLine),
        ("garbage", .startLine), ("HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 70_000), .size),
        ("HTTP/1.1 200 OK\r\n" + String(repeating: "X: 1\r\n", count: 129) + "\r\n", .fieldCount),
    ]) func saysWhyTheWholeIsRefused(_ text: String, _ rule: ResponseFault.Rule) {
        Heads.parseResponse(Array(text.utf8)) { result, head, _ in
            #expect(result == .malformed && head.fault?.rule == rule)
        }
    }

    private static func check(_ shape: Shape) {
        Heads.parseResponse(Array(shape.text.utf8)) { result, head, bytes in
            guard let expected = shape.expected else {
                #expect(result == .malformed, "\(shape.text.debugDescription)")
                return
            }
            #expect(result == .complete, "\(shape.text.debugDescription)")
            guard result == .complete else { return }
            let found = Shape.Expected(
                status: head.status,
                reason: bytes.text(head.reasonPhrase),
                minorVersion: head.minorVersion,
                framing: head.framing,
                keepsAlive: head.keepsAlive
            )
            #expect(found == expected, "\(shape.text.debugDescription)")
            #expect(head.byteCount == shape.text.utf8.count)
        }
    }

    @Test(arguments: statusLines) func readsOrRefusesTheStatusLine(_ shape: Shape) { Self.check(shape) }

    @Test(arguments: fields) func readsOrRefusesTheFields(_ shape: Shape) { Self.check(shape) }

    @Test(arguments: statusLines + fields) func noPrefixIsAnAnswer(_ shape: Shape) {
        let bytes = Array(shape.text.utf8)
        for count in 1..<bytes.count {
            let result = Heads.parseResponse(Array(bytes[0..<count])) { result, _, _ in result }
            #expect(result != .complete, "\(count) bytes of \(shape.text.debugDescription)")
            if shape.expected != nil {
                #expect(result == .incomplete, "\(count) bytes of \(shape.text.debugDescription)")
            }
        }
    }

    @Test func aHeadOfAMegabyteIsRefusedAtTheLimit() {
        let start = "HTTP/1.1 200 OK\r\nX: "
        func result(_ count: Int, end: String) -> ResponseParseResult {
            Heads.parseResponse(Array((start + String(repeating: "x", count: count) + end).utf8)) { result, _, _ in
                result
            }
        }
        #expect(result(60_000, end: "\r\n\r\n") == .complete)
        #expect(result(1 << 20, end: "\r\n\r\n") == .malformed)
        #expect(result(1 << 20, end: "") == .malformed)
        let line = "HTTP/1.1 200 " + String(repeating: "x", count: 1 << 20)
        #expect(Heads.parseResponse(Array(line.utf8)) { result, _, _ in result } == .malformed)
        let many = "HTTP/1.1 200 OK\r\n" + String(repeating: "X: 1\r\n", count: 129) + "\r\n"
        #expect(Heads.parseResponse(Array(many.utf8)) { result, _, _ in result } == .malformed)
    }

    @Test func knowsWhatItsFieldsMean() {
        let text = Self.ok(
            "Upgrade: websocket",
            "WWW-Authenticate: Negotiate abc",
            "Content-Type: text/event-stream; charset=utf-8",
            "Date: x",
            "Cache-Control: public",
            "Cache-Control: no-store",
            "X-Auth-Subject: evil",
            "x_auth_groups: evil",
            "Keep-Alive: 5",
            "X: 1"
        )
        Heads.parseResponse(Array(text.utf8)) { result, head, bytes in
            #expect(result == .complete)
            #expect(head.upgradesToWebSocket && head.bindsConnection && head.isEventStream)
            #expect(head.hasCacheControl && !head.hasLocation)
            let dropped = head.fields(in: bytes) { $0.isDropped }.map(\.name)
            #expect(dropped == ["Upgrade", "X-Auth-Subject", "x_auth_groups", "Keep-Alive"])
        }
        for scheme in ["NTLM", "ntlm TlRMTVNTUAAC", "NEGOTIATE"] {
            Heads.parseResponse(Array(Self.ok("www-authenticate: \(scheme)").utf8)) { _, head, _ in
                #expect(head.bindsConnection)
            }
        }
        Heads.parseResponse(Array(Self.ok("WWW-Authenticate: Basic realm=\"NTLM\"").utf8)) { _, head, _ in
            #expect(!head.bindsConnection)
        }
    }

    /// "Intermediaries MUST [...] remove any header or trailer field(s) from the message with the same name as the
    /// connection-option" (RFC 9110 7.6.1).
    @Test func takesOffWhatConnectionNames() {
        let text = Self.ok("Connection: X-Hop, close", "X-Hop: 1", "x-hop: 2", "X-Stays: 1")
        Heads.parseResponse(Array(text.utf8)) { result, head, bytes in
            #expect(result == .complete)
            #expect(head.fields(in: bytes) { !$0.isDropped } == [Field("X-Stays", "1")])
        }
    }

    @Test func keepsNothingOfAnEarlierResponse() {
        let head = ResponseHead(fieldCount: 16)
        func parse(_ text: String) -> ResponseParseResult {
            Array(text.utf8).withUnsafeBufferPointer { bytes in
                bytes.baseAddress.map { Heads.response.parse($0, bytes.count, into: head) } ?? .incomplete
            }
        }
        #expect(
            parse(
                Self.ok("Connection: close", "Cache-Control: x", "WWW-Authenticate: NTLM", "Transfer-Encoding: chunked")
            ) == .complete
        )
        #expect(parse("HTTP/1.1 201\r\nContent-Length: 3\r\n\r\n") == .complete)
        #expect(head.framing == .length(3) && head.keepsAlive && !head.bindsConnection && !head.hasCacheControl)
        #expect(head.reasonPhrase.isEmpty && head.fields.count == 1)
    }
}
