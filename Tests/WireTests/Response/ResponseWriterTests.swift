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
            text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.hasSuffix("X-Request-Id: id\r\n\r\n"),
            "\(text.debugDescription)"
        )
        return Array(text.components(separatedBy: "\r\n").dropFirst().dropLast(3))
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
        ("//127.0.0.1:9000/a", "//127.0.0.1:9000/a"), ("", ""),
        ("https://other.example/?u=http://127.0.0.1:9000/", "https://other.example/?u=http://127.0.0.1:9000/"),
    ]) func makesTheAppsOwnOriginPublic(_ value: String, _ expected: String) {
        #expect(Self.lines(["A: 1", "Location: \(value)", "B: 2"]) == ["A: 1", "Location: \(expected)", "B: 2"])
    }

    @Test func aLongPublicOriginHasRoom() {
        let long = "https://" + String(repeating: "long.", count: 49) + "example"
        #expect(Self.lines(["Location:http://a"], origin: "http://a", publicOrigin: long) == ["Location: \(long)"])
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
