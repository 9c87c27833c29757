import Foundation
import GatewayBench
import Synchronization
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// Apps on several servers, when something is in the way: limits, reloads, TLS, bad answers.
@Suite("Several servers in trouble", .blocking) struct ServerFaultTests {
    private static func settings(_ servers: [String], _ keys: [String] = [], more: String = "") -> String {
        let upstreams = "upstreams:\n  app:\n    servers: [\(servers.joined(separator: ", "))]\n"
        return Config.open(
            upstream: 1,
            "upstream: app",
            more: upstreams + keys.map { "    \($0)\n" }.joined() + more
        )
    }

    private static func urls(_ ports: [Int]) -> [String] { ports.map { "http://127.0.0.1:\($0)" } }

    private static func app(
        _ number: Int,
        _ answer: @escaping @Sendable (Link, Received) -> Void = { _, _ in }
    ) throws -> FakeUpstream {
        try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                answer(link, request)
                link.answer(body: "\(number)")
            }
        )
    }

    private static func metric(_ gateway: Gateway, _ name: String, _ port: Int, _ more: String = "") throws -> Double {
        let labels = #"upstream="app",server="http://127.0.0.1:\#(port)"\#(more)"#
        return try gateway.metric("sallyport_upstream_server_\(name){\(labels)}")
    }

    /// How often each body came, from `threads` clients that send `count` requests each.
    private static func load(_ gateway: Gateway, threads: Int, count: Int) -> [String: Int] {
        let counts = Mutex<[String: Int]>([:])
        let done = Flag()
        for thread in 0..<threads {
            Thread.detachNewThread {
                defer { done.raise() }
                guard let wire = try? gateway.connect() else { return }
                for index in 0..<count {
                    let answer = try? wire.request(Request.get("/\(thread)/\(index)"), seconds: 20)
                    let text = answer.map { $0.status == 200 ? $0.text : "\($0.status)" } ?? "none"
                    counts.withLock { $0[text, default: 0] += 1 }
                }
            }
        }
        #expect(eventually { done.count == threads })
        return counts.withLock { $0 }
    }

    @Test("A server that is five times as fast gets five times the requests, about")
    func shares() throws {
        let apps = try (0..<2).map { number in
            let turn = Turn()
            return try Self.app(number) { _, _ in turn.work(number == 0 ? 4000 : 20_000) }
        }
        defer { for app in apps { app.stop() } }
        try Gateway.with(Self.settings(Self.urls(apps.map(\.port)))) { gateway throws in
            let counts = Self.load(gateway, threads: 16, count: 50)
            let share = Double(counts["0", default: 0]) / Double(counts["1", default: 1])
            #expect(share > 3.5 && share < 6.5, "\(counts)")
        }
    }

    @Test(
        "At the limit of connections all servers get requests, and connections are kept",
        arguments: ["round_robin", "least_requests"]
    )
    func limit(balance: String) throws {
        let apps = try (0..<2).map { number in try Self.app(number) { _, _ in usleep(2000) } }
        defer { for app in apps { app.stop() } }
        let keys = ["balance: \(balance)", "max_connections: 4"]
        try Gateway.with(Self.settings(Self.urls(apps.map(\.port)), keys)) { gateway throws in
            let counts = Self.load(gateway, threads: 12, count: 40)
            #expect(counts["0", default: 0] + counts["1", default: 0] == 480, "\(counts)")
            for number in ["0", "1"] { #expect(counts[number, default: 0] > 150, "\(counts)") }
            #expect(apps.map(\.connectionCount).reduce(0, +) <= 8, "\(apps.map(\.connectionCount))")
        }
    }

    @Test("A server that a reload adds at the limit of connections gets its share of them")
    func addedAtTheLimit() throws {
        let apps = try (0..<2).map { number in try Self.app(number) { _, _ in usleep(2000) } }
        defer { for app in apps { app.stop() } }
        let dead = try ServerPorts.take()
        let keys = ["balance: round_robin", "max_connections: 4"]
        let first = Self.settings(Self.urls([apps[0].port, dead]), keys)
        try Gateway.with(first) { gateway throws in
            #expect(Self.load(gateway, threads: 12, count: 10)["0"] == 120)
            try gateway.reload(Self.settings(Self.urls(apps.map(\.port)), keys))
            let counts = Self.load(gateway, threads: 12, count: 40)
            #expect(counts["1", default: 0] > 100, "\(counts)")
            #expect(apps[1].connectionCount <= 6, "\(apps.map(\.connectionCount))")
        }
    }

    @Test("A reload that changes a weight changes the shares, and keeps the connections")
    func weight() throws {
        let apps = try (0..<2).map { try Self.app($0) }
        defer { for app in apps { app.stop() } }
        let urls = Self.urls(apps.map(\.port))
        let keys = ["balance: round_robin"]
        try Gateway.with(Self.settings(urls, keys)) { gateway throws in
            #expect(Self.load(gateway, threads: 1, count: 40) == ["0": 20, "1": 20])
            try gateway.reload(Self.settings(["{url: \"\(urls[0])\", weight: 3}", urls[1]], keys))
            #expect(Self.load(gateway, threads: 1, count: 40) == ["0": 30, "1": 10])
            #expect(apps.map(\.connectionCount) == [1, 1])
        }
    }

    @Test("A reload that removes a server which is being connected to costs no request", arguments: [true, false])
    func removedWhileConnecting(leavesSeveral: Bool) throws {
        let apps = try (0..<2).map { try Self.app($0) }
        defer { for app in apps { app.stop() } }
        let silent = try SilentPort()
        defer { silent.close() }
        let keys = ["balance: round_robin"]
        let more = "timeouts:\n  connect: 3s\n"
        let first = Self.settings(Self.urls([silent.port, apps[0].port]), keys, more: more)
        try Gateway.with(first) { gateway throws in
            let wires = try (0..<4).map { _ in try gateway.connect() }
            for wire in wires { wire.send(Request.post("/", body: "a")) }
            #expect(eventually { (try? Self.metric(gateway, "requests_in_flight", silent.port)) == 2 })
            let next = Self.urls(leavesSeveral ? apps.map(\.port) : [apps[0].port])
            try gateway.reload(Self.settings(next, leavesSeveral ? keys : [], more: more))
            for wire in wires {
                let answer = try wire.answer(seconds: 15)
                #expect(answer.status == 200, "\(answer.lines)")
            }
        }
    }

    @Test("After a reload nothing is held against a server, and metrics of those that are gone are not shown")
    func reload() throws {
        let apps = try (0..<2).map { try Self.app($0) }
        defer { for app in apps { app.stop() } }
        let dead = try ServerPorts.take()
        let keys = ["balance: round_robin"]
        func settings(_ ports: [Int], _ more: [String] = []) -> String {
            Self.settings(Self.urls(ports), ports.count > 1 ? keys + more : [])
        }
        try Gateway.with(settings([dead, apps[0].port])) { gateway throws in
            #expect(Self.load(gateway, threads: 1, count: 20) == ["0": 20])
            #expect(try Self.metric(gateway, "out", dead) == 1)
            // Other pools, and four failures are not five.
            try gateway.reload(settings([dead, apps[0].port], ["reuse: strict"]))
            #expect(Self.load(gateway, threads: 1, count: 8) == ["0": 8])
            #expect(try Self.metric(gateway, "out", dead) == 0)
            try gateway.reload(settings([apps[0].port, apps[1].port]))
            #expect(try !gateway.admin("/metrics").text.contains("127.0.0.1:\(dead)\""))
            try gateway.reload(settings([apps[0].port]))
            #expect(try !gateway.admin("/metrics").text.contains("sallyport_upstream_server_out{"))
            try gateway.reload(settings([dead, apps[0].port]))
            #expect(try Self.metric(gateway, "ejections_total", dead) == 1)
            #expect(Self.load(gateway, threads: 1, count: 8) == ["0": 8])
            #expect(try Self.metric(gateway, "out", dead) == 0)
        }
    }

    @Test("A server that is left out and gets no requests is connected to, and serves again")
    func withoutRequests() throws {
        let app = try Self.app(0)
        defer { app.stop() }
        let dead = try ServerPorts.take()
        let settings = Self.settings(Self.urls([dead, app.port]), ["balance: round_robin"])
        try Gateway.with(settings) { gateway throws in
            #expect(Self.load(gateway, threads: 1, count: 20) == ["0": 20])
            #expect(try Self.metric(gateway, "out", dead) == 1)
            let other = try FakeUpstream(port: dead)
            defer { other.stop() }
            #expect(eventually { (try? Self.metric(gateway, "out", dead)) == 0 })
            // The system accepts the connection before the app does, and the log is written by a thread of its own.
            #expect(eventually { other.connectionCount > 0 })
            #expect(eventually { gateway.output.contains("a server of the app serves again") })
            #expect(other.requests.isEmpty)
        }
    }

    // MARK: Local ports

    @Test("A connection of the gateway to itself, on the port of an app that is down, is a refused one")
    func connectedToItself() throws {
        let (reasons, isServed) = try OwnNetwork.run(ports: 40_000...40_007) {
            let settings = Config.open(upstream: 40_000, more: "timeouts: {connect: 100ms}\n")
            return try Gateway.with(settings) { gateway in
                // From another address, so that the app's port stays free at its own.
                let wire = try Wire(to: gateway.port, from: "127.0.0.2")
                let reasons = try (0..<20).map { try wire.request(Request.get("/\($0)"), seconds: 20).reason }
                let app = try FakeUpstream(port: 40_000)
                defer { app.stop() }
                return (reasons, eventually { (try? wire.request(Request.get(), seconds: 20).status) == 200 })
            }
        }
        #expect(Set(reasons) == ["upstream.unreachable"] && isServed)
    }

    @Test("A server is not left out because the gateway has no local port for it, and the log says what to do")
    func noLocalPort() throws {
        let (held, statuses, out, output) = try OwnNetwork.run(ports: 40_000...40_063) {
            let apps = try (0..<2).map { try Self.app($0) }
            defer { for app in apps { app.stop() } }
            return try Gateway.with(Self.settings(Self.urls(apps.map(\.port)), ["balance: round_robin"])) { gateway in
                let client = try gateway.connect()
                var others: [Wire] = []
                while let wire = try? Wire(to: apps[0].port) { others.append(wire) }
                let statuses = try (0..<20).map { index in
                    let request = index.isMultiple(of: 4) ? Request.post("/", body: "a") : Request.get("/\(index)")
                    return try client.request(request, seconds: 20).status
                }
                _ = eventually { gateway.output.contains("no local port is left for it") }
                return (others.count, statuses, try Self.metric(gateway, "out", apps[0].port), gateway.output)
            }
        }
        #expect(held > 20 && statuses == [Int](repeating: 200, count: 20) && out == 0)
        #expect(output.components(separatedBy: "no local port is left for it: widen net.ipv4").count == 2)
    }

    // MARK: TLS

    /// A listener that takes connections and says nothing, or ends each.
    private static func mute(ends: Bool) throws -> FakeUpstream {
        try FakeUpstream { link in
            if ends { _ = link.wire.receive() }
            if ends { link.send("HTTP/1.1 400 Bad Request\r\n\r\n") } else { _ = link.wire.receiveAll(seconds: 60) }
        }
    }

    @Test("A server with which TLS does not come about costs no request, not even a POST", arguments: [true, false])
    func tls(ends: Bool) throws {
        guard Servers.find(["/usr/bin/openssl"]) != nil, Servers.find(["/usr/bin/python3"]) != nil else {
            try Servers.missing("openssl or python3")
        }
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let made = try Servers.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-keyout",
                folder.appending(path: "key.pem").path, "-out", folder.appending(path: "cert.pem").path, "-subj",
                "/CN=app.internal", "-addext", "subjectAltName=DNS:app.internal",
            ]
        )
        #expect(made.status == 0, "\(made.output)")
        try """
        import http.server, ssl, sys
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'
            def do_GET(self):
                self.rfile.read(int(self.headers.get('Content-Length', 0)))
                self.send_response(200)
                self.send_header('Content-Length', '2')
                self.end_headers()
                self.wfile.write(b'ok')
            do_POST = do_GET
            def log_message(self, *arguments): pass
        server = http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain('cert.pem', 'key.pem')
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        server.serve_forever()
        """.write(to: folder.appending(path: "server.py"), atomically: true, encoding: .utf8)
        let port = try ServerPorts.take()
        let good = try Servers.Running("/usr/bin/python3", ["server.py", "\(port)"], in: folder, port: port)
        defer { good.stop() }
        let mute = try Self.mute(ends: ends)
        defer { mute.stop() }
        let keys = [
            "balance: round_robin", "server_name: app.internal", "ca_file: \(folder.appending(path: "cert.pem").path)",
        ]
        let settings = Self.settings(
            [mute.port, port].map { "https://127.0.0.1:\($0)" },
            keys,
            more: "timeouts:\n  connect: 2s\n"
        )
        try Gateway.with(settings) { gateway throws in
            for index in 0..<20 {
                let request = index.isMultiple(of: 2) ? Request.get("/\(index)") : Request.post("/\(index)", body: "a")
                let answer = try gateway.request(request, seconds: 15)
                #expect(answer.status == 200, "\(answer.lines)")
            }
            let labels = #"upstream="app",server="https://127.0.0.1:\#(mute.port)""#
            #expect(try gateway.metric("sallyport_upstream_server_out{\(labels)}") == 1)
            #expect(
                try gateway.metric("sallyport_upstream_server_requests_total{\(labels),code_class=\"error\"}") == 5
            )
            #expect(gateway.output.contains("no TLS with the app: "))
        }
    }

    @Test("Without another server, TLS that hangs is refused within the time of a connect")
    func hangingTLS() throws {
        let mute = try Self.mute(ends: false)
        defer { mute.stop() }
        let settings = Config.open(upstream: 1, more: "timeouts:\n  connect: 300ms\n")
            .replacing("http://127.0.0.1:1", with: "https://127.0.0.1:\(mute.port)")
        try Gateway.with(settings) { gateway throws in
            let answer = try gateway.request(Request.get(), seconds: 20)
            #expect(answer.status == 502 && answer.reason == "upstream.tls", "\(answer.lines)")
            #expect(eventually { gateway.output.contains("takes longer than timeouts.connect") })
        }
    }

    // MARK: Answers

    @Test("Answers that are malformed or late are counted, and leave no server out")
    func disappointing() throws {
        let app = try FakeUpstream { link in
            while let request = link.next() {
                if request.target == "/slow" { _ = link.wire.receiveAll(seconds: 60) }
                link.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na")
            }
        }
        let dead = try ServerPorts.take()
        defer { app.stop() }
        let settings = Self.settings(
            Self.urls([app.port, dead]),
            ["balance: round_robin"],
            more: "timeouts:\n  response: 300ms\n"
        )
        try Gateway.with(settings) { gateway throws in
            for _ in 0..<12 { #expect(try gateway.get("/bad").reason == "upstream.malformed") }
            #expect(try Self.metric(gateway, "requests_total", app.port, #",code_class="error""#) == 12)
            #expect(try gateway.request(Request.get("/slow"), seconds: 20).reason == "upstream.timeout")
            #expect(try Self.metric(gateway, "requests_total", app.port, #",code_class="error""#) == 13)
            #expect(try Self.metric(gateway, "out", app.port) == 0)
        }
    }

    @Test("A server that breaks off costs no GET, also when all connections are in use")
    func secondTryInTheQueue() throws {
        let broken = try FakeUpstream { link in
            _ = link.next()
            usleep(20_000)
        }
        let app = try Self.app(1) { _, _ in usleep(20_000) }
        defer {
            broken.stop()
            app.stop()
        }
        let keys = ["balance: round_robin", "max_connections: 2"]
        try Gateway.with(Self.settings(Self.urls([broken.port, app.port]), keys)) { gateway throws in
            let counts = Self.load(gateway, threads: 6, count: 5)
            #expect(counts == ["1": 30])
        }
    }

    @Test("retry_on: a request that may be sent again gets another server's answer, and the log names that server")
    func retryOn() throws {
        let busy = try FakeUpstream(
            serve: FakeUpstream.answering { link, _ in link.answer("503 Service Unavailable", body: "busy") }
        )
        let app = try Self.app(1)
        defer {
            busy.stop()
            app.stop()
        }
        func settings(_ keys: [String]) -> String {
            Self.settings(Self.urls([busy.port, app.port]), ["balance: round_robin"] + keys)
        }
        try Gateway.with(settings(["retry_on: [503]"])) { gateway throws in
            for index in 0..<6 {
                let answer = try gateway.get("/\(index)")
                #expect(answer.status == 200 && answer.text == "1", "\(answer.lines)")
            }
            let posts = try (0..<4).map { try gateway.request(Request.post("/post\($0)", body: "a")) }
            #expect(posts.map(\.status).sorted() == [200, 200, 503, 503])
            #expect(busy.requests.count == 5)
            #expect(try gateway.metric(#"sallyport_upstream_retries_total{upstream="app"}"#) == 3)
            #expect(
                eventually {
                    gateway.output.split(separator: "\n").contains {
                        $0.contains(#""path":"/0""#) && $0.contains(#""server":"http://127.0.0.1:\#(app.port)""#)
                    }
                }
            )
            // The other server does not answer, so the answer of the busy one is passed on.
            app.stop()
            for index in 0..<6 {
                let answer = try gateway.request(Request.get("/busy\(index)"), seconds: 20)
                #expect(answer.status == 503 && answer.text == "busy", "\(answer.lines)")
            }
        }
    }

    @Test("A check understands interim answers, and reads answers to their end, so that no app has to log an error")
    func checks() throws {
        let ends = Mutex<[Wire.Event]>([])
        let checked = try FakeUpstream { link in
            while let request = link.next() {
                guard request.values("user-agent") == ["sallyport-health"] else {
                    link.answer(body: "0")
                    continue
                }
                link.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 10")
                link.send("2 Processing\r\n\r\n")
                let isSent = link.send(
                    "HTTP/1.1 200 OK\r\nContent-Length: 30000\r\n\r\n" + String(repeating: "x", count: 30000)
                )
                // What is not read when the connection ends makes that a reset.
                let end = link.wire.receive(seconds: 10)
                ends.withLock { $0.append(isSent ? end : .reset) }
                return
            }
        }
        let refusing = try FakeUpstream(
            serve: FakeUpstream.answering { link, _ in
                link.send("HTTP/1.1 103 Early Hints\r\n\r\n")
                link.answer("503 Service Unavailable", body: "1")
            }
        )
        defer {
            checked.stop()
            refusing.stop()
        }
        let servers = Self.urls([checked.port, refusing.port])
        try Gateway.with(Self.settings(servers, ["health: {interval: 1s, fails: 1}"])) { gateway throws in
            #expect(eventually { ends.withLock { $0.count } > 2 })
            #expect(ends.withLock { $0.allSatisfy { $0 == .end } }, "\(ends.withLock { $0 })")
            #expect(try Self.metric(gateway, "out", checked.port) == 0)
            #expect(eventually { (try? Self.metric(gateway, "out", refusing.port)) == 1 })
        }
    }
}

/// A machine that does one thing at a time.
private final class Turn: Sendable {
    private let isBusy = Mutex(false)

    func work(_ microseconds: UInt32) {
        self.isBusy.withLock { _ in _ = usleep(microseconds) }
    }
}

/// A port where connections are neither taken nor refused: the queue of its listener is full.
private final class SilentPort {
    let port: Int
    private var descriptors: [Int32] = []

    init() throws {
        self.port = try ServerPorts.take()
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        self.descriptors = [listener]
        guard Wire.withAddress("127.0.0.1", self.port, { bind(listener, $0, $1) }) == 0, listen(listener, 0) == 0 else {
            throw BenchFailure("no listener: \(errno)")
        }
        for _ in 0..<4 {
            let filler = socket(
                AF_INET,
                Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue),
                0
            )
            _ = Wire.withAddress("127.0.0.1", self.port) { connect(filler, $0, $1) }
            self.descriptors.append(filler)
        }
    }

    func close() { for descriptor in self.descriptors { Glibc.close(descriptor) } }
}
