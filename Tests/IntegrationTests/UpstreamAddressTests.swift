import Foundation
import GatewayBench
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// Apps that are addressed by name, and apps with TLS.
@Suite("Apps by name and by TLS", .blocking) struct UpstreamAddressTests {
    @Test("If a name has several addresses, the one on which the app listens is found")
    func name() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.open(upstream: app.port).replacing(
            "http://127.0.0.1:\(app.port)",
            with: "http://localhost:\(app.port)"
        )
        try Gateway.with(settings) { gateway throws in
            for index in 0..<10 { #expect(try gateway.get("/\(index)", ["Connection: close"]).status == 200) }
        }
    }

    @Test("An unknown name gives 502, and does not keep the gateway from starting")
    func unknownName() throws {
        let settings = Config.open(upstream: 1).replacing("http://127.0.0.1:1", with: "http://no-such-name.invalid")
        try Gateway.with(settings) { gateway throws in
            let answer = try gateway.request(Request.get(), seconds: 20)
            #expect(answer.status == 502 && answer.reason == "upstream.unreachable", "\(answer.lines)")
        }
    }

    /// Answers every request with the requested name and the name in the client's certificate.
    private static let server = """
        import http.server, socket, ssl, sys, time
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'
            def do_GET(self):
                peer = self.connection.getpeercert() or {}
                name = ','.join(v for part in peer.get('subject', ()) for k, v in part if k == 'commonName')
                body = ('sni=%s client=%s' % (getattr(self.connection, 'asked', ''), name)).encode()
                self.send_response(200)
                if self.path != '/cut':
                    self.send_header('Content-Length', str(len(body)))
                if self.path == '/deaf':
                    self.send_header('Connection', 'close')
                self.end_headers()
                self.wfile.write(body)
                self.close_connection = self.path in ('/cut', '/deaf')
                if self.path == '/deaf':
                    time.sleep(60)
            def log_message(self, *arguments): pass
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        mode = sys.argv[2] if len(sys.argv) > 2 else ''
        context.load_cert_chain('expired.pem' if mode == 'expired' else 'server.pem', 'server.key')
        if mode == 'old':
            context.set_ciphers('ALL:@SECLEVEL=0')
            context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
        if mode == 'cipher':
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            context.set_ciphers('ECDHE-ECDSA-AES256-CCM8')
        if mode == 'mutual12':
            context.maximum_version = ssl.TLSVersion.TLSv1_2
        if mode.startswith('mutual'):
            context.load_verify_locations('ca.pem')
            context.verify_mode = ssl.CERT_REQUIRED
        def asked(connection, name, context): connection.asked = name
        context.sni_callback = asked
        class Server(http.server.ThreadingHTTPServer):
            # Where it ends a handshake, the alert must arrive before the connection is reset.
            def get_request(self):
                connection, address = self.socket.accept()
                connection = context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
                return connection, address
            def finish_request(self, request, address):
                try:
                    request.do_handshake()
                except (ssl.SSLError, ConnectionError):
                    raw = socket.socket(fileno=request.detach()) if request.fileno() >= 0 else None
                    if raw:
                        raw.shutdown(socket.SHUT_WR)
                        while raw.recv(4096): pass
                        raw.close()
                    return
                super().finish_request(request, address)
            def handle_error(self, request, address): pass
        server = Server(('127.0.0.1', int(sys.argv[1])), Handler)
        server.serve_forever()
        """

    /// Makes a CA, a certificate of `app.internal` and a client's certificate.
    private func certificates() throws -> URL? {
        guard Servers.find(["/usr/bin/openssl"]) != nil, Servers.find(["/usr/bin/python3"]) != nil else { return nil }
        let folder = try Servers.folder()
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        func path(_ name: String) -> String { folder.appending(path: name).path }
        for name in ["ca", "other"] {
            let result = try Servers.run(
                "/usr/bin/openssl",
                ["req", "-x509"] + key + [
                    "-keyout", path("\(name).key"), "-out", path("\(name).pem"), "-subj", "/CN=\(name)",
                ]
            )
            guard result.status == 0 else { throw BenchFailure(result.output) }
        }
        for (name, subject) in [("server", "app.internal"), ("client", "the-gateway"), ("renewed", "renewed")] {
            let result = try Servers.run(
                "/usr/bin/openssl",
                ["req", "-x509"] + key + [
                    "-keyout", path("\(name).key"), "-out", path("\(name).pem"), "-subj", "/CN=\(subject)", "-addext",
                    "subjectAltName=DNS:\(subject)", "-addext", "basicConstraints=critical,CA:FALSE", "-CA",
                    path("ca.pem"), "-CAkey", path("ca.key"),
                ]
            )
            guard result.status == 0 else { throw BenchFailure(result.output) }
        }
        if let faketime = Servers.find(["/usr/bin/faketime"]) {
            let result = try Servers.run(
                faketime,
                [
                    "-f", "-10d", "/usr/bin/openssl", "req", "-x509", "-key", path("server.key"), "-days", "2", "-out",
                    path("expired.pem"), "-subj", "/CN=app.internal", "-addext", "subjectAltName=DNS:app.internal",
                    "-CA",
                    path("ca.pem"), "-CAkey", path("ca.key"),
                ]
            )
            guard result.status == 0 else { throw BenchFailure(result.output) }
        }
        try Self.server.write(to: folder.appending(path: "server.py"), atomically: true, encoding: .utf8)
        return folder
    }

    /// An app with TLS. What `mode` means is in its script.
    private func server(_ port: Int, _ mode: String = "", in folder: URL) throws -> Servers.Running {
        try Servers.Running("/usr/bin/python3", ["server.py", "\(port)", mode], in: folder, port: port)
    }

    private func settings(
        _ port: Int,
        _ folder: URL,
        ca: String = "ca",
        name: String? = "app.internal",
        client: Bool = false
    ) -> String {
        var lines = ["upstreams:", "  app:", "    url: https://127.0.0.1:\(port)"]
        lines.append("    ca_file: \(folder.path)/\(ca).pem")
        if let name { lines.append("    server_name: \(name)") }
        if client {
            lines.append("    certificate_file: \(folder.path)/client.pem")
            lines.append("    key_file: \(folder.path)/client.key")
        }
        return Config.open(upstream: 1, "upstream: app", more: lines.joined(separator: "\n"))
    }

    @Test("TLS to the app: its CA and its name are checked, and it gets the name by SNI")
    func tls() throws {
        guard let folder = try self.certificates() else { try Servers.missing("openssl or python3") }
        defer { try? FileManager.default.removeItem(at: folder) }
        let port = try ServerPorts.take()
        let server = try self.server(port, in: folder)
        defer { server.stop() }
        try Gateway.with(self.settings(port, folder)) { gateway throws in
            let wire = try gateway.connect()
            for _ in 0..<3 { #expect(try wire.request(Request.get()).text == "sni=app.internal client=") }
        }
        for (ca, name) in [("other", "app.internal"), ("ca", "wrong.internal"), ("ca", nil)] {
            try Gateway.with(self.settings(port, folder, ca: ca, name: name)) { gateway throws in
                let answer = try gateway.get()
                #expect(
                    answer.status == 502 && answer.reason == "upstream.tls",
                    "\(ca) \(name ?? "-"): \(answer.lines)"
                )
            }
        }
    }

    private func expectFault(_ settings: String, _ words: String, _ name: String) throws {
        try Gateway.with(settings) { gateway throws in
            for request in [Request.get(), Request.post("/", body: "a"), Request.get()] {
                let answer = try gateway.request(request)
                #expect(
                    answer.status == 502 && answer.reason == "upstream.tls",
                    "\(name): \(answer.lines) \(answer.text)"
                )
            }
            let lines = gateway.output.split(separator: "\n").filter { $0.contains("no TLS with the app") }
            #expect(lines.count == 1 && lines.first?.contains(words) == true, "\(name): \(gateway.output)")
            #expect(
                lines.first?.contains(#""upstream":"app""#) == true
                    && lines.first?.contains(#""reason":"upstream.tls""#) == true
            )
            let labels = #"route="app.example.com/**",decision="denied",reason="upstream.tls""#
            #expect(try gateway.metric("sallyport_decisions_total{\(labels)}") == 3, "\(name)")
        }
    }

    @Test("TLS that does not come about has a reason of its own, and the log says once a minute what is wrong")
    func faults() throws {
        guard let folder = try self.certificates() else { try Servers.missing("openssl or python3") }
        defer { try? FileManager.default.removeItem(at: folder) }
        let hasExpired = FileManager.default.fileExists(atPath: folder.appending(path: "expired.pem").path)
        if !hasExpired { try Servers.missing("faketime") }
        let wrong = "certificate is not for wrong.internal"
        let required = "requires a client certificate"
        let cases: [(mode: String, ca: String, name: String?, client: Bool, words: String)] =
            [
                ("", "other", "app.internal", false, "not signed by an authority that is trusted here"),
                ("", "ca", "wrong.internal", false, wrong), ("", "ca", nil, false, "certificate is not for 127.0.0.1"),
                ("mutual", "ca", "app.internal", false, required), ("mutual12", "ca", "app.internal", false, required),
                ("old", "ca", "app.internal", false, "speaks neither TLS 1.2 nor TLS 1.3"),
                ("cipher", "ca", "app.internal", false, "no cipher in common"),
                ("cipher", "ca", "app.internal", true, "no cipher in common"),
            ] + (hasExpired ? [("expired", "ca", "app.internal", false, "certificate has expired")] : [])
        for (mode, ca, name, client, words) in cases {
            let port = try ServerPorts.take()
            let server = try self.server(port, mode, in: folder)
            defer { server.stop() }
            try self.expectFault(
                self.settings(port, folder, ca: ca, name: name, client: client),
                words,
                "\(mode) \(ca)"
            )
        }
        // The gateway's certificate is of another authority than the app's.
        let port = try ServerPorts.take()
        let server = try self.server(port, "mutual", in: folder)
        defer { server.stop() }
        let foreign = self.settings(port, folder, client: true).replacing("/client.pem", with: "/other.pem")
            .replacing("/client.key", with: "/other.key")
        try self.expectFault(foreign, "does not accept the gateway's certificate", "foreign")
    }

    @Test("An app without TLS on a port that should have it has the same reason")
    func plaintext() throws {
        guard let folder = try self.certificates() else { try Servers.missing("openssl or python3") }
        defer { try? FileManager.default.removeItem(at: folder) }
        for (answer, words) in [
            ("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", "answers without TLS"),
            ("SSH-2.0-x\r\n", "answers without TLS"),
            ("", "closes the connection during the handshake"),
        ] {
            let app = try FakeUpstream { link in
                _ = link.wire.receive()
                link.send(answer)
                link.wire.finish()
                _ = link.wire.receiveAll(seconds: 2)
            }
            defer { app.stop() }
            try self.expectFault(self.settings(app.port, folder), words, answer)
        }
    }

    @Test("An address of the app that answers nothing does not keep requests from the other one")
    func silentAddress() throws {
        let descriptor = socket(AF_INET6, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        let app = try FakeUpstream { link in
            _ = link.next()
            link.answer("200 OK", "Connection: close\r\n", body: "ok")
        }
        defer { app.stop() }
        // The queue of the IPv6 address is full, so the kernel answers no further SYN there.
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = in_port_t(UInt16(app.port)).bigEndian
        address.sin6_addr = in6addr_loopback
        func with(_ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    call($0, socklen_t(MemoryLayout<sockaddr_in6>.size))
                }
            }
        }
        guard with({ bind(descriptor, $0, $1) }) == 0, listen(descriptor, 0) == 0 else {
            try Servers.missing("an IPv6 loopback address")
        }
        var fillers: [Int32] = []
        defer { for filler in fillers { close(filler) } }
        for _ in 0..<4 {
            let filler = socket(AF_INET6, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            _ = with { connect(filler, $0, $1) }
            fillers.append(filler)
        }
        // One address may take far longer than a request.
        let settings = Config.open(upstream: app.port, more: "timeouts:\n  connect: 60s\n  response: 20s\n")
            .replacing("http://127.0.0.1:\(app.port)", with: "http://localhost:\(app.port)")
        try Gateway.with(settings) { gateway throws in
            for _ in 0..<20 {
                let answer = try gateway.request(Request.get(), seconds: 30)
                #expect(answer.status == 200, "\(answer.lines)")
            }
            #expect(app.connectionCount == 20)
        }
    }

    @Test("A reload keeps the connections to apps whose settings and files are the same")
    func reload() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        func settings(_ more: String, upstream: String = "") -> String {
            Config.open(
                upstream: 1,
                "upstream: app",
                more: "upstreams:\n  app:\n    url: http://127.0.0.1:\(app.port)\n\(upstream)\(more)"
            )
        }
        try Gateway.with(settings("")) { gateway throws in
            #expect(try gateway.get("/1").status == 200)
            try gateway.reload(settings("limits:\n  body: 1MiB\n"))
            #expect(try gateway.get("/2").status == 200 && app.connectionCount == 1)
            // Another app comes first in the list.
            let first = "upstreams:\n  a: {url: \"http://127.0.0.1:1\"}\n"
            try gateway.reload(settings("").replacing("upstreams:\n", with: first))
            #expect(try gateway.get("/3").status == 200 && app.connectionCount == 1)
            try gateway.reload(settings("", upstream: "    max_connections: 7\n"))
            #expect(try gateway.get("/4").status == 200 && app.connectionCount == 1)
            try gateway.reload(settings("", upstream: "    reuse: strict\n"))
            #expect(try gateway.get("/5").status == 200 && app.connectionCount == 2)
            #expect(try gateway.metric(#"sallyport_upstream_connections{state="idle"}"#) == 1)
        }
    }

    @Test("F12: with TLS, an end of the stream without close_notify is not the end of an answer")
    func tlsTruncation() throws {
        guard let folder = try self.certificates() else { try Servers.missing("openssl or python3") }
        defer { try? FileManager.default.removeItem(at: folder) }
        let port = try ServerPorts.take()
        let server = try self.server(port, in: folder)
        defer { server.stop() }
        try Gateway.with(self.settings(port, folder)) { gateway throws in
            #expect(try !gateway.get("/cut").isWhole)
        }
    }

    @Test("An app that does not answer close_notify keeps no connection's place")
    func unansweredClose() throws {
        guard let folder = try self.certificates() else { try Servers.missing("openssl or python3") }
        defer { try? FileManager.default.removeItem(at: folder) }
        let port = try ServerPorts.take()
        let server = try self.server(port, in: folder)
        defer { server.stop() }
        let settings = self.settings(port, folder).replacing("    url:", with: "    max_connections: 1\n    url:")
        // TLS waits five seconds for the answer.
        try Gateway.with(settings + "\ntimeouts: {queue: 2s}\n") { gateway throws in
            for _ in 0..<2 {
                let answer = try gateway.request(Request.get("/deaf"), seconds: 20)
                #expect(answer.status == 200, "\(answer.lines)")
            }
        }
    }

    @Test("TLS to the app: the app identifies the gateway by its certificate, and refuses it without one")
    func clientCertificate() throws {
        guard let folder = try self.certificates() else { try Servers.missing("openssl or python3") }
        defer { try? FileManager.default.removeItem(at: folder) }
        let port = try ServerPorts.take()
        let server = try self.server(port, "mutual", in: folder)
        defer { server.stop() }
        try Gateway.with(self.settings(port, folder, client: true)) { gateway throws in
            #expect(try gateway.get().text == "sni=app.internal client=the-gateway")
        }
        try Gateway.with(self.settings(port, folder)) { gateway throws in
            #expect(try gateway.get().status == 502)
        }
    }

    @Test("A reload takes a renewed certificate of the gateway and a renewed authority into use")
    func renewedFiles() throws {
        guard let folder = try self.certificates() else { try Servers.missing("openssl or python3") }
        defer { try? FileManager.default.removeItem(at: folder) }
        func replace(_ name: String, by other: String) throws {
            let content = try Data(contentsOf: folder.appending(path: other))
            try content.write(to: folder.appending(path: name), options: .atomic)
        }
        let port = try ServerPorts.take()
        let server = try self.server(port, "mutual", in: folder)
        defer { server.stop() }
        let settings = self.settings(port, folder, client: true)
        try Gateway.with(settings) { gateway throws in
            let client = try gateway.connect()
            #expect(try client.request(Request.get()).text == "sni=app.internal client=the-gateway")
            for type in ["pem", "key"] { try replace("client.\(type)", by: "renewed.\(type)") }
            try gateway.reload(settings)
            #expect(try client.request(Request.get()).text == "sni=app.internal client=renewed")
            try replace("ca.pem", by: "other.pem")
            try gateway.reload(settings)
            let answer = try client.request(Request.get())
            #expect(answer.status == 502 && answer.reason == "upstream.tls", "\(answer.lines)")
        }
    }

    @Test("With an invalid CA file the gateway does not start")
    func badCA() throws {
        #expect(throws: BenchFailure.self) {
            let folder = try Servers.folder()
            defer { try? FileManager.default.removeItem(at: folder) }
            try "nonsense".write(to: folder.appending(path: "ca.pem"), atomically: true, encoding: .utf8)
            try Gateway(self.settings(1, folder)).stop()
        }
    }
}
