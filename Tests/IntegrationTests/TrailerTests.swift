import GatewayBench
import Testing

/// Trailers through the wire, in both directions.
@Suite("Trailers on the wire", .blocking) struct TrailerTests {
    /// What is never passed on, because it frames, routes, authenticates or identifies.
    private static let dropped = [
        "X-Auth-Subject: root", "x-auth-roles: admin", "X_Auth_Subject: root", "X.Auth.Subject: root",
        "Remote-User: root", "X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: https", "X-Real-IP: 192.0.2.1",
        "Forwarded: for=192.0.2.1", "X-Request-Id: 1", "X-Session-Token: a", "Proxy-Authorization: Basic YTpi",
        "WWW-Authenticate: Basic", "Location: https://evil.example/", "Refresh: 0; url=/", "Keep-Alive: timeout=5",
        "Upgrade: websocket", "Cache-Control: public", "CDN-Cache-Control: public", "Vary: *", "Via: 1.1 a",
        "Strict-Transport-Security: max-age=0", "Access-Control-Allow-Origin: *", "X-HTTP-Method-Override: DELETE",
    ]
    /// What refuses a request, and is dropped from an answer.
    private static let refused = [
        "Authorization: Bearer a", "Cookie: sallyport=a", "Set-Cookie: sallyport=a", "Content-Length: 5",
        "Transfer-Encoding: chunked", "Host: evil.example", "Connection: X-Auth-Subject", "TE: trailers",
        "Trailer: X-Auth-Subject", "Content-Type: text/html", "Content-Encoding: gzip", "Content-Range: bytes 0-1/2",
        "Expect: 100-continue",
    ]

    /// An app that answers each request in chunks, with the line that the request's target is the index of.
    private static let serve = FakeUpstream.answering { link, request in
        let lines = Self.dropped + Self.refused
        let index = Int(request.target.drop { $0 != "?" }.dropFirst())
        let line = index.map { "\(lines[$0])\r\n" } ?? ""
        link.send(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
                + "5\r\nhello\r\n0\r\nX-Sum:  1 \r\n\(line)Server-Timing: db\r\n\r\n"
        )
    }

    private static func post(_ lines: [String], _ fields: [String] = []) -> String {
        Request.get("/", ["Transfer-Encoding: chunked"] + fields, method: "POST")
            + "5\r\nhello\r\n0\r\n" + lines.map { "\($0)\r\n" }.joined() + "\r\n"
    }

    @Test("A client of HTTP/1.1 gets an app's trailers if it takes them, and the connection goes on either way")
    func answers() throws {
        let app = try FakeUpstream(serve: Self.serve)
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            for fields in [
                ["TE: trailers", "Connection: TE"], [], ["TE: gzip"], ["TE: trailers"], ["TE: gzip, trailers"],
            ] {
                let answer = try wire.request(Request.get("/", fields))
                #expect(answer.isWhole && answer.text == "hello", "\(fields): \(answer)")
                let isTaken = fields.contains { $0.hasSuffix("trailers") }
                #expect(answer.trailers == (isTaken ? ["X-Sum: 1", "Server-Timing: db"] : []), "\(fields)")
                #expect(app.requests.last?.values("te") == [])
            }
            let old = try gateway.request("GET / HTTP/1.0\r\nHost: \(Request.host)\r\nTE: trailers\r\n\r\n")
            #expect(old.isWhole && old.text == "hello" && old.value("transfer-encoding") == nil)
            #expect(app.connectionCount == 1)
        }
    }

    @Test("No trailer of an app frames, redirects, sets a cookie or identifies anybody")
    func smuggledAnswers() throws {
        let app = try FakeUpstream(serve: Self.serve)
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            for (index, line) in (Self.dropped + Self.refused).enumerated() {
                let answer = try wire.request(Request.get("/?\(index)", ["TE: trailers"]))
                #expect(answer.isWhole && answer.text == "hello", "\(line): \(answer)")
                #expect(answer.trailers == ["X-Sum: 1", "Server-Timing: db"], "\(line)")
            }
            #expect(app.connectionCount == 1)
        }
    }

    @Test("A request in chunks carries its trailers to the app, without those that only the gateway may set")
    func requests() throws {
        let app = try FakeUpstream(serve: FakeUpstream.answering { link, request in link.answer(body: request.target) })
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            for line in Self.dropped {
                let answer = try wire.request(Self.post(["X-Sum:  1 ", line, "Server-Timing: db"]))
                #expect(answer.status == 200, "\(line): \(answer)")
                let request = try #require(app.requests.last)
                #expect(request.body == Array("hello".utf8), "\(line)")
                #expect(request.trailers == ["X-Sum: 1", "Server-Timing: db"], "\(line)")
            }
            // The request behind one with trailers has none, and none come where `Connection` names fields.
            #expect(try wire.request(Self.post([])).status == 200 && app.requests.last?.trailers == [])
            let nominated = try wire.request(Self.post(["X-Hop: 1"], ["Connection: X-Hop"]))
            #expect(nominated.status == 200 && app.requests.last?.trailers == [])
            #expect(app.connectionCount == 1 && app.requests.count == Self.dropped.count + 2)
        }
    }

    @Test("A request with a trailer that frames, routes or authenticates never reaches the app as a whole one")
    func smuggledRequests() throws {
        let app = try FakeUpstream(serve: FakeUpstream.answering { link, _ in link.answer() })
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            for line in Self.refused {
                let wire = try gateway.connect()
                let answer = try wire.request(Self.post(["X-Sum: 1", line]))
                #expect(answer.status == 400 && answer.reason == "request.framing", "\(line): \(answer)")
                #expect(wire.endsNow(), "\(line)")
            }
            #expect(app.requests.isEmpty)
        }
    }

    @Test("Trailers have the limits of a head")
    func limits() throws {
        let app = try FakeUpstream(serve: FakeUpstream.answering { link, _ in link.answer() })
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port, more: "limits: {field: 1KiB}\n")) { gateway throws in
            let wire = try gateway.connect()
            #expect(try wire.request(Self.post(["X-Sum: \(String(repeating: "a", count: 900))"])).status == 200)
            #expect(app.requests.last?.trailers.first?.utf8.count == 907)
            let refused = try wire.request(Self.post(["X-Sum: \(String(repeating: "a", count: 1100))"]))
            #expect(refused.status == 431 && app.requests.count == 1)
        }
    }
}
