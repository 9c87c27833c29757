import Foundation
import GatewayBench
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// The operator's listener: what its clients may send, and that it answers whatever the public listener does.
@Suite("The admin listener", .blocking) struct AdminListenerTests {
    /// A request of an operator's tool, its name and what it gets.
    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let request: String
        let status: Int

        init(_ name: String, _ lines: [String], body: String = "", _ status: Int) {
            self.testDescription = name
            self.request = (lines + ["", body]).joined(separator: "\r\n")
            self.status = status
        }
    }

    private static let get = "GET /healthz HTTP/1.1"

    private static let cases = [
        Case("an address as Host", [Self.get, "Host: 192.0.2.1:9090"], 200),
        Case("an IPv6 address as Host", [Self.get, "Host: [2001:db8::1]"], 200),
        Case("any name as Host", [Self.get, "Host: no.such.example"], 200),
        Case("an empty Host", [Self.get, "Host:"], 400),
        Case("no Host", [Self.get], 400),
        Case("two Hosts", [Self.get, "Host: a", "Host: b"], 400),
        Case("absolute-form", ["GET http://a:9090/healthz HTTP/1.1", "Host: a:9090"], 200),
        Case("absolute-form against Host", ["GET http://a/healthz HTTP/1.1", "Host: b"], 400),
        Case("HTTP/1.0", ["GET /healthz HTTP/1.0", "Host: a"], 200),
        Case("HTTP/1.0 without Host", ["GET /healthz HTTP/1.0"], 200),
        Case("HTTP/1.0 without Host, absolute-form", ["GET http://a/readyz HTTP/1.0"], 200),
        Case("a body", [Self.get, "Host: a", "Content-Length: 3"], body: "abc", 200),
        Case(
            "a body in chunks",
            [Self.get, "Host: a", "Transfer-Encoding: chunked"],
            body: "3\r\nabc\r\n0\r\n\r\n",
            200
        ),
        Case("a body that is too large", [Self.get, "Host: a", "Content-Length: 16385"], 413),
        Case("two lengths", [Self.get, "Host: a", "Content-Length: 1", "Transfer-Encoding: chunked"], 400),
        Case("fields that only the gateway may send", [Self.get, "Host: a", "X-Auth-Subject: root"], 200),
        Case("a session's cookie", [Self.get, "Host: a", "Cookie: __Host-sallyport=x; sallyport=y"], 200),
        Case("another path", ["GET /.sallyport/login HTTP/1.1", "Host: a"], 404),
        Case("a line that is too long", ["GET /\(String(repeating: "a", count: 9000)) HTTP/1.1", "Host: a"], 414),
    ]

    @Test("Any Host is answered, and everything else is read as strictly as on the public listener")
    func strictness() throws {
        try Gateway.with(Config.open(upstream: 1)) { gateway throws in
            for sent in Self.cases {
                let answer = try Wire(to: gateway.adminPort).request(sent.request)
                #expect(answer.status == sent.status, "\(sent.testDescription): \(answer.lines)")
            }
        }
    }

    @Test("Answers are as operators' tools know them, 404 and 405 are problem documents, and connections are kept")
    func answers() throws {
        try Gateway.with(Config.open(upstream: 1)) { gateway throws in
            let wire = try Wire(to: gateway.adminPort)
            let health = try wire.request("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(health.status == 200 && health.text == "ok\n")
            #expect(health.value("content-type") == "text/plain; charset=utf-8")
            #expect(health.value("cache-control") == "no-store")
            let ready = try wire.request("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(ready.status == 200 && ready.text == "ready\n")
            let checks = try wire.request("GET /readyz?verbose HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(checks.status == 200 && checks.text.contains(#""ready":true"#))
            let head = try wire.request("HEAD /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(head.status == 200 && head.value("content-length") == "3" && head.body.isEmpty)
            let post = try wire.request("POST /readyz HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx")
            #expect(post.status == 405 && post.reason == "route.method_not_allowed")
            #expect(post.value("allow") == "GET, HEAD")
            let unknown = try wire.request("GET /other HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(unknown.status == 404 && unknown.reason == "route.not_found")
            #expect(unknown.text.contains(#""detail":"nothing is served at this path: GET / lists what is""#))
            let index = try wire.request("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(index.status == 200 && index.value("content-type") == "text/plain; charset=utf-8")
            for path in ["/healthz", "/readyz", "/metrics", "/upstreams", "/sessions", "/limits", "/api/v2/clients"] {
                #expect(index.text.contains(path), "\(path)")
            }
            #expect(index.text.contains("These are served with admin.tokens_file:"))
            // A browser gets a page, and no link to a start page that does not exist.
            let page = try wire.request("GET /other HTTP/1.1\r\nHost: a\r\nSec-Fetch-Mode: navigate\r\n\r\n")
            #expect(page.status == 404 && page.pageReason == "route.not_found" && !page.text.contains("<a "))
            // Pipelined: in order, on the same connection.
            wire.send(
                "GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n" + "GET /other HTTP/1.1\r\nHost: a\r\n\r\n"
                    + "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
            )
            #expect(try wire.answer().text == "ready\n")
            #expect(try wire.answer().status == 404)
            let last = try wire.answer()
            #expect(last.text == "ok\n" && last.value("connection") == "close")
            // None of them is in the public log and metrics.
            let metrics = try gateway.admin("/metrics")
            #expect(metrics.value("content-type") == "text/plain; version=0.0.4; charset=utf-8")
            let counts = metrics.text.split(separator: "\n").filter {
                $0.hasPrefix("sallyport_http_requests_total{") || $0.hasPrefix("sallyport_connections_open{")
                    || $0.hasPrefix("sallyport_http_requests_in_flight")
            }
            #expect(!counts.isEmpty && counts.allSatisfy { $0.hasSuffix(" 0") }, "\(counts)")
            usleep(400_000)
            #expect(!gateway.output.contains("/healthz") && !gateway.output.contains("/other"))
        }
    }

    @Test("A head that does not come to its end is 408")
    func slowHead() throws {
        try Gateway.with(Config.open(upstream: 1)) { gateway throws in
            let wire = try Wire(to: gateway.adminPort)
            wire.send("GET /healthz HTTP/1.1\r\nHost: a\r\n")
            let answer = try wire.answer(seconds: 30)
            #expect(answer.status == 408 && answer.reason == "request.timeout")
            #expect(wire.endsNow(within: 10))
        }
    }

    @Test("While the public listener is full, the admin listener answers")
    func publicIsFull() throws {
        let app = try FakeUpstream { link in
            _ = link.next()
            _ = link.wire.receiveAll(seconds: 20)
        }
        defer { app.stop() }
        let settings = Config.open(upstream: app.port, more: "limits:\n  connections: 8\n")
        try Gateway.with(settings) { gateway throws in
            let crowd = try (2..<10).map { try gateway.connect(from: "127.0.0.\($0)") }
            for wire in crowd { wire.send(Request.get()) }
            #expect(eventually { app.requests.count >= 7 })
            // The next client waits or is turned away.
            let late = try gateway.connect()
            late.send(Request.get())
            #expect((try? late.answer(seconds: 0.5)) == nil)
            for _ in 0..<100 { #expect(try gateway.admin("/healthz").text == "ok\n") }
            #expect(try gateway.admin("/readyz").status == 200)
            for wire in crowd { wire.close() }
        }
    }

    @Test("Readiness is 503 while the gateway stops, and it is told until the last request has ended")
    func readinessWhileStopping() throws {
        let go = Flag()
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, _ in
                _ = go.isRaised(within: 30)
                link.answer(body: "ok")
            }
        )
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port, drainTimeout: "20s")) { gateway throws in
            let kept = try Wire(to: gateway.adminPort)
            #expect(try kept.request("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n").status == 200)
            let long = try gateway.connect()
            long.send(Request.get())
            #expect(eventually { !app.requests.isEmpty })
            #expect(eventually { gateway.trapsStop })
            gateway.signal(SIGTERM)
            #expect(eventually { (try? gateway.connect()) == nil }, "the public port closes")
            // On a connection from before and on a new one.
            let answer = try kept.request("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(answer.status == 503 && answer.text == "not ready: draining\n")
            #expect(answer.value("connection") == nil, "the connection is kept")
            #expect(try gateway.admin("/readyz").status == 503)
            #expect(try gateway.admin("/healthz").status == 200)
            go.raise()
            #expect(try long.answer().text == "ok")
            #expect(gateway.exitStatus() == 0)
        }
    }
}
