import Foundation
import GatewayBench
import Testing

/// One connection, many requests (RFC 9112 9.3).
@Suite("Connections", .blocking) struct KeepAliveTests {
    @Test("Requests follow each other on one connection, and the app's connection is used again")
    func reuse() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            for index in 0..<20 {
                let answer = try wire.request(Request.get("/\(index)"))
                #expect(answer.status == 200 && answer.text.hasPrefix("GET /\(index) HTTP/1.1"))
                #expect(answer.value("connection") == nil)
            }
            #expect(app.requests.count == 20 && app.connectionCount == 1)
        }
    }

    @Test("Ten pipelined requests in one write, the app's and our own mixed, are answered in order")
    func pipelining() throws {
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                // Slow ones first: their answers must not be overtaken.
                if request.target.hasSuffix("slow") { usleep(100_000) }
                link.answer(body: request.target)
            }
        )
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let targets = [
                "/public/1slow", "/private", "/public/2", "/.sallyport/login", "/a/../b", "/public/3slow", "/private",
                "/self-service/login/api", "/public/4", "/public/5",
            ]
            let expected = [200, 401, 200, 200, 400, 200, 401, 200, 200, 200]
            let wire = try gateway.connect()
            wire.send(targets.map { Request.get($0) }.joined())
            for (target, status) in zip(targets, expected) {
                let answer = try wire.answer()
                #expect(answer.status == status, "\(target): \(answer.lines)")
                if target.hasPrefix("/public/") { #expect(answer.text == target) }
                // What the grammar forbids ends the connection; the rest was never looked at.
                if answer.value("connection") == "close" { return }
            }
        }
    }

    @Test("A refused path does not cost the connection: its framing was never in doubt")
    func refusedPath() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            wire.send(Request.get("/a/../b") + Request.get("/fine"))
            #expect(try wire.answer().status == 400)
            #expect(try wire.answer().text.hasPrefix("GET /fine"))
        }
    }

    @Test("Pipelined requests with bodies are cut apart where their framing says, byte by byte")
    func pipelinedBodies() throws {
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                link.answer(body: request.target + " " + String(latin1: request.body))
            }
        )
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let chunked =
                Request.get("/2", ["Transfer-Encoding: chunked"], method: "POST")
                + "5\r\nGET /\r\n0\r\n\r\n"
            let all = Request.post("/1", body: "GET /x HTTP/1.1\r\n\r\n") + chunked + Request.get("/3")
            let wire = try gateway.connect()
            for byte in all.utf8 { wire.send([byte]) }
            #expect(try wire.answer().text == "/1 GET /x HTTP/1.1\r\n\r\n")
            #expect(try wire.answer().text == "/2 GET /")
            #expect(try wire.answer().text == "/3 ")
            #expect(app.requests.count == 3)
        }
    }

    @Test("HTTP/1.0 closes, unless the client asked to keep the connection, and then it is told so")
    func http10() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let plain = try gateway.connect()
            let first = try plain.request("GET / HTTP/1.0\r\nHost: \(Request.host)\r\n\r\n")
            #expect(first.status == 200 && first.isWhole && first.value("connection") == "close" && plain.endsNow())
            let keeping = try gateway.connect()
            for _ in 0..<3 {
                let answer = try keeping.request(
                    "GET / HTTP/1.0\r\nHost: \(Request.host)\r\nConnection: keep-alive\r\n\r\n"
                )
                #expect(answer.value("connection") == "keep-alive")
                // The app is always spoken to in 1.1.
                #expect(answer.text.hasPrefix("GET / HTTP/1.1\r\n"))
            }
        }
    }

    @Test("A client that says close is told so and gets no more")
    func close() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            wire.send(Request.get("/1", ["Connection: close"]) + Request.get("/2"))
            let answer = try wire.answer()
            #expect(answer.value("connection") == "close" && wire.endsNow() && app.requests.count == 1)
            // The app's connection is not the client's: it stays.
            #expect(try gateway.get("/3").status == 200 && app.connectionCount == 1)
        }
    }

    @Test("An app that closes after its answer is connected to anew, without a failed request")
    func closingApp() throws {
        let app = try FakeUpstream { link in
            guard link.next() != nil else { return }
            link.answer("200 OK", "Connection: close\r\n", body: "ok")
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            for _ in 0..<20 { #expect(try wire.request(Request.get()).text == "ok") }
            #expect(app.connectionCount == 20)
        }
    }

    @Test("A connection ends after as many requests as the limit says")
    func requestLimit() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port, more: "limits:\n  requests_per_connection: 3\n")) {
            gateway throws in
            let wire = try gateway.connect()
            #expect(try wire.request(Request.get()).value("connection") == nil)
            #expect(try wire.request(Request.get()).value("connection") == nil)
            #expect(try wire.request(Request.get()).value("connection") == "close")
            #expect(wire.endsNow())
        }
    }

    @Test("The head's limits answer 414 and 431, and what fits passes")
    func headLimits() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let long = String(repeating: "a", count: 8000)
            #expect(try gateway.get("/" + long).status == 200)
            #expect(try gateway.get("/" + long + long).status == 414)
            #expect(try gateway.get("/", ["X: " + long]).status == 200)
            #expect(try gateway.get("/", ["X: " + long + long + long]).status == 431)
            #expect(try gateway.get("/", (0..<80).map { "X-\($0): a" }).status == 200)
            #expect(try gateway.get("/", (0..<101).map { "X-\($0): a" }).status == 431)
            #expect(try gateway.get("/", (0..<9).map { "X-\($0): \(long)" }).status == 431)
        }
    }
}
