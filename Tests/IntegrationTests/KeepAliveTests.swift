import Foundation
import GatewayBench
import Testing

/// Many requests on one connection (RFC 9112 9.3).
@Suite("Connections", .blocking) struct KeepAliveTests {
    @Test("Requests on one connection are answered, and the app's connection is reused")
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

    @Test("Ten pipelined requests in one write, to the app and to the gateway, are answered in order")
    func pipelining() throws {
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                // The slow answers must not be overtaken by later ones.
                if request.target.hasSuffix("slow") { usleep(100_000) }
                link.answer(body: request.target)
            }
        )
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let targets = [
                "/public/1slow", "/private", "/public/2", "/.sallyport/login", "/public/3slow", "/private",
                "/self-service/login/api", "/public/4", "/public/5", "/a/../b",
            ]
            let expected = [200, 401, 200, 200, 200, 401, 200, 200, 200, 400]
            let wire = try gateway.connect()
            wire.send(targets.map { Request.get($0) }.joined())
            for (target, status) in zip(targets, expected) {
                let answer = try wire.answer()
                #expect(answer.status == status, "\(target): \(answer.lines)")
                if target.hasPrefix("/public/") { #expect(answer.text == target) }
            }
        }
    }

    @Test("A refused path does not close the connection, because its framing is clear")
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

    @Test("Pipelined requests with bodies are separated by their framing, byte by byte")
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

    @Test("HTTP/1.0 closes, unless the client asks to keep the connection, and then the answer says so")
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
                // The app always gets HTTP/1.1.
                #expect(answer.text.hasPrefix("GET / HTTP/1.1\r\n"))
            }
        }
    }

    @Test("After Connection: close from a client, the answer says close and no further request is served")
    func close() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            wire.send(Request.get("/1", ["Connection: close"]) + Request.get("/2"))
            let answer = try wire.answer()
            #expect(answer.value("connection") == "close" && wire.endsNow() && app.requests.count == 1)
            // The app's connection is kept, because it does not belong to the client.
            #expect(try gateway.get("/3").status == 200 && app.connectionCount == 1)
        }
    }

    @Test("If an app closes after its answer, the gateway opens a new connection and no request fails")
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

    @Test("A connection ends after the configured number of requests")
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

    @Test("A head over the limits gets 414 or 431, and a head within the limits passes")
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
