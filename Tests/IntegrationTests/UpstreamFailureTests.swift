import Foundation
import GatewayBench
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// Apps that do not listen, hang, or break off before they answer.
@Suite("Failures of the app", .blocking) struct UpstreamFailureTests {
    private func expectProblem(
        _ answer: Answer,
        _ status: Int,
        _ reason: String,
        _ place: SourceLocation = #_sourceLocation
    ) {
        #expect(
            answer.status == status && answer.reason == reason,
            "\(answer.lines) \(answer.text)",
            sourceLocation: place
        )
    }

    @Test("F11: a refused connection gives 502, and the app is used again as soon as it is back")
    func refused() throws {
        let port = try ServerPorts.take()
        try Gateway.with(Config.open(upstream: port)) { gateway throws in
            let wire = try gateway.connect()
            self.expectProblem(try wire.request(Request.get()), 502, "upstream.unreachable")
            self.expectProblem(try wire.request(Request.post("/", body: "hello")), 502, "upstream.unreachable")
            let app = try FakeUpstream(port: port)
            defer { app.stop() }
            #expect(try wire.request(Request.get()).status == 200)
        }
    }

    @Test("F11: if an app does not accept a connection, the connect timeout ends the attempt")
    func connectTimeout() throws {
        // A listener with a full backlog: the kernel answers no further SYN.
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        let port = try ServerPorts.take()
        guard Wire.withAddress("127.0.0.1", port, { bind(descriptor, $0, $1) }) == 0, listen(descriptor, 0) == 0 else {
            throw BenchFailure("no listener")
        }
        var fillers: [Int32] = []
        defer { for filler in fillers { close(filler) } }
        for _ in 0..<4 {
            let filler = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            _ = Wire.withAddress("127.0.0.1", port) { connect(filler, $0, $1) }
            fillers.append(filler)
        }
        try Gateway.with(Config.open(upstream: port, more: "timeouts:\n  connect: 200ms\n")) { gateway throws in
            let answer = try gateway.get()
            #expect(
                [502, 504].contains(answer.status) && answer.reason?.hasPrefix("upstream.") == true,
                "\(answer.lines)"
            )
        }
    }

    @Test("F11: if an app does not answer, the route's timeout gives 504, and a late answer is dropped")
    func responseTimeout() throws {
        let (go, late) = (Flag(), Flag())
        let app = try FakeUpstream { link in
            while let request = link.next() {
                if request.target == "/slow" { _ = go.isRaised(within: 30) }
                link.answer(body: request.target)
                if request.target == "/slow" { late.raise() }
            }
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port, "timeouts:\n  response: 200ms")) { gateway throws in
            let wire = try gateway.connect()
            self.expectProblem(try wire.request(Request.get("/slow")), 504, "upstream.timeout")
            #expect(try wire.request(Request.get("/next")).text == "/next")
            go.raise()
            #expect(late.isRaised())
            #expect(try wire.request(Request.get("/later")).text == "/later")
        }
    }

    @Test("The log says which limit a 504 comes from, and on which route", arguments: [true, false])
    func namedLimit(ofRoute: Bool) throws {
        let app = try FakeUpstream { link in _ = link.wire.receiveAll(seconds: 60) }
        defer { app.stop() }
        let limit = "timeouts: {response: 300ms}\n"
        let settings = Config.open(upstream: app.port, ofRoute ? limit : "", more: ofRoute ? "" : limit)
        try Gateway.with(settings) { gateway throws in
            self.expectProblem(try gateway.get("/slow"), 504, "upstream.timeout")
            let key = ofRoute ? "routes[].timeouts.response" : "timeouts.response"
            let line = "the app takes too long: no answer within \(key) (300 ms) on the route app.example.com/**"
            #expect(eventually { gateway.output.contains(line) }, "\(gateway.output)")
        }
    }

    @Test(
        "F11: if an app closes or resets before it answers, the answer is 502, and the request is not repeated",
        arguments: ["GET", "POST"],
        [false, true]
    )
    func brokenOff(method: String, byReset: Bool) throws {
        let app = try FakeUpstream { link in
            _ = link.next()
            if byReset { link.wire.reset() }
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            let request = method == "GET" ? Request.get() : Request.post("/", body: "hello")
            self.expectProblem(try wire.request(request), 502, "upstream.reset")
            #expect(app.requests.count == 1)
            self.expectProblem(try wire.request(request), 502, "upstream.reset")
        }
    }

    /// Answers the first request of each connection, and resets the connection at the second after sending `partial`.
    private func dyingApp(saying partial: String = "") throws -> FakeUpstream {
        try FakeUpstream { link in
            guard link.next() != nil else { return }
            link.answer(body: "first")
            guard link.next() != nil else { return }
            link.send(partial)
            link.wire.reset()
        }
    }

    @Test("F11: if a kept connection is lost before a byte of the answer, an idempotent request is repeated once")
    func retry() throws {
        for method in ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"] {
            let app = try self.dyingApp()
            defer { app.stop() }
            try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
                let wire = try gateway.connect()
                #expect(try wire.request(Request.get()).text == "first")
                let answer = try wire.request(Request.get("/again", method: method))
                #expect(answer.status == 200, "\(method): \(answer.lines)")
                #expect(
                    app.requests.map(\.target) == ["/", "/again", "/again"] && app.connectionCount == 2,
                    "\(method)"
                )
            }
        }
    }

    @Test("F11: a POST is not repeated after its body was sent, and no request is repeated after a byte of the answer")
    func noRetry() throws {
        for (request, partial) in [
            (Request.post("/once", body: "hello"), ""), (Request.get("/once", method: "POST"), ""),
            (Request.get("/once"), "HTTP/1.1 2"), (Request.get("/once"), "HTTP/1.1 100 Continue\r\n\r\n"),
        ] {
            let app = try self.dyingApp(saying: partial)
            defer { app.stop() }
            try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
                let wire = try gateway.connect()
                #expect(try wire.request(Request.get()).text == "first")
                let answer = try wire.request(request)
                #expect(answer.status == 502, "\(answer.lines)")
                #expect(app.requests.filter { $0.target == "/once" }.count == 1)
            }
        }
    }

    @Test("F11: a POST is not repeated even if only its head was sent, because the app may have acted on it")
    func noRetryOfHead() throws {
        let again = Flag()
        let app = try FakeUpstream { link in
            if link.number == 0 {
                guard link.next() != nil else { return }
                link.answer(body: "first")
                guard link.nextHead() != nil else { return }
                link.wire.reset()
            } else if link.nextHead() != nil {
                again.raise()
                link.wire.reset()
            }
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            #expect(try wire.request(Request.get()).text == "first")
            let head = Request.get("/once", ["Content-Length: 5"], method: "POST")
            self.expectProblem(try wire.request(head), 502, "upstream.reset")
            #expect(!again.isRaised(within: 0.2))
        }
    }

    @Test("F11: a request is repeated only once, even if the app fails every time")
    func noStorm() throws {
        let app = try FakeUpstream { link in
            if link.number == 0 {
                _ = link.next()
                link.answer(body: "first")
            }
            _ = link.next()
            link.wire.reset()
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            #expect(try wire.request(Request.get()).text == "first")
            self.expectProblem(try wire.request(Request.get("/dies")), 502, "upstream.reset")
            #expect(app.requests.filter { $0.target == "/dies" }.count == 2)
        }
    }

    @Test("A kept connection that the app has closed in the meantime is not used")
    func closedWhileIdle() throws {
        let answered = Flag()
        let app = try FakeUpstream { link in
            _ = link.next()
            link.answer(body: "ok")
            _ = eventually(within: 5) { answered.count > link.number }
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            for _ in 0..<5 {
                #expect(try wire.request(Request.post("/", body: "hello")).text == "ok")
                answered.raise()
                #expect(eventually { (try? gateway.metric(#"sallyport_upstream_connections{state="idle"}"#)) == 0 })
            }
            #expect(app.connectionCount == 5)
        }
    }

    @Test("Idle connections to the app are closed after the keep-alive time")
    func keepAliveTime() throws {
        let closed = Flag()
        let app = try FakeUpstream { link in
            FakeUpstream.echo(link)
            closed.raise()
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port, more: "timeouts:\n  upstream_keep_alive: 100ms\n")) {
            gateway throws in
            #expect(try gateway.get().status == 200)
            #expect(closed.isRaised())
        }
    }

    @Test("If all connections to the app are in use and none may wait, the next request gets 503 with Retry-After")
    func overloaded() throws {
        let go = Flag()
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                if request.target == "/slow" { _ = go.isRaised(within: 30) }
                link.answer(body: "ok")
            }
        )
        defer { app.stop() }
        let keys = "{url: \"http://127.0.0.1:\(app.port)\", max_connections: 1, max_queue: 0}"
        let more = "upstreams:\n  app: \(keys)\n"
        try Gateway.with(Config.open(upstream: app.port, "upstream: app", more: more)) { gateway throws in
            let slow = try gateway.connect()
            slow.send(Request.get("/slow"))
            #expect(eventually { app.connectionCount == 1 })
            let answer = try gateway.get()
            #expect(answer.status == 503 && answer.reason == "gateway.overloaded" && answer.value("retry-after") != nil)
            go.raise()
            #expect(try slow.answer().text == "ok")
            #expect(try gateway.get().text == "ok")
        }
    }

    @Test("Clients that leave while the app is being connected to take none of its connections with them")
    func leavingWhileConnecting() throws {
        let app = try FakeUpstream { link in
            while let head = link.nextHead() {
                if head.method == "POST" { return }
                link.answer(body: "ok")
            }
        }
        defer { app.stop() }
        let more = "upstreams:\n  app:\n    url: http://127.0.0.1:\(app.port)\n    max_connections: 2\n"
        try Gateway.with(Config.open(upstream: app.port, "upstream: app", more: more)) { gateway throws in
            let upload = Request.get("/", ["Expect: 100-continue", "Transfer-Encoding: chunked"], method: "POST")
            // The gateway writes "100 Continue" to a client that is gone as soon as it is connected to the app.
            for number in 0..<3000 {
                let wire = try gateway.connect()
                wire.send(upload)
                if number % 4 > 0 { usleep(UInt32(number % 4) * 150) }
                wire.reset()
            }
            #expect(eventually { (try? gateway.get("/").status) == 200 })
            for _ in 0..<4 { #expect(try gateway.get("/").status == 200) }
        }
    }

    @Test("An answer that arrives before the body is sent is passed on, and neither connection is reused")
    func earlyAnswer() throws {
        let app = try FakeUpstream { link in
            guard let head = link.nextHead() else { return }
            link.answer("403 Forbidden", body: head.target)
            _ = link.wire.receiveAll(seconds: 2)
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            wire.send(Request.get("/upload", ["Content-Length: 100000"], method: "POST") + "abc")
            let answer = try wire.answer()
            #expect(answer.status == 403 && answer.text == "/upload" && answer.value("connection") == "close")
            wire.send("GET /public/smuggled HTTP/1.1\r\nHost: \(Request.host)\r\n\r\n")
            #expect(wire.endsNow())
            #expect(try gateway.get("/next").text == "/next")
            #expect(app.connectionCount == 2)
        }
    }
}
