import Foundation
import GatewayBench
import Synchronization
import TestSupport
import Testing

/// Floods of frames at the speed of the line, each from one connection, with another client beside it. What each costs is
/// asserted in the soak only, where no other test runs.
@Suite("Floods of HTTP/2 at the speed of the line", .blocking, .serialized) struct HTTP2FloodTests {
    private static let isSoak = ProcessInfo.processInfo.environment["SOAK"] == "1"
    private typealias Flag = ClientFrames.Flag

    /// Frames that a client repeats for as long as they are taken.
    struct Flood: Sendable, CustomTestStringConvertible {
        var name: String
        /// By what the connection is closed, in the metric: which comes first depends on how much is read at once.
        var reasons: [String]
        var opening = ClientFrames()
        /// The frames of the stream with this number.
        var part: @Sendable (UInt32) -> ClientFrames

        var testDescription: String { self.name }

        init(
            _ name: String,
            _ reasons: String...,
            behind opening: ClientFrames = ClientFrames(),
            _ part: @escaping @Sendable (UInt32) -> ClientFrames
        ) {
            self.name = name
            self.reasons = reasons
            self.opening = opening
            self.part = part
        }
    }

    private static let frames = ClientFrames()
    private static let get = ClientFrames.request(authority: Request.host, path: "/")
    private static let post = ClientFrames.request("POST", authority: Request.host, path: "/")
    private static let open = frames.headers(1, post, endsStream: false)
    /// A large field that both sides remember, and then references to it of one byte each (CVE-2016-6581).
    private static let bomb =
        ClientFrames.block(get) + [0x40, 1, 0x61, 100] + [UInt8](repeating: 0x62, count: 100)
        + [UInt8](repeating: 0xBE, count: 15_000)
    /// The same in thousands of crumbs (CVE-2026-47774, CVE-2026-49975).
    private static let crumbs = ClientFrames.block(get + Array(repeating: ("cookie", "a"), count: 1200))

    static let floods: [Flood] = [
        Flood("rapid reset (CVE-2023-44487)", "resets") { frames.headers($0, get).reset($0) },
        Flood("streams that are reset for the client's fault (CVE-2025-8671)", "resets", "queue", "protocol_error") {
            frames.headers($0, post + [("content-length", "1")], endsStream: false).data($0, [1, 2])
        },
        Flood("malformed requests", "resets", "queue", "protocol_error") { frames.headers($0, get + [("A", "b")]) },
        Flood("an HPACK bomb (CVE-2016-6581)", "resets", "queue", "protocol_error") {
            frames.frame(.headers, flags: Flag.endHeaders | Flag.endStream, stream: $0, bomb)
        },
        Flood("PING (CVE-2019-9512)", "pings") { _ in frames.ping() },
        Flood("SETTINGS (CVE-2019-9515)", "settings") { _ in frames.settings() },
        Flood("PRIORITY (CVE-2019-9513)", "priorities") { frames.frame(.priority, stream: $0, [0, 0, 0, 0, 16]) },
        Flood("WINDOW_UPDATE", "window_updates") { _ in frames.windowUpdate(0, 1) },
        Flood("empty DATA (CVE-2019-9518)", "empty_data", behind: open) { _ in frames.data(1, []) },
        Flood("CONTINUATION (CVE-2024-27316)", "field_block", behind: frames.frame(.headers, stream: 1, [])) { _ in
            frames.frame(.continuation, stream: 1, [0, 1, 0x61, 1, 0x62])
        },
        Flood("frames of unknown types", "overhead") { _ in frames.frame(0x42, [UInt8](repeating: 0, count: 16_000)) },
    ]

    @Test("A flood closes its connection, the reason is counted, and another client is served", arguments: floods)
    func flood(_ flood: Flood) throws {
        try PlainHTTP2.with { gateway, _ throws in
            let (seconds, bytes) = (try Self.cpuSeconds(of: gateway), gateway.residentBytes)
            let others = try Neighbour.beside(gateway) { try self.send(flood, to: gateway) }
            let series = flood.reasons.map { "sallyport_http2_connections_closed_total{reason=\"\($0)\"}" }
            #expect(eventually { series.compactMap { try? gateway.metric($0) }.reduce(0, +) == 1 })
            #expect(others.failures == 0 && !others.seconds.isEmpty)
            guard Self.isSoak else { return }
            #expect(try Self.cpuSeconds(of: gateway) - seconds < 0.5 * others.duration)
            #expect(gateway.residentBytes - bytes < 5 << 20)
            print("report: 99 % of others waited \(others.seconds.sorted()[others.seconds.count * 99 / 100]) s at most")
        }
    }

    @Test("Thousands of crumbs are no more than their bytes, and are refused") func crumbs() throws {
        try PlainHTTP2.with { gateway, _ throws in
            let bytes = gateway.residentBytes
            // A window of nothing holds all answers.
            let client = try HTTP2Wire(to: gateway, [(id: 4, value: 0)])
            for index in 0..<100 as Range<UInt32> {
                let flags = Flag.endHeaders | Flag.endStream
                client.send(ClientFrames().frame(.headers, flags: flags, stream: 2 * index + 1, Self.crumbs))
            }
            for _ in 0..<100 { while let frame = client.next(), frame.kind != .headers {} }
            #expect(gateway.residentBytes - bytes < Gateway.memoryBound(8 << 20))
        }
    }

    @Test(
        "A thousand connections with a hundred answers each that are not taken end, in less than 700 MB",
        .enabled(if: isSoak && getenv("ASAN_OPTIONS") == nil, "only with SOAK")
    )
    func stalled() throws {
        let content = String(repeating: "a", count: 1 << 20)
        let app = try FakeUpstream(serve: FakeUpstream.answering { link, _ in link.answer(body: content) })
        defer { app.stop() }
        DescriptorLimit.raise()
        let settings = Config.file(
            upstream: app.port,
            routes: "  - {path: /**, auth: public}",
            listen: "[{address: \"127.0.0.1:0\", protocols: [h2c, http/1.1]}]",
            more: "limits: {connections: 3000, connections_per_address: 0}\n"
        )
        try Gateway.with(settings) { gateway throws in
            var requests = ClientFrames()
            for index in 0..<100 as Range<UInt32> { requests = requests.headers(2 * index + 1, Self.get) }
            let clients = try (0..<1000).map { _ in
                let client = try HTTP2Wire(to: gateway, [(id: 4, value: 0)])
                client.send(requests)
                return client
            }
            let open = "sallyport_connections_open{listener=\"public\"}"
            #expect(eventually { (try? gateway.metric(open)) == 1000 })
            var most = 0
            let haveEnded = eventually(within: 200) {
                most = max(most, gateway.residentBytes)
                return (try? gateway.metric(open)) == 0
            }
            #expect(haveEnded)
            #expect(most < 700_000_000, "\(most)")
            #expect(try gateway.metric("sallyport_http2_connections_closed_total{reason=\"stalls\"}") == 1000)
            withExtendedLifetime(clients) {}
        }
    }

    private static func cpuSeconds(of gateway: Gateway) throws -> Double {
        let text = try String(contentsOfFile: "/proc/\(gateway.processID)/stat", encoding: .utf8)
        // Hundredths, of the process and of the system for it.
        return text.split(separator: " ").dropFirst(13).prefix(2).compactMap { Double($0) }.reduce(0, +) / 100
    }

    /// Sends until the gateway takes nothing more, for 10 seconds at most.
    private func send(_ flood: Flood, to gateway: Gateway) throws {
        let wire = try Wire(to: gateway.port)
        var frames = ClientFrames.opening().settingsAck().bytes + flood.opening.bytes
        let end = Date(timeIntervalSinceNow: 10)
        var stream: UInt32 = 1
        while wire.send(frames), Date() < end {
            frames = []
            while frames.count < 65_536 {
                stream += 2
                frames += flood.part(stream).bytes
            }
            // Answers that nobody reads are not what is tried here.
            while case .bytes = wire.receive(seconds: 0) {}
        }
        wire.close()
    }
}

/// Another client, which asks again and again while something else goes on.
private struct Neighbour {
    var seconds: [Double] = []
    var failures = 0
    var duration = 0.0

    static func beside(_ gateway: Gateway, _ body: () throws -> Void) throws -> Neighbour {
        let result = Mutex(Neighbour())
        let hasEnded = Flag()
        let (start, isDone) = (Date(), DispatchSemaphore(value: 0))
        Thread.detachNewThread {
            let wire = try? gateway.connect()
            repeat {
                let start = Date()
                let isGood = (try? wire?.request(Request.get("/")).status) == 200
                result.withLock { result in
                    result.seconds.append(Date().timeIntervalSince(start))
                    result.failures += isGood ? 0 : 1
                }
                usleep(5000)
            } while hasEnded.count == 0
            isDone.signal()
        }
        defer {
            hasEnded.raise()
            isDone.wait()
        }
        try body()
        return result.withLock { result in
            result.duration = Date().timeIntervalSince(start)
            return result
        }
    }
}
