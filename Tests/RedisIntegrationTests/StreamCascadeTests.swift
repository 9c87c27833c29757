import Foundation
import GatewayBench
import RedisServers
import TestSupport
import Testing

/// What the end of a native app's session or refresh token does to streams that browsers have open at two gateways.
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

    /// Where a transfer token came from.
    enum Source: CaseIterable {
        case nativeSession, refreshToken

        /// A new transfer token, and what ends its source.
        fileprivate func handoff(_ gateway: Gateway) throws -> (token: String, end: String) {
            switch self {
            case .nativeSession:
                let native = try gateway.native()
                let end = Request.get(
                    "/self-service/logout/api",
                    ["Content-Type: application/json"],
                    method: "DELETE",
                    body: #"{"session_token":"\#(native)"}"#
                )
                return (try gateway.mint(native), end)
            case .refreshToken:
                let query =
                    "client_id=app&response_type=code&scope=offline_access&code_challenge_method=S256"
                    + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
                let asked = try gateway.get("/authorize?\(query)", ["Cookie: sallyport=\(try gateway.browser())"])
                let code = try Self.match(asked.value("location") ?? "", /spc_[A-Za-z0-9_-]+/)
                let granted = try gateway.request(
                    Self.form(
                        "/oauth/token",
                        "grant_type=authorization_code&client_id=app&code=\(code)",
                        "code_verifier=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
                    )
                )
                let first = try Self.match(granted.text, /spr_[A-Za-z0-9_-]+/)
                let minted = try gateway.request(
                    Self.form(
                        "/oauth/token",
                        "grant_type=refresh_token&client_id=app&refresh_token=\(first)",
                        "audience=urn:\(Request.host):session_transfer"
                    )
                )
                let token = try Self.match(minted.text, /spt_[A-Za-z0-9_-]+/)
                let next = try Self.match(minted.text, /spr_[A-Za-z0-9_-]+/)
                return (token, Self.form("/oauth/revoke", "client_id=app&token=\(next)"))
            }
        }

        private static func match(_ text: String, _ pattern: Regex<Substring>) throws -> String {
            guard let found = text.firstMatch(of: pattern) else { throw BenchFailure(text) }
            return String(found.0)
        }

        private static func form(_ path: String, _ parameters: String...) -> String {
            let type = ["Content-Type: application/x-www-form-urlencoded"]
            return Request.post(path, type, body: parameters.joined(separator: "&"))
        }
    }

    @Test(
        "The end of a native session or refresh token closes its browsers' WebSockets (1008) and event streams everywhere",
        arguments: Source.allCases
    )
    func cascade(_ source: Source) async throws {
        try await RedisServer.with { server in
            let upstream = try FakeUpstream(serve: Self.app)
            defer { upstream.stop() }
            let settings = Config.file(
                upstream: upstream.port,
                clients: Config.clients(
                    binding: "none",
                    more: """
                          - client_id: app
                            callbacks: ["com.example.app:/callback"]
                            session_transfer: {can_create_session_transfer_token: true}
                        """
                ),
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
            let handoff = try patiently { try source.handoff(gateways[0]) }
            let cookie = try #require(try gateways[1].get("/?session_transfer_token=\(handoff.token)").sessionCookie)
            let own = try patiently { try gateways[0].browser(.grace) }
            let sockets = try gateways.map { gateway in try patiently { try Self.socket(gateway, cookie) } }
            let events = try gateways.map { gateway in try patiently { try Self.events(gateway, cookie) } }
            let other = try patiently { try Self.socket(gateways[1], own) }

            let ended = try gateways[0].request(handoff.end)
            #expect([200, 204].contains(ended.status), "\(ended.lines)")
            for socket in sockets { #expect(socket.receive(count: 4, seconds: 5) == [0x88, 0x02, 0x03, 0xF0]) }
            for stream in events { #expect(stream.receiveAll(seconds: 5).last != .silence) }
            #expect(other.receive(seconds: 0.3) == .silence, "another user's stream goes on")
        }
    }
}
