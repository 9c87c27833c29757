import Foundation
import GatewayBench
import RedisServers
import Testing

/// What a native app's sign-out does to streams that browsers have open at two gateways.
@Suite("Streams of a handoff's sessions", .blocking) struct StreamCascadeTests {
    /// An app with a WebSocket at `/socket` and events elsewhere.
    private static let app: @Sendable (Link) -> Void = { link in
        guard let request = link.next() else { return }
        if request.target == "/socket" {
            link.send(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
            )
            // A whole frame, so that the gateway can close between frames.
            link.wire.send([0x81, 0x02, 0x68, 0x69])
        } else {
            link.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: open")
        }
        _ = link.wire.receiveAll(seconds: 30)
    }

    private static func socket(_ gateway: Gateway, _ cookie: String) throws -> Wire {
        let wire = try gateway.connect()
        let fields = [
            "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Origin: \(Request.origin)", "Cookie: sallyport=\(cookie)",
        ]
        guard try wire.request(Request.get("/socket", fields)).status == 101, wire.receive(count: 4) != nil else {
            throw BenchFailure("no socket")
        }
        return wire
    }

    private static func events(_ gateway: Gateway, _ cookie: String) throws -> Wire {
        let wire = try gateway.connect()
        wire.send(Request.get("/events", ["Accept: text/event-stream", "Cookie: sallyport=\(cookie)"]))
        guard wire.receive(through: "open") != nil else { throw BenchFailure("no events") }
        return wire
    }

    @Test("The end of a native session closes its browsers' WebSockets (1008) and event streams at both gateways")
    func cascade() async throws {
        try await RedisServer.with { server in
            let upstream = try FakeUpstream(serve: Self.app)
            defer { upstream.stop() }
            let settings = Config.file(
                upstream: upstream.port,
                clients: Config.clients(binding: "none"),
                more: "secret_file: secret\n"
            )
            let environment = ["SALLYPORT_REDIS_URL": RedisURLs.standalone(server.port)]
            let gateways = try (0..<2).map { _ in
                try Gateway(
                    settings,
                    files: ["secret": "a secret of two gateways, long enough\n"],
                    environment: environment
                )
            }
            defer { for gateway in gateways { gateway.stop() } }
            for gateway in gateways {
                try await waitUntil("a gateway is ready") { try gateway.admin("/readyz").status == 200 }
            }
            let native = try patiently { try gateways[0].native() }
            let token = try patiently { try gateways[0].mint(native) }
            let cookie = try #require(try gateways[1].get("/?session_transfer_token=\(token)").sessionCookie)
            let own = try patiently { try gateways[0].browser(.grace) }
            let sockets = try gateways.map { gateway in try patiently { try Self.socket(gateway, cookie) } }
            let events = try gateways.map { gateway in try patiently { try Self.events(gateway, cookie) } }
            let other = try patiently { try Self.socket(gateways[1], own) }

            let logout = Request.get(
                "/self-service/logout/api",
                ["Content-Type: application/json"],
                method: "DELETE",
                body: #"{"session_token":"\#(native)"}"#
            )
            #expect(try gateways[0].request(logout).status == 204)
            for socket in sockets { #expect(socket.receive(count: 4, seconds: 5) == [0x88, 0x02, 0x03, 0xF0]) }
            for stream in events { #expect(stream.receiveAll(seconds: 5).last != .silence) }
            #expect(other.receive(seconds: 0.3) == .silence, "another user's stream goes on")
        }
    }
}
