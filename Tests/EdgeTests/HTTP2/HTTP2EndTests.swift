import Foundation
import GatewayBench
import TestSupport
import Testing

/// The ends of connections of HTTP/2, with requests on their way: those that were sent before the last GOAWAY are answered.
@Suite("Ends of HTTP/2 without a loss", .blocking) struct HTTP2EndTests {
    /// Sends requests until the last GOAWAY has come, `width` at a time, and reads all answers.
    ///
    /// - Parameter early: Called once, when this many requests have been answered.
    /// - Returns: How many were sent, the last stream that is served, and those up to it that had no answer.
    private static func load(
        _ gateway: Gateway,
        width: Int,
        early: (count: Int, act: () -> Void)? = nil
    ) throws -> (sent: UInt32, last: UInt32, lost: [UInt32]) {
        let client = try HTTP2Wire(to: gateway)
        let fields = ClientFrames.request(authority: Request.host)
        var (sent, last) = (UInt32(0), UInt32?.none)
        var (good, answered) = (Set<UInt32>(), Set<UInt32>())
        func open() {
            client.send(ClientFrames().headers(2 * sent + 1, fields).windowUpdate(0, 100))
            sent += 1
        }
        for _ in 0..<width { open() }
        while let frame = client.next(seconds: 20) {
            if frame.kind == .goAway, frame.lastStream < 0x7FFF_FFFF { last = frame.lastStream }
            if frame.isOK { good.insert(frame.stream) }
            guard frame.endsStream else { continue }
            if good.contains(frame.stream) { answered.insert(frame.stream) }
            if let early, answered.count == early.count { early.act() }
            if last == nil { open() }
        }
        let end = try #require(last)
        let served = stride(from: 1, through: min(end, 2 * sent - 1), by: 2)
        return (sent, end, served.filter { !answered.contains($0) })
    }

    private static func settings(_ app: FakeUpstream, more: String = "") -> String {
        Config.file(
            upstream: app.port,
            routes: "  - {path: /**, auth: public}",
            listen: "[{address: \"127.0.0.1:0\", protocols: [h2c]}]",
            drainTimeout: "20s",
            more: more
        )
    }

    @Test("SIGTERM under load fails no request that was sent before the last GOAWAY", arguments: [1, 20])
    func stops(_ width: Int) throws {
        let app = try FakeUpstream(serve: FakeUpstream.answering { link, _ in link.answer(body: "hello") })
        defer { app.stop() }
        try Gateway.with(Self.settings(app)) { gateway in
            let (sent, last, lost) = try Self.load(gateway, width: width, early: (100, { gateway.signal(SIGTERM) }))
            // It has gone on for as long as the clients of other connections need to learn of the end.
            #expect(sent > 100 && last > 200)
            #expect(lost.isEmpty)
            #expect(gateway.exitStatus(within: 25) == 0)
        }
    }

    @Test("A connection that has had its requests ends in the same way") func requestLimit() throws {
        let app = try FakeUpstream(serve: FakeUpstream.answering { link, _ in link.answer(body: "hello") })
        defer { app.stop() }
        try Gateway.with(Self.settings(app, more: "limits: {requests_per_connection: 50}\n")) { gateway in
            let (sent, _, lost) = try Self.load(gateway, width: 10)
            #expect(sent > 50 && lost.isEmpty)
        }
    }

    @Test("curl and nghttp have all their requests answered across the ends of connections") func clients() throws {
        try TLSServingTests.Bench.with(more: "limits: {requests_per_connection: 20}\n") { bench throws in
            // Without TLS, curl 7.88 uses no connection twice.
            for parallel in [["--parallel", "--parallel-max", "10"], []] {
                let words = ["--http2", "-o", "/dev/null", "-w", "[%{http_code} %{http_version}]\n"] + parallel
                let (status, output) = try bench.curl(words, path: "/[1-200]")
                #expect(status == 0 && output.components(separatedBy: "[200 2]").count == 201, "\(output.suffix(500))")
            }
            // It opens no other connection; what it sends at once comes before the end.
            let (status, output) = try Servers.run(
                "/usr/bin/nghttp",
                [
                    "-v", "-n", "-m", "60", "-H", ":authority: \(bench.host)",
                    "https://127.0.0.1:\(bench.gateway.port)/",
                ],
                within: 60
            )
            #expect(status == 0 && output.components(separatedBy: ":status: 200").count == 61, "\(output.suffix(500))")
        }
    }
}
