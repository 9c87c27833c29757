import Foundation
import GatewayBench
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// Apps that send more than their answer. The rest must not be taken for the answer to the next user's request.
@Suite("Late bytes of the app", .blocking) struct UpstreamReuseTests {
    private static let poison = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON"
    private static let unasked = #"sallyport_upstream_unasked_total{upstream="http://127.0.0.1:"#

    private func unaskedCount(_ gateway: Gateway, _ app: FakeUpstream) throws -> Double {
        try gateway.metric(Self.unasked + "\(app.port)\"}")
    }

    /// Requests with the body that the app must get exactly once.
    private static let requests: [(request: String, body: String)] = [
        (Request.get("/second"), ""),
        (Request.get("/second", method: "POST"), ""),
        (Request.post("/second", body: "hello"), "hello"),
        (
            Request.get("/second", ["Transfer-Encoding: chunked"], method: "POST") + "3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
            "hello"
        ),
        (Request.get("/second", ["Transfer-Encoding: chunked"], method: "PATCH") + "0\r\n\r\n", ""),
        (Request.post("/second", body: String(repeating: "x", count: 60_000)), String(repeating: "x", count: 60_000)),
    ]

    /// Stops the gateway, sends it a request, and then raises `cue`, on which the app acts. The gateway finds both in
    /// one turn of its loop. Expects the answer to that request.
    private func expectSecond(_ gateway: Gateway, _ request: String, _ cue: Flag, done: Flag) throws {
        let wire = try gateway.connect()
        #expect(try wire.request(Request.get("/first")).text == "/first")
        #expect(eventually { (try? gateway.metric(#"sallyport_upstream_connections{state="idle"}"#)) == 1 })
        gateway.signal(SIGSTOP)
        #expect(eventually { gateway.isPaused })
        wire.send(request)
        #expect(eventually { wire.isDelivered })
        cue.raise()
        #expect(done.isRaised())
        gateway.signal(SIGCONT)
        let answer = try wire.answer()
        #expect(answer.status == 200 && answer.text == "/second", "\(answer.lines) \(answer.text)")
    }

    @Test("Unexpected bytes before the next request is sent close the connection; the request uses another one")
    func beforeTheRequestLeaves() throws {
        for (request, body) in Self.requests {
            let late = Flag()
            let sent = Flag()
            let app = try FakeUpstream { link in
                guard let first = link.next() else { return }
                link.answer(body: first.target)
                guard link.number == 0 else { return FakeUpstream.answering { $0.answer(body: $1.target) }(link) }
                guard late.isRaised(within: 10) else { return }
                link.send(Self.poison)
                _ = eventually(within: 3) { link.wire.isDelivered }
                sent.raise()
                _ = link.next()
            }
            defer { app.stop() }
            try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
                try self.expectSecond(gateway, request, late, done: sent)
                let seconds = app.requests.filter { $0.target == "/second" }
                #expect(seconds.map { String(latin1: $0.body) } == [body])
                #expect(app.connectionCount == 2)
                #expect(try self.unaskedCount(gateway, app) == 1)
            }
        }
    }

    @Test("An app that closes before the next request is sent fails no request, whatever its method")
    func closedBeforeTheRequestLeaves() throws {
        for (request, body) in Self.requests {
            let leave = Flag()
            let left = Flag()
            let app = try FakeUpstream { link in
                guard let first = link.next() else { return }
                link.answer(body: first.target)
                guard link.number == 0 else { return FakeUpstream.answering { $0.answer(body: $1.target) }(link) }
                _ = leave.isRaised(within: 10)
                link.wire.reset()
                left.raise()
            }
            defer { app.stop() }
            try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
                try self.expectSecond(gateway, request, leave, done: left)
                #expect(
                    app.requests.filter { $0.target == "/second" }.map { String(latin1: $0.body) } == [body]
                )
            }
        }
    }

    @Test(
        "Bytes that come a moment after an answer, with or without content, reach no client",
        arguments: [
            ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: \(poison.utf8.count)\r\n\r\n"),
            ("GET", "HTTP/1.1 204 No Content\r\n\r\n"),
            ("GET", "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n"),
            ("GET", "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"),
        ]
    )
    func withoutContent(method: String, head: String) throws {
        let poisoned = Flag()
        let app = try FakeUpstream { link in
            while let request = link.next() {
                guard request.target == "/first" else {
                    link.answer(body: request.target)
                    continue
                }
                link.send(head)
                usleep(200)
                link.send(Self.poison)
                poisoned.raise()
            }
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            for index in 0..<20 {
                let wire = try gateway.connect()
                wire.send(Request.get("/first", method: method))
                #expect(try wire.answer(to: method).isWhole)
                #expect(eventually { poisoned.count > index })
                let next = try wire.request(Request.get("/own/\(index)"))
                #expect(next.text == "/own/\(index)", "\(next.lines)")
                // Nor does another client's connection get them.
                #expect(try gateway.get("/other/\(index)").text == "/other/\(index)")
            }
            #expect(eventually { ((try? self.unaskedCount(gateway, app)) ?? 0) > 0 })
        }
    }

    @Test("If an app sends two answers, the second reaches no client")
    func twoAnswers() throws {
        let poisoned = Flag()
        let app = try FakeUpstream { link in
            while let request = link.next() {
                link.answer(body: request.target)
                guard request.target == "/first" else { continue }
                usleep(200)
                link.send(Self.poison)
                poisoned.raise()
            }
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            for index in 0..<20 {
                let wire = try gateway.connect()
                #expect(try wire.request(Request.get("/first")).text == "/first")
                #expect(eventually { poisoned.count > index })
                #expect(try wire.request(Request.get("/own/\(index)")).text == "/own/\(index)")
            }
            #expect(eventually { ((try? self.unaskedCount(gateway, app)) ?? 0) > 0 })
        }
    }

    @Test("Bytes after an answer that began before the request was complete reach no client")
    func earlyAnswer() throws {
        let poisoned = Flag()
        let app = try FakeUpstream { link in
            while let head = link.nextHead() {
                guard head.target == "/upload" else {
                    link.answer(body: head.target)
                    continue
                }
                link.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok")
                guard link.wire.receive(count: 10) != nil else { return }
                link.send("ok")
                usleep(200)
                link.send(Self.poison)
                poisoned.raise()
            }
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            for index in 0..<10 {
                let wire = try gateway.connect()
                let other = try gateway.connect()
                wire.send(Request.get("/upload", ["Content-Length: 10"], method: "POST") + "hello")
                #expect(wire.receive(through: "\r\n\r\nok") != nil)
                wire.send("world")
                #expect(wire.receive(count: 2) == Array("ok".utf8))
                #expect(eventually { poisoned.count > index })
                #expect(try other.request(Request.get("/own/\(index)")).text == "/own/\(index)")
            }
        }
    }

    @Test("An app that sends bytes before any request gives 502, and is not tried repeatedly")
    func greeting() throws {
        let app = try FakeUpstream { link in
            link.send("220 mail.example.com ESMTP\r\n")
            _ = link.next()
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let answer = try gateway.get()
            #expect(answer.status == 502 && answer.reason == "upstream.malformed", "\(answer.lines)")
            #expect(app.connectionCount == 1)
        }
    }

    private static func numbering() throws -> FakeUpstream {
        try FakeUpstream(serve: FakeUpstream.answering { link, _ in link.answer(body: "\(link.number)") })
    }

    private static func strict(_ app: FakeUpstream, _ reuse: String, more: String = "") -> String {
        Config.file(
            upstream: app.port,
            more: "upstreams:\n  app:\n    url: http://127.0.0.1:\(app.port)\n    reuse: \(reuse)\n\(more)"
        ).replacing("upstream: http://127.0.0.1:\(app.port)\n", with: "upstream: app\n", maxReplacements: 1)
    }

    @Test("With reuse: strict a connection serves one session, and requests without a session never share it")
    func strictReuse() throws {
        for (reuse, expected) in [
            ("shared", ["0", "0", "0", "0", "0", "0"]), ("strict", ["0", "1", "2", "0", "1", "2"]),
        ] {
            let app = try Self.numbering()
            defer { app.stop() }
            try Gateway.with(Self.strict(app, reuse)) { gateway throws in
                let ada = ["Authorization: Bearer \(try gateway.native(.ada))"]
                let grace = ["Cookie: sallyport=\(try gateway.browser(.grace))"]
                var numbers: [String] = []
                for _ in 0..<2 {
                    numbers.append(try gateway.get("/", ada).text)
                    numbers.append(try gateway.get("/", grace).text)
                    numbers.append(try gateway.get("/public/").text)
                }
                #expect(numbers == expected, "\(reuse)")
            }
        }
    }

    @Test("With reuse: strict idle connections of other sessions are closed if no more may be opened")
    func strictRoom() throws {
        let app = try Self.numbering()
        defer { app.stop() }
        try Gateway.with(Self.strict(app, "strict", more: "    max_connections: 2\n")) { gateway throws in
            let tokens = try [User.ada, .grace, .mary].map { try gateway.native($0) }
            for _ in 0..<3 {
                for token in tokens {
                    #expect(try gateway.get("/", ["Authorization: Bearer \(token)"]).status == 200)
                }
            }
        }
    }
}
