import Foundation
import GatewayBench
import KratosBench
import Testing

/// Traces beside what others have made: OpenTelemetry's own SDK as client and app, a provider, Redis, a collector, and
/// Prometheus.
@Suite("Traces beside others", .blocking)
struct TracePeerTests {
    /// Needs what `deploy/test.sh` installs from PyPI.
    private static func run(_ program: String, _ arguments: [String]) throws -> RealProcess {
        let process = try RealProcess(program) { port, _ in [arguments[0], "\(port)"] + arguments.dropFirst() }
        try process.start()
        return process
    }

    @Test("One trace leads from a client through sign-in, provider, Redis and handoff to the app")
    func journey() throws {
        try RealProviderKind.idpyoidc.requireInstalled()
        guard let redisServer = Servers.find(["/usr/bin/redis-server"]) else { try Servers.missing("redis-server") }
        #expect(!redisServer.isEmpty)
        let collector = try Collector()
        defer { collector.stop() }
        let python = try #require(Collector.python)
        let port = try ServerPorts.take()
        let origin = "http://localhost:\(port)"
        let provider = try RealProviderKind.idpyoidc.start(for: origin)
        defer {
            provider.process.stop()
            try? FileManager.default.removeItem(at: provider.process.folder)
        }
        let app = try Self.run(python, [Collector.script("traced-peers.py"), collector.endpoint])
        defer { app.stop() }
        let redis = try RedisProcess()
        defer { redis.stop() }
        let settings = """
            listen: 127.0.0.1:\(port)
            admin: {listen: 127.0.0.1:0}
            upstream: http://127.0.0.1:\(app.port)
            hosts:
              - public_url: \(origin)
                endpoints: true
                routes: [{path: /**, client: web}]
            clients:
              - {client_id: native, session_transfer: {can_create_session_transfer_token: true}}
              - {client_id: web, session_transfer: {allowed_authentication_methods: [query], enforce_device_binding: none}}
            provider:
              oidc: {issuer: "\(provider.issuer)", client_id: gateway, client_secret_file: client-secret}
            exchange: {return_to: ["myapp://auth/callback"], providers: {company: Company}}
            secret_file: secret
            store: {redis: {url: "redis://127.0.0.1:\(redis.port)"}}
            drain: {delay: 0s, timeout: 100ms}
            \(collector.settings(", trust_client_context: true"))

            """
        let secrets = ["client-secret": IDPyOIDC.secret, "secret": String(repeating: "s", count: 48)]
        try Gateway.with(settings, files: secrets, environment: Collector.hurry) { gateway throws in
            #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
            let walk = try Servers.run(
                python,
                [Collector.script("traced-peers.py"), "client", collector.endpoint, origin]
            )
            try #require(walk.status == 0, "\(walk.output)\n\(gateway.output)")
            let trace = walk.output.trimmingCharacters(in: .whitespacesAndNewlines)
            let state = try collector.state { $0.of("app").count == 2 && $0.of("sallyport", 2).count >= 12 }
            #expect(state.faults == [])
            #expect(state.spans.filter { $0.trace != trace }.map(\.name) == [])
            self.checkShape(state)
            self.checkCalls(state)
            #expect(
                !state.spans.contains { $0.attributes.values.contains { $0.contains("sps_") || $0.contains("spt_") } }
            )
        }
    }

    /// The client's spans are above the gateway's, and the gateway's above the app's.
    private func checkShape(_ state: Collector.State) {
        let byID = Dictionary(state.spans.map { ($0.span, $0) }) { first, _ in first }
        #expect(byID.count == state.spans.count)
        for span in state.of("sallyport", 2) { #expect(byID[span.parent]?.service == "client", "\(span.name)") }
        for span in state.of("sallyport", 3) { #expect(byID[span.parent]?.kind == 2, "\(span.name)") }
        for span in state.of("app") {
            let attempt = byID[span.parent]
            #expect(attempt?.service == "sallyport")
            #expect(attempt?.kind == 3)
            #expect(attempt?.attributes["http.response.status_code"] == "200")
        }
        let roots = state.spans.filter { byID[$0.parent] == nil }
        #expect(roots.map(\.name) == ["journey"])
    }

    /// What the gateway calls is below the request for which it is called.
    private func checkCalls(_ state: Collector.State) {
        func calls(below name: String) -> [Collector.Span] {
            state.of("sallyport", 2).filter { $0.name == name }.flatMap { state.children(of: $0) }
        }
        func operations(below name: String) -> Set<String> {
            Set(calls(below: name).compactMap { $0.attributes["db.operation.name"] })
        }
        let callback = calls(below: "GET /.sallyport/callback")
        let token = callback.filter { $0.attributes["sallyport.call"] == "token" }
        // Two sign-ins.
        #expect(token.count == 2)
        #expect(token.allSatisfy { $0.name == "POST" && $0.attributes["url.full"]?.hasSuffix("/token") == true })
        #expect(token.allSatisfy { $0.attributes["http.response.status_code"] == "200" })
        #expect(token.allSatisfy { $0.attributes["server.address"] == "127.0.0.1" })
        // The keys of the provider are asked for once, by the first that needs them.
        #expect(callback.filter { $0.attributes["sallyport.call"] == "keys" }.count <= 1)
        #expect(operations(below: "GET /.sallyport/callback").isSuperset(of: ["create"]))
        #expect(!operations(below: "GET /sessions/token-exchange").isEmpty)
        #expect(operations(below: "POST /oauth/token").isSuperset(of: ["create"]))
        let pages = operations(below: "GET /**")
        #expect(pages.isSuperset(of: ["session", "handoff"]))
        let redis = state.of("sallyport", 3).filter { $0.attributes["db.operation.name"] != nil }
        #expect(redis.allSatisfy { $0.attributes["db.system.name"] == "redis" })
        #expect(redis.allSatisfy { $0.attributes["error.type"] == nil })
    }

    @Test("A question that Redis does not answer is a failed span, of requests and of endpoints")
    func redisIsAway() throws {
        guard Servers.find(["/usr/bin/redis-server"]) != nil else { try Servers.missing("redis-server") }
        let collector = try Collector()
        defer { collector.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        let redis = try RedisProcess()
        defer { redis.stop() }
        let more =
            "secret_file: secret\nstore: {redis: {url: \"redis://127.0.0.1:\(redis.port)\"}}\n" + collector.settings()
        let secret = ["secret": String(repeating: "s", count: 48)]
        let settings = Config.file(upstream: app.port, more: more)
        try Gateway.with(settings, files: secret, environment: Collector.hurry) { gateway throws in
            #expect(eventually { (try? gateway.admin("/readyz").status) == 200 })
            let cookie = try gateway.browser()
            #expect(try gateway.get("/x", ["Cookie: sallyport=\(cookie)"]).status == 200)
            // The request's own span comes after those of its calls.
            let login = try collector.state { state in
                state.spans.contains { span in span.name == "create" && state.spans.contains { $0.span == span.parent }
                }
            }
            let created = try #require(login.spans.first { $0.name == "create" })
            let parent = login.spans.first { $0.span == created.parent }
            #expect(parent?.name == "POST /.sallyport/login")
            #expect(created.attributes["error.type"] == nil)
            redis.stop()
            // Another token of the same form, which only the store could tell from one of a session.
            let place = cookie.index(cookie.endIndex, offsetBy: -10)
            let other = cookie[..<place] + (cookie[place] == "A" ? "B" : "A") + cookie[cookie.index(after: place)...]
            #expect(try gateway.get("/y", ["Cookie: sallyport=\(other)"]).status == 503)
            #expect(throws: BenchFailure.self) { try gateway.browser() }
            let state = try collector.state {
                $0.spans.contains { $0.attributes["db.system.name"] == "redis" && $0.status == 2 }
            }
            let failed = state.spans.filter { $0.attributes["db.system.name"] == "redis" && $0.status == 2 }
            #expect(!failed.isEmpty)
            #expect(failed.allSatisfy { $0.attributes["error.type"] != nil })
            #expect(state.faults == [])
        }
    }

    @Test("A provider that is asked about a token is called below the request that presents it, once")
    func askedProvider() throws {
        let collector = try Collector()
        defer { collector.stop() }
        try KratosGatewayBench.with(more: collector.settings(), loops: 1, environment: Collector.hurry) {
            bench throws in
            let session = bench.kratos.newSession()
            for _ in 0..<3 { #expect(try bench.get("/page", ["X-Session-Token: \(session.token)"]).status == 200) }
            let state = try collector.state { $0.of("sallyport", 2).count { $0.name == "GET /**" } >= 3 }
            let calls = state.of("sallyport", 3).filter { $0.attributes["sallyport.call"] == "session" }
            try #require(calls.count == 1)
            #expect(calls[0].name == "GET")
            #expect(calls[0].attributes["url.full"] == "\(bench.kratos.url)/sessions/whoami")
            let request = state.spans.first { $0.span == calls[0].parent }
            #expect(request?.name == "GET /**")
            #expect(request?.trace == calls[0].trace)
            #expect(request?.attributes["url.path"] == "/page")
            bench.kratos.fail("/sessions/whoami", with: .status(503))
            let other = bench.kratos.newSession()
            _ = try bench.get("/page", ["X-Session-Token: \(other.token)"])
            let failed = try collector.state {
                $0.spans.contains { $0.attributes["sallyport.call"] != nil && $0.status == 2 }
            }
            let span = failed.spans.first { $0.attributes["sallyport.call"] != nil && $0.status == 2 }
            #expect(span?.attributes["error.type"] == "503")
            #expect(!failed.spans.contains { $0.attributes.values.contains { $0.contains(session.token) } })
        }
    }

    @Test("A real collector takes the spans, and passes them on as they are")
    func rotel() throws {
        let collector = try Collector()
        defer { collector.stop() }
        let python = try #require(Collector.python)
        let place = try Servers.run(python, ["-c", "import rotel, os; print(os.path.dirname(rotel.__file__))"])
        let folder = place.output.trimmingCharacters(in: .whitespacesAndNewlines)
        guard place.status == 0, let program = Servers.find(["\(folder)/rotel-agent"]) else {
            try Servers.missing("rotel")
        }
        let other = try ServerPorts.take()
        let agent = try RealProcess(program) { port, folder in
            [
                "start", "--otlp-http-endpoint", "127.0.0.1:\(port)", "--otlp-grpc-endpoint", "127.0.0.1:\(other)",
                "--exporter", "otlp", "--otlp-exporter-endpoint", collector.endpoint, "--otlp-exporter-protocol",
                "http",
                "--batch-timeout", "100ms", "--pid-file",
                folder.appending(path: "pid").path, "--log-file", folder.appending(path: "log").path,
            ]
        }
        try agent.start()
        defer { agent.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        for (number, form) in ["http/protobuf", "http/json"].enumerated() {
            let telemetry = "telemetry: {endpoint: \"http://127.0.0.1:\(agent.port)\", protocol: \(form)}"
            let settings = Config.open(upstream: app.port, more: telemetry)
            try Gateway.with(settings, environment: Collector.hurry) { gateway throws in
                for _ in 0..<50 { #expect(try gateway.get("/x").status == 200) }
                let state = try collector.state(with: 100 * (number + 1))
                #expect(state.faults == [])
                #expect(state.spans.count == 100 * (number + 1))
                #expect(eventually { (try? gateway.metric("sallyport_spans_sent_total")) == 100 })
                let byID = Dictionary(state.spans.map { ($0.span, $0) }) { first, _ in first }
                for span in state.of("sallyport", 3) { #expect(byID[span.parent]?.trace == span.trace) }
                let attributes = state.of("sallyport", 2).last?.attributes
                #expect(attributes?["http.response.status_code"] == "200")
                #expect(attributes?["url.path"] == "/x")
            }
        }
    }

    @Test("Prometheus gets the traces beside the durations, and the same series in both formats")
    func exemplars() throws {
        guard let prometheus = Servers.find(["/usr/bin/prometheus"]) else { try Servers.missing("prometheus") }
        let collector = try Collector()
        defer { collector.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port, more: collector.settings()), environment: Collector.hurry) {
            gateway throws in
            for _ in 0..<5 { #expect(try gateway.get("/x").status == 200) }
            let text = try gateway.admin("/metrics").text
            #expect(!text.contains("trace_id"))
            let open = try Wire(to: gateway.adminPort).request(
                "GET /metrics HTTP/1.1\r\nHost: a\r\nAccept: application/openmetrics-text; version=1.0.0\r\n\r\n"
            )
            #expect(open.value("content-type")?.hasPrefix("application/openmetrics-text; version=1.0.0") == true)
            #expect(open.text.hasSuffix("# EOF\n"))
            func series(_ text: String) -> Set<Substring> {
                Set(
                    text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap {
                        $0.split(separator: " ").first
                    }
                )
            }
            #expect(series(open.text) == series(text))
            let settings = """
                global: {scrape_interval: 500ms, scrape_timeout: 500ms}
                scrape_configs: [{job_name: gateway, static_configs: [{targets: ["127.0.0.1:\(gateway.adminPort)"]}]}]
                """
            let server = try RealProcess(prometheus) { port, folder in
                [
                    "--config.file=\(folder.path)/prometheus.yml", "--storage.tsdb.path=\(folder.path)/data",
                    "--web.listen-address=127.0.0.1:\(port)", "--enable-feature=exemplar-storage",
                ]
            }
            try settings.write(to: server.folder.appending(path: "prometheus.yml"), atomically: true, encoding: .utf8)
            try server.start()
            defer { server.stop() }
            func ask(_ target: String) -> String {
                (try? Wire(to: server.port).request("GET \(target) HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n"))?
                    .text ?? ""
            }
            let traces = Set(try collector.state(with: 10).spans.map(\.trace))
            for name in ["sallyport_http_request_duration_seconds", "sallyport_upstream_duration_seconds"] {
                let target = "/api/v1/query_exemplars?query=\(name)_bucket&start=0&end=99999999999"
                let answered = eventually(within: 30) {
                    traces.contains { ask(target).contains("\"trace_id\":\"\($0)\"") }
                }
                #expect(answered, "\(ask(target))")
            }
            // A scrape that is late on a busy machine leaves a moment without the series.
            #expect(
                eventually(within: 30) {
                    ask("/api/v1/query?query=sallyport_http_requests_total").contains(#""code_class":"2xx""#)
                }
            )
        }
    }
}
