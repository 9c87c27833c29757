import Foundation
import GatewayBench
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// What connections over TLS live through: a renewal under load, a WebSocket, ends without a word, and a handoff.
@Suite("Connections over TLS", .blocking) struct TLSLifeTests {
    private typealias Bench = TLSServingTests.Bench

    /// Runs a script that has a verified connection to the gateway: `connect()`, `HOST`.
    private func python(_ bench: Bench, _ script: String) throws -> (status: Int32, output: String) {
        guard let python = Servers.find(["/usr/bin/python3", "/usr/local/bin/python3"]) else {
            try Servers.missing("python3")
        }
        let beginning = """
            import socket, ssl, sys
            HOST = "\(bench.host)"
            CONTEXT = ssl.create_default_context(cafile="\(bench.certificates.path("ca.pem"))")
            def connect():
                plain = socket.create_connection(("127.0.0.1", \(bench.gateway.port)), timeout=20)
                return CONTEXT.wrap_socket(plain, server_hostname="localhost")
            def read(link, count):
                data = b""
                while len(data) < count:
                    piece = link.recv(count - len(data))
                    assert piece, data
                    data += piece
                return data
            def head(link):
                data = b""
                while not data.endswith(b"\\r\\n\\r\\n"): data += read(link, 1)
                return data.decode()

            """
        return try Servers.run(python, ["-c", beginning + script], within: 60)
    }

    @Test(
        "a renewal under 500 requests a second fails none of them; new connections show it, and a broken pair nothing"
    )
    func reload() throws {
        guard let h2load = Servers.find(["/usr/bin/h2load"]) else { try Servers.missing("h2load") }
        try Bench.with(prepare: { try $0.certificate("next", for: "DNS:localhost") }) { bench throws in
            let load = Process()
            load.executableURL = URL(filePath: h2load)
            load.arguments = [
                "--h1", "-n", "3000", "-c", "50", "--rps=10", "--connect-to=127.0.0.1:\(bench.gateway.port)",
                "https://\(bench.host)/x",
            ]
            let output = Pipe()
            load.standardOutput = output
            load.standardError = output
            try load.run()
            defer { load.terminate() }
            // It has begun.
            #expect(eventually { bench.app.requests.count > 100 })
            func settings(_ key: String) -> String {
                let tls = "  certificate_file: next.pem\n  key_file: \(key).key\n"
                return Bench.settings(bench.app, bench.certificates, bench.gateway.port, tls: tls)
            }
            #expect(try bench.subject("localhost") == "own")
            try bench.gateway.reload(settings("next"))
            #expect(try bench.subject("localhost") == "next")
            try bench.gateway.reload(settings("own"))
            #expect(bench.gateway.output.contains("configuration not reloaded"))
            for _ in 0..<3 { #expect(try bench.subject("localhost") == "next") }
            #expect(load.isRunning, "the renewal was not under load")
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            load.waitUntilExit()
            #expect(
                text.contains("3000 total, 3000 started, 3000 done, 3000 succeeded, 0 failed, 0 errored"),
                "\(text)"
            )
            #expect(bench.app.requests.count == 3000)
        }
    }

    @Test("a WebSocket over TLS carries bytes in both directions, large ones too, until the client ends it")
    func webSocket() throws {
        let accepted =
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
        let mirror: @Sendable (Link) -> Void = { link in
            guard link.next() != nil else { return }
            link.send(accepted)
            while case .bytes(let bytes) = link.wire.receive(seconds: 20) { link.wire.send(bytes) }
        }
        try Bench.with(serve: mirror) { bench throws in
            let (status, output) = try self.python(
                bench,
                """
                import select
                link = connect()
                link.sendall(("GET /socket HTTP/1.1\\r\\nHost: " + HOST + "\\r\\nConnection: Upgrade\\r\\n"
                    "Upgrade: websocket\\r\\nSec-WebSocket-Version: 13\\r\\n"
                    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\n\\r\\n").encode())
                assert head(link).startswith("HTTP/1.1 101")
                # One thread: Python's connections over TLS have no lock before 3.13.
                link.setblocking(False)
                for size in (1, 125, 70_000, 2_000_000):
                    data = (bytes(range(251)) * (size // 251 + 1))[:size]
                    sent, received = 0, b""
                    while len(received) < size:
                        try:
                            sent += link.send(data[sent:sent + 16_384]) if sent < size else 0
                        except ssl.SSLWantWriteError: pass
                        try:
                            piece = link.recv(65_536)
                            assert piece, (size, len(received))
                            received += piece
                        except ssl.SSLWantReadError:
                            select.select([link], [link] if sent < size else [], [], 20)
                    assert sent == size and received == data
                link.settimeout(20)
                link.unwrap()
                print("whole")
                """
            )
            #expect(status == 0 && output.hasSuffix("whole\n"), "\(output)")
            #expect(
                eventually { (try? bench.gateway.metric("sallyport_connections_open{listener=\"public\"}")) == 0 }
            )
        }
    }

    @Test("an upload that is sent in one piece with the end of the handshake is not taken for a part of it")
    func upload() throws {
        try Bench.with { bench throws in
            let (status, output) = try self.python(
                bench,
                """
                for index in range(5):
                    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
                    link = CONTEXT.wrap_bio(incoming, outgoing, server_hostname="localhost")
                    plain = socket.create_connection(("127.0.0.1", \(bench.gateway.port)), timeout=20)
                    def receive():
                        piece = plain.recv(65_536)
                        assert piece, "closed"
                        incoming.write(piece)
                    while True:
                        try:
                            link.do_handshake()
                            break
                        except ssl.SSLWantReadError:
                            plain.sendall(outgoing.read())
                            receive()
                    assert link.version() == "TLSv1.3" and outgoing.pending > 0
                    link.write(("POST /upload HTTP/1.1\\r\\nHost: " + HOST + "\\r\\nContent-Length: 300000\\r\\n\\r\\n").encode())
                    link.write(bytes(300_000))
                    plain.sendall(outgoing.read())
                    answer = b""
                    while b"\\r\\n\\r\\n" not in answer:
                        try:
                            answer += link.read(65_536)
                        except ssl.SSLWantReadError:
                            receive()
                    assert answer.startswith(b"HTTP/1.1 200"), answer
                print("done")
                """
            )
            #expect(status == 0 && output == "done\n", "\(output)")
            let uploads = bench.app.requests.filter { $0.target == "/upload" }
            #expect(uploads.map(\.body.count) == Array(repeating: 300_000, count: 5))
        }
    }

    @Test("an end without close_notify is no error; only its own framing says whether a body is whole")
    func unannouncedEnds() throws {
        try Bench.with(more: "log: {access: true}") { bench throws in
            let (status, output) = try self.python(
                bench,
                """
                for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                    CONTEXT.minimum_version = CONTEXT.maximum_version = version
                    for index in range(5):
                        link = connect()
                        for _ in range(2):
                            link.sendall(("GET /whole HTTP/1.1\\r\\nHost: " + HOST + "\\r\\n\\r\\n").encode())
                            fields = head(link)
                            assert fields.startswith("HTTP/1.1 200"), fields
                            count = [line for line in fields.lower().split("\\r\\n") if line.startswith("content-length")]
                            read(link, int(count[0].split(":")[1]))
                        # The socket alone, without a word of TLS.
                        socket.socket(fileno=link.detach()).close()
                    link = connect()
                    link.sendall(("POST /cut HTTP/1.1\\r\\nHost: " + HOST + "\\r\\nContent-Length: 10\\r\\n\\r\\nhalf").encode())
                    socket.socket(fileno=link.detach()).close()
                print("done")
                """
            )
            #expect(status == 0 && output == "done\n", "\(output)")
            let open = "sallyport_connections_open{listener=\"public\"}"
            #expect(eventually { (try? bench.gateway.metric(open)) == 0 })
            func lines(_ path: String) -> [Substring] {
                bench.gateway.output.split(separator: "\n").filter { $0.contains("\"path\":\"\(path)\"") }
            }
            #expect(eventually { lines("/whole").count == 20 && lines("/cut").count == 2 })
            #expect(lines("/whole").allSatisfy { $0.contains("\"status\":200") && !$0.contains("client.gone") })
            #expect(lines("/cut").allSatisfy { $0.contains("client.gone") }, "\(lines("/cut"))")
            #expect(!bench.app.requests.contains { $0.target == "/cut" && $0.body.count == 10 })
            #expect(!bench.gateway.output.contains("\"level\":\"error\""))
        }
    }

    @Test(
        "a handoff that is bound to the address works straight over TLS, and nowhere else",
        arguments: ["--http1.1", "--http2"]
    )
    func handoff(version: String) throws {
        let certificates = try EdgeCertificates()
        try certificates.authority()
        try certificates.certificate("own", for: "DNS:\(Request.host)")
        let app = try FakeUpstream()
        defer { app.stop() }
        let port = try ServerPorts.take()
        let settings = Config.file(
            upstream: app.port,
            clients: Config.clients(binding: "ip"),
            publicURL: "https://\(Request.host)",
            // The native app's address, without TLS so that the test can write its requests, and the browser's.
            listen: "[{address: \"127.0.0.1:0\", tls: false}, \"127.0.0.1:\(port)\"]",
            more: """
                log: {access: true}
                tls: {certificate_file: "\(certificates.path("own.pem"))", key_file: "\(certificates.path("own.key"))"}

                """
        )
        try Gateway.with(settings) { gateway throws in
            func open(_ token: String, from source: String) throws -> (status: Substring, cookie: String?) {
                let run = try Servers.run(
                    "/usr/bin/curl",
                    [
                        "-sS", "-i", version, "--max-time", "20", "--interface", source, "--cacert",
                        certificates.path("ca.pem"), "--connect-to", "::127.0.0.1:\(port)", "-H",
                        "Sec-Fetch-Mode: navigate", "-H", "Sec-Fetch-Dest: document", "-H", "Accept: text/html",
                        "https://\(Request.host)/?session_transfer_token=\(token)",
                    ]
                )
                let cookie = run.output.firstMatch(of: /(?i)set-cookie: sallyport=([^;\r]+);/).map { String($0.1) }
                return (run.output.split(separator: " ").dropFirst().first ?? "", cookie)
            }
            let stolen = try gateway.transferToken(from: "127.0.0.7")
            #expect(try open(stolen, from: "127.0.0.8").cookie == nil)
            let token = try gateway.transferToken(from: "127.0.0.7")
            let (status, cookie) = try open(token, from: "127.0.0.7")
            #expect(status == "303" && cookie != nil)
            #expect(eventually { gateway.output.contains("\"binding\":\"ip/match\"") })
            #expect(gateway.output.contains("\"binding\":\"ip/mismatch\""))
            let page = try Servers.run(
                "/usr/bin/curl",
                [
                    "-sS", version, "--max-time", "20", "--interface", "127.0.0.7", "--cacert",
                    certificates.path("ca.pem"), "--connect-to", "::127.0.0.1:\(port)", "-o", "/dev/null", "-w",
                    "%{http_code}", "-H", "Cookie: sallyport=\(cookie ?? "")", "https://\(Request.host)/",
                ]
            )
            #expect(page.output == "200", "\(page.output)")
            #expect(app.requests.last?.values("x-forwarded-for") == ["127.0.0.7"])
        }
    }
}
