import Foundation
import GatewayBench
import Synchronization
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// Apps on several servers.
@Suite("Several servers", .blocking) struct ServerGroupTests {
    private static func settings(_ ports: [Int], _ keys: String = "", more: String = "") -> String {
        let servers = ports.map { "http://127.0.0.1:\($0)" }.joined(separator: ", ")
        let upstreams = "upstreams:\n  app:\n    servers: [\(servers)]\n" + (keys.isEmpty ? "" : "    \(keys)\n")
        return Config.open(upstream: 1, "upstream: app", more: upstreams + more)
    }

    /// Answers with its number, and counts what it has executed.
    private static func app(_ number: Int) throws -> FakeUpstream {
        try FakeUpstream(serve: FakeUpstream.answering { link, _ in link.answer(body: "\(number)") })
    }

    /// A server in a process of its own, which can be killed. It writes each POST to a file.
    private static let server = """
        import http.server, os, sys
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'
            def answer(self):
                body = sys.argv[1].encode()
                self.send_response(200)
                self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            def do_GET(self): self.answer()
            def do_POST(self):
                text = self.rfile.read(int(self.headers['Content-Length']))
                os.write(log, text + b'\\n')
                self.answer()
            def log_message(self, *arguments): pass
        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 1024
            daemon_threads = True
            def handle_error(self, request, address): pass
        log = os.open('posts', os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        Server(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
        """

    private static func folder() throws -> URL {
        guard Servers.find(["/usr/bin/python3"]) != nil else { try Servers.missing("python3") }
        let folder = try Servers.folder()
        try Self.server.write(to: folder.appending(path: "server.py"), atomically: true, encoding: .utf8)
        return folder
    }

    private static func start(_ port: Int, in folder: URL) throws -> Servers.Running {
        try Servers.Running("/usr/bin/python3", ["server.py", "\(port)"], in: folder, port: port)
    }

    @Test(
        "All servers of a list get requests, in turn or by how busy they are",
        arguments: ["round_robin", "least_requests"]
    )
    func all(balance: String) throws {
        let apps = try (0..<3).map { try Self.app($0) }
        defer { for app in apps { app.stop() } }
        let settings = Self.settings(apps.map(\.port), "balance: \(balance)")
        try Gateway.with(settings) { gateway throws in
            var counts: [String: Int] = [:]
            for index in 0..<60 {
                let answer = try gateway.get("/\(index)")
                #expect(answer.status == 200)
                counts[answer.text, default: 0] += 1
            }
            #expect(counts.count == 3, "\(counts)")
            if balance == "round_robin" { #expect(counts.values.allSatisfy { $0 == 20 }, "\(counts)") }
            // Each keeps its own connection.
            #expect(apps.allSatisfy { $0.connectionCount <= 2 })
        }
    }

    @Test("A server that refuses connections costs no request, not even a POST")
    func refused() throws {
        let app = try Self.app(1)
        defer { app.stop() }
        try Gateway.with(Self.settings([try ServerPorts.take(), app.port])) { gateway throws in
            for index in 0..<40 {
                let answer =
                    try index.isMultiple(of: 2)
                    ? gateway.get("/\(index)") : gateway.request(Request.post("/\(index)", body: "a"))
                #expect(answer.status == 200 && answer.text == "1", "\(answer.lines)")
            }
            #expect(app.requests.count == 40)
        }
    }

    @Test("If no server answers, the answer is 502, and the first one that is back is found")
    func none() throws {
        let ports = try (0..<2).map { _ in try ServerPorts.take() }
        try Gateway.with(Self.settings(ports, more: "timeouts: {connect: 100ms}\n")) { gateway throws in
            for _ in 0..<20 {
                let answer = try gateway.get()
                #expect(answer.status == 502 && answer.reason == "upstream.unreachable")
            }
            let app = try FakeUpstream(port: ports[1])
            defer { app.stop() }
            #expect(try gateway.get().status == 200)
        }
    }

    @Test("A server that ends each connection before it answers costs no GET; a POST is not sent a second time")
    func reset() throws {
        let posts = Mutex(0)
        let broken = try FakeUpstream { link in
            if link.next()?.method == "POST" { posts.withLock { $0 += 1 } }
        }
        let app = try Self.app(1)
        defer {
            broken.stop()
            app.stop()
        }
        let settings = Self.settings([broken.port, app.port], "balance: round_robin")
        try Gateway.with(settings) { gateway throws in
            var statuses: [Int] = []
            for index in 0..<4 { statuses.append(try gateway.request(Request.post("/\(index)", body: "a")).status) }
            #expect(statuses.sorted() == [200, 200, 502, 502])
            #expect(posts.withLock { $0 } == 2)
            for index in 0..<20 { #expect(try gateway.get("/\(index)").text == "1") }
            // After five failures in a row it is left out.
            let count = broken.connectionCount
            #expect(count == 5)
            for index in 0..<10 { #expect(try gateway.request(Request.post("/\(index)", body: "a")).status == 200) }
            #expect(broken.connectionCount == count)
        }
    }

    @Test("kill -9 of one of three servers under load: no GET fails, no POST runs twice, and it is used again")
    func killed() throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let ports = try (0..<3).map { _ in try ServerPorts.take() }
        let servers = try ports.map { try Self.start($0, in: folder) }
        defer { for server in servers { server.stop() } }
        try Gateway.with(Self.settings(ports)) { gateway throws in
            let failures = Mutex<[String]>([])
            let counts = Mutex<[String: Int]>([:])
            let (stop, done) = (Flag(), Flag())
            let failedPosts = Mutex(0)
            let threads = 8
            for thread in 0..<threads {
                Thread.detachNewThread {
                    defer { done.raise() }
                    guard let wire = try? gateway.connect() else { return failures.withLock { $0.append("connect") } }
                    var index = 0
                    while stop.count == 0 {
                        index += 1
                        let isPost = index.isMultiple(of: 5)
                        let request = isPost ? Request.post("/", body: "\(thread)-\(index)") : Request.get("/\(index)")
                        guard let answer = try? wire.request(request) else {
                            return failures.withLock { $0.append("no answer") }
                        }
                        counts.withLock { $0[answer.text, default: 0] += answer.status == 200 ? 1 : 0 }
                        if answer.status == 200 { continue }
                        if isPost {
                            failedPosts.withLock { $0 += 1 }
                        } else {
                            failures.withLock { $0.append("\(answer.lines)") }
                        }
                    }
                }
            }
            func total() -> Int { counts.withLock { $0.values.reduce(0, +) } }
            #expect(eventually { total() > 600 })
            servers[1].signal(SIGKILL)
            let before = total()
            #expect(eventually { total() > before + 1500 })
            // It is back: one request finds it when it has been left out for long enough.
            let again = try Self.start(ports[1], in: folder)
            defer { again.stop() }
            let seen = counts.withLock { $0["\(ports[1])"] ?? 0 }
            #expect(eventually(within: 30) { counts.withLock { $0["\(ports[1])"] ?? 0 } > seen + 50 })
            stop.raise()
            #expect(eventually { done.count == threads })
            #expect(failures.withLock { $0 } == [])
            // Those that the server had when it was killed.
            #expect(failedPosts.withLock { $0 } <= threads)
            let posts = try String(contentsOf: folder.appending(path: "posts"), encoding: .utf8).split(separator: "\n")
            #expect(posts.count > 100 && Set(posts).count == posts.count)
        }
    }

    /// The values of the metrics of a server.
    private static func metric(_ gateway: Gateway, _ name: String, _ port: Int, _ more: String = "") throws -> Double {
        let labels = #"upstream="app",server="http://127.0.0.1:\#(port)"\#(more)"#
        return try gateway.metric("sallyport_upstream_server_\(name){\(labels)}")
    }

    @Test("A server that goes and comes back: one line in the log each, metrics, and what the command shows")
    func seen() throws {
        let broken = try ServerPorts.take()
        let app = try Self.app(1)
        defer { app.stop() }
        let settings = Self.settings([broken, app.port], "balance: round_robin").replacing(
            "event_loops: 1",
            with: "event_loops: 2"
        )
        try Gateway.with(settings) { gateway throws in
            for index in 0..<60 { #expect(try gateway.get("/\(index)").status == 200) }
            #expect(try Self.metric(gateway, "out", broken) == 2)
            #expect(try Self.metric(gateway, "ejections_total", broken) == 1)
            // Five of the first loop, and as many of the other, or fewer if it has heard of that.
            let failed = try Self.metric(gateway, "requests_total", broken, #",code_class="error""#)
            #expect((6...10).contains(failed), "\(failed)")
            #expect(try Self.metric(gateway, "requests_total", app.port, #",code_class="2xx""#) == 60)
            func show() throws -> String {
                let result = try Servers.run(
                    Gateway.binary.path,
                    ["upstreams", "--admin", "127.0.0.1:\(gateway.adminPort)"]
                )
                #expect(result.status == 0, "\(result.output)")
                return result.output
            }
            let shown = try show()
            #expect(shown.contains("app (round_robin)\n"), "\(shown)")
            #expect(
                shown.contains("  http://127.0.0.1:\(broken): out, in flight 0, idle 0, left out 1 time\n"),
                "\(shown)"
            )
            #expect(
                shown.contains("  http://127.0.0.1:\(app.port): serving, in flight 0, idle "),
                "\(shown)"
            )
            let back = try FakeUpstream(port: broken)
            defer { back.stop() }
            // A request finds it when its time is over.
            let isBack = eventually(within: 40) {
                _ = try? gateway.get()
                return (try? Self.metric(gateway, "out", broken)) == 0
            }
            #expect(isBack)
            func lines(_ text: String) -> Int {
                gateway.output.split(separator: "\n").count { $0.contains(text) && $0.contains("127.0.0.1:\(broken)") }
            }
            #expect(lines("a server of the app is left out: it cannot be connected to") == 1)
            #expect(lines("a server of the app serves again") == 1)
            #expect(try show().contains("  http://127.0.0.1:\(broken): serving"))
        }
    }

    @Test("Sticky: a session stays with its server on every gateway and after a restart; without one, an address does")
    func sticky() throws {
        let apps = try (0..<3).map { try Self.app($0) }
        defer { for app in apps { app.stop() } }
        let servers = apps.map { "http://127.0.0.1:\($0.port)" }.joined(separator: ", ")
        let upstreams = "upstreams: {app: {servers: [\(servers)], balance: sticky}}\n"
        let settings = Config.file(
            upstream: 1,
            routes: "  - {path: /open/**, auth: public, upstream: app}\n  - {path: /**, upstream: app}",
            more: upstreams
        )
        try Gateway.with(settings) { gateway throws in
            let first = Set(try (0..<20).map { try gateway.get("/open/\($0)").text })
            #expect(first.count == 1)
            var places: Set<String> = []
            for _ in 0..<8 {
                let user = "Cookie: sallyport=\(try gateway.browser())"
                let texts = Set(try (0..<5).map { try gateway.get("/\($0)", [user]).text })
                #expect(texts.count == 1)
                places.formUnion(texts)
            }
            #expect(places.count > 1, "\(places)")
            try Gateway.with(settings) { other throws in
                #expect(Set(try (0..<5).map { try other.get("/open/\($0)").text }) == first)
            }
        }
    }

    @Test("The queue and the limit of connections are those of all servers together")
    func queue() throws {
        let go = Flag()
        let apps = try (0..<2).map { _ in
            try FakeUpstream(
                serve: FakeUpstream.answering { link, request in
                    if request.target == "/slow" { _ = go.isRaised(within: 20) }
                    link.answer(body: request.target)
                }
            )
        }
        defer { for app in apps { app.stop() } }
        let settings = Self.settings(apps.map(\.port), "max_connections: 2\n    max_queue: 3\n    client_share: 100")
        try Gateway.with(settings) { gateway throws in
            let wires = try (0..<5).map { _ in try gateway.connect() }
            for wire in wires { wire.send(Request.get("/slow")) }
            #expect(
                eventually { (try? gateway.metric(#"sallyport_upstream_requests_waiting{upstream="app"}"#)) == 3 }
            )
            let refused = try gateway.get("/more")
            #expect(refused.status == 503 && refused.reason == "gateway.overloaded")
            go.raise()
            for wire in wires { #expect(try wire.answer(seconds: 10).text == "/slow") }
            #expect(apps.map(\.connectionCount).reduce(0, +) == 2)
        }
    }

    @Test("A redirect of any server to itself goes to the public origin")
    func location() throws {
        let apps = try (0..<2).map { _ in
            try FakeUpstream(
                serve: FakeUpstream.answering { link, request in
                    let own = request.values("x-own").first ?? ""
                    link.answer("302 Found", "Location: http://127.0.0.1:\(own)/next\r\n")
                }
            )
        }
        defer { for app in apps { app.stop() } }
        try Gateway.with(Self.settings(apps.map(\.port))) { gateway throws in
            for app in apps {
                let answer = try gateway.get("/", ["X-Own: \(app.port)"])
                #expect(answer.value("location")?.hasPrefix("http://app.example.com") == true, "\(answer.lines)")
            }
            #expect(try gateway.get("/", ["X-Own: 1"]).value("location") == "http://127.0.0.1:1/next")
        }
    }

    @Test("A reload that adds or removes a server keeps the connections to the others")
    func reload() throws {
        let apps = try (0..<3).map { try Self.app($0) }
        defer { for app in apps { app.stop() } }
        let ports = apps.map(\.port)
        func settings(_ ports: [Int]) -> String {
            Self.settings(ports, "balance: round_robin")
        }
        func texts(_ gateway: Gateway, _ count: Int) throws -> Set<String> {
            Set(try (0..<count).map { try gateway.get("/\($0)").text })
        }
        try Gateway.with(settings([ports[0], ports[1]])) { gateway throws in
            #expect(try texts(gateway, 4) == ["0", "1"])
            try gateway.reload(settings(ports))
            #expect(try texts(gateway, 6) == ["0", "1", "2"])
            try gateway.reload(settings([ports[2], ports[0]]))
            #expect(try texts(gateway, 4) == ["0", "2"])
            #expect(apps.map(\.connectionCount) == [1, 1, 1])
            #expect(try gateway.metric(#"sallyport_upstream_connections{state="idle"}"#) == 2)
        }
    }

    @Test("Checks leave a server out whose requests would succeed, and bring it back")
    func checks() throws {
        let isIll = Mutex(true)
        let sick = try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                let isBad = request.target == "/healthz?a=1" && isIll.withLock { $0 }
                link.answer(isBad ? "500 Internal Server Error" : "200 OK", body: "sick")
            }
        )
        let well = try Self.app(1)
        defer {
            sick.stop()
            well.stop()
        }
        let keys = #"health: {path: "/healthz?a=1", interval: 1s, fails: 2, passes: 2}"#
        try Gateway.with(Self.settings([sick.port, well.port], keys)) { gateway throws in
            #expect(eventually(within: 20) { (try? Self.metric(gateway, "out", sick.port)) == 1 })
            for index in 0..<20 { #expect(try gateway.get("/\(index)").text == "1") }
            let check = try #require(sick.requests.first { $0.target == "/healthz?a=1" })
            #expect(check.lines.first == "GET /healthz?a=1 HTTP/1.1")
            #expect(check.values("host") == ["127.0.0.1:\(sick.port)"])
            #expect(check.values("user-agent") == ["sallyport-health"])
            #expect(check.values("cookie").isEmpty && check.values("x-forwarded-for").isEmpty)
            let line = "a server of the app is left out: its health checks fail: the answer is 500"
            #expect(gateway.output.contains(line))
            isIll.withLock { $0 = false }
            #expect(eventually(within: 20) { (try? Self.metric(gateway, "out", sick.port)) == 0 })
            #expect(Set(try (0..<40).map { try gateway.get("/\($0)").text }) == ["1", "sick"])
            #expect(gateway.output.contains("a server of the app serves again"))
        }
    }

    @Test("Checks send health.host, and the log says why a server is left out")
    func namedChecks() throws {
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                let isNamed = request.values("host") == ["app.example.com:8443"]
                link.answer(isNamed ? "200 OK" : "400 Bad Request", body: "")
            }
        )
        let mute = try FakeUpstream { link in _ = link.wire.receiveAll(seconds: 60) }
        defer {
            app.stop()
            mute.stop()
        }
        let gone = try ServerPorts.take()
        let keys = "health: {host: 'App.Example.com:8443', interval: 1s, timeout: 1s, fails: 1, passes: 1}"
        try Gateway.with(Self.settings([app.port, gone, mute.port], keys)) { gateway throws in
            for (port, words) in [
                (gone, "it cannot be connected to"), (mute.port, "no answer comes within health.timeout"),
            ] {
                #expect(eventually(within: 20) { (try? Self.metric(gateway, "out", port)) == 1 })
                #expect(eventually { gateway.output.contains("its health checks fail: \(words)") })
            }
            #expect(app.requests.contains { $0.values("host") == ["app.example.com:8443"] })
            #expect(try Self.metric(gateway, "out", app.port) == 0)
        }
    }

    @Test("If checks find all servers down, all are tried")
    func allDown() throws {
        let app = try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                link.answer(request.target == "/" ? "503 Service Unavailable" : "200 OK", body: "")
            }
        )
        let other = try FakeUpstream(
            serve: FakeUpstream.answering { link, request in
                link.answer(request.target == "/" ? "503 Service Unavailable" : "200 OK", body: "")
            }
        )
        defer {
            app.stop()
            other.stop()
        }
        let settings = Self.settings([app.port, other.port], "health: {interval: 1s, fails: 1}")
        try Gateway.with(settings) { gateway throws in
            for port in [app.port, other.port] {
                #expect(eventually(within: 20) { (try? Self.metric(gateway, "out", port)) == 1 })
            }
            for index in 0..<10 { #expect(try gateway.get("/\(index)").status == 200) }
        }
    }
}
