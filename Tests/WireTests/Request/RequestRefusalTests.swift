import RequestPath
import Testing
import Vocabulary

/// Every refusal of a request head, with its status and reason.
@Suite struct RequestRefusalTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var text: String
        var status: Int
        var reason: Reason

        init(_ name: String, _ text: String, _ status: Int, _ reason: Reason) {
            self.name = name
            self.text = text
            self.status = status
            self.reason = reason
        }

        var testDescription: String { self.name }
    }

    private static func check(_ item: Case) {
        let result = Heads.result(item.text)
        #expect(result == .refused(item.reason), "\(item.name): \(item.text.debugDescription)")
        #expect(item.reason.status == item.status, "\(item.name)")
    }

    static let lines: [Case] = [
        Case("bare LF after the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n", 400, .requestMalformed),
        Case("nothing but LF", "\n", 400, .requestMalformed),
        Case("bare LF before the request line", "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400, .requestMalformed),
        Case("two empty lines first", "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400, .requestMalformed),
        Case("bare CR first", "\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400, .requestMalformed),
        Case("no method", " / HTTP/1.1\r\nHost: a\r\n\r\n", 400, .requestMalformed),
        Case("method with a colon", "GE:T / HTTP/1.1\r\nHost: a\r\n\r\n", 400, .requestMalformed),
        Case("method beyond ASCII", "G\u{C9}T / HTTP/1.1\r\nHost: a\r\n\r\n", 400, .requestMalformed),
        Case("TAB behind the method", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, .requestMalformed),
        Case("no target", "GET HTTP/1.1\r\nHost: a\r\n\r\n", 400, .requestMalformed),
        Case("empty target", "GET  HTTP/1.1\r\nHost: a\r\n\r\n", 400, .requestTarget),
        Case("two spaces before the version", "GET /  HTTP/1.1\r\nHost: a\r\n\r\n", 400, .requestMalformed),
        Case("space in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400, .requestMalformed),
        Case("space behind the version", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400, .requestMalformed),
        Case("bare CR in the target", "GET /\r HTTP/1.1\r\nHost: a\r\n\r\n", 400, .requestTarget),
        Case("bare CR behind the version", "GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", 400, .requestMalformed),
        Case("no version", "GET /\r\nHost: a\r\n\r\n", 400, .requestMalformed),
        Case("version in lower case", "GET / http/1.1\r\nHost: a\r\n\r\n", 400, .requestMalformed),
        Case("another protocol", "GET / RTSP/1.0\r\nHost: a\r\n\r\n", 400, .requestMalformed),
        Case("another protocol with a shorter name", "GET / ICE/1.0\r\nHost: a\r\n\r\n", 400, .requestMalformed),
        Case("version without a point", "GET / HTTP/1,1\r\nHost: a\r\n\r\n", 400, .requestMalformed),
        Case("version 1.10", "GET / HTTP/1.10\r\nHost: a\r\n\r\n", 400, .requestMalformed),
        Case("version 1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", 505, .requestVersion),
        Case("version 0.9", "GET / HTTP/0.9\r\nHost: a\r\n\r\n", 505, .requestVersion),
        Case("version 2.0", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505, .requestVersion),
        Case("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, .requestVersion),
        Case("NUL in the target", "GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", 400, .requestTarget),
        Case("TAB in the target", "GET /\t HTTP/1.1\r\nHost: a\r\n\r\n", 400, .requestTarget),
        Case("DEL in the target", "GET /\u{7F} HTTP/1.1\r\nHost: a\r\n\r\n", 400, .requestTarget),
        Case("a byte beyond ASCII in the target", "GET /\u{E9} HTTP/1.1\r\nHost: a\r\n\r\n", 400, .requestTarget),
        Case("a fragment in the target", head("GET /a#b HTTP/1.1"), 400, .requestTarget),
        Case("a target that is a name", head("GET a HTTP/1.1"), 400, .requestTarget),
        Case("a relative target", head("GET ../a HTTP/1.1"), 400, .requestTarget),
        Case("`*` with GET", head("GET * HTTP/1.1"), 400, .requestTarget),
        Case("`*` and more", head("OPTIONS *a HTTP/1.1"), 400, .requestTarget),
        Case("authority-form", head("GET a:443 HTTP/1.1"), 400, .requestTarget),
        Case("another scheme", head("GET ftp://a/ HTTP/1.1"), 400, .requestTarget),
        Case("absolute-form without authority", head("GET http:///a HTTP/1.1"), 400, .requestTarget),
        Case("absolute-form without path", head("GET http://a HTTP/1.1"), 400, .requestTarget),
        Case("absolute-form without path, with query", head("GET http://a?b=/ HTTP/1.1"), 400, .requestTarget),
        Case("absolute-form against Host", head("GET http://b/ HTTP/1.1"), 400, .requestHost),
        Case("absolute-form with userinfo", head("GET http://u@a/ HTTP/1.1"), 400, .requestHost),
        Case("absolute-form with another port", head("GET http://a:81/ HTTP/1.1"), 400, .requestHost),
        Case("CONNECT", "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", 405, .requestMethod),
        Case("CONNECT in other letters", head("Connect /x HTTP/1.1"), 405, .requestMethod),
        Case("TRACE in small letters", head("trace /x HTTP/1.1"), 405, .requestMethod),
        Case("CONNECT with a path", head("CONNECT / HTTP/1.1"), 405, .requestMethod),
        Case("TRACE", head("TRACE / HTTP/1.1"), 405, .requestMethod),
    ]

    static let fields: [Case] = [
        Case("bare LF between fields", "GET / HTTP/1.1\r\nHost: a\nX: 1\r\n\r\n", 400, .requestMalformed),
        Case("bare LF at the end", "GET / HTTP/1.1\r\nHost: a\r\n\n", 400, .requestMalformed),
        Case("CR CR LF", "GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", 400, .requestMalformed),
        Case("folded value", head("GET / HTTP/1.1", "X: 1\r\n 2"), 400, .requestMalformed),
        Case("folded value by TAB", head("GET / HTTP/1.1", "X: 1\r\n\t2"), 400, .requestMalformed),
        Case("space before the first field", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400, .requestMalformed),
        Case("space before the colon", head("GET / HTTP/1.1", "X : 1"), 400, .requestMalformed),
        Case("TAB before the colon", head("GET / HTTP/1.1", "Content-Length\t: 1"), 400, .requestMalformed),
        Case("no colon", head("GET / HTTP/1.1", "X"), 400, .requestMalformed),
        Case("no name", head("GET / HTTP/1.1", ": 1"), 400, .requestMalformed),
        Case("name in parentheses", head("GET / HTTP/1.1", "X(y): 1"), 400, .requestMalformed),
        Case("name beyond ASCII", head("GET / HTTP/1.1", "X\u{E9}: 1"), 400, .requestMalformed),
        Case("NUL in a name", head("GET / HTTP/1.1", "X\0: 1"), 400, .requestMalformed),
        Case("NUL in a value", head("GET / HTTP/1.1", "X: 1\u{0}2"), 400, .requestMalformed),
        Case("bare CR in a value", head("GET / HTTP/1.1", "X: 1\rY: 2"), 400, .requestMalformed),
        Case("bare CR deep in a long value", head("GET / HTTP/1.1", "X: 0123456789abc\rdef01"), 400, .requestMalformed),
        Case("DEL in a value", head("GET / HTTP/1.1", "X: \u{7F}"), 400, .requestMalformed),
        Case("BEL in a value", head("GET / HTTP/1.1", "X: 123456\u{7}"), 400, .requestMalformed),
        Case("no Host", "GET / HTTP/1.1\r\n\r\n", 400, .requestHost),
        Case("no Host in 1.0", "GET / HTTP/1.0\r\n\r\n", 400, .requestHost),
        Case("`Host` with an underscore alias only", "GET / HTTP/1.1\r\nX-Host: a\r\n\r\n", 400, .requestHost),
        Case("two Hosts", head("GET / HTTP/1.1", "Host: a"), 400, .requestHost),
        Case("two Hosts in other cases", head("GET / HTTP/1.1", "hOST: b"), 400, .requestHost),
        Case(
            "CL and TE",
            head("POST / HTTP/1.1", "Content-Length: 5", "Transfer-Encoding: chunked"),
            400,
            .requestFraming
        ),
        Case(
            "TE and CL",
            head("POST / HTTP/1.1", "Transfer-Encoding: chunked", "Content-Length: 5"),
            400,
            .requestFraming
        ),
        Case(
            "CL 0 and TE",
            head("POST / HTTP/1.1", "Content-Length: 0", "Transfer-Encoding: chunked"),
            400,
            .requestFraming
        ),
        Case(
            "two CL that agree",
            head("POST / HTTP/1.1", "Content-Length: 5", "Content-Length: 5"),
            400,
            .requestFraming
        ),
        Case(
            "two CL that differ",
            head("POST / HTTP/1.1", "Content-Length: 5", "Content-Length: 6"),
            400,
            .requestFraming
        ),
        Case("TE on 1.0", head("POST / HTTP/1.0", "Transfer-Encoding: chunked"), 400, .requestFraming),
        Case(
            "two TE",
            head("POST / HTTP/1.1", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
            400,
            .requestFraming
        ),
        Case("another expectation", head("POST / HTTP/1.1", "Expect: 200-ok"), 417, .requestExpectation),
        Case(
            "two expectations",
            head("POST / HTTP/1.1", "Expect: 100-continue", "Expect: 100-continue"),
            400,
            .requestMalformed
        ),
        Case(
            "two Authorization",
            head("GET / HTTP/1.1", "Authorization: a", "Authorization: a"),
            400,
            .credentialRepeated
        ),
        Case(
            "two X-Session-Token",
            head("GET / HTTP/1.1", "X-Session-Token: a", "x-session-token: b"),
            400,
            .credentialRepeated
        ),
        Case("two DPoP", head("GET / HTTP/1.1", "DPoP: a", "DPoP: b"), 400, .credentialRepeated),
        Case("two Origin", head("GET / HTTP/1.1", "Origin: http://a", "Origin: http://b"), 400, .requestMalformed),
        Case(
            "two Sec-Fetch-Site",
            head("GET / HTTP/1.1", "Sec-Fetch-Site: none", "Sec-Fetch-Site: none"),
            400,
            .requestMalformed
        ),
        Case(
            "two Sec-Fetch-Mode",
            head("GET / HTTP/1.1", "Sec-Fetch-Mode: cors", "Sec-Fetch-Mode: cors"),
            400,
            .requestMalformed
        ),
        Case(
            "two Sec-Fetch-Dest",
            head("GET / HTTP/1.1", "Sec-Fetch-Dest: empty", "Sec-Fetch-Dest: empty"),
            400,
            .requestMalformed
        ),
        Case(
            "two Content-Type",
            head("POST / HTTP/1.1", "Content-Type: a/b", "Content-Type: a/b"),
            400,
            .requestMalformed
        ),
        Case("two Upgrade", head("GET / HTTP/1.1", "Upgrade: websocket", "Upgrade: websocket"), 400, .requestMalformed),
    ]

    @Test(arguments: lines) func refusesTheRequestLine(_ item: Case) { Self.check(item) }

    @Test(arguments: fields) func refusesTheFields(_ item: Case) { Self.check(item) }

    @Test(arguments: [
        "", " ", "a b", "a,b", "u@a", "a/", "a?", "a#", "a\\b", "a:", "a:b", "a:-1", "a:65536", "a:8 0", "a::1", "::1",
        "[::1", "::1]", "[::1]x", "[::1]:", "[g::1]", "[]", "%61", "http://a", "a%00", "\u{E9}", "a\tb", "a;b", "a=b",
    ]) func refusesTheHost(_ value: String) {
        let text = "GET / HTTP/1.1\r\nHost: \(value)\r\n\r\n"
        #expect(Heads.result(text) == .refused(.requestHost), "\(value)")
    }

    @Test(arguments: [
        "", "-1", "+5", "5,5", "5, 5", "5 5", "0x5", "5.", "5e0", "five", "1234567890123456789", "\u{660}", "5;",
        "\"5\"", "5_0",
    ]) func refusesTheContentLength(_ value: String) {
        let text = head("POST / HTTP/1.1", "Content-Length: \(value)")
        #expect(Heads.result(text) == .refused(.requestFraming), "\(value)")
    }

    @Test(arguments: [
        "", "gzip", "identity", "gzip, chunked", "chunked, gzip", "identity, chunked", ",chunked", "chunked,",
        "chunked, chunked",
        "xchunked", "chunkedx", "chunked;q=1", "\"chunked\"", "chun\u{212A}ed", "chunked x", "[chunked]", "'chunked'",
    ]) func refusesTheTransferEncoding(_ value: String) {
        let text = head("POST / HTTP/1.1", "Transfer-Encoding: \(value)")
        #expect(Heads.result(text) == .refused(.requestFraming), "\(value)")
    }

    /// CVE-2024-45410, CVE-2026-29054, GHSA-w9mr-28mw-j8hg: by naming such a field a client could remove the gateway's.
    @Test(arguments: [
        "X-Auth-Subject", "x-auth-EMAIL", "X_Auth_Subject", "X.Auth.Subject", "X-Auth-Whatever", "Remote-User",
        "remote_user", "X-Real-IP, close",
        "close, x-forwarded-for", "X-Forwarded-Proto", "X-Forwarded-Host", "Forwarded", "X-Request-Id", "Host",
        "Cookie",
        "Authorization", "X-Session-Token", "DPoP", "Content-Length", "Transfer-Encoding", "Origin", "Sec-Fetch-Site",
        "x-a, X-Auth-Subject, x-b", "keep-alive,X-Auth-Groups",
    ]) func refusesToTakeOffWhatIsOurs(_ value: String) {
        for name in ["Connection", "connection", "CONNECTION"] {
            let text = head("GET / HTTP/1.1", "\(name): \(value)")
            #expect(Heads.result(text) == .refused(.requestConnectionNamesIdentity), "\(value)")
        }
    }

    @Test func refusesAConnectionThatIsNoListOfNames() {
        #expect(Heads.result(head("GET / HTTP/1.1", "Connection: a b")) == .refused(.requestMalformed))
        #expect(Heads.result(head("GET / HTTP/1.1", "Connection: \"a\"")) == .refused(.requestMalformed))
    }
}
