import Foundation
import GatewayBench
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// What keeps a session in use while a request runs. With an idle time of a minute, uses are noted every six seconds.
@Suite("Traffic of sessions", .blocking) struct SessionTrafficTests {
    /// What passes for eight seconds.
    enum Traffic: String, CaseIterable {
        case download, upload, events, comments, frames, pings

        var isUse: Bool { self != .comments && self != .pings }

        /// The frame that is sent: of text, or a ping.
        var frame: [UInt8] { [self == .frames ? 0x81 : 0x89, 0x01, 0x61] }
    }

    private static let upgrade = [
        "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Origin: \(Request.origin)",
    ]

    private static let app: @Sendable (Link) -> Void = { link in
        guard let head = link.nextHead(), let traffic = Traffic(rawValue: String(head.target.dropFirst())) else {
            return
        }
        func repeatedly(_ send: () -> Void) {
            for _ in 0..<40 {
                usleep(200_000)
                send()
            }
        }
        switch traffic {
        case .download:
            link.send("HTTP/1.1 200 OK\r\n\r\n")
            repeatedly { link.send("a") }
        case .events, .comments:
            link.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
            repeatedly { link.send(traffic == .events ? "data: 1\n\n" : ": 1\n\n") }
        case .upload:
            guard link.wire.receive(count: 40, seconds: 20) != nil else { return }
            link.answer(body: "ok")
        case .frames, .pings:
            link.send(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
            )
            repeatedly { link.wire.send(traffic.frame) }
        }
    }

    /// When the session idles out without further use.
    private static func idleEnd(_ gateway: Gateway, _ cookie: String) throws -> Date {
        let fields = ["Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty", "Accept: */*", "Cookie: sallyport=\(cookie)"]
        let answer = try gateway.get("/.sallyport/session", fields)
        let text = try #require(answer.text.firstMatch(of: /"idle_expires_at":"([^"]+)"/)).1
        return try Date(String(text), strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    private static func run(_ traffic: Traffic, _ gateway: Gateway, _ cookie: String) throws -> [UInt8] {
        let wire = try gateway.connect()
        let fields = ["Cookie: sallyport=\(cookie)", "Origin: \(Request.origin)"]
        switch traffic {
        case .upload:
            wire.send(Request.get("/upload", fields + ["Content-Length: 40"], method: "POST"))
            for _ in 0..<40 {
                usleep(200_000)
                wire.send("a")
            }
            return try wire.answer(seconds: 10).body
        case .frames, .pings: wire.send(Request.get("/\(traffic)", Self.upgrade + [fields[0]]))
        case .download, .events, .comments: wire.send(Request.get("/\(traffic)", fields))
        }
        return wire.receiveAll(seconds: 10).bytes
    }

    @Test("Content is a use, in either direction; pings and comments are none", arguments: ["traffic", "requests"])
    func uses(counts: String) throws {
        let app = try FakeUpstream(serve: Self.app)
        defer { app.stop() }
        let settings = Config.file(upstream: app.port, loops: 2)
            .replacing("  cookie: sallyport\n", with: "  cookie: sallyport\n  idle: 1m\n  idle_counts: \(counts)\n")
        try Gateway.with(settings) { gateway throws in
            let cookies = try Traffic.allCases.map { _ in try gateway.browser() }
            let before = try cookies.map { try Self.idleEnd(gateway, $0) }
            let done = Flag()
            for (traffic, cookie) in zip(Traffic.allCases, cookies) {
                Thread.detachNewThread {
                    if let bytes = try? Self.run(traffic, gateway, cookie), !bytes.isEmpty { done.raise() }
                }
            }
            #expect(eventually { done.count == Traffic.allCases.count })
            for (index, traffic) in Traffic.allCases.enumerated() {
                let moved = try Self.idleEnd(gateway, cookies[index]).timeIntervalSince(before[index])
                // The request itself came less than six seconds after the sign-in, so that it was not noted.
                #expect((moved > 5) == (traffic.isUse && counts == "traffic"), "\(traffic): \(moved) s")
            }
        }
    }
}
