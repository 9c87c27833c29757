import GatewayBench
import RequestPath
import Synchronization
import Testing

/// Apps with all kinds of responses, through the built binary: the client gets the exact response, or 502, or one that
/// is visibly cut off.
@Suite(.serialized) struct UpstreamAnswerTests {
    enum Arrival: Sendable {
        case exact(Int, String)
        case badGateway
        /// A complete head, and a body that visibly has no end.
        case truncated
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var method: String
        var answer: String
        var arrival: Arrival
        /// The field lines of the client's request.
        var fields = ""

        init(_ answer: String, _ arrival: Arrival, method: String = "GET", fields: String = "") {
            self.answer = answer
            self.arrival = arrival
            self.method = method
            self.fields = fields
        }

        var testDescription: String { "\(self.method) \(self.answer.prefix(60).debugDescription)" }
    }

    private static let ok = "HTTP/1.1 200 OK\r\n"

    static let cases: [Case] = [
        Case(ok + "Content-Length: 5\r\n\r\nhello", .exact(200, "hello")),
        Case(
            ok + "Transfer-Encoding: chunked\r\n\r\n5;x\r\nhello\r\n0\r\nX-Auth-Subject: x\r\n\r\n",
            .exact(200, "hello")
        ),
        Case(ok + "\r\nhello", .exact(200, "hello")),
        Case("HTTP/1.0 200 OK\r\n\r\nhello", .exact(200, "hello")),
        Case(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok
                + "Content-Length: 2\r\n\r\nhi",
            .exact(200, "hi")
        ),
        Case(ok + "Content-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\n\r\n", .exact(200, "hello")),
        Case("HTTP/1.1 204 No Content\r\n\r\n", .exact(204, "")),
        Case("HTTP/1.1 204 No Content\r\n\r\nunasked", .exact(204, "")),
        Case("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", .exact(304, "")),
        Case("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello", .exact(304, "")),
        Case(ok + "Content-Length: 5\r\n\r\n", .exact(200, ""), method: "HEAD"),
        Case(ok + "Content-Length: 5\r\n\r\nhello", .exact(200, ""), method: "HEAD"),
        Case(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", .exact(200, ""), method: "HEAD"),
        Case("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", .exact(204, "")),
        Case("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", .exact(204, "")),
        Case("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", .badGateway),
        Case(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
            .badGateway,
            fields: "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n"
        ),
        Case("HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\nhello", .badGateway),
        Case("HTTP/1.1 103 Early\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + ok + "\r\n", .badGateway),
        Case("", .badGateway),
        Case("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", .badGateway),
        Case(ok + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", .badGateway),
        Case(ok + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", .badGateway),
        Case(ok + "X: a\rb\r\n\r\n", .badGateway),
        Case("HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", .badGateway),
        Case(ok + "X: a\r\n b\r\n\r\n", .badGateway),
        Case(ok + "Transfer-Encoding: gzip, chunked\r\n\r\n", .badGateway),
        Case(ok + "X: " + String(repeating: "x", count: 1 << 20) + "\r\n\r\n", .badGateway),
        Case("hello", .badGateway),
        Case(ok + "Content-Length: 5\r\n\r\nhell", .truncated),
        Case(ok + "Content-Length: 5\r\n\r\n", .truncated),
        Case(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", .truncated),
        Case(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", .truncated),
        Case(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n0\r\n\r\n", .truncated),
        Case(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n-1\r\n\r\n", .truncated),
        Case(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nFFFFFFFFFFFFFFFFF\r\n\r\n", .truncated),
        // A reader that does not map such names sees no length here.
        Case(ok + "Content_Length: 2\r\n\r\nhello", .exact(200, "hello")),
    ]

    /// Whether a client can see that a body is incomplete.
    private static func isCutOff(_ head: ResponseHead, _ body: ArraySlice<UInt8>) -> Bool {
        switch head.framing {
        case .length(let length): body.count < length
        case .chunked:
            switch ChunkedDecoderTests.decode(String(decoding: body, as: UTF8.self)) {
            case .unfinished: true
            case .content, .malformed: false
            }
        case .none, .untilClose, .byStream: false
        }
    }

    @Test func answersArriveExactlyOrNotAtAll() throws {
        let next = Mutex("")
        let app = try FakeUpstream { link in
            guard link.nextHead() != nil else { return }
            link.send(next.withLock { $0 })
        }
        defer { app.stop() }
        let more = """
            timeouts:
              header: 2s
              body_grace: 2s
            """
        try Gateway.with(Config.open(upstream: app.port, more: more)) { gateway in
            for item in Self.cases {
                next.withLock { $0 = item.answer }
                let client = try gateway.connect()
                client.send(
                    "\(item.method) / HTTP/1.1\r\nHost: \(Request.host)\r\n"
                        + (item.fields.isEmpty ? "Connection: close\r\n" : item.fields) + "\r\n"
                )
                self.check(item, client.receiveAll(seconds: 10).bytes)
            }
        }
    }

    private func check(_ item: Case, _ bytes: [UInt8]) {
        let name = "\(item.testDescription): \(String(decoding: bytes.prefix(300), as: UTF8.self).debugDescription)"
        Heads.parseResponse(bytes) { result, head, _ in
            #expect(result == .complete, "\(name)")
            guard result == .complete else { return }
            // An interim answer comes before the one that counts.
            if head.status < 200, head.status != 101 { return self.check(item, Array(bytes[head.byteCount...])) }
            let body = bytes[head.byteCount...]
            switch item.arrival {
            case .badGateway:
                #expect(head.status == 502 && !self.isCutOff(head, body), "\(name)")
            case .truncated:
                #expect(head.status == 502 || Self.isCutOff(head, body), "\(name)")
            case .exact(let status, let content):
                #expect(head.status == status, "\(name)")
                if item.method == "HEAD" || status == 204 || status == 304 {
                    #expect(body.isEmpty, "\(name)")
                } else if head.framing == .chunked {
                    let decoded = ChunkedDecoderTests.decode(String(decoding: body, as: UTF8.self))
                    #expect(decoded == .content(content, rest: ""), "\(name)")
                } else {
                    #expect(String(decoding: body, as: UTF8.self) == content, "\(name)")
                    #expect(head.framing == .length(content.utf8.count) || head.framing == .untilClose, "\(name)")
                }
            }
        }
    }

    private func isCutOff(_ head: ResponseHead, _ body: ArraySlice<UInt8>) -> Bool { Self.isCutOff(head, body) }
}
