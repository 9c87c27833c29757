import Foundation
import GatewayBench
import Testing

/// Clients that open connections and send nothing, or too little, do not keep other clients out.
@Suite("Silent clients", .blocking, .serialized) struct SilentClientTests {
    private static let crowd = "limits:\n  connections: 40\n  connections_per_address: 0\n"

    /// An app that answers `/slow` only after `go` is raised.
    private static func patient(_ go: Flag) throws -> FakeUpstream {
        try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                if request.target == "/public/slow" { _ = go.isRaised(within: 20) }
                link.answer(body: "ok")
            }
        )
    }

    @Test("The header timeout, not the idle timeout, closes a new connection without bytes")
    func firstByte() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let more = "timeouts:\n  header: 1s\n  idle: 1h\n"
        try Gateway.with(Config.open(upstream: app.port, more: more)) { gateway throws in
            let silent = try gateway.connect()
            let used = try gateway.connect()
            #expect(try used.request(Request.get()).status == 200)
            #expect(silent.receive(seconds: 4) == .end)
            #expect(used.receive(seconds: 1) == .silence)
        }
    }

    @Test(
        "Silent connections and unfinished heads of one address do not keep other clients out",
        arguments: ["", "GET / HTTP/1.1\r\nHos"],
        [1, 2]
    )
    func othersGetIn(saying words: String, loops: Int) throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.file(upstream: app.port, loops: loops, more: Self.crowd)
        try Gateway.with(settings) { gateway throws in
            var silent: [Wire] = []
            for round in 0..<10 {
                for _ in 0..<20 {
                    let wire = try gateway.connect()
                    if !words.isEmpty { wire.send(words) }
                    silent.append(wire)
                }
                let answer = try gateway.request(Request.get("/public/\(round)"), from: "127.0.0.2", seconds: 2)
                #expect(answer.status == 200)
            }
            #expect(try gateway.metric(#"sallyport_connections_evicted_total{listener="public"}"#) > 100)
            // The oldest silent connections were closed.
            #expect(silent[0].endsNow(within: 1))
            #expect(silent.last?.receive(seconds: 0.2) == .silence)
        }
    }

    @Test("To make room, neither a connection with a request is closed nor the newest ones")
    func busyOnesStay() throws {
        let go = Flag()
        let app = try Self.patient(go)
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port, more: Self.crowd)) { gateway throws in
            let busy = try (0..<30).map { _ in try gateway.connect() }
            for wire in busy { wire.send(Request.get("/public/slow")) }
            #expect(eventually { app.requests.count == 30 })
            let silent = try (0..<100).map { _ in try gateway.connect() }
            #expect(try gateway.request(Request.get("/public/"), from: "127.0.0.2", seconds: 2).status == 200)
            go.raise()
            for wire in busy { #expect(try wire.answer().text == "ok") }
            _ = silent.count
        }
    }

    @Test("A gateway full of idle connections accepts every new client without delay")
    func idleOnesGo() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port, more: Self.crowd)) { gateway throws in
            let idle = try (0..<60).map { index in
                let wire = try gateway.connect(from: "127.0.0.\(index + 1)")
                #expect(try wire.request(Request.get("/public/\(index)")).status == 200)
                return wire
            }
            #expect(idle[0].endsNow(within: 1))
            #expect(try idle[59].request(Request.get("/public/again")).status == 200)
        }
    }

    @Test(
        "One address gets half of the room by default; more of its connections are refused and counted, others are served"
    )
    func perAddress() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let more = "limits:\n  connections: 40\n"
        let refused = #"sallyport_connections_refused_total{listener="public",limit="per_address"}"#
        try Gateway.with(Config.file(upstream: app.port, more: more)) { gateway throws in
            let first = try (0..<20).map { _ in try gateway.connect() }
            for wire in first { #expect(try wire.request(Request.get("/public/")).status == 200) }
            let more = try gateway.connect()
            more.send(Request.get("/public/"))
            #expect(more.endsNow())
            #expect(try gateway.get("/public/", from: "127.0.0.2").status == 200)
            #expect(try gateway.metric(refused) == 1)
            for wire in first { #expect(try wire.request(Request.get("/public/")).status == 200) }
        }
        try Gateway.with(Config.file(upstream: app.port, more: more + "trusted_proxies: [127.0.0.1/32]\n")) {
            gateway throws in
            let all = try (0..<30).map { _ in try gateway.connect() }
            for wire in all { #expect(try wire.request(Request.get("/public/")).status == 200) }
            #expect(try gateway.metric(refused) == 0)
        }
    }

    @Test("When all places for unknown addresses are busy, an address with a signed-in user still gets in")
    func reserved() throws {
        let go = Flag()
        let app = try Self.patient(go)
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port, more: Self.crowd)) { gateway throws in
            let cookie = try gateway.browser(from: "127.0.0.9")
            let fields = ["Cookie: sallyport=\(cookie)"]
            #expect(try gateway.get("/", fields, from: "127.0.0.9").status == 200)
            // One after the other, because in a crowd connections without a request are closed.
            let busy = try (1...36).map { count in
                let wire = try gateway.connect()
                wire.send(Request.get("/public/slow"))
                #expect(eventually { app.requests.filter { $0.target == "/public/slow" }.count == count })
                return wire
            }
            let stranger = try gateway.connect(from: "127.0.0.2")
            stranger.send(Request.get("/public/"))
            #expect(stranger.endsNow())
            #expect(try gateway.get("/", fields, from: "127.0.0.9").status == 200)
            #expect(
                try gateway.metric(#"sallyport_connections_refused_total{listener="public",limit="reserved"}"#) == 1
            )
            go.raise()
            for wire in busy { #expect(try wire.answer().status == 200) }
            // These connections are idle now, and are closed at the next check.
            #expect(eventually { (try? gateway.get("/public/", from: "127.0.0.2").status) == 200 })
        }
    }

    @Test("A connection with an unfinished head holds no large buffer, whatever it carried before")
    func unfinishedHeads() throws {
        let app = try FakeUpstream(serve: FakeUpstream.answering { link, _ in link.answer(body: "ok") })
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            let count = 300
            let body = String(repeating: "a", count: 400_000)
            let wires = try (0..<count).map { _ in try gateway.connect() }
            for wire in wires { #expect(try wire.request(Request.get()).status == 200) }
            // The memory that one upload needs is allocated before the measurement.
            #expect(try gateway.request(Request.post("/", body: body)).status == 200)
            let before = gateway.residentBytes
            for wire in wires {
                // The head follows a body, so that it is read into the body's buffer.
                wire.send(Request.post("/", body: body) + "GET / HTTP/1.1\r\nHos")
                #expect(try wire.answer().status == 200)
            }
            let grown = (gateway.residentBytes - before) / count
            #expect(grown < Gateway.memoryBound(20_000), "an unfinished head costs \(grown) bytes")
            for wire in wires {
                wire.send("t: \(Request.host)\r\n\r\n")
                #expect(try wire.answer().status == 200)
            }
        }
    }
}
