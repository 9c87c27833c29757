import Foundation
import GatewayBench
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// WebSockets pass after the decision, and end with the session.
@Suite("WebSocket", .blocking) struct WebSocketTests {
    private static func upgrade(_ target: String = "/socket", _ fields: [String] = []) -> String {
        Request.get(
            target,
            [
                "Connection: keep-alive, Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            ] + fields
        )
    }

    private static let accepted =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"

    /// An app that accepts the upgrade and sends everything back.
    private static let mirror: @Sendable (Link) -> Void = { link in
        guard let request = link.next() else { return }
        guard request.values("upgrade") == ["websocket"] else { return link.answer(body: String(latin1: request.head)) }
        link.send(Self.accepted)
        while case .bytes(let bytes) = link.wire.receive(seconds: 20) { link.wire.send(bytes) }
    }

    @Test("With a session the socket is opened, its identity is set, and bytes pass in both directions")
    func tunnel() throws {
        let app = try FakeUpstream(serve: Self.mirror)
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let cookie = try gateway.browser()
            let wire = try gateway.connect()
            let answer = try wire.request(
                Self.upgrade(
                    "/socket",
                    ["Cookie: sallyport=\(cookie)", "Origin: \(Request.origin)", "X-Auth-Subject: root"]
                )
            )
            #expect(answer.status == 101 && answer.value("upgrade") == "websocket")
            #expect(answer.value("connection")?.lowercased() == "upgrade")
            #expect(answer.value("sec-websocket-accept") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
            for size in [1, 100, 100_000] {
                let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0) }
                wire.send(bytes)
                #expect(wire.receive(count: size) == bytes)
            }
            let request = try #require(app.requests.first)
            #expect(request.values("x-auth-subject") == ["user-1815"] && request.values("cookie") == [])
            #expect(request.values("connection").joined().lowercased() == "upgrade")
            wire.close()
        }
    }

    @Test(
        "An upgrade that says how long its content is goes on without these fields",
        arguments: ["Content-Length: 0", "Transfer-Encoding: chunked", "Content-Length: 5\r\nTransfer-Encoding: gzip"]
    )
    func framedUpgrade(fields: String) throws {
        let app = try FakeUpstream { link in
            guard link.next() != nil else { return }
            link.send(Self.accepted.dropLast(2) + fields + "\r\n\r\nhello")
            while case .bytes(let bytes) = link.wire.receive(seconds: 20) { link.wire.send(bytes) }
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            let answer = try wire.request(Self.upgrade())
            #expect(answer.status == 101 && answer.values("content-length").isEmpty, "\(answer.lines)")
            #expect(answer.values("transfer-encoding").isEmpty)
            #expect(wire.receive(count: 5) == Array("hello".utf8))
            wire.send("back")
            #expect(wire.receive(count: 4) == Array("back".utf8))
        }
    }

    @Test("T11: without a session there is no upgrade, and the app gets no request", arguments: [false, true])
    func refused(withText: Bool) throws {
        let app = try FakeUpstream(serve: Self.mirror)
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            wire.send(Self.upgrade("/socket", ["Accept: text/html"]) + (withText ? "GET /public/ HTTP/1.1\r\n" : ""))
            #expect(try wire.answer().status == 401)
            #expect(app.requests.isEmpty)
        }
    }

    @Test("Another site cannot open a socket with the user's cookie")
    func crossSite() throws {
        let app = try FakeUpstream(serve: Self.mirror)
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let cookie = "Cookie: sallyport=\(try gateway.browser())"
            for fields in [
                ["Origin: http://evil.example"], ["Sec-Fetch-Site: cross-site"], ["Sec-Fetch-Site: same-site"], [],
                ["Origin: null"], ["Origin: \(Request.origin).evil.example"],
                ["Origin: \(Request.origin)", "Sec-Fetch-Site: cross-site"],
            ] {
                let answer = try gateway.request(Self.upgrade("/socket", [cookie] + fields))
                #expect(answer.status == 403 && answer.reason == "request.cross_site", "\(fields): \(answer.lines)")
            }
            #expect(app.requests.isEmpty)
            // A native app's token is not added by a browser, so it needs no proof of origin.
            let token = try gateway.native()
            #expect(try gateway.request(Self.upgrade("/socket", ["Authorization: Bearer \(token)"])).status == 101)
        }
    }

    @Test("Bytes that a client sends before the upgrade is accepted are not lost")
    func early() throws {
        let hasSent = Flag()
        let app = try FakeUpstream { link in
            guard link.next() != nil else { return }
            _ = hasSent.isRaised()
            link.send(Self.accepted + "from the app")
            while case .bytes(let bytes) = link.wire.receive(seconds: 20) { link.wire.send(bytes) }
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            wire.send(Self.upgrade() + "first ")
            #expect(eventually { app.requests.count == 1 })
            wire.send("second")
            #expect(eventually { wire.isDelivered })
            hasSent.raise()
            #expect(try wire.answer().status == 101)
            #expect(wire.receive(count: 24).map { String(latin1: $0) } == "from the appfirst second")
        }
    }

    @Test("An app can decline with an ordinary answer, and bytes that the client sent after the upgrade are no request")
    func declined() throws {
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                link.answer(request.target == "/socket" ? "426 Upgrade Required" : "200 OK", body: request.target)
            }
        )
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            // These bytes are meant for the socket, and may look like a request.
            wire.send(Self.upgrade() + Request.get("/after"))
            let answer = try wire.answer()
            #expect(answer.status == 426 && answer.value("connection") == "close")
            #expect(wire.endsNow() && app.requests.count == 1)
        }
    }

    @Test("CVE-2026-88008: other upgrades are stripped and answered as plain requests")
    func otherUpgrades() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            for fields in [
                ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA"],
                ["Connection: Upgrade", "Upgrade: TLS/1.0"], ["Upgrade: websocket"], ["Upgrade: h2c"],
                ["HTTP2-Settings: a"],
            ] {
                let wire = try gateway.connect()
                let answer = try wire.request(Request.get("/", fields))
                #expect(answer.status == 200, "\(fields): \(answer.lines)")
                let seen = answer.text.lowercased()
                #expect(
                    !seen.contains("upgrade") && !seen.contains("http2-settings") && !seen.contains("h2c"),
                    "\(seen)"
                )
                #expect(try wire.request(Request.get("/next")).status == 200)
            }
            for fields in [
                ["Connection: Upgrade", "Upgrade: websocket, h2c"], ["Connection: Upgrade", "Upgrade: h2c, websocket"],
            ] {
                let answer = try gateway.get("/", fields)
                #expect(answer.status == 400 || !answer.text.lowercased().contains("h2c"), "\(answer.text)")
            }
        }
    }

    @Test("If either side closes, the other side's connection is closed as well")
    func leaving() throws {
        let left = Flag()
        let app = try FakeUpstream { link in
            guard let request = link.next() else { return }
            link.send(Self.accepted)
            if request.target == "/app-leaves" { return }
            if case .silence = link.wire.receiveAll(seconds: 5).last { return }
            left.raise()
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let first = try gateway.connect()
            #expect(try first.request(Self.upgrade("/app-leaves")).status == 101)
            #expect(first.endsNow())
            let second = try gateway.connect()
            #expect(try second.request(Self.upgrade()).status == 101)
            second.close()
            #expect(left.isRaised())
        }
    }

    @Test("What a client sends before it leaves arrives, however slowly the app reads")
    func lastBytes() throws {
        let total = 4 << 20
        let arrived = Flag()
        let app = try FakeUpstream { link in
            guard link.next() != nil else { return }
            link.send(Self.accepted)
            usleep(1_500_000)
            var (received, event) = (0, Wire.Event.silence)
            repeat {
                event = link.wire.receive(seconds: 10)
                if case .bytes(let bytes) = event { received += bytes.count }
                usleep(20_000)
            } while event != .end && event != .reset && event != .silence
            if received == total, event == .end { arrived.raise() }
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port, more: "timeouts: {write: 2s}\n")) { gateway throws in
            let wire = try gateway.connect()
            #expect(try wire.request(Self.upgrade()).status == 101)
            var frames: [UInt8] = []
            for _ in 0..<(total >> 12) {
                frames += [0x82, 0xFE, 0x0F, 0xF8, 0, 0, 0, 0] + [UInt8](repeating: 0x61, count: 4088)
            }
            wire.send(frames)
            wire.close()
            #expect(arrived.isRaised(within: 30))
        }
    }

    @Test("A client that only ends its output still gets what the app sends")
    func halfClosed() throws {
        let app = try FakeUpstream { link in
            guard link.next() != nil else { return }
            link.send(Self.accepted)
            let all = link.wire.receiveAll(seconds: 10)
            guard all.last == .end else { return }
            usleep(200_000)
            link.wire.send([0x81, 0x02, 0x68, 0x69])
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let wire = try gateway.connect()
            #expect(try wire.request(Self.upgrade()).status == 101)
            wire.send([0x88, 0x80, 1, 2, 3, 4])
            wire.finish()
            let all = wire.receiveAll(seconds: 10)
            #expect(all.bytes == [0x81, 0x02, 0x68, 0x69] && all.last == .end)
        }
    }

    @Test("A gateway that stops tells client and app that it goes away, before the connections end")
    func draining() throws {
        let told = Flag()
        let app = try FakeUpstream { link in
            guard link.next() != nil else { return }
            link.send(Self.accepted)
            link.wire.send([0x81, 0x02, 0x68, 0x69])
            let all = link.wire.receiveAll(seconds: 20)
            guard all.last == .end, all.bytes.count == 8, all.bytes.starts(with: [0x88, 0x82]) else { return }
            if all.bytes[6] ^ all.bytes[2] == 0x03, all.bytes[7] ^ all.bytes[3] == 0xE9 { told.raise() }
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port, drainTimeout: "20s")) { gateway throws in
            let wires = try (0..<3).map { _ in
                let wire = try gateway.connect()
                #expect(try wire.request(Self.upgrade()).status == 101)
                #expect(wire.receive(count: 4) != nil)
                return wire
            }
            gateway.signal(SIGTERM)
            for wire in wires {
                let all = wire.receiveAll(seconds: 10)
                #expect(all.bytes == [0x88, 0x02, 0x03, 0xE9] && all.last == .end)
                wire.close()
            }
            #expect(eventually { told.count == 3 })
            #expect(gateway.exitStatus() == 0)
            #expect(gateway.output.contains(#""reason":"gateway.draining""#))
        }
    }

    @Test("Sign-out closes the socket with 1008 between two frames, for client and app")
    func signOut() throws {
        let left = Flag()
        let app = try FakeUpstream { link in
            guard link.next() != nil else { return }
            // Frames with every form of length; the last one is complete.
            let frames = [0x81, 0x02, 0x68, 0x69] + [0x82, 0x7E, 0x01, 0x00] + [UInt8](repeating: 0x88, count: 256)
            link.send(Self.accepted)
            link.wire.send(frames)
            if case .silence = link.wire.receiveAll(seconds: 10).last { return }
            left.raise()
        }
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port, loops: 2)) { gateway throws in
            let cookie = try gateway.browser()
            let native = try gateway.native()
            let sockets = try (0..<4).map { index in
                let wire = try gateway.connect()
                let credential = index < 3 ? "Cookie: sallyport=\(cookie)" : "Authorization: Bearer \(native)"
                #expect(
                    try wire.request(Self.upgrade("/socket", [credential, "Origin: \(Request.origin)"])).status == 101
                )
                #expect(wire.receive(count: 264) != nil)
                return wire
            }
            #expect(try gateway.signOut(cookie).status == 303)
            for wire in sockets.prefix(3) {
                #expect(wire.receive(count: 4) == [0x88, 0x02, 0x03, 0xF0])
                #expect(wire.endsNow())
            }
            #expect(eventually { left.count == 3 })
            // The native app's session lives on.
            #expect(sockets[3].receive(seconds: 0.3) == .silence)
        }
    }

    @Test("If the session ends within a frame, no close frame is inserted, and the stream just ends")
    func signOutInsideFrame() throws {
        let app = try FakeUpstream { link in
            guard link.next() != nil else { return }
            link.send(Self.accepted)
            link.wire.send([0x82, 0x7E, 0x01, 0x00] + [UInt8](repeating: 0x61, count: 100))
            _ = link.wire.receiveAll(seconds: 10)
        }
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port)) { gateway throws in
            let cookie = try gateway.browser()
            let wire = try gateway.connect()
            let request = Self.upgrade("/socket", ["Cookie: sallyport=\(cookie)", "Origin: \(Request.origin)"])
            #expect(try wire.request(request).status == 101)
            #expect(wire.receive(count: 104) != nil)
            #expect(try gateway.signOut(cookie).status == 303)
            let rest = wire.receiveAll(seconds: 3)
            #expect(rest.bytes.isEmpty && rest.last != .silence)
        }
    }
}
