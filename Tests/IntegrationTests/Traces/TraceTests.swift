import Foundation
import GatewayBench
import Testing

@Suite("Traces", .blocking)
struct TraceTests {
    private static let dropped = "sallyport_spans_dropped_total"

    @Test("Google's protobuf reads every span, and each has the parent that the app was told")
    func everySpan() throws {
        let collector = try Collector()
        defer { collector.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port, more: collector.settings()), environment: Collector.hurry) {
            gateway throws in
            let wire = try gateway.connect()
            for number in 0..<10_000 {
                let answer = try wire.request(Request.get("/x\(number)?token=SECRET"))
                #expect(answer.status == 200)
            }
            let state = try collector.state(with: 20_000)
            #expect(state.faults == [])
            #expect(state.spans.count == 20_000)
            let byID = Dictionary(state.spans.map { ($0.span, $0) }) { first, _ in first }
            #expect(byID.count == 20_000)
            let told = Dictionary(
                app.requests.map { ($0.values("traceparent").first ?? "", $0.values("x-request-id").first ?? "") }
            ) { first, _ in first }
            #expect(told.count == 10_000)
            for client in state.spans where client.kind == 3 {
                let parent = try #require(byID[client.parent])
                #expect(parent.kind == 2)
                #expect(parent.trace == client.trace)
                #expect(parent.parent == "")
                #expect(told["00-\(client.trace)-\(client.span)-01"] == client.trace)
                #expect(parent.attributes["url.path"]?.hasPrefix("/x") == true)
            }
            #expect(!state.spans.contains { span in span.attributes.values.contains { $0.contains("SECRET") } })
            #expect(try gateway.metric("sallyport_spans_sent_total") == 20_000)
        }
    }

    @Test("A collector that does not take spans holds up no request, and what is lost is counted")
    func away() throws {
        let collector = try Collector()
        defer { collector.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.open(upstream: app.port, more: collector.settings())
        try Gateway.with(settings, environment: Collector.hurry(patience: 1000)) { gateway throws in
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

    @Test("What a collector says of spans that it refuses, or warns of, is in the log", arguments: [0, 1])
    func partial(refused: Int) throws {
        let collector = try Collector()
        defer { collector.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        try collector.refuse(refused, saying: "too-old")
        try Gateway.with(Config.open(upstream: app.port, more: collector.settings()), environment: Collector.hurry) {
            gateway throws in
            #expect(try gateway.get("/x").status == 200)
            #expect(eventually { gateway.output.contains(#""detail":"too-old""#) }, "\(gateway.output)")
            let lost = "\(Self.dropped){reason=\"refused\"}"
            #expect(eventually { (try? gateway.metric(lost)) == Double(refused) })
        }
    }

    @Test("Spans that are dropped because more come than the collector takes are in the log")
    func slow() throws {
        let collector = try Collector()
        defer { collector.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        try collector.answer(200, after: 1)
        let settings = Config.open(upstream: app.port, more: collector.settings())
        let sizes = ["OTEL_BSP_MAX_QUEUE_SIZE": "64", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "16"]
        try Gateway.with(settings, environment: Collector.hurry.merging(sizes) { $1 }) { gateway throws in
            let wire = try gateway.connect()
            for _ in 0..<300 { #expect(try wire.request(Request.get("/x")).status == 200) }
            #expect(eventually { gateway.output.contains("spans are dropped: more arrive") }, "\(gateway.output)")
            #expect(try gateway.metric("\(Self.dropped){reason=\"queue_full\"}") > 0)
        }
    }

    @Test("A collector whose port is closed holds up no request: spans are sent when it is back, or counted")
    func closedPort() throws {
        let collector = try Collector()
        defer { collector.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        for (timeout, isBack) in [(1000, false), (60_000, true)] {
            collector.leave()
            let settings = Config.open(upstream: app.port, more: collector.settings())
            try Gateway.with(settings, environment: Collector.hurry(patience: timeout)) { gateway throws in
                let wire = try gateway.connect()
                for _ in 0..<20 { #expect(try wire.request(Request.get("/x")).status == 200) }
                #expect(eventually { gateway.output.contains("the collector does not accept traces") })
                #expect(gateway.output.contains("onnection refused"), "\(gateway.output)")
                if isBack {
                    try collector.comeBack()
                    #expect(try collector.state(with: 40).spans.count == 40)
                    #expect(eventually { (try? gateway.metric("sallyport_spans_sent_total")) == 40 })
                }
                let lost = "\(Self.dropped){reason=\"failed\"}"
                #expect(eventually { (try? gateway.metric(lost)) == (isBack ? 0 : 40) })
                #expect(try wire.request(Request.get("/x")).status == 200)
            }
        }
    }

    @Test("The span of each attempt names the server that was tried, and why it failed")
    func attempts() throws {
        let collector = try Collector()
        defer { collector.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        let closed = try ServerPorts.take()
        let servers = [closed, app.port].map { "\"http://127.0.0.1:\($0)\"" }.joined(separator: ", ")
        let more = "upstreams:\n  app: {servers: [\(servers)]}\n" + collector.settings()
        let settings = Config.open(upstream: 1, "upstream: app", more: more)
        try Gateway.with(settings, environment: Collector.hurry) { gateway throws in
            for _ in 0..<16 { #expect(try gateway.get("/x").status == 200) }
            let state = try collector.state { $0.of("sallyport", 3).contains { $0.attributes["error.type"] != nil } }
            let failed = state.of("sallyport", 3).filter { $0.attributes["error.type"] != nil }
            #expect(!failed.isEmpty)
            for span in failed {
                #expect(span.attributes["error.type"] == "upstream.unreachable")
                #expect(span.attributes["server.port"] == "\(closed)")
                #expect(span.attributes["url.full"] == "http://127.0.0.1:\(closed)/x")
            }
            let good = state.of("sallyport", 3).filter { $0.attributes["error.type"] == nil }
            #expect(good.allSatisfy { $0.attributes["server.port"] == "\(app.port)" })
        }
    }

    @Test("A collector that asks for no pause is not asked again at once")
    func pauses() throws {
        let collector = try Collector()
        defer { collector.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        try collector.answer(503, retryAfter: 0)
        let settings = Config.open(upstream: app.port, more: collector.settings())
        try Gateway.with(settings, environment: Collector.hurry(patience: 2000)) { gateway throws in
            #expect(try gateway.get("/x").status == 200)
            #expect(eventually { ((try? gateway.metric("\(Self.dropped){reason=\"failed\"}")) ?? 0) >= 2 })
            // After 0.8 s or more; without a pause they are hundreds.
            #expect(try collector.requests <= 4)
        }
    }

    @Test("A collector that asks for a long rest has it: spans wait as far as there is room")
    func rests() throws {
        let collector = try Collector()
        defer { collector.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        try collector.answer(429, retryAfter: 3600)
        let settings = Config.open(upstream: app.port, more: collector.settings())
        let sizes = ["OTEL_BSP_MAX_QUEUE_SIZE": "64", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "64"]
        try Gateway.with(settings, environment: Collector.hurry.merging(sizes) { $1 }) { gateway throws in
            #expect(try gateway.get("/x").status == 200)
            #expect(eventually { ((try? gateway.metric("\(Self.dropped){reason=\"failed\"}")) ?? 0) >= 1 })
            let wire = try gateway.connect()
            for _ in 0..<100 { #expect(try wire.request(Request.get("/x")).status == 200) }
            #expect(eventually { ((try? gateway.metric("\(Self.dropped){reason=\"queue_full\"}")) ?? 0) >= 1 })
            #expect(try collector.requests <= 2)
        }
    }

    @Test("A collector that hangs does not hold up the end of a gateway, whose lines are written before")
    func hangs() throws {
        let collector = try Collector()
        defer { collector.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        // Longer than the second that is left, and shorter than five.
        try collector.answer(200, after: 4)
        let settings = Config.open(upstream: app.port, more: collector.settings(), drainTimeout: "0s")
        try Gateway.with(settings, environment: Collector.hurry) { gateway throws in
            #expect(try gateway.get("/last").status == 200)
            gateway.signal(SIGTERM)
            #expect(gateway.exitStatus() == 0)
            #expect(gateway.output.contains("spans are lost, because the gateway stops"))
            let lines = gateway.output.split(separator: "\n")
            let access = lines.firstIndex { $0.contains(#""path":"/last""#) } ?? .max
            #expect(access < lines.firstIndex { $0.contains("spans are lost") } ?? 0)
        }
    }

    @Test("A collector whose TLS is wrong holds up no request, and one that is trusted gets the spans")
    func tls() throws {
        guard let openssl = Servers.find(["/usr/bin/openssl"]) else { try Servers.missing("openssl") }
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        func path(_ name: String) -> String { folder.appending(path: name).path }
        let made = try Servers.run(
            openssl,
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=collector", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", path("key.pem"), "-out",
                path("collector.pem"),
            ]
        )
        try #require(made.status == 0, "\(made.output)")
        let secured = try Collector(certificate: (path("collector.pem"), path("key.pem")))
        defer { secured.stop() }
        let asking = try Collector(certificate: (path("collector.pem"), path("key.pem")), asksClients: true)
        defer { asking.stop() }
        let plain = try Collector()
        defer { plain.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        let own = ", client_certificate_file: \(path("collector.pem")), client_key_file: \(path("key.pem"))"
        for (endpoint, more, words) in [
            (secured.endpoint, "", "certificate is not trusted"),
            ("https://127.0.0.1:\(plain.port)", "", "answers without TLS"),
            (secured.endpoint, ", ca_file: \(path("collector.pem"))", nil),
            (asking.endpoint, ", ca_file: \(path("collector.pem"))", "asks for a certificate of the gateway"),
            (asking.endpoint, ", ca_file: \(path("collector.pem"))\(own)", nil),
        ] {
            let settings = Config.open(upstream: app.port, more: "telemetry: {endpoint: \"\(endpoint)\"\(more)}")
            try Gateway.with(settings, environment: Collector.hurry(patience: 1000)) { gateway throws in
                let wire = try gateway.connect()
                for _ in 0..<20 { #expect(try wire.request(Request.get("/x")).status == 200) }
                let series = words == nil ? "sallyport_spans_sent_total" : "\(Self.dropped){reason=\"failed\"}"
                #expect(eventually { ((try? gateway.metric(series)) ?? 0) >= 40 }, "\(endpoint) \(more)")
                if let words { #expect(gateway.output.contains(words), "\(gateway.output)") }
            }
        }
    }

    @Test("A gateway that stops sends the spans that it has")
    func stops() throws {
        let collector = try Collector()
        defer { collector.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.open(upstream: app.port, more: collector.settings())
        try Gateway.with(settings, environment: ["OTEL_BSP_SCHEDULE_DELAY": "300000"]) { gateway throws in
            #expect(try gateway.get("/x").status == 200)
            gateway.signal(SIGTERM)
            #expect(gateway.exitStatus() == 0)
        }
        #expect(try collector.state(with: 2).spans.count == 2)
    }
}
