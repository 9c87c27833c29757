import Foundation
import GatewayBench
import Testing

/// Slow clients.
@Suite("Deadlines", .blocking) struct DeadlineTests {
    private static let short = "timeouts:\n  header: 1s\n  idle: 1s\n  body_rate: 1000\n  body_grace: 1s\n  write: 1s\n"

    @Test("F18: The deadline for a head is for all of it: bytes that keep arriving do not extend it")
    func header() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port, more: Self.short)) { gateway throws in
            let wire = try gateway.connect()
            wire.send("GET / HTTP/1.1\r\nHost: \(Request.host)\r\n")
            let start = Date()
            var answer: Answer?
            var count = 0
            while answer == nil, Date().timeIntervalSince(start) < 8 {
                count += 1
                wire.send("X-\(count): a\r\n")
                if case .bytes(let bytes) = wire.receive(seconds: 0.1) {
                    wire.keep(bytes)
                    answer = try wire.answer()
                }
            }
            #expect(answer?.status == 408 && answer?.reason == "request.timeout")
            #expect(wire.endsNow() && app.requests.isEmpty)
        }
    }

    @Test("An idle connection is closed without an answer, whether new or used")
    func idle() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port, more: Self.short)) { gateway throws in
            let fresh = try gateway.connect()
            let used = try gateway.connect()
            #expect(try used.request(Request.get()).status == 200)
            #expect(fresh.receive(seconds: 6) == .end)
            #expect(used.receive(seconds: 6) == .end)
        }
    }

    @Test("F18: A body below the minimum rate gets 408, whether it is for the app or for the gateway's endpoints")
    func bodyRate() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port, more: Self.short)) { gateway throws in
            for target in ["/upload", "/oauth/token"] {
                let wire = try gateway.connect()
                let fields = ["Content-Length: 10000", "Content-Type: application/json"]
                wire.send(Request.get(target, fields, method: "POST"))
                let start = Date()
                var answer: Answer?
                while answer == nil, Date().timeIntervalSince(start) < 8 {
                    wire.send("a")
                    if case .bytes(let bytes) = wire.receive(seconds: 0.1) {
                        wire.keep(bytes)
                        answer = try wire.answer()
                    }
                }
                #expect(answer?.status == 408 && answer?.value("connection") == "close", "\(target)")
                #expect(wire.endsNow())
            }
            #expect(app.requests.isEmpty)
        }
    }

    @Test("There is also a deadline for a body that is discarded after the gateway's answer")
    func draining() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port, more: Self.short)) { gateway throws in
            let wire = try gateway.connect()
            wire.send(Request.get("/private", ["Content-Length: 1000"], method: "POST"))
            #expect(try wire.answer().status == 401)
            #expect(wire.endsNow(within: 6))
        }
    }

    @Test("F18: If a client does not read its answer, its connection and the app's are closed")
    func write() throws {
        let gone = Flag()
        let app = try FakeUpstream { link in
            guard link.next() != nil else { return }
            link.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
            let block = [UInt8](repeating: 0x61, count: 1 << 20)
            for _ in 0..<1000 where !link.wire.send(block) {
                gone.raise()
                return
            }
        }
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port, more: Self.short)) { gateway throws in
            let wire = try Wire(to: gateway.port, receiveBuffer: 8192)
            wire.send(Request.get())
            #expect(gone.isRaised(within: 15))
        }
    }

    @Test("F18: Hundreds of slow heads do not delay another client")
    func manySlow() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let slow = try (0..<400).map { _ in try gateway.connect() }
            for wire in slow { wire.send("GET / HTTP/1.1\r\nHos") }
            let good = try gateway.connect()
            for _ in 0..<100 { #expect(try good.request(Request.get()).status == 200) }
            for wire in slow { wire.send("t: \(Request.host)\r\n\r\n") }
            for wire in slow { #expect(try wire.answer().status == 200) }
        }
    }
}
