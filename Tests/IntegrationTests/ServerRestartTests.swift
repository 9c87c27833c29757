import Foundation
import GatewayBench
import Synchronization
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// Servers of an app that come and go under load, as real programs: nginx and Python, and a page in a browser.
@Suite("Servers that are restarted", .blocking) struct ServerRestartTests {
    private static func settings(_ ports: [Int], _ keys: [String]) -> String {
        let servers = ports.map { "http://127.0.0.1:\($0)" }.joined(separator: ", ")
        // Each client keeps its connection, however fast requests are answered.
        let limits = "limits: {requests_per_connection: 1000000}\n"
        let upstreams = "upstreams:\n  app:\n    servers: [\(servers)]\n"
        return Config.open(upstream: 1, "upstream: app", more: limits + upstreams + keys.map { "    \($0)\n" }.joined())
    }

    private static func metric(_ gateway: Gateway, _ name: String, _ port: Int) throws -> Double {
        let labels = #"upstream="app",server="http://127.0.0.1:\#(port)""#
        return try gateway.metric("sallyport_upstream_server_\(name){\(labels)}")
    }

    /// nginx that answers with its port.
    private static func nginx(_ port: Int, in folder: URL) throws -> Servers.Running {
        guard let program = Servers.find(["/usr/sbin/nginx"]) else { try Servers.missing("nginx") }
        let own = folder.appending(path: "\(port)")
        try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
        try """
        daemon off;
        user root;
        worker_processes 1;
        pid nginx.pid;
        error_log stderr error;
        events {}
        http {
            access_log off;
            keepalive_requests 1000000;
            client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fcgi;
            uwsgi_temp_path uwsgi; scgi_temp_path scgi;
            server {
                listen 127.0.0.1:\(port);
                location / { return 200 "\(port)"; }
            }
        }
        """.write(to: own.appending(path: "nginx.conf"), atomically: true, encoding: .utf8)
        return try Servers.Running(program, ["-p", own.path, "-c", "nginx.conf"], in: own, port: port)
    }

    /// Clients that send GETs until they are stopped: together so many a second, or fewer where the machine is slower.
    private final class Load: Sendable {
        private let counts = Mutex<[String: Int]>([:])
        private let failed = Mutex<[String]>([])
        private let stopped = Flag()
        private let done = Flag()
        private let threads: Int

        init(_ gateway: Gateway, rate: Double = 1000) {
            let threads = 16
            self.threads = threads
            let start = DispatchTime.now()
            for thread in 0..<threads {
                Thread.detachNewThread { [self] in
                    defer { self.done.raise() }
                    guard let wire = try? gateway.connect() else { return self.fail("no connection") }
                    var index = 0
                    while self.stopped.count == 0 {
                        let due = start + Double(index * threads + thread) / rate
                        let early = Int64(due.uptimeNanoseconds) - Int64(DispatchTime.now().uptimeNanoseconds)
                        if early > 0 { usleep(UInt32(early / 1000)) }
                        index += 1
                        guard let answer = try? wire.request(Request.get("/\(thread)/\(index)"), seconds: 20) else {
                            return self.fail("no answer")
                        }
                        if answer.status == 200 {
                            self.counts.withLock { $0[answer.text, default: 0] += 1 }
                        } else {
                            self.fail("\(answer.lines)")
                        }
                    }
                }
            }
        }

        private func fail(_ text: String) { self.failed.withLock { $0.append(text) } }

        func count(_ port: Int) -> Int { self.counts.withLock { $0["\(port)", default: 0] } }

        func stop() -> [String] {
            self.stopped.raise()
            #expect(eventually { self.done.count == self.threads })
            return self.failed.withLock { $0 }
        }
    }

    @Test("Three servers that are checked are restarted one after the other under load: no request fails")
    func rolling() throws {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let ports = try (0..<3).map { _ in try ServerPorts.take() }
        var servers = try ports.map { try Self.nginx($0, in: folder) }
        defer { for server in servers { server.stop() } }
        let keys = ["health: {interval: 1s, fails: 1, passes: 1}", "slow_start: 1s"]
        try Gateway.with(Self.settings(ports, keys)) { gateway throws in
            let load = Load(gateway)
            for (index, port) in ports.enumerated() {
                #expect(eventually { load.count(port) > 50 })
                // It answers what it has, and ends.
                servers[index].signal(SIGQUIT)
                #expect(eventually { (try? Wire(to: port)) == nil })
                servers[index].stop()
                #expect(eventually { (try? Self.metric(gateway, "out", port)) == 1 })
                servers[index] = try Self.nginx(port, in: folder)
                #expect(eventually { (try? Self.metric(gateway, "out", port)) == 0 })
                let before = load.count(port)
                #expect(eventually { load.count(port) > before + 50 })
            }
            #expect(load.stop() == [])
        }
    }

    @Test("kill -9 of one of two or three servers of nginx under 1,000 GETs a second: none fails", arguments: [2, 3])
    func killed(count: Int) throws {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let ports = try (0..<count).map { _ in try ServerPorts.take() }
        let servers = try ports.map { try Self.nginx($0, in: folder) }
        defer { for server in servers { server.stop() } }
        try Gateway.with(Self.settings(ports, [])) { gateway throws in
            let load = Load(gateway)
            #expect(eventually { ports.allSatisfy { load.count($0) > 200 } })
            // The worker that serves goes with the master, as if the machine had gone.
            let file = folder.appending(path: "\(ports[0])/nginx.pid")
            let master = try #require(
                Int32(try String(contentsOf: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines))
            )
            let workers = try String(contentsOfFile: "/proc/\(master)/task/\(master)/children", encoding: .utf8)
            kill(master, SIGKILL)
            for worker in workers.split(separator: " ").compactMap({ Int32($0) }) { kill(worker, SIGKILL) }
            let before = load.count(ports[1])
            #expect(eventually { load.count(ports[1]) > before + 2000 })
            // The machine is back, as it is: nothing has to be done at the gateway.
            let again = try Self.nginx(ports[0], in: folder)
            defer { again.stop() }
            let seen = load.count(ports[0])
            #expect(eventually { load.count(ports[0]) > seen + 200 })
            #expect(load.stop() == [])
        }
    }

    @Test("Sticky: two gateways send a client to the same server, also when one leaves and when it is back")
    func twoGateways() throws {
        let apps = try (0..<3).map { number in
            try FakeUpstream(serve: FakeUpstream.answering { link, _ in link.answer(body: "\(number)") })
        }
        let ports = apps.map(\.port)
        defer { for app in apps { app.stop() } }
        let settings = Self.settings(ports, ["balance: sticky"])
        try Gateway.with(settings) { first throws in
            try Gateway.with(settings) { second throws in
                func homes(_ gateway: Gateway) throws -> [String] {
                    try (2..<42).map { try gateway.get("/", from: "127.0.0.\($0)").text }
                }
                let before = try homes(first)
                #expect(try homes(second) == before && Set(before).count == 3)
                apps[1].stop()
                let without = try homes(first)
                #expect(try homes(second) == without && !without.contains("1"))
                for (home, other) in zip(before, without) { #expect(home == "1" || home == other) }
                let back = try FakeUpstream(
                    port: ports[1],
                    serve: FakeUpstream.answering { link, _ in link.answer(body: "1") }
                )
                defer { back.stop() }
                for gateway in [first, second] { #expect(eventually { (try? homes(gateway)) == before }) }
            }
        }
    }

    // MARK: A page with a WebSocket

    /// A page, and a WebSocket that sends each message back with the server's name. SIGTERM closes it as a server that is
    /// replaced does.
    private static let app = #"""
        import base64, hashlib, http.server, os, signal, struct, sys, threading
        name = sys.argv[1]
        open_sockets = set()
        PAGE = b"""<script>
        seen = []; opened = 0; sent = 0;
        function connect() {
            const socket = new WebSocket('ws://' + location.host + '/live');
            socket.onopen = () => { opened++; };
            socket.onmessage = event => seen.push(event.data);
            socket.onclose = () => setTimeout(connect, 100);
            const timer = setInterval(() => {
                if (socket.readyState === 1) socket.send('' + ++sent);
                if (socket.readyState > 1) clearInterval(timer);
            }, 50);
        }
        connect();
        </script>"""
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'
            def do_GET(self):
                if self.headers.get('Upgrade', '').lower() == 'websocket': return self.live()
                self.send_response(200)
                self.send_header('Content-Type', 'text/html')
                self.send_header('Content-Length', str(len(PAGE)))
                self.end_headers()
                self.wfile.write(PAGE)
            def live(self):
                key = self.headers['Sec-WebSocket-Key'].encode() + b'258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
                self.send_response(101)
                self.send_header('Upgrade', 'websocket')
                self.send_header('Connection', 'Upgrade')
                self.send_header('Sec-WebSocket-Accept', base64.b64encode(hashlib.sha1(key).digest()).decode())
                self.end_headers()
                self.close_connection = True
                open_sockets.add(self)
                try:
                    while True:
                        head = self.rfile.read(2)
                        if len(head) < 2 or head[0] & 15 == 8: return
                        mask = self.rfile.read(4)
                        data = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(head[1] & 127)))
                        text = name.encode() + b':' + data
                        self.wfile.write(bytes([0x81, len(text)]) + text)
                finally:
                    open_sockets.discard(self)
            def log_message(self, *arguments): pass
        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            def handle_error(self, request, address): pass
        def end(*_):
            for handler in list(open_sockets):
                try: handler.wfile.write(bytes([0x88, 2]) + struct.pack('!H', 1012))
                except OSError: pass
            os._exit(0)
        signal.signal(signal.SIGTERM, end)
        Server(('127.0.0.1', int(name)), Handler).serve_forever()
        """#

    /// In a soak a page is open for an hour, in which all servers are restarted every five minutes; once, not again with the
    /// sanitizer.
    private static let isSoak = ProcessInfo.processInfo.environment["SOAK"] == "1" && getenv("ASAN_OPTIONS") == nil

    @Test("A page's WebSocket goes to its session's server, moves when that is restarted, and comes back")
    func webSocket() throws {
        guard Servers.find(["/usr/bin/python3"]) != nil, Servers.find([Browser.program]) != nil else {
            try Servers.missing("python3 or chromium")
        }
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try Self.app.write(to: folder.appending(path: "app.py"), atomically: true, encoding: .utf8)
        func start(_ port: Int) throws -> Servers.Running {
            try Servers.Running("/usr/bin/python3", ["app.py", "\(port)"], in: folder, port: port)
        }
        let ports = try (0..<3).map { _ in try ServerPorts.take() }
        var servers = try ports.map { try start($0) }
        defer { for server in servers { server.stop() } }
        let urls = ports.map { "http://127.0.0.1:\($0)" }.joined(separator: ", ")
        let health = "health: {interval: 1s, fails: 1, passes: 1}"
        let settings = Config.file(
            upstream: 1,
            routes: "  - {path: /**, upstream: app}",
            more: "upstreams: {app: {servers: [\(urls)], balance: sticky, \(health)}}\n"
        )
        try Gateway.with(settings) { gateway throws in
            let browser = try Browser(hosts: ["app.example.com": gateway.port])
            defer { browser.close() }
            let cookie: [String: Any] = [
                "name": "sallyport", "value": try gateway.browser(), "url": "http://app.example.com/",
            ]
            try browser.call("Network.setCookie", cookie)
            try browser.visit("http://app.example.com/")
            try browser.wait(until: "seen.length > 20")
            let home = try #require(Int(try browser.value("seen[0].split(':')[0]")))
            #expect(try browser.value("seen.every(text => text.startsWith('\(home):'))") == "true")
            for _ in 0..<(Self.isSoak ? 12 : 2) {
                // While nothing is restarted, nothing ends it.
                let before = try #require(Int(try browser.value("opened")))
                Thread.sleep(forTimeInterval: Self.isSoak ? 300 : 1)
                #expect(try browser.value("opened") == "\(before)")
                for (index, port) in ports.enumerated() {
                    servers[index].stop()
                    #expect(eventually { (try? Self.metric(gateway, "out", port)) == 1 })
                    // It goes on with another server, if it was this one's.
                    let count = try browser.value("seen.length")
                    try browser.wait(until: "seen.length > \(count) + 10 && !seen.at(-1).startsWith('\(port):')")
                    servers[index] = try start(port)
                    #expect(eventually { (try? Self.metric(gateway, "out", port)) == 0 })
                }
                // It was connected once more, and again where the server that stood in was restarted later.
                let opened = try #require(Int(try browser.value("opened")))
                #expect((before + 1...before + 3).contains(opened), "\(opened) after \(before)")
            }
            try browser.visit("http://app.example.com/")
            try browser.wait(until: "seen.length > 10")
            #expect(try browser.value("seen.every(text => text.startsWith('\(home):'))") == "true")
        }
    }
}
