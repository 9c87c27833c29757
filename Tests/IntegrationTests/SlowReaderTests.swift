import Foundation
import GatewayBench
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// Clients that read slowly, while the app is at work and after it has ended.
@Suite("Slow readers", .blocking) struct SlowReaderTests {
    private static let short = "timeouts: {write: 1s, idle: 1s, upstream_idle: 1s}\n"
    private static let length = 6 << 20

    /// How the app says where its answer ends, and what it does then.
    enum Framing: String, CaseIterable {
        case length = "/length"
        case lastLength = "/last-length"
        case chunked = "/chunked"
        case close = "/close"

        var head: String {
            switch self {
            case .length: "Content-Length: \(SlowReaderTests.length)\r\n"
            case .lastLength: "Content-Length: \(SlowReaderTests.length)\r\nConnection: close\r\n"
            case .chunked: "Transfer-Encoding: chunked\r\n"
            case .close: ""
            }
        }
    }

    /// How the client asks.
    enum Asking: CaseIterable {
        case keepAlive, close, http10, halfClosed

        func send(_ target: String, to wire: Wire) {
            switch self {
            case .keepAlive: wire.send(Request.get(target))
            case .close: wire.send(Request.get(target, ["Connection: close"]))
            case .http10: wire.send("GET \(target) HTTP/1.0\r\nHost: \(Request.host)\r\n\r\n")
            case .halfClosed:
                wire.send(Request.get(target))
                wire.finish()
            }
        }
    }

    /// An app that sends its answer as fast as it can and ends.
    private static let app: @Sendable (Link) -> Void = { link in
        while let request = link.next() {
            guard let framing = Framing(rawValue: request.target) else {
                link.answer(body: "next")
                continue
            }
            link.send("HTTP/1.1 200 OK\r\n\(framing.head)\r\n")
            let block = [UInt8](repeating: 0x7A, count: 1 << 16)
            for _ in 0..<(Self.length >> 16) {
                if framing == .chunked { link.send("10000\r\n") }
                guard link.wire.send(block) else { return }
                if framing == .chunked { link.send("\r\n") }
            }
            if framing == .chunked { link.send("0\r\n\r\n") }
            if framing == .lastLength || framing == .close { return }
        }
    }

    /// Reads at this rate without a pause; stops after `limit` bytes.
    private static func read(_ wire: Wire, rate: Int, limit: Int = .max) -> (bytes: [UInt8], last: Wire.Event) {
        var all: [UInt8] = []
        let start = Date()
        while all.count < limit {
            switch wire.receive(seconds: 5) {
            case .bytes(let bytes): all += bytes
            case let last: return (all, last)
            }
            let ahead = Double(all.count) / Double(rate) - Date().timeIntervalSince(start)
            if ahead > 0 { usleep(UInt32(min(ahead, 1) * 1_000_000)) }
        }
        return (all, .silence)
    }

    private static func content(_ bytes: [UInt8]) -> Int {
        let head = bytes.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound ?? 0
        return bytes[head...].count(where: { $0 == 0x7A })
    }

    @Test("A client that reads without a pause gets everything, however long it takes", arguments: Framing.allCases)
    func whole(framing: Framing) throws {
        let app = try FakeUpstream(serve: Self.app)
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port, more: Self.short)) { gateway throws in
            let clients = try Asking.allCases.map { asking in
                let wire = try Wire(to: gateway.port, receiveBuffer: 16_384)
                asking.send(framing.rawValue, to: wire)
                let reader = Reader { Self.read(wire, rate: 1_500_000) }
                return (asking, wire, reader)
            }
            for (asking, _, reader) in clients {
                let (bytes, last) = reader.result
                #expect(Self.content(bytes) == Self.length, "\(asking): \(bytes.count)")
                // A kept connection ends after its idle time.
                #expect(last == .end, "\(asking)")
            }
        }
    }

    @Test("A request behind a slow answer is answered after it")
    func pipelined() throws {
        let app = try FakeUpstream(serve: Self.app)
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port, more: Self.short)) { gateway throws in
            let wire = try Wire(to: gateway.port, receiveBuffer: 16_384)
            wire.send(Request.get("/length") + Request.get("/after"))
            let (bytes, last) = Self.read(wire, rate: 2_000_000)
            #expect(Self.content(bytes) >= Self.length && last == .end)
            #expect(String(latin1: bytes.suffix(4)) == "next")
        }
    }

    @Test(
        "A client that stops reading sees no clean end, and the log says why and what it got",
        arguments: Asking.allCases
    )
    func stalled(asking: Asking) throws {
        let app = try FakeUpstream(serve: Self.app)
        defer { app.stop() }
        let more = Self.short + "log: {access: true}\n"
        try Gateway.with(Config.open(upstream: app.port, more: more)) { gateway throws in
            for framing in [Framing.close, .length] {
                let wire = try Wire(to: gateway.port, receiveBuffer: 16_384)
                asking.send(framing.rawValue, to: wire)
                let first = Self.read(wire, rate: .max, limit: 1 << 20)
                let line = try AccessLine.of(framing.rawValue, gateway)
                #expect(line["reason"] as? String == "request.timeout" && line["decision"] as? String == "allowed")
                let logged = try #require(line["bytes_out"] as? Int)
                let rest = Self.read(wire, rate: .max)
                let got = Self.content(first.bytes + rest.bytes)
                #expect(rest.last == .reset && got < Self.length, "\(framing): \(rest.last)")
                #expect(abs(logged - got) < 100_000, "\(logged) logged, \(got) received")
            }
        }
    }

    @Test("A gateway that stops lets a slow reader read on while it drains")
    func draining() throws {
        let app = try FakeUpstream(serve: Self.app)
        defer { app.stop() }
        let settings = Config.open(upstream: app.port, more: Self.short, drainTimeout: "20s")
        try Gateway.with(settings) { gateway throws in
            let wire = try Wire(to: gateway.port, receiveBuffer: 16_384)
            wire.send(Request.get("/last-length"))
            #expect(wire.receive(through: "\r\n\r\n") != nil)
            gateway.signal(SIGTERM)
            let (bytes, last) = Self.read(wire, rate: 2_000_000)
            #expect(bytes.count(where: { $0 == 0x7A }) == Self.length && last == .end)
            #expect(gateway.exitStatus() == 0)
        }
    }

    @Test(
        "A slow reader is cut by RST when the time to drain is over, or at a second SIGTERM, and the log says so",
        arguments: [("100ms", 1), ("1h", 2)]
    )
    func cut(drain: String, signals: Int) throws {
        let app = try FakeUpstream(serve: Self.app)
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port, drainTimeout: drain)) { gateway throws in
            let wire = try Wire(to: gateway.port, receiveBuffer: 16_384)
            wire.send("GET /close HTTP/1.0\r\nHost: \(Request.host)\r\n\r\n")
            #expect(wire.receive(through: "\r\n\r\n") != nil)
            gateway.signal(SIGTERM)
            #expect(eventually { gateway.output.contains(#""stopping""#) })
            if signals == 2 { gateway.signal(SIGTERM) }
            #expect(gateway.exitStatus() == (signals == 2 ? 1 : 0))
            let rest = Self.read(wire, rate: .max)
            #expect(rest.last == .reset && Self.content(rest.bytes) < Self.length)
            let line = try AccessLine.of("/close", gateway)
            #expect(line["reason"] as? String == "gateway.draining" && line["decision"] as? String == "allowed")
        }
    }
}

/// The lines of the access log.
enum AccessLine {
    /// The last line of a path, when it has been written.
    static func of(_ path: String, _ gateway: Gateway) throws -> [String: Any] {
        func line() -> [String: Any]? {
            gateway.output.split(separator: "\n").last { line in
                line.hasPrefix(#"{"stream":"access""#) && line.contains(#""path":"\#(path)""#)
            }
            .flatMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
        }
        #expect(eventually { line() != nil }, "no line of \(path)")
        return try #require(line())
    }
}

/// Reads on a thread of its own.
private final class Reader: Sendable {
    typealias Result = (bytes: [UInt8], last: Wire.Event)
    private let done = DispatchSemaphore(value: 0)
    private nonisolated(unsafe) var read: Result = ([], .silence)

    init(_ body: @escaping @Sendable () -> Result) {
        Thread.detachNewThread {
            self.read = body()
            self.done.signal()
        }
    }

    var result: Result {
        self.done.wait()
        self.done.signal()
        return self.read
    }
}
