import Foundation
import GatewayBench
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// Clients that end their output behind their request, as health probes do, and clients that are gone.
@Suite("Clients that send nothing more", .blocking) struct HalfClosedClientTests {
    private static let slow: @Sendable (Link) -> Void = FakeUpstream.answering { link, request in
        usleep(400_000)
        link.answer(body: request.target + String(latin1: request.body))
    }

    /// Sends everything and FIN, and reads to the end.
    private static func ask(_ gateway: Gateway, _ text: String) throws -> (text: String, last: Wire.Event) {
        let wire = try gateway.connect()
        wire.send(text)
        wire.finish()
        let all = wire.receiveAll(seconds: 10)
        return (String(latin1: all.bytes), all.last)
    }

    @Test("They get their answer, from a slow app and from the gateway")
    func answered() throws {
        let app = try FakeUpstream(serve: Self.slow)
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let cookie = "Cookie: sallyport=\(try gateway.browser())"
            let chunked =
                Request.get("/public/c", ["Transfer-Encoding: chunked"], method: "POST") + "2\r\nhi\r\n0\r\n\r\n"
            for (request, status, end) in [
                (Request.get("/public/a"), 200, "/public/a"), (Request.get("/private", [cookie]), 200, "/private"),
                ("GET /public/a HTTP/1.0\r\nHost: \(Request.host)\r\n\r\n", 200, "/public/a"),
                (Request.get("/public/b", ["Content-Length: 2"], method: "POST") + "hi", 200, "/public/bhi"),
                (chunked, 200, "/public/chi"), (Request.get("/private"), 401, "}\n"),
                (Request.get("/.sallyport/session", [cookie]), 200, "}"), (Request.get("/a/../b"), 400, "}\n"),
            ] {
                let answer = try Self.ask(gateway, request)
                #expect(answer.text.hasPrefix("HTTP/1.1 \(status) "), "\(request): \(answer.text)")
                #expect(answer.text.hasSuffix(end) && answer.last == .end, "\(request): \(answer)")
            }
            let two = try Self.ask(gateway, Request.get("/public/a") + Request.get("/public/b"))
            #expect(two.text.contains("/public/aHTTP/1.1 200") && two.text.hasSuffix("/public/b") && two.last == .end)
        }
    }

    @Test("The end may come long after the request, and before the answer")
    func lateEnd() throws {
        let hasEnded = Flag()
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                _ = hasEnded.isRaised()
                link.answer(body: request.target)
            }
        )
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            wire.send(Request.get("/a"))
            #expect(eventually { app.requests.count == 1 })
            wire.finish()
            hasEnded.raise()
            let all = wire.receiveAll(seconds: 10)
            #expect(String(latin1: all.bytes).hasSuffix("/a") && all.last == .end)
        }
    }

    @Test("A request that can never be complete ends at once")
    func incomplete() throws {
        let app = try FakeUpstream(serve: Self.slow)
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            for text in ["GET / HTTP/1.1\r\nHo", Request.get("/", ["Content-Length: 9"], method: "POST") + "hi"] {
                let answer = try Self.ask(gateway, text)
                #expect(answer.text.isEmpty && answer.last == .end)
            }
            #expect(app.requests.isEmpty)
        }
    }

    /// A client that has closed both ways is like one that has not until bytes are sent to it.
    @Test("A client that is gone ends its request: with RST at once, else when the answer begins")
    func gone() throws {
        let (asked, hasClosed, cancelled, written) = (Flag(), Flag(), Flag(), Flag())
        let app = try FakeUpstream { link in
            guard let request = link.nextHead() else { return }
            asked.raise()
            if request.target == "/closed" {
                _ = hasClosed.isRaised()
                link.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nhello")
                written.raise()
            }
            if case .silence = link.wire.receiveAll(seconds: 10).last { return }
            cancelled.raise()
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let reset = try gateway.connect()
            reset.send(Request.get("/reset"))
            #expect(eventually { asked.count == 1 })
            reset.reset()
            #expect(eventually { cancelled.count == 1 })
            let closed = try gateway.connect()
            closed.send(Request.get("/closed"))
            #expect(eventually { asked.count == 2 })
            closed.close()
            hasClosed.raise()
            #expect(eventually { cancelled.count == 2 } && written.count == 1)
            let line = try AccessLine.of("/reset", gateway)
            #expect(line["status"] as? Int == 499 && line["reason"] as? String == "client.gone")
            #expect(line["decision"] as? String == "allowed")
            let late = try AccessLine.of("/closed", gateway)
            #expect(late["status"] as? Int == 200 && late["reason"] as? String == "client.gone")
            #expect(late["decision"] as? String == "allowed")
            let denied = #"sallyport_decisions_total{route="/**",decision="denied",reason="client.gone"}"#
            #expect(try gateway.metric(denied) == 0)
        }
    }
}
