import Foundation
import GatewayBench
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// Apps that accept few connections at a time, such as `http.server`, `wsgiref` and Django's `runserver`, with the timeouts
/// that the gateway has by default.
@Suite("Apps with a short accept queue", .blocking) struct SmallServerTests {
    /// A server on one thread that takes 50 ms for each request and closes its connection, as the README's first app does.
    private static let script = """
        import http.server, socketserver, sys, time
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                time.sleep(0.05)
                self.send_response(200)
                self.send_header('Content-Length', str(len(self.path)))
                self.end_headers()
                self.wfile.write(self.path.encode())
            def address_string(self): return ''
            def log_message(self, *arguments): pass
        class Server(http.server.HTTPServer):
            request_queue_size = int(sys.argv[2])
            def handle_error(self, request, address): pass
        class Local(socketserver.UnixStreamServer):
            request_queue_size = int(sys.argv[2])
            def handle_error(self, request, address): pass
        if len(sys.argv) > 3:
            import threading
            threading.Thread(target=Local(sys.argv[3], Handler).serve_forever, daemon=True).start()
        Server(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
        """

    /// Runs `body` with a gateway in front of that server.
    ///
    /// - Parameters:
    ///   - queue: How many connections the server's accept queue holds, and one more.
    ///   - listen: Where the gateway listens. `nil` for HTTP/1.1.
    ///   - isLocal: Whether the server listens at a socket of the machine.
    private static func withServer(
        queue: Int,
        listen: String? = nil,
        isLocal: Bool = false,
        maxConnections: Int? = nil,
        _ body: (Gateway) throws -> Void
    ) throws {
        guard let python = Servers.find(["/usr/bin/python3"]) else { try Servers.missing("python3") }
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try Self.script.write(to: folder.appending(path: "app.py"), atomically: true, encoding: .utf8)
        let port = try ServerPorts.take()
        let path = folder.appending(path: "app.sock").path
        let arguments = ["app.py", "\(port)", "\(queue)"] + (isLocal ? [path] : [])
        let server = try Servers.Running(python, arguments, in: folder, port: port)
        defer { server.stop() }
        let url = isLocal ? "unix:\(path)" : "http://127.0.0.1:\(port)"
        let limit = maxConnections.map { ", max_connections: \($0)" } ?? ""
        let settings = Config.file(
            upstream: 1,
            routes: "  - {path: /**, auth: public, upstream: app}",
            listen: listen ?? "127.0.0.1:0",
            more: "upstreams:\n  app: {url: \"\(url)\"\(limit)}\n"
        )
        try Gateway.with(settings) { try body($0) }
    }

    /// Sends so many requests at the same time, and expects that each is answered.
    private static func expectAll(_ count: Int, of gateway: Gateway) throws {
        let wires = try (0..<count).map { _ in try gateway.connect() }
        for (number, wire) in wires.enumerated() { wire.send(Request.get("/\(number)")) }
        for (number, wire) in wires.enumerated() {
            let answer = try wire.answer(seconds: 60)
            #expect(answer.status == 200 && answer.text == "/\(number)", "\(answer.lines) \(answer.text)")
        }
    }

    @Test(
        "A server with a queue of 5 survives 100 clients at once, one with a queue of 1 survives 20",
        arguments: [5, 1]
    )
    func clients(queue: Int) throws {
        try Self.withServer(queue: queue) { try Self.expectAll(queue == 5 ? 100 : 20, of: $0) }
    }

    @Test("A server with a queue of 5 survives 100 streams of one connection")
    func streams() throws {
        guard let h2load = Servers.find(["/usr/bin/h2load"]) else { try Servers.missing("h2load") }
        try Self.withServer(queue: 5, listen: "[{address: \"127.0.0.1:0\", protocols: [h2c, http/1.1]}]") { gateway in
            let url = "http://127.0.0.1:\(gateway.port)/"
            let arguments = ["-n", "100", "-c", "1", "-m", "100", "-H", ":authority: \(Request.host)", url]
            let (status, output) = try Servers.run(h2load, arguments, within: 120)
            #expect(status == 0 && output.contains("status codes: 100 2xx, 0 3xx, 0 4xx, 0 5xx"), "\(output)")
        }
    }

    @Test("A local socket with a queue of 1 survives 40 clients at once")
    func localSocket() throws {
        try Self.withServer(queue: 1, isLocal: true) { try Self.expectAll(40, of: $0) }
    }

    @Test("A server with few connections at a time survives 100 clients at once")
    func limited() throws {
        try Self.withServer(queue: 5, maxConnections: 2) { try Self.expectAll(100, of: $0) }
    }

    @Test("Clients that leave while they wait leave no connection behind that such a server would wait for")
    func leaving() throws {
        try Self.withServer(queue: 1) { gateway throws in
            let leaving = try (0..<20).map { _ in try gateway.connect() }
            for wire in leaving { wire.send(Request.get("/left")) }
            let waiting = try gateway.connect()
            waiting.send(Request.get("/waits"))
            for wire in leaving { wire.reset() }
            #expect(try waiting.answer(seconds: 30).text == "/waits")
            for number in 0..<5 { #expect(try gateway.request(Request.get("/\(number)"), seconds: 30).status == 200) }
        }
    }

    @Test(
        "An app that begins to listen two seconds late is waited for, whatever the method",
        arguments: ["GET", "POST"]
    )
    func late(method: String) throws {
        let port = try ServerPorts.take()
        try Gateway.with(Config.open(upstream: port)) { gateway throws in
            let wire = try gateway.connect()
            wire.send(method == "GET" ? Request.get("/late") : Request.post("/late", body: "hello"))
            #expect(wire.receive(seconds: 2) == .silence)
            let app = try FakeUpstream(port: port)
            defer { app.stop() }
            #expect(try wire.answer(seconds: 30).status == 200)
            #expect(app.requests.map(\.target) == ["/late"] && app.requests.first?.method == method)
        }
    }

    @Test("Several servers that begin to listen late are waited for, and the first one that is there answers")
    func lateServers() throws {
        let ports = try (0..<2).map { _ in try ServerPorts.take() }
        let servers = ports.map { "\"http://127.0.0.1:\($0)\"" }.joined(separator: ", ")
        let upstreams = "upstreams:\n  app: {servers: [\(servers)]}\n"
        try Gateway.with(Config.open(upstream: 1, "upstream: app", more: upstreams)) { gateway throws in
            let wire = try gateway.connect()
            wire.send(Request.post("/late", body: "hello"))
            #expect(wire.receive(seconds: 1.5) == .silence)
            let app = try FakeUpstream(port: ports[1])
            defer { app.stop() }
            #expect(try wire.answer(seconds: 30).status == 200)
            #expect(app.requests.map(\.target) == ["/late"])
        }
    }

    @Test("A local socket that its app makes late is waited for")
    func lateSocket() throws {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        guard let python = Servers.find(["/usr/bin/python3"]) else { try Servers.missing("python3") }
        try Self.script.write(to: folder.appending(path: "app.py"), atomically: true, encoding: .utf8)
        let path = folder.appending(path: "app.sock").path
        let settings = Config.open(upstream: 1).replacing("http://127.0.0.1:1", with: "unix:\(path)")
        try Gateway.with(settings) { gateway throws in
            let wire = try gateway.connect()
            wire.send(Request.get("/late"))
            #expect(wire.receive(seconds: 1) == .silence)
            let port = try ServerPorts.take()
            let server = try Servers.Running(python, ["app.py", "\(port)", "5", path], in: folder, port: port)
            defer { server.stop() }
            #expect(try wire.answer(seconds: 30).text == "/late")
        }
    }

    @Test("If an app is gone, all requests that wait get 502, and the log says why", arguments: [1024, 1])
    func gone(maxConnections: Int) throws {
        let port = try ServerPorts.take()
        let app = "{url: \"http://127.0.0.1:\(port)\", max_connections: \(maxConnections)}"
        let settings = Config.open(upstream: 1, "upstream: app", more: "upstreams:\n  app: \(app)\n")
        try Gateway.with(settings) { gateway throws in
            let wires = try (0..<50).map { _ in try gateway.connect() }
            for wire in wires { wire.send(Request.get("/gone")) }
            for wire in wires {
                let answer = try wire.answer(seconds: 30)
                #expect(answer.status == 502 && answer.reason == "upstream.unreachable", "\(answer.lines)")
            }
            let cause = "no connection to the app: http://127.0.0.1:\(port) refuses connections"
            #expect(eventually { gateway.output.contains(cause) }, "\(gateway.output)")
        }
    }

    @Test("An app that does not answer a connect gets its 502, and the log names the limit")
    func silent() throws {
        let queue = try FullQueue()
        defer { queue.close() }
        try Gateway.with(Config.open(upstream: queue.port, more: "timeouts: {connect: 300ms}\n")) { gateway throws in
            let answer = try gateway.request(Request.get(), seconds: 30)
            #expect(answer.status == 502 && answer.reason == "upstream.unreachable", "\(answer.lines)")
            #expect(eventually { gateway.output.contains("accepts none within timeouts.connect (300 ms)") })
        }
    }

    @Test("Of several servers, one that does not answer a connect costs no request")
    func silentServer() throws {
        let queue = try FullQueue()
        defer { queue.close() }
        let app = try FakeUpstream()
        defer { app.stop() }
        let servers = [queue.port, app.port].map { "\"http://127.0.0.1:\($0)\"" }.joined(separator: ", ")
        let upstreams = "upstreams:\n  app: {servers: [\(servers)], balance: round_robin}\n"
        try Gateway.with(Config.open(upstream: 1, "upstream: app", more: upstreams)) { gateway throws in
            for number in 0..<4 {
                let answer = try gateway.request(Request.post("/\(number)", body: "hello"), seconds: 30)
                #expect(answer.status == 200, "\(answer.lines)")
            }
            #expect(app.requests.map(\.target) == ["/0", "/1", "/2", "/3"])
        }
    }

    @Test("A connect that hangs is tried again before the system repeats its SYN")
    func furtherTry() throws {
        let queue = try FullQueue()
        defer { queue.close() }
        try Gateway.with(Config.open(upstream: queue.port, more: "timeouts: {connect: 900ms}\n")) { gateway throws in
            let wire = try gateway.connect()
            wire.send(Request.get("/again"))
            let waiting = "sallyport_upstream_requests_waiting{upstream=\"http://127.0.0.1:\(queue.port)\"}"
            #expect(eventually { (try? gateway.metric(waiting)) == 1 })
            queue.empty()
            let link = try #require(queue.accept())
            #expect(link.receive(through: "\r\n\r\n").map { String(latin1: $0) }?.hasPrefix("GET /again ") == true)
            link.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            #expect(try wire.answer().text == "ok")
            #expect(eventually { (try? gateway.metric(waiting)) == 0 })
        }
    }

    @Test("A request whose connect hangs takes a connection that becomes free")
    func becomesFree() throws {
        let queue = try FullQueue(isFull: false)
        defer { queue.close() }
        try Gateway.with(Config.open(upstream: queue.port)) { gateway throws in
            let first = try gateway.connect()
            first.send(Request.get("/first"))
            let link = try #require(queue.accept())
            #expect(link.receive(through: "\r\n\r\n") != nil)
            queue.fill()
            let second = try gateway.connect()
            second.send(Request.get("/second"))
            #expect(second.receive(seconds: 0.5) == .silence)
            link.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            #expect(try first.answer().text == "ok")
            #expect(link.receive(through: "\r\n\r\n").map { String(latin1: $0) }?.hasPrefix("GET /second ") == true)
            link.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            #expect(try second.answer().text == "ok")
        }
    }
}

/// A listener that accepts only what a test accepts. While its queue is full, the system drops what comes.
private final class FullQueue {
    let port: Int
    private let listener: Int32
    private var fillers: [Int32] = []

    init(isFull: Bool = true) throws {
        self.port = try ServerPorts.take()
        self.listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let listener = self.listener
        guard Wire.withAddress("127.0.0.1", self.port, { bind(listener, $0, $1) }) == 0, listen(listener, 1) == 0 else {
            throw BenchFailure("no listener: \(errno)")
        }
        if isFull { self.fill() }
    }

    /// Fills the queue.
    func fill() {
        for _ in 0..<6 {
            let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
            let filler = socket(AF_INET, type, 0)
            _ = Wire.withAddress("127.0.0.1", self.port) { connect(filler, $0, $1) }
            self.fillers.append(filler)
        }
    }

    /// Takes the connections that fill the queue.
    func empty() {
        for filler in self.fillers { Glibc.close(filler) }
        self.fillers = []
        // The queue holds one more than it is asked for.
        for _ in 0..<2 { self.accept()?.close() }
    }

    /// The next connection that is accepted in this time.
    func accept(seconds: Double = 30) -> Wire? {
        var event = pollfd(fd: self.listener, events: Int16(POLLIN), revents: 0)
        guard poll(&event, 1, Int32(seconds * 1000)) == 1 else { return nil }
        let descriptor = Glibc.accept(self.listener, nil, nil)
        // Keeps the descriptor out of gateways that other tests start at the same time.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        return descriptor >= 0 ? Wire(descriptor: descriptor) : nil
    }

    func close() {
        for filler in self.fillers { Glibc.close(filler) }
        Glibc.close(self.listener)
    }
}
