import NIOCore
import RequestPath
import Testing

/// What of a trailer section passes, whatever the sizes of the pieces in which it arrives.
@Suite("Trailers") struct TrailerRulesTests {
    private static let rules = TrailerRules(
        managedNames: ["remote-user", "x-real-ip", "x-team"],
        managedPrefixes: ["x-auth-", "x-forwarded-"],
        requestLimits: HeadLimits(line: 0, field: 200, fields: 1000, fieldCount: 5),
        answerLimits: HeadLimits(line: 0, field: 400, fields: 2000, fieldCount: 6),
        dropsUnderscore: true
    )

    private enum Outcome: Equatable {
        case passed(String)
        case tooLarge, refused
        case unfinished, malformed
    }

    /// What passes of a body's trailers.
    private static func outcome(
        _ text: String,
        step: Int = .max,
        ofAnswer isAnswers: Bool = false,
        lenient isLenient: Bool = false,
        isRewritten: Bool = false
    ) -> Outcome {
        let section = isAnswers ? Self.rules.sectionOfAnswer : Self.rules.sectionOfRequest
        var decoder = BodyDecoder(.chunked, ofAnswer: isAnswers, lenient: isLenient)
        var rest = Array(text.utf8)[...]
        var input = ByteBuffer()
        var progress = BodyProgress.more
        while progress == .more, !rest.isEmpty {
            input.writeBytes(rest.prefix(step))
            rest = rest.dropFirst(step)
            progress = decoder.decode(&input, BodyDecoder.drop, trailers: { section.take($0, of: &$1) })
        }
        switch progress {
        case .more: return .unfinished
        case .malformed: return .malformed
        case .end: break
        }
        let outcome =
            isAnswers
            ? Self.rules.check(section, ofAnswerOn: nil, isRewritten: isRewritten)
            : Self.rules.check(section, ofRequestOn: nil)
        switch outcome {
        case .passed(let trailers): return .passed(String(decoding: trailers?.lines ?? [], as: UTF8.self))
        case .tooLarge: return .tooLarge
        case .refused: return .refused
        }
    }

    private static func body(_ lines: String...) -> String {
        "5\r\nhello\r\n0\r\n" + lines.map { "\($0)\r\n" }.joined() + "\r\n"
    }

    @Test("Whole lines pass with the blanks around their values removed, however the bytes are cut")
    func whole() {
        let text = Self.body("X-Checksum:  abc \t", "server-timing: db;dur=1, cache", "Empty:", "ETag: \"x\"")
        let passed = "X-Checksum: abc\r\nserver-timing: db;dur=1, cache\r\nEmpty: \r\nETag: \"x\"\r\n"
        for step in [1, 2, 3, 5, 8, 13, .max] {
            #expect(Self.outcome(text, step: step) == .passed(passed), "\(step)")
            #expect(Self.outcome(text, step: step, ofAnswer: true) == .passed(passed), "\(step)")
        }
        #expect(Self.outcome(Self.body()) == .passed(""))
        #expect(Self.outcome(String(text.dropLast())) == .unfinished)
    }

    @Test("Lines of an old server may end with LF alone, and are passed on with CRLF")
    func lenient() {
        let text = "5\nhello\n0\nX-A: b\nX-C: d \r\n\n"
        for step in [1, 2, 7, .max] {
            let outcome = Self.outcome(text, step: step, ofAnswer: true, lenient: true)
            #expect(outcome == .passed("X-A: b\r\nX-C: d\r\n"), "\(step)")
        }
    }

    /// What never passes, in either direction: framing, routing, credentials, identity, cookies, fields of one connection.
    private static let dropped = [
        "X-Auth-Subject: root", "x-auth-subject: root", "X_Auth_Subject: root", "X.Auth.Roles: admin", "x-AUTH-: a",
        "Remote-User: root", "REMOTE_USER: root", "Remote.User: root", "X-Team: admins", "X-Forwarded-For: 192.0.2.1",
        "X-Forwarded-Anything: a", "X-Real-IP: 192.0.2.1", "Forwarded: for=192.0.2.1", "X-Request-Id: 1",
        "X-Session-Token: a", "DPoP: a", "Proxy-Authorization: Basic YTpi", "WWW-Authenticate: Basic",
        "Proxy-Authenticate: Basic", "Authentication-Info: a", "Set-Cookie2: a=b", "Cookie2: a=b",
        "Location: https://evil.example/", "Content-Location: /x", "Refresh: 0; url=/x", "Link: </x>; rel=next",
        "Keep-Alive: timeout=5", "Proxy-Connection: keep-alive", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk",
        "Trailers: a", "Max-Forwards: 1", "Via: 1.1 a", "Cache-Control: public", "CDN-Cache-Control: public",
        "Surrogate-Control: max-age=60", "Expires: 0", "Age: 1", "Vary: *", "Date: now", "Pragma: no-cache",
        "Strict-Transport-Security: max-age=0", "Access-Control-Allow-Origin: *", "Content-Security-Policy: a",
        "Content-Disposition: inline", "Sec-WebSocket-Accept: a", "Sec-Fetch-Site: same-origin", "Origin: null",
        "Referer: /", "User-Agent: a", "Accept: */*", "If-Match: *", "Range: bytes=0-", "Traceparent: a",
        "X-HTTP-Method-Override: DELETE", "Early-Data: 1", "Destination: /x", "HX-Redirect: /x", "Status: 200",
    ]

    @Test("Fields that frame, route, authenticate, identify or belong to a head are dropped in both directions")
    func smuggling() {
        for line in Self.dropped {
            let text = Self.body("X-A: 1", line, "X-B: 2")
            #expect(Self.outcome(text) == .passed("X-A: 1\r\nX-B: 2\r\n"), "\(line)")
            #expect(Self.outcome(text, ofAnswer: true) == .passed("X-A: 1\r\nX-B: 2\r\n"), "\(line)")
        }
    }

    @Test(
        "Fields that nobody sends behind a body without intent refuse a request, and are dropped from an answer",
        arguments: [
            "Content-Length: 9", "Transfer-Encoding: chunked", "Host: evil.example", "Authorization: Bearer a",
            "Cookie: a=b", "Set-Cookie: a=b", "Connection: X-A", "TE: trailers", "Trailer: X-A", "Expect: 100-continue",
            "Content-Type: text/html", "Content-Encoding: gzip", "Content-Range: bytes 0-1/2",
        ]
    )
    func refused(_ line: String) {
        let text = Self.body("X-A: 1", line)
        for step in [1, 4, .max] { #expect(Self.outcome(text, step: step) == .malformed) }
        #expect(Self.outcome(text, ofAnswer: true) == .passed("X-A: 1\r\n"))
        #expect(Self.outcome(text.lowercased(), ofAnswer: true) == .passed("x-a: 1\r\n"))
        // A stream of HTTP/2 has no decoder that refuses them first.
        let section = Self.rules.sectionOfRequest
        var buffer = ByteBuffer(string: "\(line)\r\n")
        section.take(buffer.readableBytes, of: &buffer)
        guard case .refused = Self.rules.check(section, ofRequestOn: nil) else {
            Issue.record("\(line) is not refused")
            return
        }
    }

    @Test("Names with an underscore never reach the app where heads may not have them")
    func underscores() {
        let text = Self.body("X_Sum: 1", "X-Sum: 2")
        #expect(Self.outcome(text) == .passed("X-Sum: 2\r\n"))
        #expect(Self.outcome(text, ofAnswer: true) == .passed("X_Sum: 1\r\nX-Sum: 2\r\n"))
    }

    @Test("A digest of content that the gateway has rewritten is dropped")
    func digests() {
        let text = Self.body("Content-Digest: sha-256=:a:", "Repr-Digest: sha-256=:a:", "Digest: a", "X-A: 1")
        #expect(Self.outcome(text, ofAnswer: true, isRewritten: true) == .passed("X-A: 1\r\n"))
        let all = "Content-Digest: sha-256=:a:\r\nRepr-Digest: sha-256=:a:\r\nDigest: a\r\nX-A: 1\r\n"
        #expect(Self.outcome(text, ofAnswer: true) == .passed(all))
    }

    @Test("The limits of a head are those of trailers: bytes, bytes of a field, and fields")
    func limits() {
        func fields(_ count: Int, _ length: Int) -> String {
            "0\r\n" + (0..<count).map { "X-\($0): \(String(repeating: "v", count: length))\r\n" }.joined() + "\r\n"
        }
        func isPassed(_ text: String, ofAnswer isAnswers: Bool = false) -> Bool {
            if case .passed = Self.outcome(text, ofAnswer: isAnswers) { return true }
            return false
        }
        #expect(isPassed(fields(5, 100)) && Self.outcome(fields(6, 1)) == .tooLarge)
        #expect(Self.outcome(fields(5, 195)) == .tooLarge && Self.outcome(fields(1, 200)) == .tooLarge)
        #expect(isPassed(fields(6, 200), ofAnswer: true) && Self.outcome(fields(7, 1), ofAnswer: true) == .tooLarge)
        #expect(Self.outcome(fields(1, 400), ofAnswer: true) == .tooLarge)
        #expect(Self.outcome(fields(6, 340), ofAnswer: true) == .tooLarge)
        // The decoder's own limit is first, as for extensions of chunks.
        #expect(Self.outcome(fields(1, 20_000), ofAnswer: true) == .malformed)
    }

    @Test("Fields of HTTP/2 count with an overhead, as they do in a head")
    func overhead() {
        let section = TrailerSection(limit: 100)
        let field = Array("abcdefgh".utf8)
        func append() { field.withUnsafeBufferPointer { section.append($0, $0, overhead: 32) } }
        for _ in 0..<2 { append() }
        #expect(
            !section.isTooLarge && String(decoding: section.lines, as: UTF8.self).hasSuffix("abcdefgh: abcdefgh\r\n")
        )
        append()
        #expect(section.isTooLarge && !section.isFarTooLarge && section.lines.count == 40)
        for _ in 0..<6 { append() }
        #expect(section.isFarTooLarge && section.lines.count == 40)
    }
}
