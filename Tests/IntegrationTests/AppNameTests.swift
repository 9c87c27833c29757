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
        import http.server, os, sys, time
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'
            def do_GET(self):
                if self.path == '/slow':
                    time.sleep(4)
                address = self.connection.getsockname()[0]
                if os.path.exists('broken-' + address):
                    self.close_connection = True
                    return
                body = address.encode()
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
        ///
        /// - Parameter keys: More keys of the app.
        func serve(_ name: String, _ more: String = "", keys: String = "", _ body: (Gateway) throws -> Void) throws {
            let settings = Config.open(
                upstream: self.port,
                "upstream: app",
                more: "upstreams: {app: {url: \"http://\(name):\(self.port)\", dns_refresh: 1s\(keys)}}\n\(more)"
            )
            let gateway = try Gateway(settings, starter: self.starter)
            defer { gateway.stop() }
            try body(gateway)
        }

        /// Has the app end connections to this address before it answers, or answer again.
        func set(_ address: String, isBroken: Bool) throws {
            let file = self.folder.appending(path: "broken-\(address)")
            if isBroken { try Data().write(to: file) } else { try FileManager.default.removeItem(at: file) }
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

    @Test("From its first request on, a gateway sends a session to one address of a name, as it does later")
    func staysFromTheStart() throws {
        let bench = try Bench("127.0.0.2 app.test\n127.0.0.3 app.test\n127.0.0.4 app.test\n127.0.0.5 app.test\n")
        defer { bench.stop() }
        for _ in 0..<6 {
            try bench.serve("app.test", keys: ", balance: sticky") { gateway in
                let first = try gateway.get("/", ["Connection: close"]).text
                #expect(eventually { (try? gateway.admin("/upstreams").text.contains("127.0.0.5")) == true })
                for _ in 0..<5 { #expect(try gateway.get("/", ["Connection: close"]).text == first) }
            }
        }
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

    @Test("F27: A name server that hangs does no harm to a name that was resolved, nor does one that knows it no more")
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

    @Test(
        "F27: A name server that hangs from the start: requests wait no longer than for a connection, others not at all"
    )
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

    private static let three = "127.0.0.1 app.test\n127.0.0.2 app.test\n127.0.0.3 app.test\n"

    /// Waits until each address of the name is a server.
    private static func awaitPlaces(_ gateway: Gateway, _ addresses: [String]) {
        let expected = addresses.map { #""addresses":["\#($0)"]"# }
        #expect(
            eventually {
                guard let text = try? gateway.admin("/upstreams").text else { return false }
                return expected.allSatisfy(text.contains)
                    && text.components(separatedBy: #""addresses""#).count == expected.count + 1
            },
            "\((try? gateway.admin("/upstreams").text) ?? "")"
        )
    }

    @Test("Several addresses of one name are servers: each has its share, is left out alone, and goes alone")
    func several() throws {
        let bench = try Bench(Self.three)
        defer { bench.stop() }
        try bench.serve("app.test", keys: ", balance: round_robin") { gateway throws in
            Self.awaitPlaces(gateway, ["127.0.0.1", "127.0.0.2", "127.0.0.3"])
            func counts(_ count: Int) throws -> [String: Int] {
                var counts: [String: Int] = [:]
                for index in 0..<count { counts[try gateway.get("/\(index)").text, default: 0] += 1 }
                return counts
            }
            #expect(try counts(30) == ["127.0.0.1": 10, "127.0.0.2": 10, "127.0.0.3": 10])
            try bench.set("127.0.0.3", isBroken: true)
            #expect(try counts(30).keys.sorted() == ["127.0.0.1", "127.0.0.2"])
            #expect(gateway.output.contains("is left out"), "\(gateway.output)")
            #expect(gateway.output.contains("app.test:\(bench.port) (127.0.0.3)"))
            let out = #"sallyport_upstream_server_out{upstream="app",server="http://app.test:\#(bench.port)"}"#
            #expect(try gateway.metric(out) == 1)
            // Other answers of the name server bring it back no earlier, nor do they touch the others.
            let lookups = try Self.count("unchanged", gateway)
            #expect(eventually { (try? Self.count("unchanged", gateway)).map { $0 > lookups + 2 } == true })
            try bench.move(Self.three + "127.0.0.4 app.test\n")
            Self.awaitPlaces(gateway, ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"])
            #expect(try gateway.metric(out) == 1)
            let text = try gateway.admin("/upstreams").text
            #expect(text.contains(#""state":"out""#), "\(text)")
            try bench.set("127.0.0.3", isBroken: false)
            #expect(eventually(within: 40) { (try? gateway.get())?.text == "127.0.0.3" })
            #expect(try counts(40) == ["127.0.0.1": 10, "127.0.0.2": 10, "127.0.0.3": 10, "127.0.0.4": 10])
            // Back to one: what is left serves alone.
            try bench.move("127.0.0.2 app.test\n")
            Self.awaitPlaces(gateway, ["127.0.0.2"])
            #expect(try counts(10) == ["127.0.0.2": 10])
            #expect(try gateway.metric(#"sallyport_upstream_connections{state="idle"}"#) == 1)
        }
    }

    @Test("Sticky by the addresses of a name: two gateways agree, and only the sessions of an address that goes move")
    func stickyAddresses() throws {
        let bench = try Bench(Self.three)
        defer { bench.stop() }
        let three = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
        try bench.serve("app.test", keys: ", balance: sticky") { first throws in
            try bench.serve("app.test", keys: ", balance: sticky") { second throws in
                func homes(_ gateway: Gateway) throws -> [String] {
                    try (2..<32).map { try gateway.get("/", from: "127.0.1.\($0)").text }
                }
                for gateway in [first, second] { Self.awaitPlaces(gateway, three) }
                let before = try homes(first)
                #expect(try homes(second) == before && Set(before) == Set(three))
                try bench.move("127.0.0.3 app.test\n127.0.0.1 app.test\n")
                for gateway in [first, second] { Self.awaitPlaces(gateway, ["127.0.0.1", "127.0.0.3"]) }
                let without = try homes(second)
                #expect(try homes(first) == without)
                for (home, other) in zip(before, without) { #expect(home == "127.0.0.2" || home == other) }
                try bench.move(Self.three)
                for gateway in [first, second] { Self.awaitPlaces(gateway, three) }
                #expect(try homes(first) == before && homes(second) == before)
            }
        }
    }

    /// In a soak, ten minutes; once, not again with the sanitizer.
    private static let hang =
        ProcessInfo.processInfo.environment["SOAK"] == "1" && getenv("ASAN_OPTIONS") == nil ? 600.0 : 8

    @Test("A name server that hangs for long: a server may even break off, and no request fails; then names move again")
    func hangingForLong() throws {
        let bench = try Bench(Self.three)
        defer { bench.stop() }
        try bench.serve("app.test") { gateway throws in
            Self.awaitPlaces(gateway, ["127.0.0.1", "127.0.0.2", "127.0.0.3"])
            bench.signal(SIGSTOP)
            #expect(eventually { (try? Self.count("failed", gateway)).map { $0 > 0 } == true })
            func count(_ folder: String) -> Int {
                (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(gateway.processID)/\(folder)").count)
                    ?? 0
            }
            let before = (threads: count("task"), descriptors: count("fd"))
            // Its failures ask for the name again, which nobody answers.
            try bench.set("127.0.0.3", isBroken: true)
            let end = DispatchTime.now() + Self.hang
            var places: Set<String> = []
            while DispatchTime.now() < end {
                // Over a connection that is kept, and over one that has to be made.
                for target in ["/", "/last"] {
                    let answer = try gateway.get(target)
                    #expect(answer.status == 200, "\(answer.lines)")
                    places.insert(answer.text)
                }
                usleep(20_000)
            }
            #expect(places == ["127.0.0.1", "127.0.0.2"], "\(places)")
            #expect(count("task") <= before.threads + 4 && count("fd") <= before.descriptors + 16)
            try bench.move("127.0.0.2 app.test\n127.0.0.4 app.test\n")
            bench.signal(SIGCONT)
            Self.awaitPlaces(gateway, ["127.0.0.2", "127.0.0.4"])
            #expect(eventually { (try? gateway.get())?.text == "127.0.0.4" })
        }
    }
}
