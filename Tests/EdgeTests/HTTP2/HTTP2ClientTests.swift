import Foundation
import GatewayBench
import TestSupport
import Testing

/// A gateway that speaks HTTP/2 without TLS to clients that know it beforehand.
enum PlainHTTP2 {
    static func with(more: String = "", _ body: (Gateway, FakeUpstream) throws -> Void) throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.file(
            upstream: app.port,
            routes: "  - {path: /**, auth: public}",
            listen: "[{address: \"127.0.0.1:0\", protocols: [h2c, http/1.1]}]",
            more: "log: {access: true}\n" + more
        )
        try Gateway.with(settings) { try body($0, app) }
    }
}

/// Clients of others, as they are installed by Debian.
@Suite("Clients of HTTP/2", .blocking) struct HTTP2ClientTests {
    private static func run(_ program: String, _ arguments: [String], input: [UInt8] = []) throws -> String {
        guard let path = Servers.find(["/usr/bin/\(program)"]) else { try Servers.missing(program) }
        let (status, output) = try Servers.run(path, arguments, input: input, within: 60)
        #expect(status == 0, "\(output.suffix(2000))")
        return output
    }

    private static func curl(
        _ gateway: Gateway,
        path: String = "/",
        _ arguments: [String],
        input: [UInt8] = []
    ) throws -> String {
        let url = "http://127.0.0.1:\(gateway.port)\(path)"
        return try self.run("curl", ["-sS", "-i", "-H", "Host: \(Request.host)"] + arguments + [url], input: input)
    }

    @Test("curl is answered in both protocols on one port, and the access line says which") func curl() throws {
        try PlainHTTP2.with { gateway, _ in
            let answer = try Self.curl(gateway, path: "/x?y=1", ["--http2-prior-knowledge", "-H", "X-A: b"])
            #expect(answer.hasPrefix("HTTP/2 200") && !answer.lowercased().contains("connection:"), "\(answer)")
            #expect(answer.contains("GET /x?y=1 HTTP/1.1\r\n") && answer.contains("\r\nx-a: b\r\n"), "\(answer)")
            #expect(try Self.curl(gateway, ["--http1.1"]).hasPrefix("HTTP/1.1 200"))
            #expect(eventually { gateway.output.contains("\"HTTP/2\"") && gateway.output.contains("\"HTTP/1.1\"") })
        }
    }

    @Test("A client that begins with neither is answered as one of HTTP/1") func neither() throws {
        try PlainHTTP2.with { gateway, _ in
            let wire = try Wire(to: gateway.port)
            wire.send("PRI * HTTP/2.0\r\n\r\nXX")
            #expect(try wire.answer().status == 505)
        }
    }

    @Test("The preface may come byte by byte") func slowPreface() throws {
        try PlainHTTP2.with { gateway, _ in
            let wire = try Wire(to: gateway.port)
            for byte in ClientFrames.opening().bytes {
                wire.send([byte])
                usleep(2000)
            }
            // SETTINGS come first.
            let bytes = try #require(wire.receive(count: 9))
            #expect(bytes[3] == 4)
        }
    }

    @Test("A large body and a large answer arrive whole") func largeBodies() throws {
        let body = [UInt8]((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                link.answer(body: String(repeating: "\(request.body.count) ", count: 300_000))
            }
        )
        defer { app.stop() }
        let listen = "[{address: \"127.0.0.1:0\", protocols: [h2c]}]"
        let settings = Config.file(upstream: app.port, routes: "  - {path: /**, auth: public}", listen: listen)
        try Gateway.with(settings) { gateway in
            let arguments = [
                "--http2-prior-knowledge", "-X", "POST", "--data-binary", "@-", "-H", "Expect: 100-continue",
            ]
            let answer = try Self.curl(gateway, arguments, input: body)
            #expect(answer.contains("HTTP/2 200"), "\(answer.prefix(300))")
            #expect(answer.hasSuffix(String(repeating: "3000000 ", count: 10)) && answer.utf8.count > 2_400_000)
        }
    }

    @Test("nghttp reads many answers of one connection") func nghttp() throws {
        try PlainHTTP2.with { gateway, _ in
            let url = "http://127.0.0.1:\(gateway.port)/"
            let output = try Self.run("nghttp", ["-v", "-n", "-m", "20", "-H", ":authority: \(Request.host)", url])
            #expect(output.components(separatedBy: ":status: 200").count == 21, "\(output.suffix(1000))")
            #expect(!output.contains("RST_STREAM"))
        }
    }

    @Test("nghttp gets an app's trailers and sends its own, without those that only the gateway may set")
    func trailers() throws {
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, _ in
                link.send(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"
                        + "X-Sum: down\r\nSet-Cookie: a=b\r\nLocation: /evil\r\nX-Auth-Subject: root\r\n\r\n"
                )
            }
        )
        defer { app.stop() }
        let settings = Config.file(
            upstream: app.port,
            routes: "  - {path: /**, auth: public}",
            listen: "[{address: \"127.0.0.1:0\", protocols: [h2c, http/1.1]}]"
        )
        try Gateway.with(settings) { gateway in
            let url = "http://127.0.0.1:\(gateway.port)/"
            let arguments = [
                "-v", "-H", ":authority: \(Request.host)", "-d", "-", "--no-content-length", "--trailer", "x-sum: up",
                "--trailer", "x-auth-subject: root", "--trailer", "x-forwarded-for: 192.0.2.1",
            ]
            let output = try Self.run("nghttp", arguments + [url], input: Array("hello".utf8))
            #expect(output.contains("x-sum: down"), "\(output.suffix(2000))")
            let received = output.split(separator: "\n").filter { $0.contains("recv (stream_id") }
            #expect(!received.contains { $0.contains("root") || $0.contains("set-cookie") || $0.contains("evil") })
            #expect(!output.contains("RST_STREAM"))
            let request = try #require(app.requests.last)
            #expect(request.body == Array("hello".utf8) && request.trailers == ["x-sum: up"], "\(request.text)")
        }
    }

    /// The Python interpreter, if it has `httpx`, which `deploy/test.sh` installs.
    private static let python = Servers.find([Gateway.root.appending(path: ".build/clients/bin/python").path])
        .flatMap { python in
            let run = try? Servers.run(python, ["-c", "import httpx, h2"])
            return run?.status == 0 ? python : nil
        }

    @Test(
        "httpx is answered, one request after the other and many at once",
        .enabled(if: python != nil, "httpx is not installed")
    )
    func httpx() throws {
        try PlainHTTP2.with { gateway, _ throws in
            let script = """
                import asyncio, httpx
                async def main():
                    async with httpx.AsyncClient(http1=False, http2=True, headers={'Host': '\(Request.host)'}) as client:
                        async def ask(path, **more):
                            answer = await client.request(url='http://127.0.0.1:\(gateway.port)/' + path, **more)
                            assert answer.status_code == 200 and answer.http_version == 'HTTP/2', answer
                            return answer.text
                        for index in range(50):
                            assert f'GET /{index} HTTP/1.1' in await ask(str(index), method='GET')
                        sent = [ask(str(index), method='POST', content=b'x' * 100_000) for index in range(50)]
                        for index, text in enumerate(await asyncio.gather(*sent)):
                            assert f'POST /{index} HTTP/1.1' in text
                asyncio.run(main())
                """
            let run = try Servers.run(try #require(Self.python), ["-c", script], within: 60)
            #expect(run.status == 0, "\(run.output.suffix(2000))")
        }
    }

    @Test("h2load loses no request") func h2load() throws {
        try PlainHTTP2.with { gateway, _ in
            let url = "http://127.0.0.1:\(gateway.port)/"
            let output = try Self.run(
                "h2load",
                ["-n", "5000", "-c", "5", "-m", "20", "-H", ":authority: \(Request.host)", url]
            )
            #expect(output.contains("5000 succeeded, 0 failed, 0 errored"), "\(output)")
        }
    }

    @Test("A client that resets all its streams is closed, and the reason counted; others are served") func flood()
        throws
    {
        try PlainHTTP2.with { gateway, _ in
            let wire = try Wire(to: gateway.port)
            var frames = ClientFrames.opening()
            for stream in stride(from: 1, to: 1001, by: 2) as StrideTo<UInt32> {
                frames = frames.headers(stream, ClientFrames.request(authority: Request.host)).reset(stream)
            }
            wire.send(frames.bytes)
            let series = "sallyport_http2_connections_closed_total{reason=\"resets\"}"
            #expect(eventually { (try? gateway.metric(series)) == 1 })
            #expect(try Self.curl(gateway, ["--http2-prior-knowledge"]).hasPrefix("HTTP/2 200"))
        }
    }

    @Test("A client whose upload is refused has the answer") func refusesUpload() throws {
        try PlainHTTP2.with { gateway, _ in
            let body = [UInt8](repeating: 0x61, count: 4_000_000)
            let arguments = ["--http2-prior-knowledge", "--data-binary", "@-", "-H", "Expect:"]
            let answer = try Self.curl(gateway, path: "/oauth/token", arguments, input: body)
            #expect(answer.hasPrefix("HTTP/2 413"), "\(answer)")
        }
    }

    @Test("What gets no answer has its line, and a page of the gateway opens no WebSocket") func faultLines() throws {
        try PlainHTTP2.with { gateway, _ in
            let wire = try Wire(to: gateway.port)
            let request = ClientFrames.request(authority: Request.host)
            let post = ClientFrames.request("POST", authority: Request.host, [("content-length", "9")])
            let page = ClientFrames.request(authority: Request.host, path: "/.sallyport/signed-out")
            let tunnel = [(":method", "CONNECT"), (":protocol", "websocket")] + page.dropFirst()
            wire.send(
                ClientFrames.opening()
                    .headers(1, request + [("A", "b")])
                    .headers(3, post, endsStream: false).data(3, [1], endsStream: true)
                    .headers(5, tunnel, endsStream: false)
                    .bytes
            )
            for reason in ["request.malformed", "request.framing", "request.protocol"] {
                #expect(eventually { gateway.output.contains("\"reason\":\"\(reason)\"") }, "\(reason)")
            }
        }
    }

    @Test("A stopping gateway answers what was sent, and ends its connections") func drains() throws {
        let go = Flag()
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, _ in
                _ = go.isRaised(within: 30)
                link.answer(body: "late")
            }
        )
        defer { app.stop() }
        let settings = Config.file(
            upstream: app.port,
            routes: "  - {path: /**, auth: public}",
            listen: "[{address: \"127.0.0.1:0\", protocols: [h2c]}]",
            drainTimeout: "10s"
        )
        try Gateway.with(settings) { gateway in
            let wire = try Wire(to: gateway.port)
            wire.send(ClientFrames.opening().headers(1, ClientFrames.request(authority: Request.host)).bytes)
            #expect(eventually { app.requests.count == 1 && gateway.trapsStop })
            gateway.signal(SIGTERM)
            #expect(eventually { (try? gateway.admin("/readyz").status) == 503 })
            go.raise()
            let (bytes, last) = wire.receiveAll(seconds: 15)
            #expect(String(latin1: bytes).contains("late"))
            #expect(last == .end, "\(last)")
            #expect(gateway.exitStatus() == 0)
        }
    }
}
