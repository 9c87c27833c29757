import Foundation
import GatewayBench
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// More requests at once than connections to the app.
@Suite("The queue for connections to an app", .blocking) struct UpstreamQueueTests {
    private static let waiting = #"sallyport_upstream_requests_waiting{upstream="app"}"#

    private static func settings(_ app: FakeUpstream, _ keys: String, more: String = "") -> String {
        let upstreams = "upstreams:\n  app: {url: \"http://127.0.0.1:\(app.port)\", \(keys)}\n"
        return Config.open(upstream: app.port, "upstream: app", more: upstreams + more, drainTimeout: "10s")
    }

    /// An app whose `/slow` is answered when `go` is raised.
    private static func slow(until go: Flag) throws -> FakeUpstream {
        try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                if request.target == "/slow" { _ = go.isRaised(within: 20) }
                link.answer(body: request.target)
            }
        )
    }

    @Test("All are answered, whether the app keeps its connections or closes them", arguments: [true, false])
    func allAreAnswered(keepsAlive: Bool) throws {
        let app = try FakeUpstream { link in
            while let request = link.next() {
                usleep(20_000)
                link.answer("200 OK", keepsAlive ? "" : "Connection: close\r\n", body: request.target)
                if !keepsAlive { return }
            }
        }
        defer { app.stop() }
        try Gateway.with(Self.settings(app, "max_connections: 2, client_share: 100")) { gateway throws in
            let wires = try (0..<40).map { _ in try gateway.connect() }
            for round in 0..<2 {
                for (number, wire) in wires.enumerated() { wire.send(Request.get("/\(round)-\(number)")) }
                for (number, wire) in wires.enumerated() {
                    #expect(try wire.answer(seconds: 10).text == "/\(round)-\(number)")
                }
            }
            #expect(app.connectionCount == (keepsAlive ? 2 : 80))
            #expect(try gateway.metric(Self.waiting) == 0)
        }
    }

    @Test("The oldest request is first, and a full queue refuses the next one")
    func full() throws {
        let go = Flag()
        let app = try Self.slow(until: go)
        defer { app.stop() }
        try Gateway.with(Self.settings(app, "max_connections: 1, max_queue: 2")) { gateway throws in
            let slow = try gateway.connect()
            slow.send(Request.get("/slow"))
            #expect(eventually { app.requests.count == 1 })
            let waiting = try (1...2).map { number in
                let wire = try gateway.connect()
                wire.send(Request.get("/\(number)"))
                #expect(eventually { (try? gateway.metric(Self.waiting)) == Double(number) })
                return wire
            }
            let refused = try gateway.get("/3")
            #expect(refused.status == 503 && refused.reason == "gateway.overloaded")
            #expect(refused.value("retry-after") != nil)
            go.raise()
            #expect(try slow.answer().text == "/slow")
            for (index, wire) in waiting.enumerated() { #expect(try wire.answer().text == "/\(index + 1)") }
            #expect(app.requests.map(\.target) == ["/slow", "/1", "/2"])
        }
    }

    @Test("A request that has waited for too long gets 503, and its connection can be used again")
    func deadline() throws {
        let go = Flag()
        let app = try Self.slow(until: go)
        defer { app.stop() }
        let settings = Self.settings(app, "max_connections: 1", more: "timeouts:\n  queue: 500ms\n")
        try Gateway.with(settings) { gateway throws in
            let slow = try gateway.connect()
            slow.send(Request.get("/slow"))
            #expect(eventually { app.requests.count == 1 })
            let late = try gateway.connect()
            let answer = try late.request(Request.post("/late", body: "hello"))
            #expect(answer.status == 503 && answer.reason == "gateway.overloaded")
            #expect(answer.value("retry-after") != nil)
            #expect(try gateway.metric(Self.waiting) == 0)
            go.raise()
            #expect(try slow.answer().text == "/slow")
            #expect(try late.request(Request.get("/next")).text == "/next")
            #expect(app.requests.map(\.target) == ["/slow", "/next"])
        }
    }

    @Test("A client that leaves leaves the queue, and its request is not sent")
    func leaving() throws {
        let go = Flag()
        let app = try Self.slow(until: go)
        defer { app.stop() }
        try Gateway.with(Self.settings(app, "max_connections: 1, max_queue: 1")) { gateway throws in
            let slow = try gateway.connect()
            slow.send(Request.get("/slow"))
            #expect(eventually { app.requests.count == 1 })
            let leaving = try gateway.connect()
            leaving.send(Request.get("/left"))
            #expect(eventually { (try? gateway.metric(Self.waiting)) == 1 })
            leaving.reset()
            #expect(eventually { (try? gateway.metric(Self.waiting)) == 0 })
            let waiting = try gateway.connect()
            waiting.send(Request.get("/waits"))
            #expect(eventually { (try? gateway.metric(Self.waiting)) == 1 })
            go.raise()
            #expect(try slow.answer().text == "/slow")
            #expect(try waiting.answer().text == "/waits")
            #expect(app.requests.map(\.target) == ["/slow", "/waits"])
        }
    }

    @Test("Requests that wait are answered after a reload and during a drain", arguments: [true, false])
    func reloadAndDrain(reloads: Bool) throws {
        let go = Flag()
        let app = try Self.slow(until: go)
        defer { app.stop() }
        let settings = Self.settings(app, "max_connections: 1")
        try Gateway.with(settings) { gateway throws in
            let slow = try gateway.connect()
            slow.send(Request.get("/slow"))
            #expect(eventually { app.requests.count == 1 })
            let waiting = try (0..<3).map { _ in try gateway.connect() }
            for wire in waiting { wire.send(Request.get("/waits")) }
            #expect(eventually { (try? gateway.metric(Self.waiting)) == 3 })
            if reloads {
                try gateway.reload(settings)
            } else {
                gateway.signal(SIGTERM)
                #expect(eventually { (try? gateway.admin("/readyz").status) == 503 })
            }
            go.raise()
            #expect(try slow.answer().text == "/slow")
            for wire in waiting { #expect(try wire.answer().text == "/waits") }
            if reloads {
                #expect(try gateway.metric(Self.waiting) == 0)
                #expect(try gateway.get("/next").text == "/next")
            } else {
                #expect(gateway.exitStatus() == 0)
            }
        }
    }
}
