import Foundation
import GatewayBench
import Testing

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
        import http.server, ssl, sys
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'
            def do_GET(self):
                peer = self.connection.getpeercert() or {}
                name = ','.join(v for part in peer.get('subject', ()) for k, v in part if k == 'commonName')
                body = ('sni=%s client=%s' % (getattr(self.connection, 'asked', ''), name)).encode()
                self.send_response(200)
                if self.path != '/cut':
                    self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                self.close_connection = self.path == '/cut'
            def log_message(self, *arguments): pass
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain('server.pem', 'server.key')
        if len(sys.argv) > 2:
            context.load_verify_locations('ca.pem')
            context.verify_mode = ssl.CERT_REQUIRED
        def asked(connection, name, context): connection.asked = name
        context.sni_callback = asked
        server = http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Handler)
        server.socket = context.wrap_socket(server.socket, server_side=True)
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
        for (name, subject) in [("server", "app.internal"), ("client", "the-gateway")] {
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
        try Self.server.write(to: folder.appending(path: "server.py"), atomically: true, encoding: .utf8)
        return folder
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
        guard let folder = try self.certificates() else { return Servers.missing("openssl or python3") }
        defer { try? FileManager.default.removeItem(at: folder) }
        let port = try ServerPorts.take()
        let server = try Servers.Running("/usr/bin/python3", ["server.py", "\(port)"], in: folder, port: port)
        defer { server.stop() }
        try Gateway.with(self.settings(port, folder)) { gateway throws in
            let wire = try gateway.connect()
            for _ in 0..<3 { #expect(try wire.request(Request.get()).text == "sni=app.internal client=") }
        }
        for (ca, name) in [("other", "app.internal"), ("ca", "wrong.internal"), ("ca", nil)] {
            try Gateway.with(self.settings(port, folder, ca: ca, name: name)) { gateway throws in
                let answer = try gateway.get()
                #expect(
                    answer.status == 502 && answer.reason?.hasPrefix("upstream.") == true,
                    "\(ca) \(name ?? "-"): \(answer.lines)"
                )
            }
        }
    }

    @Test("F12: with TLS, an end of the stream without close_notify is not the end of an answer")
    func tlsTruncation() throws {
        guard let folder = try self.certificates() else { return Servers.missing("openssl or python3") }
        defer { try? FileManager.default.removeItem(at: folder) }
        let port = try ServerPorts.take()
        let server = try Servers.Running("/usr/bin/python3", ["server.py", "\(port)"], in: folder, port: port)
        defer { server.stop() }
        try Gateway.with(self.settings(port, folder)) { gateway throws in
            #expect(try !gateway.get("/cut").isWhole)
        }
    }

    @Test("TLS to the app: the app identifies the gateway by its certificate, and refuses it without one")
    func clientCertificate() throws {
        guard let folder = try self.certificates() else { return Servers.missing("openssl or python3") }
        defer { try? FileManager.default.removeItem(at: folder) }
        let port = try ServerPorts.take()
        let server = try Servers.Running(
            "/usr/bin/python3",
            ["server.py", "\(port)", "mutual"],
            in: folder,
            port: port
        )
        defer { server.stop() }
        try Gateway.with(self.settings(port, folder, client: true)) { gateway throws in
            #expect(try gateway.get().text == "sni=app.internal client=the-gateway")
        }
        try Gateway.with(self.settings(port, folder)) { gateway throws in
            #expect(try gateway.get().status == 502)
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
