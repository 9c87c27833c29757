import Foundation
import GatewayBench
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// Apps by names that a real name server has, which changes them, does not answer, or does not know them.
@Suite("The names of apps and a name server", .blocking) struct AppNameTests {
    /// An app on every address, which answers with the one that it was reached at.
    private static let app = """
        import http.server, sys, time
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'
            def do_GET(self):
                if self.path == '/slow':
                    time.sleep(4)
                body = self.connection.getsockname()[0].encode()
                self.send_response(200)
                self.send_header('Content-Length', str(len(body)))
                if self.path == '/last':
                    self.send_header('Connection', 'close')
                self.end_headers()
                self.wfile.write(body)
            def log_message(self, *arguments): pass
        http.server.ThreadingHTTPServer(('0.0.0.0', int(sys.argv[1])), Handler).serve_forever()
        """

    /// A name server on loopback, an app, and what starts a gateway that asks that name server alone.
    private final class Bench {
        let folder: URL
        let port: Int
        private let app: Servers.Running
        private let server: Process
        /// Where the name server listens: its port is always 53.
        private let address = "127.53.\(Int.random(in: 1...250)).\(Int.random(in: 1...250))"

        /// - Parameter hosts: Lines as in `/etc/hosts`.
        init(_ hosts: String) throws {
            let (dnsmasq, python) = try Self.programs()
            self.folder = try Servers.folder()
            self.port = try ServerPorts.take()
            try AppNameTests.app.write(to: self.folder.appending(path: "app.py"), atomically: true, encoding: .utf8)
            try "nameserver \(self.address)\noptions timeout:1 attempts:1\n".write(
                to: self.folder.appending(path: "resolv.conf"),
                atomically: true,
                encoding: .utf8
            )
            self.app = try Servers.Running(python, ["app.py", "\(self.port)"], in: self.folder, port: self.port)
            self.server = Process()
            // Below a shell: it closes every file that it has not opened, and Foundation takes a process that has closed
            // its end of a socket for one that has ended, and waits for it before it looks at any other.
            self.server.executableURL = URL(filePath: "/bin/sh")
            self.server.arguments = [
                "-c", "\"$@\"; exit", "sh", dnsmasq, "--keep-in-foreground", "--no-resolv", "--no-hosts", "--user=root",
                "--pid-file=\(self.folder.path)/pid",
                "--conf-file=/dev/null", "--log-facility=\(self.folder.path)/dnsmasq.log", "--bind-interfaces",
                "--listen-address=\(self.address)", "--addn-hosts=\(self.folder.path)/hosts", "--local=/test/",
            ]
            self.server.standardInput = FileHandle.nullDevice
            try self.write(hosts)
            try self.server.run()
            #expect(eventually { self.serving != nil }, "the name server begins")
        }

        private static func programs() throws -> (dnsmasq: String, python: String) {
            guard let dnsmasq = Servers.find(["/usr/sbin/dnsmasq"]), let python = Servers.find(["/usr/bin/python3"])
            else { try Servers.missing("dnsmasq or python3") }
            guard getuid() == 0, try Servers.run("/usr/bin/unshare", ["--mount", "true"]).status == 0 else {
                try Servers.missing("a namespace for resolv.conf", isOptional: true)
            }
            return (dnsmasq, python)
        }

        private func write(_ hosts: String) throws {
            try hosts.write(to: self.folder.appending(path: "hosts"), atomically: true, encoding: .utf8)
        }

        /// Gives the names other addresses.
        func move(_ hosts: String) throws {
            try self.write(hosts)
            self.signal(SIGHUP)
        }

        /// The name server's process; nil: it has not begun to serve.
        private var serving: pid_t? {
            let text = try? String(contentsOf: self.folder.appending(path: "pid"), encoding: .utf8)
            return text.flatMap { pid_t($0.trimmingCharacters(in: .whitespacesAndNewlines)) }.flatMap {
                $0 > 1 ? $0 : nil
            }
        }

        func signal(_ number: Int32) {
            if let pid = self.serving { kill(pid, number) }
        }

        /// What starts a gateway that has the name server in its own `/etc/resolv.conf`.
        var starter: [String] {
            let mount = "mount --bind \(self.folder.path)/resolv.conf /etc/resolv.conf"
            return ["/usr/bin/unshare", "--mount", "/bin/sh", "-c", "\(mount) && exec \"$@\"", "sh"]
        }

        /// Runs `body` with a gateway before the app of this name.
        func serve(_ name: String, _ more: String = "", _ body: (Gateway) throws -> Void) throws {
            let settings = Config.open(
                upstream: self.port,
                "upstream: app",
                more: "upstreams: {app: {url: \"http://\(name):\(self.port)\", dns_refresh: 1s}}\n\(more)"
            )
            let gateway = try Gateway(settings, starter: self.starter)
            defer { gateway.stop() }
            try body(gateway)
        }

        func stop() {
            self.signal(SIGCONT)
            self.signal(SIGTERM)
            self.server.terminate()
            self.server.waitUntilExit()
            self.app.stop()
            try? FileManager.default.removeItem(at: self.folder)
        }
    }

    private static func count(_ result: String, _ gateway: Gateway) throws -> Double {
        try gateway.metric("sallyport_upstream_lookups_total{upstream=\"app\",result=\"\(result)\"}")
    }

    @Test("A name that moves: its former address gets nothing new, and what runs there ends")
    func moving() throws {
        let bench = try Bench("127.0.0.1 app.test\n")
        defer { bench.stop() }
        try bench.serve("app.test") { gateway throws in
            let client = try gateway.connect()
            for _ in 0..<3 { #expect(try client.request(Request.get()).text == "127.0.0.1") }
            let slow = try gateway.connect()
            slow.send(Request.get("/slow"))
            try bench.move("127.0.0.2 app.test\n")
            var texts: Set<String> = []
            let hasMoved = eventually {
                let answer = try? client.request(Request.get())
                texts.insert(answer?.text ?? "none")
                return answer?.text == "127.0.0.2"
            }
            #expect(hasMoved && texts == ["127.0.0.1", "127.0.0.2"], "\(texts) \(gateway.output)")
            for _ in 0..<20 { #expect(try gateway.get("/last").text == "127.0.0.2") }
            #expect(try slow.answer(seconds: 30).text == "127.0.0.1")
            for _ in 0..<3 { #expect(try client.request(Request.get()).text == "127.0.0.2") }
            // The idle connections to the former address are closed, and the one that was in use.
            #expect(eventually { (try? gateway.metric(#"sallyport_upstream_connections{state="idle"}"#)) == 1 })
            #expect(try Self.count("moved", gateway) == 2)
            let lines = gateway.output.split(separator: "\n").filter { $0.contains("has other addresses") }
            #expect(lines.count == 2)
            #expect(lines.last?.contains(#""addresses":"127.0.0.2""#) == true)
            #expect(lines.last?.contains(#""gone":"127.0.0.1""#) == true)
        }
    }

    @Test("A name server that hangs does no harm to a name that was resolved, nor does one that knows it no more")
    func hanging() throws {
        let bench = try Bench("127.0.0.1 app.test\n")
        defer { bench.stop() }
        try bench.serve("app.test") { gateway throws in
            #expect(try gateway.get("/last").text == "127.0.0.1")
            bench.signal(SIGSTOP)
            #expect(
                eventually {
                    (try? gateway.get("/last"))?.text == "127.0.0.1"
                        && (try? Self.count("failed", gateway)).map { $0 > 1 } == true
                }
            )
            for _ in 0..<100 { #expect(try gateway.get("/last").text == "127.0.0.1") }
            let lines = gateway.output.split(separator: "\n").filter { $0.contains("cannot be resolved") }
            #expect(lines.count == 1, "\(lines)")
            let seen = try gateway.admin("/upstreams").text
            #expect(seen.contains(#""addresses":["127.0.0.1"]"#) && seen.contains(#""is_resolved":false"#), "\(seen)")
            bench.signal(SIGCONT)
            #expect(eventually { gateway.output.contains("is resolved again") })
            let failures = try Self.count("failed", gateway)
            try bench.move("127.0.0.1 other.test\n")
            #expect(eventually { (try? Self.count("failed", gateway)).map { $0 > failures } == true })
            #expect(try gateway.get("/last").text == "127.0.0.1")
        }
    }

    @Test("A name server that hangs from the start: requests wait no longer than for a connection, others not at all")
    func neverResolved() throws {
        let bench = try Bench("127.0.0.1 app.test\n")
        defer { bench.stop() }
        bench.signal(SIGSTOP)
        let more = "timeouts: {connect: 500ms}\n"
        try bench.serve("app.test", more) { gateway throws in
            for _ in 0..<5 {
                let answer = try gateway.request(Request.get(), seconds: 20)
                #expect(answer.status == 502 && answer.reason == "upstream.unreachable", "\(answer.lines)")
            }
            bench.signal(SIGCONT)
            #expect(eventually { (try? gateway.get())?.status == 200 }, "\(gateway.output)")
        }
    }

    @Test("A broken IPv6 address beside a good IPv4 one costs no request")
    func broken() throws {
        let bench = try Bench("127.0.0.1 both.test\n100::1 both.test\n::1 both.test\n")
        defer { bench.stop() }
        try bench.serve("both.test") { gateway throws in
            for _ in 0..<20 { #expect(try gateway.request(Request.get("/last"), seconds: 20).text == "127.0.0.1") }
        }
    }
}
