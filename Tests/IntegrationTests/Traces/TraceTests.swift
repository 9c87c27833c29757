import Foundation
import GatewayBench
import Testing

/// A collector of traces that reads what it is sent by Google's protobuf, and keeps it.
private struct Collector {
    /// The Python interpreter that has `opentelemetry-proto`.
    static let python = Servers.find([Gateway.root.appending(path: ".build/collector/bin/python").path])

    struct Span: Decodable {
        let trace, span, parent, name: String
        let kind, status: Int
        let links: [String]
    }

    struct State: Decodable {
        let spans: [Span]
        let faults: [String]
    }

    private let process: RealProcess

    init() throws {
        let script = Gateway.root.appending(path: "Tests/IntegrationTests/Traces/trace-collector.py").path
        self.process = try RealProcess(Self.python ?? "") { port, _ in [script, "\(port)"] }
        try self.process.start()
    }

    func stop() { self.process.stop() }

    var endpoint: String { "http://127.0.0.1:\(self.process.port)" }

    /// What the gateway's settings need.
    func settings(_ more: String = "") -> String {
        "telemetry: {endpoint: \"\(self.endpoint)\", batch_delay: 100ms, queue_size: 100000 \(more)}"
    }

    /// How it answers from now on.
    func answer(_ status: Int, after seconds: Int = 0) throws {
        let target = "/mode?status=\(status)&seconds=\(seconds)"
        _ = try Wire(to: self.process.port).request(
            "POST \(target) HTTP/1.1\r\nHost: c\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
    }

    var state: State {
        get throws {
            let answer = try Wire(to: self.process.port).request(
                "GET /spans HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n",
                seconds: 60
            )
            return try JSONDecoder().decode(State.self, from: Data(answer.text.utf8))
        }
    }

    /// Its state when it has so many spans.
    func state(with count: Int) throws -> State {
        _ = eventually { (try? self.state.spans.count) ?? 0 >= count }
        return try self.state
    }
}

@Suite("Traces", .blocking, .enabled(if: Collector.python != nil, "opentelemetry-proto is not installed"))
struct TraceTests {
    private static let dropped = "sallyport_spans_dropped_total"

    @Test("Google's protobuf reads every span, and each has the parent that the app was told")
    func everySpan() throws {
        let collector = try Collector()
        defer { collector.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port, more: collector.settings())) { gateway throws in
            let wire = try gateway.connect()
            for number in 0..<2000 {
                let answer = try wire.request(Request.get("/x\(number)?token=SECRET"))
                #expect(answer.status == 200)
            }
            let state = try collector.state(with: 4000)
            #expect(state.faults == [])
            #expect(state.spans.count == 4000)
            let byID = Dictionary(state.spans.map { ($0.span, $0) }) { first, _ in first }
            #expect(byID.count == 4000)
            let told = Dictionary(
                app.requests.map { ($0.values("traceparent").first ?? "", $0.values("x-request-id").first ?? "") }
            ) { first, _ in first }
            #expect(told.count == 2000)
            for client in state.spans where client.kind == 3 {
                let parent = try #require(byID[client.parent])
                #expect(parent.kind == 2)
                #expect(parent.trace == client.trace)
                #expect(parent.parent == "")
                #expect(told["00-\(client.trace)-\(client.span)-01"] == client.trace)
            }
            #expect(try gateway.metric("sallyport_spans_sent_total") == 4000)
        }
    }

    @Test("A collector that does not take spans holds up no request, and what is lost is counted")
    func away() throws {
        let collector = try Collector()
        defer { collector.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = collector.settings(", export_timeout: 1s")
        try Gateway.with(Config.open(upstream: app.port, more: settings)) { gateway throws in
            let wire = try gateway.connect()
            for (status, reason) in [(503, "failed"), (400, "refused")] {
                try collector.answer(status)
                for _ in 0..<20 { #expect(try wire.request(Request.get("/x")).status == 200) }
                let lost = eventually {
                    ((try? gateway.metric("\(Self.dropped){reason=\"\(reason)\"}")) ?? 0) >= 40
                }
                #expect(lost, "\(status)")
            }
            #expect(try gateway.metric("sallyport_spans_sent_total") == 0)
            try collector.answer(200)
            #expect(try wire.request(Request.get("/x")).status == 200)
            #expect(try collector.state(with: 2).spans.count == 2)
        }
    }

    @Test("A gateway that stops sends the spans that it has")
    func stops() throws {
        let collector = try Collector()
        defer { collector.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = "telemetry: {endpoint: \"\(collector.endpoint)\", batch_delay: 5m}"
        try Gateway.with(Config.open(upstream: app.port, more: settings)) { gateway throws in
            #expect(try gateway.get("/x").status == 200)
            gateway.signal(SIGTERM)
            #expect(gateway.exitStatus() == 0)
        }
        #expect(try collector.state(with: 2).spans.count == 2)
    }
}
