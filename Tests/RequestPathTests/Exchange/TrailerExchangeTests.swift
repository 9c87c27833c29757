import AddressIntelligence
import NIOCore
import NIOEmbedded
import RequestPath
import Settings
import Testing
import Transport
import Vocabulary

/// Trailers on their way between a client and an app, without sockets.
@Suite("Trailers of an exchange") struct TrailerExchangeTests {
    private static let trailers = "X-Sum: 1\r\nX-Auth-Subject: root\r\nX_Auth_Subject: root\r\nLocation: /x\r\n"
    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    private static func chunks(_ trailers: String = Self.trailers) -> String { "5\r\nhello\r\n0\r\n\(trailers)\r\n" }

    private static func post(_ trailers: String = Self.trailers, _ fields: [String] = []) -> String {
        ExchangeBench.request("POST", ["Transfer-Encoding: chunked"] + fields, body: self.chunks(trailers))
    }

    /// A client of HTTP/1 on a scripted stream, with an app on scripted connections.
    private struct Client {
        let bench: ExchangeBench
        let stream = ScriptedStream()
        let connection: HTTP1Connection

        init(_ change: (inout Settings) -> Void = { _ in }) throws {
            self.bench = try ExchangeBench([], change)
            let gate = ConnectionGate(LimitSettings(), trusted: [])
            gate.reserve()
            let address = try #require(IPAddress("192.0.2.1"))
            self.connection = HTTP1Connection(
                loop: self.bench.loop,
                stream: self.stream,
                place: try #require(gate.name(address, now: .now())),
                acceptedAt: .now()
            )
            self.connection.open()
        }

        /// Sends a request, and returns the app that it reaches.
        func send(_ request: String, step: Int = .max) -> ScriptedApp {
            let app = ScriptedApp()
            self.bench.pool.kept = [app]
            var rest = Array(request.utf8)[...]
            while !rest.isEmpty {
                self.stream.come(Array(rest.prefix(step)))
                rest = rest.dropFirst(step)
                if !app.headText.isEmpty, !app.hasSent { app.send() }
            }
            return app
        }
    }

    // MARK: Answers

    @Test(
        "Trailers go to a client of HTTP/1 that takes them behind the last chunk, and to no other one",
        arguments: [
            (["TE: trailers"], true), (["TE: trailers", "Connection: TE"], true), (["TE: gzip, Trailers"], true),
            (["TE: gzip", "TE: trailers"], true), ([], false), (["TE: gzip"], false), (["TE: trailers;q=1"], false),
            (["X-TE: trailers"], false), (["T_E: trailers"], false),
        ]
    )
    func accepted(_ fields: [String], _ isPassed: Bool) throws {
        let client = try Client()
        for _ in 0..<2 {
            let app = client.send(ExchangeBench.request("GET", fields))
            #expect(!app.headText.contains("\r\nTE:"))
            _ = app.answer(Self.chunked + Self.chunks())
            let sent = client.stream.sent()
            #expect(sent.contains("\r\nTransfer-Encoding: chunked\r\n"))
            #expect(sent.hasSuffix("5\r\nhello\r\n0\r\n\(isPassed ? "X-Sum: 1\r\n" : "")\r\n"), "\(sent)")
            #expect(!client.connection.isBusy)
        }
        // The answer to the next request has none, whatever the one before it had.
        let plain = client.send(ExchangeBench.request("GET", fields))
        _ = plain.answer(Self.chunked + Self.chunks(""))
        #expect(client.stream.sent().hasSuffix("5\r\nhello\r\n0\r\n\r\n"))
    }

    @Test("An answer without chunks has no trailers: to HTTP/1.0, to HEAD, and where nothing passes")
    func withoutChunks() throws {
        let client = try Client()
        let old = client.send(
            "GET /app/x HTTP/1.0\r\nHost: app.example.com\r\nTE: trailers\r\nConnection: keep-alive\r\n\r\n"
        )
        _ = old.answer(Self.chunked + Self.chunks())
        #expect(client.stream.sent().hasSuffix("\r\n\r\nhello"))
        let other = try Client()
        let empty = other.send(ExchangeBench.request("GET", ["TE: trailers"]))
        _ = empty.answer(Self.chunked + Self.chunks("X-Auth-Subject: root\r\nSet-Cookie: a=b\r\n"))
        #expect(other.stream.sent().hasSuffix("5\r\nhello\r\n0\r\n\r\n"))
        let head = other.send(ExchangeBench.request("HEAD", ["TE: trailers"]))
        _ = head.answer(Self.chunked)
        #expect(other.stream.sent().hasSuffix("\r\n\r\n"))
    }

    @Test("Trailers follow content of which the gateway rewrites the references, without a digest of the app's")
    func rewritten() throws {
        let bench = try ExchangeBench([]) { settings in
            settings.hosts[0].routes[0].stripPrefix = "/app"
        }
        let app = ScriptedApp()
        bench.pool.kept = [app]
        try bench.begin(ExchangeBench.request())
        app.send()
        let document = "<D:multistatus xmlns:D=\"DAV:\"><D:href>/x</D:href></D:multistatus>"
        _ = app.answer(
            "HTTP/1.1 207 Multi-Status\r\nContent-Type: application/xml\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "\(String(document.utf8.count, radix: 16))\r\n\(document)\r\n0\r\nX-Sum: 1\r\nDigest: a\r\n\r\n"
        )
        #expect(bench.client.sent.contains("<D:href>/app/x</D:href>"))
        #expect(bench.client.sent.hasSuffix("\r\n0\r\nX-Sum: 1\r\n\r\n"), "\(bench.client.sent)")
        #expect(bench.client.ends == [.next])
    }

    @Test("A route's own changes of heads apply to trailers")
    func edits() throws {
        let bench = try ExchangeBench([]) { settings in
            settings.hosts[0].routes[0].responseHeaders = FieldChanges(set: [], remove: ["X-Sum"])
            settings.hosts[0].routes[0].requestHeaders = FieldChanges(set: [], remove: ["X-Sum"])
        }
        let app = ScriptedApp()
        bench.pool.kept = [app]
        try bench.begin(Self.post("X-Sum: 1\r\nx_sum: 2\r\nX-Other: 3\r\n"))
        app.send()
        #expect(app.sent == "hello" && app.isComplete && app.trailers == "X-Other: 3\r\n")
        _ = app.answer(Self.chunked + Self.chunks("X-Sum: 1\r\nx_sum: 2\r\nX-Other: 3\r\n"))
        #expect(bench.client.sent.hasSuffix("\r\n0\r\nX-Other: 3\r\n\r\n"))
    }

    @Test("An answer with more trailers than a head may have is broken off")
    func tooLarge() throws {
        let bench = try ExchangeBench()
        let app = ScriptedApp()
        bench.pool.kept = [app]
        try bench.begin(ExchangeBench.request())
        app.send()
        // The scripted app keeps 1024 bytes.
        _ = app.answer(Self.chunked + Self.chunks("X-Sum: \(String(repeating: "a", count: 1024))\r\n"))
        #expect(bench.client.ends == [.aborted] && !bench.client.sent.hasSuffix("0\r\n\r\n"))
    }

    // MARK: Requests

    @Test("Trailers of a request in chunks reach the app, whatever the pieces", arguments: [1, 3, 17, 1000])
    func ofRequests(_ step: Int) throws {
        let client = try Client()
        for _ in 0..<2 {
            let app = client.send(Self.post(), step: step)
            #expect(app.sent == "hello" && app.isComplete && app.trailers == "X-Sum: 1\r\n")
            _ = app.answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            #expect(client.stream.sent().hasPrefix("HTTP/1.1 200 "))
        }
        let plain = client.send(Self.post(""), step: step)
        #expect(plain.sent == "hello" && plain.isComplete && plain.trailers.isEmpty)
    }

    @Test("A request whose Connection names a field has its trailers dropped, except for TE")
    func nominated() throws {
        let client = try Client()
        let app = client.send(Self.post("X-Sum: 1\r\nX-Hop: 1\r\n", ["Connection: X-Hop"]))
        #expect(app.isComplete && app.trailers.isEmpty)
        let other = try Client()
        let taken = other.send(Self.post("X-Sum: 1\r\n", ["TE: trailers", "Connection: TE"]))
        #expect(taken.isComplete && taken.trailers == "X-Sum: 1\r\n")
    }

    @Test(
        "A request with a trailer that nobody sends without intent never reaches the app as a whole one",
        arguments: ["Content-Length: 1", "Host: a", "Cookie: a=b", "Authorization: a", "Transfer-Encoding: chunked"]
    )
    func refused(_ line: String) throws {
        let client = try Client()
        let app = client.send(Self.post("X-Sum: 1\r\n\(line)\r\n"))
        #expect(!app.isComplete && app.isAbandoned)
        #expect(client.stream.sent().hasPrefix("HTTP/1.1 400 "))
    }

    @Test("A request with more trailers than a head may have is refused as one with such a head")
    func tooLargeRequest() throws {
        let client = try Client { $0.limits.field = 100 }
        let app = client.send(Self.post("X-Sum: \(String(repeating: "a", count: 100))\r\n"))
        #expect(!app.isComplete && app.isAbandoned)
        #expect(client.stream.sent().hasPrefix("HTTP/1.1 431 "))
    }

    /// The rest of the body is discarded before our own answer, and its trailers with it.
    @Test("A request that we answer ourselves leaves no trailers to the next one", arguments: [0, 1, 4, 9, 12, 17, 20])
    func ofNobody(_ cut: Int) throws {
        let client = try Client()
        let body = Array(Self.chunks("X-Sum: 1\r\n").utf8)
        let head = ExchangeBench.request("POST", path: "/none", ["Transfer-Encoding: chunked"])
        client.stream.come(Array(head.utf8) + body.prefix(cut))
        client.stream.come(Array(body.dropFirst(cut)))
        #expect(client.stream.sent().hasPrefix("HTTP/1.1 404 "))
        let app = client.send(Self.post(""))
        #expect(app.sent == "hello" && app.isComplete && app.trailers.isEmpty)
    }

    @Test("A request whose app fails within its trailers leaves none of them to the next one")
    func ofAFailedApp() throws {
        let client = try Client()
        let body = Self.chunks("X-Sum: 1\r\nX-Other: 2\r\n")
        let app = client.send(ExchangeBench.request("POST", ["Transfer-Encoding: chunked"]) + body.prefix(20))
        #expect(app.sent == "hello" && !app.isComplete)
        app.end { $0.upstreamFailed(.upstreamReset) }
        client.stream.come(String(body.dropFirst(20)))
        #expect(client.stream.sent().hasPrefix("HTTP/1.1 502 "))
        let next = client.send(Self.post("X-Third: 3\r\n"))
        #expect(next.sent == "hello" && next.isComplete && next.trailers == "X-Third: 3\r\n")
    }

    // MARK: A connection to an app

    private struct App {
        let bench: ExchangeBench
        let stream = ScriptedStream()
        let connection: UpstreamConnection

        init() throws {
            self.bench = try ExchangeBench()
            self.connection = try self.bench.keep(self.stream).connection
        }

        func send(_ request: String) throws {
            try self.bench.begin(request)
            self.bench.eventLoop.run()
        }
    }

    @Test("A connection to an app carries trailers behind the last chunk, and only there")
    func carried() throws {
        let app = try App()
        try app.send(Self.post())
        #expect(app.stream.sent().hasSuffix("\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"))
        let plain = try App()
        try plain.send(Self.post(""))
        #expect(plain.stream.sent().hasSuffix("\r\n\r\n5\r\nhello\r\n0\r\n\r\n"))
    }

    @Test("An app's trailers come in pieces, and the connection is used again", arguments: [1, 3, 16, 1000])
    func inPieces(_ step: Int) throws {
        let app = try App()
        try app.send(ExchangeBench.request())
        var rest = Array((Self.chunked + Self.chunks()).utf8)[...]
        while !rest.isEmpty {
            app.stream.come(Array(rest.prefix(step)))
            rest = rest.dropFirst(step)
        }
        #expect(app.bench.client.sent.hasSuffix("\r\n0\r\nX-Sum: 1\r\n\r\n"), "\(app.bench.client.sent)")
        #expect(app.bench.client.ends == [.next] && app.connection.isUsable)
    }

    @Test("An answer whose Connection names a field has its trailers dropped")
    func nominatedByTheApp() throws {
        let app = try App()
        try app.send(ExchangeBench.request())
        app.stream.come(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: X-Hop\r\n\r\n"
                + Self.chunks("X-Hop: 1\r\nX-Sum: 1\r\n")
        )
        #expect(app.bench.client.sent.hasSuffix("5\r\nhello\r\n0\r\n\r\n"))
        #expect(app.bench.client.ends == [.next] && app.connection.isUsable)
    }

    @Test(
        "Malformed trailers break an answer off",
        arguments: [
            "X-A\r\n", ": a\r\n", "X A: b\r\n", "X-A : b\r\n", "X-A: \u{0}\r\n", "X-A: b\r\n c\r\n", "X-A: b\n",
        ]
    )
    func malformed(_ line: String) throws {
        let app = try App()
        try app.send(ExchangeBench.request())
        app.stream.come(Self.chunked + Self.chunks("X-Sum: 1\r\n\(line)"))
        #expect(app.bench.client.ends == [.aborted] && !app.connection.isUsable)
        #expect(!app.bench.client.sent.contains("X-Sum"))
    }
}
