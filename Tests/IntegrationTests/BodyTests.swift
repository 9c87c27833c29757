import Foundation
import GatewayBench
import Testing

/// Bodies in both directions.
@Suite("Bodies", .blocking) struct BodyTests {
    /// An app that answers with the received body.
    private static let mirror = FakeUpstream.answering { link, request in
        link.send("HTTP/1.1 200 OK\r\nContent-Length: \(request.body.count)\r\n\r\n")
        link.wire.send(request.body)
    }

    @Test("100 Continue is sent after the request is judged, and the body follows")
    func expectation() throws {
        let app = try FakeUpstream(serve: Self.mirror)
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let head =
                "POST /public/x HTTP/1.1\r\nHost: \(Request.host)\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
            let wire = try gateway.connect()
            wire.send(head)
            #expect(wire.receive(through: "\r\n\r\n").map { String(latin1: $0) } == "HTTP/1.1 100 Continue\r\n\r\n")
            wire.send("hello")
            #expect(try wire.answer().text == "hello")
            #expect(app.requests.first?.values("expect") == [], "the expectation was met by us")

            // A refusal does not ask for the body. The connection closes, since the client may send it or not.
            let refused = try gateway.connect()
            refused.send(head.replacing("/public/x", with: "/private"))
            let answer = try refused.answer()
            #expect(answer.status == 401 && answer.interim.isEmpty && answer.value("connection") == "close")
            #expect(refused.endsNow())

            // A client that does not wait is served as well.
            let hasty = try gateway.connect()
            hasty.send(head + "hasty")
            #expect(try hasty.answer().text == "hasty")
            #expect(try gateway.get("/public/", ["Expect: something"]).status == 417)
        }
    }

    @Test("A chunked body reaches the app without its extensions and the trailers that only the gateway may set")
    func chunkedUp() throws {
        let app = try FakeUpstream(serve: Self.mirror)
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let head = Request.get("/", ["Transfer-Encoding: chunked", "Trailer: X-Auth-Subject"], method: "POST")
            let body =
                "5;name=\"value\"\r\nhello\r\n1;a\r\n \r\n00005 ;b=c\r\nworld\r\n000;last\r\nX-Auth-Subject: root\r\nB: c\r\n\r\n"
            for split in [1, 2, 3, 7, 1000] {
                let wire = try gateway.connect()
                wire.send(head)
                var rest = Substring(body)[...].utf8[...]
                while !rest.isEmpty {
                    wire.send(Array(rest.prefix(split)))
                    rest = rest.dropFirst(split)
                    if split < 4 { usleep(500) }
                }
                let answer = try wire.answer()
                #expect(answer.status == 200 && answer.text == "hello world", "\(split): \(answer.lines)")
            }
            #expect(app.requests.count == 5)
            for request in app.requests {
                let raw = String(latin1: request.rawBody)
                #expect(
                    !raw.contains(";") && !raw.contains("X-Auth-Subject") && raw.hasSuffix("\r\n0\r\nB: c\r\n\r\n"),
                    "\(raw)"
                )
                #expect(request.values("trailer") == [])
            }
        }
    }

    @Test("A chunked answer reaches a client that takes no trailers without them, and without its extensions")
    func chunkedDown() throws {
        let body = "5;name=\"value\"\r\nhello\r\n1;a\r\n \r\n5;b=c\r\nworld\r\n0;last\r\nX-Trailer: a\r\nB: c\r\n\r\n"
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                link.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                let split = Int(request.target.dropFirst()) ?? 1
                var rest = Array(body.utf8)[...]
                while !rest.isEmpty {
                    link.wire.send(Array(rest.prefix(split)))
                    rest = rest.dropFirst(split)
                    if split < 4 { usleep(500) }
                }
            }
        )
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            for split in [1, 2, 3, 7, 1000] {
                let answer = try wire.request(Request.get("/\(split)"))
                #expect(answer.isWhole && answer.text == "hello world", "\(split): \(answer)")
                let raw = String(latin1: answer.rawBody)
                #expect(!raw.contains(";") && !raw.contains("X-Trailer"))
            }
            // An HTTP/1.0 client gets the bytes without chunks, until the end.
            let old = try gateway.request("GET /3 HTTP/1.0\r\nHost: \(Request.host)\r\nConnection: keep-alive\r\n\r\n")
            #expect(old.isWhole && old.text == "hello world" && old.value("transfer-encoding") == nil)
            #expect(app.connectionCount == 1)
        }
    }

    @Test("Large bodies pass byte for byte, with a length and in chunks, in both directions at once")
    func large() throws {
        let app = try FakeUpstream(serve: Self.mirror)
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let body = (0..<4_000_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) }
            for chunked in [false, true] {
                let wire = try gateway.connect()
                let framing = chunked ? "Transfer-Encoding: chunked" : "Content-Length: \(body.count)"
                wire.send(Request.get("/", [framing], method: "PUT"))
                var rest = body[...]
                while !rest.isEmpty {
                    let part = Array(rest.prefix(70_001))
                    rest = rest.dropFirst(70_001)
                    if chunked {
                        wire.send("\(String(part.count, radix: 16))\r\n")
                        wire.send(part)
                        wire.send("\r\n")
                    } else {
                        wire.send(part)
                    }
                }
                if chunked { wire.send("0\r\n\r\n") }
                let answer = try wire.answer(seconds: 10)
                #expect(answer.isWhole && answer.body == body)
            }
            #expect(app.requests.map(\.body) == [body, body])
        }
    }

    @Test("HEAD, 204 and 304 have no body, and the following bytes are not read as one")
    func bodyless() throws {
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                switch request.target {
                case "/204": link.send("HTTP/1.1 204 No Content\r\n\r\n")
                case "/304": link.send("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nContent-Length: 1000\r\n\r\n")
                case "/chunked": link.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                default: link.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
                }
            }
        )
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            let head = try wire.request(Request.get("/length", method: "HEAD"))
            #expect(head.status == 200 && head.value("content-length") == "1000")
            #expect(try wire.request(Request.get("/chunked", method: "HEAD")).status == 200)
            let none = try wire.request(Request.get("/204"))
            #expect(none.status == 204 && none.value("content-length") == nil && none.value("transfer-encoding") == nil)
            #expect(try wire.request(Request.get("/304")).value("etag") == "\"a\"")
            // The same holds for the gateway's own answers to HEAD.
            let refused = try wire.request(Request.get("/a/../b", method: "HEAD"))
            #expect(refused.status == 400 && refused.value("content-length") != "0")
            #expect(try wire.request(Request.get("/204")).status == 204)
            #expect(app.connectionCount == 1)
        }
    }

    @Test("An answer that ends with its connection arrives completely, and is framed for the client's version")
    func closeDelimited() throws {
        let app = try FakeUpstream { link in
            guard link.next() != nil else { return }
            link.send("HTTP/1.1 200 OK\r\n\r\nhello ")
            usleep(20_000)
            link.send("world")
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            for _ in 0..<2 {
                let answer = try wire.request(Request.get())
                #expect(
                    answer.isWhole && answer.text == "hello world" && answer.value("transfer-encoding") == "chunked"
                )
            }
            let old = try gateway.request("GET / HTTP/1.0\r\nHost: \(Request.host)\r\n\r\n")
            #expect(old.isWhole && old.text == "hello world" && old.ended == .end)
        }
    }

    @Test("An answer by the gateway waits for a small unread body, and closes the connection for a large or late one")
    func drainOrClose() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port, more: "limits:\n  drain_body: 10KiB\n")) { gateway throws in
            let smuggled = "GET /public/smuggled HTTP/1.1\r\nHost: \(Request.host)\r\n\r\n"
            let small = try gateway.connect()
            small.send(Request.post("/private", body: smuggled) + Request.get("/public/next"))
            #expect(try small.answer().status == 401)
            #expect(try small.answer().text.hasPrefix("GET /public/next"))
            // A chunked body of which a part comes late.
            small.send(Request.get("/private", ["Transfer-Encoding: chunked"], method: "POST"))
            small.send(
                "\(String(smuggled.utf8.count, radix: 16))\r\n\(smuggled)\r\n0\r\n\r\n" + Request.get("/public/last")
            )
            #expect(try small.answer().status == 401)
            #expect(try small.answer().text.hasPrefix("GET /public/last"))
            // One that never comes: what follows may be read as it, and by nobody as a request.
            for field in ["Transfer-Encoding: chunked", "Content-Length: 100"] {
                let silent = try gateway.connect()
                silent.send(Request.get("/private", [field], method: "POST"))
                let answer = try silent.answer(seconds: 10)
                #expect(answer.status == 401 && answer.value("connection") == "close")
                silent.send(Request.get("/public/smuggled"))
                #expect(silent.endsNow())
            }

            for isChunked in [false, true] {
                let big = try gateway.connect()
                let body = String(repeating: smuggled, count: 1000)
                let request =
                    isChunked
                    ? Request.get("/private", ["Transfer-Encoding: chunked"], method: "POST")
                        + "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n"
                    : Request.post("/private", body: body)
                big.send(request)
                let answer = try big.answer()
                #expect(answer.status == 401)
                if !isChunked { #expect(answer.value("connection") == "close") }
                #expect(big.endsNow(), "nothing of the body is answered")
            }
            #expect(app.requests.allSatisfy { !$0.target.contains("smuggled") })
        }
    }

    @Test("A body over the limit gets 413, with or without a declared length, and never reaches the app completely")
    func limit() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port, "max_body: 1000")) { gateway throws in
            #expect(try gateway.request(Request.post("/fits", body: String(repeating: "a", count: 1000))).status == 200)
            let told = try gateway.request(Request.post("/told", body: String(repeating: "a", count: 1001)))
            #expect(told.status == 413 && told.reason == "request.body_too_large")
            let wire = try gateway.connect()
            wire.send(Request.get("/chunked", ["Transfer-Encoding: chunked"], method: "POST"))
            wire.send("320\r\n\(String(repeating: "a", count: 800))\r\n")
            usleep(50_000)
            wire.send("320\r\n\(String(repeating: "a", count: 800))\r\n0\r\n\r\n")
            let answer = try wire.answer()
            #expect(answer.status == 413 && answer.value("connection") == "close" && wire.endsNow())
            #expect(app.requests.map(\.target) == ["/fits"], "no broken request became a whole one")
        }
    }

    @Test("A route without a limit takes bodies of any size, whatever the limit of the other routes is")
    func routeWithoutLimit() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let routes = "  - {path: /free/**, auth: public, max_body: none}\n  - {path: /**, auth: public}"
        let settings = Config.file(upstream: app.port, routes: routes, more: "limits: {body: 1KiB}\n")
        try Gateway.with(settings) { gateway throws in
            let body = String(repeating: "a", count: 200_000)
            let chunked = "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n"
            for (path, status) in [("/free/x", 200), ("/other", 413)] {
                #expect(try gateway.request(Request.post(path, body: body)).status == status)
                let head = Request.get(path, ["Transfer-Encoding: chunked"], method: "POST")
                #expect(try gateway.request(head + chunked).status == status)
            }
            #expect(app.requests.map(\.target) == ["/free/x", "/free/x"])
        }
    }

    @Test("T13: a body that breaks its framing gets 400, and never reaches the app completely")
    func malformed() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let bodies = [
                "x\r\n", "5\r\nhelloX\r\n", "5\nhello\n0\n\n", "-1\r\n", "0x5\r\nhello\r\n0\r\n\r\n",
                "5\r\nhello\r\n0\r\nbad trailer\r\n\r\n",
                "fffffffffffffffff\r\n", "5;a\nb\r\nhello\r\n0\r\n\r\n", "5 \r\nhello\n0\r\n\r\n",
            ]
            for body in bodies {
                let wire = try gateway.connect()
                wire.send(Request.get("/broken", ["Transfer-Encoding: chunked"], method: "POST") + body)
                let answer = try wire.answer()
                #expect(answer.status == 400 && answer.value("connection") == "close", "\(body): \(answer.lines)")
                #expect(wire.endsNow())
            }
            #expect(app.requests.isEmpty)
        }
    }
}
