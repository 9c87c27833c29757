import Foundation
import NIOCore
import RequestPath
import Testing

/// What the gateway changes in the head of a response, and that it changes nothing else.
@Suite struct ResponseWriterTests {
    private static let writer = ResponseWriter(
        sessionCookies: ["__Host-sallyport"],
        handoffCookies: ["session_transfer_token"]
    )
    private static let id = RequestID(seed: 0, sequence: 0, given: Array("id".utf8))

    private static func written(
        _ lines: [String],
        origin: String = "http://127.0.0.1:9000",
        publicOrigin: String = "https://app.example.com",
        framing: OutgoingFraming = .asIs,
        connection: ConnectionField = .none,
        _ change: (inout AnswerChanges) -> Void = { _ in }
    ) -> String {
        let text = "HTTP/1.1 200 OK\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n"
        return Heads.parseResponse(Array(text.utf8)) { result, head, bytes in
            #expect(result == .complete)
            var changes = AnswerChanges(requestID: self.id)
            change(&changes)
            var buffer = ByteBuffer()
            self.writer.write(
                head,
                bytes.base,
                changes,
                origin: Array(origin.utf8),
                publicOrigin: Array(publicOrigin.utf8),
                framing: framing,
                connection: connection,
                date: Array("now".utf8),
                into: &buffer
            )
            return String(buffer: buffer)
        }
    }

    /// The lines between the status line and those that the gateway always writes.
    private static func lines(
        _ lines: [String],
        origin: String = "http://127.0.0.1:9000",
        publicOrigin: String = "https://app.example.com",
        framing: OutgoingFraming = .asIs,
        _ change: (inout AnswerChanges) -> Void = { _ in }
    ) -> [String] {
        let text = self.written(lines, origin: origin, publicOrigin: publicOrigin, framing: framing, change)
        #expect(
            text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.hasSuffix("\r\nX-Request-Id: id\r\n\r\n"),
            "\(text.debugDescription)"
        )
        return text.components(separatedBy: "\r\n").dropFirst().dropLast(3).filter { $0 != "Date: now" }
    }

    @Test func leavesEverythingElseAlone() {
        let fields = [
            "Server:x", "X-Odd:\t a  b ", "Vary: Cookie", "etag: \"\u{E9}\"", "Content-Length: 3",
            "Set-Cookie: a=b; Path=/", "Set-Cookie: c=d",
        ]
        #expect(Self.lines(fields) == fields)
        #expect(Self.lines([]) == [])
    }

    @Test func takesHopByHopFieldsOff() {
        #expect(
            Self.lines([
                "A: 1", "Connection: keep-alive", "Keep-Alive: 5", "B: 2", "Trailer: x", "X-Auth-Email: evil",
                "X-Request-Id: theirs",
            ])
                == ["A: 1", "B: 2"]
        )
    }

    @Test func endsTheHeadAsTheExchangeNeeds() {
        #expect(Self.lines(["Transfer-Encoding: chunked"], framing: .chunked) == ["Transfer-Encoding: chunked"])
        #expect(Self.lines([]) { $0.extraLines = Array("Set-Cookie: x=y\r\n".utf8) } == ["Set-Cookie: x=y"])
        #expect(Self.written([], connection: .close).hasSuffix("X-Request-Id: id\r\nConnection: close\r\n\r\n"))
        #expect(
            Self.written([], connection: .keepAlive).hasSuffix("X-Request-Id: id\r\nConnection: keep-alive\r\n\r\n")
        )
    }

    @Test func anInterimAnswerHasTheAppsFieldsOnly() {
        let lines = [
            "HTTP/1.1 103 Early Hints", "Link: </a>; rel=preload", "Connection: X-Hop", "X-Hop: 1",
            "X-Auth-Email: evil",
            "X-Request-Id: theirs", "Set-Cookie: __Host-sallyport=x", "Location: http://a/b", "Content-Length: 5",
        ]
        let text = lines.map { $0 + "\r\n" }.joined() + "\r\n"
        let written = Heads.parseResponse(Array(text.utf8)) { result, head, bytes in
            #expect(result == .complete)
            var buffer = ByteBuffer()
            Self.writer.writeInterim(
                head,
                bytes.base,
                AnswerChanges(requestID: Self.id),
                origin: Array("http://a".utf8),
                publicOrigin: Array("https://app.example.com".utf8),
                into: &buffer
            )
            return String(buffer: buffer)
        }
        #expect(
            written
                == "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nLocation: https://app.example.com/b\r\n\r\n"
        )
    }

    // MARK: Set-Cookie

    @Test(arguments: [
        "__Host-sallyport=evil; Path=/; Secure", "__Host-sallyport = evil", "\t__Host-sallyport=", "__Host-sallyport",
        "session_transfer_token=x; Domain=example.com", "session_transfer_token;x",
        "__Host-sallyport-signin-x=y; Path=/; Secure", "__Host-sallyport-attempt=x", "__Host-sallyport- =x",
        "=__Host-sallyport-x=y",
        // A browser returns a cookie without a name as its bare value: `Cookie: session_transfer_token=x`.
        "=session_transfer_token=x", " = session_transfer_token=x; Path=/",
    ]) func dropsACookieThatIsOurs(_ cookie: String) {
        #expect(
            Self.lines(["A: 1", "Set-Cookie: \(cookie)", "set-cookie: a=b"]) == ["A: 1", "set-cookie: a=b"],
            "\(cookie)"
        )
    }

    @Test(arguments: [
        "a=__Host-sallyport=x", "__host-sallyport=x", "__Host-sallyport2=x", "x__Host-sallyport=x", "", "=x",
        "__Host-sallyport_x=y", "__Host-sallyportx-y=z", "a; __Host-sallyport=x",
        "SESSION_TRANSFER_TOKEN=x",
    ]) func leavesAnyOtherCookie(_ cookie: String) {
        #expect(Self.lines(["Set-Cookie: \(cookie)"]) == ["Set-Cookie: \(cookie)"])
    }

    // MARK: Location

    @Test(arguments: [
        ("http://127.0.0.1:9000", "https://app.example.com"), ("http://127.0.0.1:9000/", "https://app.example.com/"),
        ("http://127.0.0.1:9000/a?b#c", "https://app.example.com/a?b#c"),
        ("http://127.0.0.1:9000?b", "https://app.example.com?b"),
        ("http://127.0.0.1:9000#c", "https://app.example.com#c"),
        // Another origin than the app's own is not changed.
        ("http://127.0.0.1:90001/", "http://127.0.0.1:90001/"),
        ("http://127.0.0.1:9000.evil.example/", "http://127.0.0.1:9000.evil.example/"),
        ("http://127.0.0.1:9000@evil.example/", "http://127.0.0.1:9000@evil.example/"),
        ("http://127.0.0.1/", "http://127.0.0.1/"),
        ("https://127.0.0.1:9000/", "https://127.0.0.1:9000/"), ("/a", "/a"),
        ("//127.0.0.1:9000/a", "https://app.example.com/a"), ("", ""), ("//", "//"), ("///a", "///a"),
        ("http://127.0.0.1:09000/a", "https://app.example.com/a"), ("http:/127.0.0.1:9000/", "http:/127.0.0.1:9000/"),
        ("http:127.0.0.1:9000/", "http:127.0.0.1:9000/"), ("//127.0.0.1/a", "//127.0.0.1/a"),
        ("http://u@127.0.0.1:9000/", "http://u@127.0.0.1:9000/"), ("http://127.0.0.1:/", "http://127.0.0.1:/"),
        ("http://127.0.0.1:9000\\@evil.example/", "http://127.0.0.1:9000\\@evil.example/"),
        ("https://other.example/?u=http://127.0.0.1:9000/", "https://other.example/?u=http://127.0.0.1:9000/"),
    ]) func makesTheAppsOwnOriginPublic(_ value: String, _ expected: String) {
        #expect(Self.lines(["A: 1", "Location: \(value)", "B: 2"]) == ["A: 1", "Location: \(expected)", "B: 2"])
    }

    /// An app that knows its public name may write it in any spelling, and without knowing that its clients come by TLS.
    @Test(arguments: [
        "https://app.example.com", "HTTPS://App.Example.COM", "https://app.example.com:443", "https://app.example.com:",
        "http://app.example.com", "http://app.example.com:80", "http://app.example.com:443", "HTTP://APP.example.com:",
        "//app.example.com", "//app.example.com:443",
    ]) func everySpellingOfThePublicOriginIsOne(_ origin: String) {
        for rest in ["", "/", "/a?b#c", "?b", "#c"] {
            #expect(Self.lines(["Location: \(origin)\(rest)"]) == ["Location: https://app.example.com\(rest)"])
        }
    }

    @Test(arguments: [
        "https://app.example.com:8443/", "http://app.example.com:8080/", "//app.example.com:80/",
        "https://app.example.com:80/", "https://app.example.com.evil.example/", "https://app.example.com@evil.example/",
        "https://evil.example@app.example.com/", "ftp://app.example.com/", "https:\\\\app.example.com/",
        "https://app.example.com:x/", "https://app.example.com:443:443/", "https://xapp.example.com/",
    ]) func whatOnlyResemblesThePublicOriginStays(_ value: String) {
        #expect(Self.lines(["Location: \(value)"]) == ["Location: \(value)"])
    }

    @Test(arguments: [
        ("http://app", "https://a.example:8443", "http://app:80/x"),
        ("http://app", "https://a.example:8443", "//app/x"),
        ("https://app", "http://a.example", "https://app:443/x"),
        ("http://[::1]", "https://a.example", "http://[::1]:80/x"),
        ("http://[::1]:9000", "https://a.example", "//[::1]:9000/x"),
        ("http://app:8", "http://a.example", "//A.EXAMPLE:80/x"),
        ("http://app:8", "https://a.example:8443", "http://a.example:8443/x"),
        ("http://app:8", "https://[2001:db8::1]", "http://[2001:DB8::1]/x"),
    ]) func defaultPortsBelongToTheirSchemes(_ origin: String, _ publicOrigin: String, _ value: String) {
        #expect(
            Self.lines(["Location: \(value)"], origin: origin, publicOrigin: publicOrigin)
                == ["Location: \(publicOrigin)/x"]
        )
    }

    // MARK: Date

    /// RFC 9110 6.6.1.
    @Test func anAnswerWithoutADateGetsOne() {
        #expect(Self.written([]).contains("\r\nDate: now\r\n"))
        #expect(Self.written(["Connection: date", "Date: x"]).components(separatedBy: "Date: ").count == 2)
        for name in ["Date", "date", "DATE"] {
            let written = Self.written(["\(name): Fri, 01 May 2026 00:00:00 GMT"])
            #expect(written.contains("\r\n\(name): Fri, 01 May 2026 00:00:00 GMT\r\n") && !written.contains("now"))
        }
        // A field with such a name is another one to clients.
        #expect(Self.written(["Da_te: x"]).contains("\r\nDate: now\r\n"))
    }

    @Test func aLongPublicOriginHasRoom() {
        let long = "https://" + String(repeating: "long.", count: 49) + "example"
        #expect(Self.lines(["Location:http://a"], origin: "http://a", publicOrigin: long) == ["Location:\(long)"])
    }

    // MARK: Cache-Control (T36)

    @Test(arguments: [
        ([], ["Cache-Control: private"]),
        (["Cache-Control: public"], ["Cache-Control: private"]),
        (["cache-control:public,max-age=60,s-maxage=600"], ["Cache-Control: private, max-age=60"]),
        (["Cache-Control: max-age=60"], ["Cache-Control: private, max-age=60"]),
        (["Cache-Control: no-cache, PUBLIC, S-MaxAge=1"], ["Cache-Control: private, no-cache"]),
        (["Cache-Control: private"], ["Cache-Control: private"]),
        (["Cache-Control: Private, max-age=1"], ["Cache-Control: Private, max-age=1"]),
        (["Cache-Control: no-store"], ["Cache-Control: no-store"]),
        (["Cache-Control:"], ["Cache-Control: private"]),
        (["Cache-Control: a,b,c,d,e,f,g,h"], ["Cache-Control: private, a, b, c, d, e, f, g, h"]),
    ]) func marksWhatCarriesAnIdentityPrivate(_ lines: [String], _ expected: [String]) {
        #expect(Self.lines(lines) { $0.marksPrivate = true } == expected)
        #expect(Self.lines(lines) == lines)
    }

    /// For the caches that know them they replace `Cache-Control` (RFC 9213).
    @Test(arguments: [
        "CDN-Cache-Control", "cloudflare-cdn-cache-control", "Vercel-CDN-Cache-Control", "Netlify-CDN-Cache-Control",
        "X-LiteSpeed-Cache-Control", "Surrogate-Control", "SURROGATE-CONTROL", "Edge-Control", "X-Accel-Expires",
    ]) func noFieldForSomeCachesKeepsItPublic(_ name: String) {
        let lines = ["A: 1", "\(name): public, max-age=600", "Cache-Control: no-store", "B: 2"]
        #expect(Self.lines(lines) { $0.marksPrivate = true } == ["A: 1", "Cache-Control: no-store", "B: 2"])
        #expect(Self.lines(lines) == lines)
    }

    @Test func otherFieldsOfCachesStay() {
        let lines = [
            "Cache-Status: x", "Surrogate-Key: a", "CDN-Cache-Controls: x", "-Cache-Control: x", "X-Cache: HIT",
        ]
        #expect(Self.lines(lines) { $0.marksPrivate = true } == lines + ["Cache-Control: private"])
    }

    /// All lines of one name are one list (RFC 9110 5.3): none of them may let a shared cache keep the response.
    @Test(arguments: [
        ["Cache-Control: no-cache", "Cache-Control: public, max-age=600"],
        ["Cache-Control: private", "Cache-Control: public"],
        ["Cache-Control: max-age=1", "Cache-Control: s-maxage=600"],
    ]) func noLineOfSeveralKeepsItPublic(_ lines: [String]) {
        let text = Self.written(lines) { $0.marksPrivate = true }.lowercased()
        #expect(text.contains("private") || text.contains("no-store"))
        #expect(!text.contains("public") && !text.contains("s-maxage"), "\(text)")
    }
}
