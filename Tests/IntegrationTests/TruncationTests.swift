import Foundation
import GatewayBench
import Testing

/// Answers that break off, and answers that are malformed.
@Suite("Broken answers", .blocking) struct TruncationTests {
    @Test("F12: an answer that breaks off never looks complete, and the connection ends", arguments: [false, true])
    func truncated(byReset: Bool) throws {
        let begun = Flag()
        let app = try FakeUpstream { link in
            guard let request = link.next() else { return }
            switch request.target {
            case "/length": link.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello")
            case "/nothing": link.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
            case "/chunked": link.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
            case "/inside": link.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel")
            case "/size": link.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1")
            case "/last": link.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n")
            case "/garbage": link.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nwhat?\r\n")
            default: link.send("HTTP/1.1 200 OK\r\n\r\nhello")
            }
            // A reset would take with it what the gateway has not read yet.
            _ = eventually(within: 5) { begun.count > link.number }
            if byReset { link.wire.reset() }
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            var targets = ["/length", "/nothing", "/chunked", "/inside", "/size", "/last", "/garbage"]
            // Without a length, only a reset shows that the answer is not complete.
            if byReset { targets.append("/close") }
            for target in targets {
                let new = try gateway.connect()
                let answer = try self.answer(on: new, Request.get(target), begun)
                #expect(answer.status == 200 && !answer.isWhole, "\(target): \(answer.text)")
                #expect(!String(latin1: answer.rawBody).hasSuffix("0\r\n\r\n"), "\(target)")
                #expect(new.endsNow(), "\(target)")
                // An HTTP/1.0 client sees only the end of the stream, so it must be a reset.
                let text = "GET \(target) HTTP/1.0\r\nHost: \(Request.host)\r\n\r\n"
                let old = try self.answer(on: try gateway.connect(), text, begun)
                #expect(!old.isWhole && old.ended == .reset, "\(target): \(String(describing: old.ended))")
            }
            #expect(app.connectionCount == 2 * targets.count, "none was used again")
        }
    }

    /// Sends a request, raises `begun` when the head of the answer is there, and reads the rest of it.
    private func answer(on wire: Wire, _ text: String, _ begun: Flag) throws -> Answer {
        wire.send(text)
        if let head = wire.receive(through: "\r\n\r\n") { wire.keep(head) }
        begun.raise()
        return try wire.answer()
    }

    @Test("F12: the gateway's own log says that the answer broke off")
    func logged() throws {
        let app = try FakeUpstream { link in
            _ = link.next()
            link.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello")
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            #expect(try !gateway.get("/broken").isWhole)
            #expect(eventually { gateway.output.contains(#""reason":"upstream.truncated""#) })
        }
    }

    @Test("A chunk that is none breaks an answer off, and the log says so; a trailer that no answer may have does not")
    func chunks() throws {
        let app = try FakeUpstream { link in
            while let request = link.next() {
                let end = request.target == "/trailer" ? "0\r\nSet-Cookie: a=b\r\n\r\n" : "+5\r\nworld\r\n0\r\n\r\n"
                link.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n\(end)")
            }
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let whole = try gateway.get("/trailer")
            #expect(whole.isWhole && whole.text == "hello" && whole.value("set-cookie") == nil)
            #expect(try !gateway.get("/chunk").isWhole)
            #expect(eventually { gateway.output.contains("a chunk of its content has no valid size or end") })
        }
    }

    @Test("F12: if an app falls silent within its answer, the gateway ends the exchange")
    func silent() throws {
        let app = try FakeUpstream { link in
            _ = link.next()
            link.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello")
            _ = link.wire.receiveAll(seconds: 10)
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port, more: "timeouts:\n  upstream_idle: 1s\n")) { gateway throws in
            let answer = try gateway.get()
            #expect(!answer.isWhole && answer.ended != .silence)
        }
    }

    /// Answers that not every reader would read in the same way.
    private static let malformed = [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello", "HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: a\rb\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\nContent-Length: 0\n\n", "HTTP/1.1 200 OK\r\nX: a\r\n folded\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n", "HTTP/1.1 200 OK\r\n: a\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX y: a\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n", "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.2 200 OK\r\nContent-Length: 0\r\n\r\n", "http/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1  200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 O\0K\r\nContent-Length: 0\r\n\r\n",
        "\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "<html>hello</html>",
        "HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: \(String(repeating: "a", count: 1 << 20))\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n" + String(repeating: "X: a\r\n", count: 5000) + "Content-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Le",
    ]

    @Test("F13: a malformed answer gives 502, its connection is closed, and no byte of it is passed on")
    func malformed() throws {
        let app = try FakeUpstream { link in
            guard let request = link.next(), let index = Int(request.target.dropFirst()) else { return }
            link.send(Self.malformed[index])
            if index == Self.malformed.count - 1 { return }
            if link.wire.receive(seconds: 5) != .silence { return }
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port, "timeouts:\n  response: 5s")) { gateway throws in
            let wire = try gateway.connect()
            for (index, bytes) in Self.malformed.enumerated() {
                let answer = try wire.request(Request.get("/\(index)"))
                #expect(
                    answer.status == 502 && answer.reason?.hasPrefix("upstream.") == true,
                    "\(bytes.prefix(100)): \(answer.lines)"
                )
            }
            #expect(app.connectionCount == Self.malformed.count)
        }
    }

    @Test("CVE-2026-71324: bytes after an answer are dropped, and the connection to the app is closed")
    func leftOver() throws {
        let poison = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"
        let (answered, poisoned) = (Flag(), Flag())
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                switch request.target {
                case "/head": link.send("HTTP/1.1 200 OK\r\nContent-Length: \(poison.utf8.count)\r\n\r\n\(poison)")
                case "/304": link.send("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n\(poison)")
                case "/204": link.send("HTTP/1.1 204 No Content\r\n\r\n\(poison)")
                case "/twice": link.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok\(poison)")
                case "/chunked":
                    link.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n\(poison)")
                case "/late":
                    link.answer(body: "ok")
                    _ = answered.isRaised()
                    link.send(poison)
                    _ = eventually(within: 5) { link.wire.isDelivered }
                    poisoned.raise()
                default: link.answer(body: request.target)
                }
            }
        )
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            for target in ["/head", "/304", "/204", "/twice", "/chunked", "/late"] {
                let wire = try gateway.connect()
                _ = try wire.request(Request.get(target, method: target == "/head" ? "HEAD" : "GET"))
                if target == "/late" {
                    answered.raise()
                    #expect(poisoned.isRaised(within: 15))
                }
                #expect(try wire.request(Request.get("/next\(target)")).text == "/next\(target)")
                #expect(try gateway.get("/other").text == "/other")
            }
        }
    }

    @Test("CVE-2026-88007: a connection that NTLM or Negotiate has bound to one client is not used for another")
    func boundConnection() throws {
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                link.answer("401 Unauthorized", "WWW-Authenticate: \(request.target.dropFirst())\r\n", body: "who?")
            }
        )
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            for scheme in ["NTLM", "Negotiate", "negotiate"] { #expect(try gateway.get("/\(scheme)").status == 401) }
            #expect(app.connectionCount == 3)
            _ = try gateway.get("/Basic")
            _ = try gateway.get("/Basic")
            #expect(app.connectionCount == 4)
        }
    }

    @Test(
        "Interim answers of the app, but 100, are passed on to clients of HTTP/1.1, without the gateway's and the hop's fields"
    )
    func interim() throws {
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, _ in
                link.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n")
                link.send(
                    "Connection: x-hop\r\nX-Hop: 1\r\nX-Sallyport-A: b\r\nSet-Cookie: sallyport=x\r\nX-Request-Id: y\r\n"
                )
                link.send("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n")
                usleep(20_000)
                link.send("HTTP/1.1 102 Processing\r\n\r")
                usleep(20_000)
                link.send("\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        )
        defer { app.stop() }
        let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"
        let routes = "  - path: /**\n    auth: public\n  - path: /off/**\n    auth: public\n    early_hints: false\n"
        try Gateway.with(Config.file(upstream: app.port, routes: routes)) { gateway throws in
            let wire = try gateway.connect()
            for _ in 0..<3 {
                wire.send(Request.get())
                #expect(wire.receive(count: hints.utf8.count).map { String(latin1: $0) } == hints)
                let answer = try wire.answer()
                #expect(answer.status == 200 && answer.text == "ok")
                let none = try wire.request(Request.get("/off/x"))
                #expect(none.status == 200 && none.text == "ok" && none.interim.isEmpty)
            }
            let old = try gateway.request("GET / HTTP/1.0\r\nHost: \(Request.host)\r\n\r\n")
            #expect(old.status == 200 && old.text == "ok" && old.interim.isEmpty)
            #expect(
                try gateway.request(Request.get("/", ["Expect: 100-continue"], method: "POST", body: "a")).interim
                    .suffix(2) == [103, 102]
            )
        }
    }

    @Test("An answer without content has no framing, whatever the app says, and what follows it reaches no client")
    func framingWithoutContent() throws {
        let poison = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON"
        let heads = [
            "204 No Content\r\nTransfer-Encoding: chunked", "204 No Content\r\nContent-Length: \(poison.utf8.count)",
            "204 No Content\r\nContent-Length: 0", "204 No Content\r\nContent-Length: 5, 5\r\nTransfer-Encoding: gzip",
            "304 Not Modified\r\nTransfer-Encoding: chunked\r\nContent-Length: 5",
            "304 Not Modified\r\nTransfer-Encoding: gzip",
        ]
        for rest in ["", "0\r\n\r\n", poison] {
            let app = try FakeUpstream(
                serve: FakeUpstream.answering { link, request in
                    guard let index = Int(request.target.dropFirst()) else { return link.answer(body: request.target) }
                    link.send("HTTP/1.1 \(heads[index])\r\n\r\n\(rest)")
                }
            )
            defer { app.stop() }
            try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
                let wire = try gateway.connect()
                for index in heads.indices {
                    let answer = try wire.request(Request.get("/\(index)"))
                    #expect(answer.status == (index < 4 ? 204 : 304), "\(heads[index]): \(answer.lines)")
                    #expect(answer.values("content-length").isEmpty && answer.values("transfer-encoding").isEmpty)
                    #expect(try wire.request(Request.get("/next")).text == "/next", "\(heads[index])")
                    #expect(try gateway.get("/other").text == "/other")
                }
            }
        }
    }

    @Test(
        "The log names the field of an answer that is refused and the rule that it breaks, once a minute, and no value"
    )
    func toldFault() throws {
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, _ in
                link.send("HTTP/1.1 200 OK\r\nX-Secret: s3cr3t\r\nContent-Length: s3cr3t\r\n\r\n")
            }
        )
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            for _ in 0..<3 { #expect(try gateway.get().reason == "upstream.malformed") }
            #expect(eventually { gateway.output.contains("Content-Length: the length is not a decimal number") })
            let lines = gateway.output.split(separator: "\n").filter { $0.contains("is refused: ") }
            #expect(lines.count == 1, "\(lines)")
            #expect(lines.first?.contains(#""field":"Content-Length""#) == true && !gateway.output.contains("s3cr3t"))
            #expect(lines.first?.contains("http://127.0.0.1:\(app.port)") == true)
        }
    }
}
