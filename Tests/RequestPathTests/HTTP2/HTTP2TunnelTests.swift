import Cryptography
import NIOCore
import RequestPath
import TestSupport
import Testing

/// WebSocket over HTTP/2 (RFC 8441): the client has one stream of its connection, the app a connection of HTTP/1.
@Suite("WebSocket over HTTP/2") struct HTTP2TunnelTests {
    private static let connect =
        [(":method", "CONNECT"), (":protocol", "websocket")] + Array(ClientFrames.request().dropFirst())
        + [("sec-websocket-version", "13"), ("sec-websocket-protocol", "chat")]

    /// The app's agreement to the key that it was asked with.
    private func agreement(to head: String, _ change: (String) -> String = { $0 }) throws -> String {
        let line = try #require(head.split(separator: "\r\n").first { $0.hasPrefix("Sec-WebSocket-Key: ") })
        let key = Array(line.dropFirst(19).utf8)
        #expect(Base64.decoded(key)?.count == 16)
        let accept = Base64.encode(SHA1.digest(key + Array("258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)))
        return "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            + "Sec-WebSocket-Accept: \(change(accept))\r\nSec-WebSocket-Protocol: chat\r\n\r\n"
    }

    private func opened(_ bench: HTTP2Bench) throws -> ScriptedApp {
        let app = bench.app()
        bench.come(ClientFrames().headers(1, Self.connect, endsStream: false))
        app.send()
        #expect(app.upgrade(try self.agreement(to: app.headText)))
        return app
    }

    @Test("The app is asked for an upgrade, its agreement is 200, and bytes pass both ways") func passesBytes() throws {
        let bench = try HTTP2Bench()
        let app = try self.opened(bench)
        #expect(
            app.headText.hasPrefix("GET /app/x HTTP/1.1\r\n") && app.headText.contains("\r\nUpgrade: websocket\r\n")
        )
        #expect(app.headText.contains("\r\nsec-websocket-version: 13\r\nsec-websocket-protocol: chat\r\n"))
        var sent = bench.sent()
        #expect(sent.status() == "200" && !sent.hasEnded())
        #expect(
            sent.first { $0.kind == 1 }?.fields.map(\.name) == [":status", "sec-websocket-protocol", "x-request-id"]
        )
        bench.come(ClientFrames().data(1, Array("up".utf8)))
        #expect(app.sent == "up")
        app.tunnel("down")
        sent = bench.sent()
        #expect(sent.content() == "down")
    }

    @Test("What comes before the app agrees waits for it") func earlyBytes() throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(ClientFrames().headers(1, Self.connect, endsStream: false).data(1, Array("early".utf8)))
        app.send()
        #expect(app.sent.isEmpty)
        #expect(app.upgrade(try self.agreement(to: app.headText)))
        _ = bench.sent()
        #expect(app.sent == "early")
    }

    @Test("The client's end is the end of the app's input, and the app's end that of the stream") func ends() throws {
        let bench = try HTTP2Bench()
        let app = try self.opened(bench)
        bench.come(ClientFrames().data(1, [], endsStream: true))
        #expect(app.hasOutputEnded)
        app.end { $0.tunnelEnded() }
        #expect(bench.sent().hasEnded() && !bench.connection.isBusy)
    }

    @Test("A stopping gateway closes the WebSocket and then the stream") func leaves() throws {
        let bench = try HTTP2Bench()
        _ = try self.opened(bench)
        _ = bench.sent()
        bench.bench.loop.closeIdle()
        bench.connection.sweep(.now())
        let sent = bench.sent()
        #expect(Array(sent.content().utf8.prefix(1)) != [] && sent.hasEnded() && sent.reset() == nil)
        #expect(sent.filter { $0.kind == 0 }.flatMap(\.payload) == [0x88, 2, 0x03, 0xE9])
    }

    @Test("An app that accepts another key is not believed", arguments: ["x", ""]) func otherKey(_ accept: String)
        throws
    {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(ClientFrames().headers(1, Self.connect, endsStream: false))
        app.send()
        #expect(try !app.upgrade(self.agreement(to: app.headText) { _ in accept }))
        #expect(bench.sent().reset() == 2)
    }

    @Test("An app that refuses the upgrade answers") func refuses() throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(ClientFrames().headers(1, Self.connect, endsStream: false))
        app.send()
        _ = app.answer("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
        let sent = bench.sent()
        #expect(sent.status() == "403" && sent.content() == "no" && sent.hasEnded())
    }

    @Test("A page opens no WebSocket, though any 2xx would (RFC 8441 5)", arguments: ["200 OK", "204 No Content"])
    func page(_ status: String) throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(ClientFrames().headers(1, Self.connect, endsStream: false))
        app.send()
        _ = app.answer("HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n")
        let sent = bench.sent()
        #expect(sent.status() == "501" && sent.content().contains("request.protocol") && sent.hasEnded())
        #expect(app.isAbandoned)
    }

    @Test("Two keys are accepted by nobody") func twoKeys() throws {
        let bench = try HTTP2Bench()
        let app = bench.app()
        bench.come(ClientFrames().headers(1, Self.connect, endsStream: false))
        app.send()
        #expect(
            try !app.upgrade(self.agreement(to: app.headText) { "\($0)\r\nSec-WebSocket-Accept: x" })
        )
        #expect(bench.sent().reset() == 2)
    }

    @Test("A tunnel for anything else is not implemented") func otherProtocol() throws {
        let bench = try HTTP2Bench()
        let fields = Self.connect.map { $0.0 == ":protocol" ? ($0.0, "connect-udp") : $0 }
        #expect(bench.come(ClientFrames().headers(1, fields, endsStream: false)).status() == "501")
    }
}
