import AddressIntelligence
import Foundation
import NIOCore
import Observability
import RequestPath
import Settings
import Testing
import Vocabulary

@Suite struct TracedExchangeTests {
    private static let given = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let sender = "00f067aa0ba902b7"
    private static let parent = "traceparent: 00-\(given)-\(sender)-01"
    private static let unsampledParent = "traceparent: 00-\(given)-\(sender)-00"

    /// A gateway that traces, with one app.
    private struct Bench {
        let queue: SpanQueue
        let exchange: ExchangeBench
        let app = ScriptedApp()

        init(
            ratio: Double = 1,
            trusted: Bool = false,
            trustsClients: Bool = false,
            namesPaths: Bool = true,
            change: (inout Settings) -> Void = { _ in }
        ) throws {
            let queue = SpanQueue(capacity: 1024, batch: 512) {}
            self.queue = queue
            let profile = TraceProfile(
                sampler: TraceSampler(ratio: ratio, followsParent: true),
                trustsClients: trustsClients,
                namesPaths: namesPaths
            )
            self.exchange = try ExchangeBench(tracer: Tracer(profile, queue: queue)) { settings in
                if trusted, let block = CIDRBlock("192.0.2.0/24") { settings.trustedProxies = [block] }
                change(&settings)
            }
            self.exchange.pool.kept = [self.app]
        }

        /// Sends a request, answers it, and returns the fields that the app got.
        func ask(_ fields: [String], path: String = "/app/x", status: Int = 200) throws -> [String: String] {
            try self.exchange.begin(ExchangeBench.request(path: path, fields))
            self.app.send()
            _ = self.app.answer("HTTP/1.1 \(status) X\r\nContent-Length: 0\r\n\r\n")
            return Dictionary(
                self.app.headText.split(separator: "\r\n").dropFirst().compactMap { line in
                    let parts = line.split(separator: ":", maxSplits: 1)
                    return parts.count == 2
                        ? (parts[0].lowercased(), parts[1].trimmingCharacters(in: .whitespaces)) : nil
                }
            ) { $0 + " | " + $1 }
        }

        /// The spans that have been written.
        func spans() throws -> [[String: Any]] {
            self.exchange.loop.flushAccessLog()
            let buffers = self.queue.next()
            let request = ExportRequest(attributes: [], version: "1", form: .json)
            let body = Data(Array(buffer: request.body(buffers)))
            let object = try JSONSerialization.jsonObject(with: body) as? [String: Any]
            let resource = (object?["resourceSpans"] as? [[String: Any]])?.first
            let scope = (resource?["scopeSpans"] as? [[String: Any]])?.first
            return scope?["spans"] as? [[String: Any]] ?? []
        }

        func span(_ kind: Int) throws -> [String: Any] {
            try #require(try self.spans().first { $0["kind"] as? Int == kind })
        }
    }

    private func attributes(_ span: [String: Any]) -> [String: String] {
        let pairs = (span["attributes"] as? [[String: Any]] ?? []).map { attribute -> (String, String) in
            let value = attribute["value"] as? [String: Any]
            return (
                attribute["key"] as? String ?? "?",
                value?["stringValue"] as? String ?? value?["intValue"] as? String ?? "?"
            )
        }
        return Dictionary(pairs) { first, _ in first }
    }

    @Test("without a tracer the client's fields reach the app as they are, odd ones too")
    func off() throws {
        for value in ["traceparent: 00-\(Self.given)-\(Self.sender)-01", "TraceParent: odd"] {
            let bench = try ExchangeBench()
            let app = ScriptedApp()
            bench.pool.kept = [app]
            try bench.begin(ExchangeBench.request([value, "tracestate: a=1"]))
            app.send()
            #expect(app.headText.contains("\r\n\(value)\r\ntracestate: a=1\r\n"))
        }
    }

    @Test("a method that the conventions do not name is told beside _OTHER")
    func unknownMethod() throws {
        for (method, original) in [
            ("PROPFIND", "PROPFIND"), (String(repeating: "X", count: 200), String(repeating: "X", count: 32)),
            ("GET", nil),
        ] {
            let bench = try Bench()
            try bench.exchange.begin(ExchangeBench.request(method, []))
            bench.app.send()
            _ = bench.app.answer("HTTP/1.1 200 X\r\nContent-Length: 0\r\n\r\n")
            let span = self.attributes(try bench.span(2))
            #expect(span["http.request.method"] == (original == nil ? "GET" : "_OTHER"))
            #expect(span["http.request.method_original"] == original)
            #expect(span["url.path"] == "/app/x")
        }
    }

    @Test("a trace that begins here has the request's id, and its spans are the app's parents")
    func ownTrace() throws {
        let bench = try Bench()
        let fields = try bench.ask([])
        let id = try #require(fields["x-request-id"])
        let parts = try #require(fields["traceparent"]).split(separator: "-").map(String.init)
        #expect(parts.count == 4)
        #expect(parts[0] == "00")
        #expect(parts[1] == id)
        #expect(parts[3] == "01")
        let spans = try bench.spans()
        #expect(spans.count == 2)
        let server = try #require(spans.first { $0["kind"] as? Int == 2 })
        let client = try #require(spans.first { $0["kind"] as? Int == 3 })
        #expect(server["traceId"] as? String == id)
        #expect(server["parentSpanId"] == nil)
        #expect(server["name"] as? String == "GET /app/**")
        #expect(client["traceId"] as? String == id)
        #expect(client["spanId"] as? String == parts[2])
        #expect(client["parentSpanId"] as? String == server["spanId"] as? String)
        let attributes = self.attributes(server)
        #expect(attributes["http.route"] == "/app/**")
        #expect(attributes["url.path"] == "/app/x")
        #expect(attributes["http.response.status_code"] == "200")
        #expect(attributes["sallyport.decision"] == "allowed")
        #expect(attributes["network.protocol.version"] == "1.1")
        #expect(attributes["client.address"] == "192.0.2.1")
        #expect(self.attributes(client)["url.full"] == "http://127.0.0.1:9/app/x")
    }

    @Test("ids of requests differ in all of their bytes, so that a ratio takes its share of them")
    func ids() throws {
        var ids: Set<String> = []
        for _ in 0..<40 { ids.insert(try #require(try Bench().ask([])["x-request-id"])) }
        #expect(ids.count == 40)
        #expect(Set(ids.map { $0.suffix(2) }).count > 10)
        #expect(Set(ids.map { $0.suffix(14).prefix(2) }).count > 10)
    }

    @Test("what an untrusted client names is a link, and its flag is not obeyed")
    func untrusted() throws {
        let bench = try Bench()
        let fields = try bench.ask([Self.parent, "tracestate: a=1"])
        #expect(fields["traceparent"]?.contains(Self.given) == false)
        #expect(fields["traceparent"]?.contains(" | ") == false)
        #expect(fields["tracestate"] == nil)
        let server = try bench.span(2)
        #expect(server["traceId"] as? String != Self.given)
        #expect(server["traceState"] == nil)
        let links = try #require(server["links"] as? [[String: Any]])
        #expect(links.first?["traceId"] as? String == Self.given)
        #expect(links.first?["spanId"] as? String == Self.sender)
    }

    @Test("what a trusted proxy names is the parent, with its tracestate", arguments: [true, false])
    func trusted(byAddress: Bool) throws {
        let bench = try Bench(ratio: 0, trusted: byAddress, trustsClients: !byAddress)
        let fields = try bench.ask([Self.parent, "tracestate: a=1", "tracestate: b=2"])
        #expect(fields["traceparent"]?.hasPrefix("00-\(Self.given)-") == true)
        #expect(fields["traceparent"]?.contains(Self.sender) == false)
        #expect(fields["tracestate"] == "a=1 | b=2")
        #expect(fields["x-request-id"] != Self.given)
        let server = try bench.span(2)
        #expect(server["traceId"] as? String == Self.given)
        #expect(server["parentSpanId"] as? String == Self.sender)
        #expect(server["traceState"] as? String == "a=1,b=2")
        #expect(server["links"] == nil)
        #expect(self.attributes(server)["sallyport.request_id"] == fields["x-request-id"])
    }

    @Test("where a trusted proxy has decided against it nothing is recorded, and its fields reach the app")
    func unsampledParent() throws {
        let bench = try Bench(trusted: true)
        let fields = try bench.ask([Self.unsampledParent])
        #expect("traceparent: " + (fields["traceparent"] ?? "") == Self.unsampledParent)
        #expect(try bench.spans().isEmpty)
    }

    @Test("a trace that is not recorded tells the app so, under the request's id")
    func unsampled() throws {
        let bench = try Bench(ratio: 0.000_000_001)
        let fields = try bench.ask([Self.parent])
        let id = try #require(fields["x-request-id"])
        #expect(fields["traceparent"]?.hasPrefix("00-\(id)-") == true)
        #expect(fields["traceparent"]?.hasSuffix("-00") == true)
        let context = Array(try #require(fields["traceparent"]).utf8).withUnsafeBufferPointer { TraceContext($0) }
        #expect(context?.trace.description == id)
        #expect(context?.isSampled == false)
        #expect(try bench.spans().isEmpty)
    }

    @Test("a trace that is not recorded has the id that a trusted proxy gives the request")
    func unsampledGivenID() throws {
        for given in [Self.given, "4bf92f3577b34da60000000000000000"] {
            let bench = try Bench(ratio: 0.000_000_001, trusted: true)
            let fields = try bench.ask(["X-Request-Id: \(given)"])
            #expect(fields["x-request-id"] == given)
            let context = Array(try #require(fields["traceparent"]).utf8).withUnsafeBufferPointer { TraceContext($0) }
            #expect(context?.trace.description == given)
            #expect(context?.isSampled == false)
            #expect(try bench.spans().isEmpty)
        }
    }

    @Test("a traced request does not change the next one that is not recorded")
    func unsampledAfterSampled() throws {
        let bench = try Bench(ratio: 0, trusted: true)
        _ = try bench.ask([Self.parent])
        bench.exchange.pool.kept = [bench.app]
        #expect(try bench.ask([])["traceparent"] == nil)
        let servers = try bench.spans().filter { $0["kind"] as? Int == 2 }
        #expect(servers.count == 1)
    }

    @Test("with a ratio of 0 nothing begins here, and an untrusted client's fields reach the app")
    func ratioZero() throws {
        let bench = try Bench(ratio: 0)
        #expect("traceparent: " + (try bench.ask([Self.parent])["traceparent"] ?? "") == Self.parent)
        #expect(try Bench(ratio: 0).ask([])["traceparent"] == nil)
        #expect(try bench.spans().isEmpty)
    }

    @Test(
        "odd fields begin a trace of their own, and do not reach the app",
        arguments: [
            ["traceparent: 00-\(given)-\(sender)-1"], [parent, parent], ["traceparent:"],
            ["Traceparent: x", "tracestate: a=1"],
            ["traceparent: ff-\(given)-\(sender)-01"], [parent, "TRACEPARENT: 00-\(sender)\(sender)-\(sender)-01"],
            [parent, "Connection: traceparent"],
        ]
    )
    func odd(lines: [String]) throws {
        let bench = try Bench(trusted: true)
        let fields = try bench.ask(lines)
        let id = try #require(fields["x-request-id"])
        #expect(fields["traceparent"]?.hasPrefix("00-\(id)-") == true)
        #expect(fields["traceparent"]?.contains(" | ") == false)
        #expect(fields["tracestate"] == nil)
        #expect(try bench.span(2)["parentSpanId"] == nil)
    }

    @Test("a long tracestate is passed on and left out of the span, whole")
    func longState() throws {
        let bench = try Bench(trusted: true)
        let state = (0..<40).map { "vendor\($0)=0123456789" }.joined(separator: ",")
        let fields = try bench.ask([Self.parent, "tracestate: \(state)"])
        #expect(fields["tracestate"] == state)
        #expect(try bench.span(2)["traceState"] == nil)
    }

    @Test("an id of a trusted proxy that can be a trace's id is one")
    func givenID() throws {
        let bench = try Bench(trusted: true)
        let fields = try bench.ask(["X-Request-Id: \(Self.given)"])
        #expect(fields["x-request-id"] == Self.given)
        #expect(fields["traceparent"]?.hasPrefix("00-\(Self.given)-") == true)
        let other = try Bench(trusted: true)
        let named = try other.ask(["X-Request-Id: edge-1"])
        #expect(named["x-request-id"] == "edge-1")
        #expect(self.attributes(try other.span(2))["sallyport.request_id"] == "edge-1")
    }

    @Test("no query is in a span, and no path where paths are left out")
    func nothingSecret() throws {
        let bench = try Bench(namesPaths: false)
        _ = try bench.ask(["Cookie: a=SECRET", "Authorization: Basic SECRET"], path: "/app/PATH?q=SECRET")
        let spans = try bench.spans()
        let text = String(decoding: try JSONSerialization.data(withJSONObject: spans), as: UTF8.self)
        #expect(spans.count == 2)
        #expect(!text.contains("SECRET"))
        #expect(!text.contains("PATH"))
        let named = try Bench()
        _ = try named.ask([], path: "/app/PATH?q=SECRET")
        let texts = String(decoding: try JSONSerialization.data(withJSONObject: try named.spans()), as: UTF8.self)
        #expect(texts.contains("PATH"))
        #expect(!texts.contains("SECRET"))
    }

    @Test("a failing app makes both spans failed, a refusal neither")
    func failures() throws {
        let failing = try Bench()
        _ = try failing.ask([], status: 503)
        let spans = try failing.spans()
        #expect(spans.allSatisfy { ($0["status"] as? [String: Any])?["code"] as? Int == 2 })
        #expect(spans.allSatisfy { self.attributes($0)["error.type"] == "503" })
        let refusing = try Bench()
        try refusing.exchange.begin(ExchangeBench.request(path: "/none", []))
        let refused = try refusing.spans()
        #expect(refused.count == 1)
        #expect(refused.first?["status"] == nil)
        #expect(refused.first?["name"] as? String == "GET")
        #expect(self.attributes(refused.first ?? [:])["sallyport.decision"] == "denied")
        #expect(self.attributes(refused.first ?? [:])["error.type"] == "route.not_found")
    }

    @Test("each attempt's span names the server that was tried, and why it failed")
    func attempts() throws {
        let bench = try Bench()
        bench.exchange.pool.retriesLeft = 5
        let (kept, away, last) = (ScriptedApp(port: 11), ScriptedApp(port: 12), ScriptedApp(port: 13))
        bench.exchange.pool.kept = [kept]
        try bench.exchange.begin(ExchangeBench.request(path: "/app/x", []))
        kept.end { $0.upstreamFailed(.upstreamTLS) }
        bench.exchange.pool.cannotConnect(to: away)
        #expect(bench.exchange.pool.connects(last))
        last.send()
        _ = last.answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let attempts = try bench.spans().filter { $0["kind"] as? Int == 3 }.map { self.attributes($0) }
        #expect(attempts.map { $0["server.port"] } == ["11", "12", "13"])
        #expect(attempts.map { $0["error.type"] } == ["upstream.tls", "upstream.unreachable", nil])
        #expect(attempts.map { $0["http.request.resend_count"] } == [nil, "1", "2"])
        #expect(attempts.map { $0["url.full"] }.last == "http://127.0.0.1:13/app/x")
        #expect(attempts.map { $0["http.response.status_code"] } == [nil, nil, "200"])
    }

    @Test("an attempt after which another server is asked has the status of its answer")
    func elsewhere() throws {
        let bench = try Bench()
        bench.exchange.pool.retriesLeft = 5
        let (first, second) = (ScriptedApp(port: 11), ScriptedApp(port: 12))
        bench.exchange.pool.kept = [first]
        try bench.exchange.begin(ExchangeBench.request(path: "/app/x", []))
        first.send()
        first.end { receiver in
            #expect(receiver.mayGo(to: 1))
            receiver.goElsewhere(from: first, after: 503, keeping: nil)
        }
        #expect(bench.exchange.pool.connects(second))
        second.send()
        _ = second.answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let attempts = try bench.spans().filter { $0["kind"] as? Int == 3 }.map { self.attributes($0) }
        #expect(attempts.map { $0["server.port"] } == ["11", "12"])
        #expect(attempts.map { $0["error.type"] } == ["503", nil])
        #expect(attempts.map { $0["http.response.status_code"] } == ["503", "200"])
    }

    @Test("a last attempt that fails is one span, with the reason, and a request that never had a server has none")
    func lastAttempt() throws {
        let failing = try Bench()
        failing.exchange.pool.kept = []
        try failing.exchange.begin(ExchangeBench.request(path: "/app/x", []))
        failing.exchange.pool.fails(.upstreamUnreachable, at: failing.app)
        let spans = try failing.spans().filter { $0["kind"] as? Int == 3 }.map { self.attributes($0) }
        #expect(spans.map { $0["error.type"] } == ["upstream.unreachable"])
        #expect(spans.map { $0["server.port"] } == ["9"])
        let full = try Bench()
        full.exchange.pool.kept = []
        try full.exchange.begin(ExchangeBench.request(path: "/app/x", []))
        full.exchange.pool.fails(.gatewayOverloaded, at: nil)
        let refused = try full.spans()
        #expect(refused.compactMap { $0["kind"] as? Int } == [2])
        #expect(self.attributes(refused.first ?? [:])["error.type"] == "503")
    }

    @Test("a route that removes traceparent keeps the trace from its app")
    func hidden() throws {
        let bench = try Bench(change: { $0.hosts[0].routes[0].requestHeaders.remove = ["Traceparent"] })
        let fields = try bench.ask([Self.parent])
        #expect(fields["traceparent"] == nil)
        #expect(try bench.spans().count == 2)
    }

    @Test("requests of one connection may name other programs and protocols, and each span names its own")
    func userAgents() throws {
        let bench = try Bench()
        let agents = ["one/1", "two/2", "two/2", "", "é/3", "é/3", "two/2"]
        for (number, agent) in agents.enumerated() {
            bench.exchange.pool.kept = [bench.app]
            _ = try bench.ask(agent.isEmpty ? [] : ["User-Agent: \(agent)"], path: "/app/\(number)")
        }
        let servers = try bench.spans().filter { $0["kind"] as? Int == 2 }.map { self.attributes($0) }
        #expect(servers.map { $0["user_agent.original"] ?? "" } == agents)
        #expect(servers.map { $0["url.path"] } == agents.indices.map { "/app/\($0)" })
        #expect(servers.allSatisfy { $0["client.address"] == "192.0.2.1" && $0["network.peer.address"] == "192.0.2.1" })
        #expect(servers.allSatisfy { $0["network.protocol.version"] == "1.1" })
    }

    @Test("a client that a trusted proxy names is the span's, and the proxy its peer")
    func clientBehindProxy() throws {
        let bench = try Bench(trusted: true)
        for client in ["198.51.100.7", "192.0.2.1", "203.0.113.9"] {
            bench.exchange.pool.kept = [bench.app]
            _ = try bench.ask(["X-Forwarded-For: \(client)"])
        }
        let servers = try bench.spans().filter { $0["kind"] as? Int == 2 }
        let clients = servers.map { self.attributes($0)["client.address"] }
        #expect(Set(clients.prefix(1)) == ["198.51.100.7"])
        #expect(clients.last == "203.0.113.9")
        #expect(servers.allSatisfy { self.attributes($0)["network.peer.address"] == "192.0.2.1" })
        for span in servers {
            let keys = (span["attributes"] as? [[String: Any]] ?? []).compactMap { $0["key"] as? String }
            #expect(Set(keys).count == keys.count)
        }
    }

    @Test("one object serves the requests of a connection, and none is left of a former request")
    func reused() throws {
        let bench = try Bench()
        let first = try bench.ask([Self.parent])
        bench.exchange.pool.kept = [bench.app]
        let second = try bench.ask([])
        #expect(first["traceparent"] != second["traceparent"])
        let servers = try bench.spans().filter { $0["kind"] as? Int == 2 }
        #expect(servers.count == 2)
        #expect(servers.first?["links"] != nil)
        #expect(servers.last?["links"] == nil)
    }
}
