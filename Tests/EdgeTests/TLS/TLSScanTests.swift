import Foundation
import GatewayBench
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#endif

private let isSoak = ProcessInfo.processInfo.environment["SOAK"] == "1"

/// Scanners of others, clients that no library is, and thousands of connections, before the built binary. Their programs
/// are installed by `deploy/test.sh --soak`.
@Suite("TLS before scanners, odd clients and crowds", .blocking) struct TLSScanTests {
    private struct Bench {
        let gateway: Gateway
        let certificates: EdgeCertificates
        let port: Int

        /// - Parameter trusted: Whose handshakes are not limited.
        static func with(
            trusted: String = "127.0.0.1",
            more: String = "",
            descriptors: Int? = nil,
            _ body: (Bench) throws -> Void
        ) throws {
            let certificates = try EdgeCertificates()
            try certificates.authority()
            try certificates.certificate("own", for: "DNS:localhost,IP:127.0.0.1")
            let app = try FakeUpstream()
            defer { app.stop() }
            let port = try ServerPorts.take()
            let settings = Config.file(
                upstream: app.port,
                routes: "  - {path: /**, auth: public}",
                publicURL: "https://localhost:\(port)",
                listen: "127.0.0.1:\(port)",
                more: """
                    trusted_proxies: [\(trusted)]
                    tls: {certificate_file: "\(certificates.path("own.pem"))", key_file: "\(certificates.path("own.key"))"}
                    \(more)
                    """
            )
            try Gateway.with(settings, descriptors: descriptors) {
                try body(Bench(gateway: $0, certificates: certificates, port: port))
            }
        }

        /// The status of an honest request.
        func request() throws -> String {
            try Servers.run(
                "/usr/bin/curl",
                [
                    "-sS", "--max-time", "20", "--cacert", self.certificates.path("ca.pem"), "--resolve",
                    "localhost:\(self.port):127.0.0.1", "-o", "/dev/null", "-w", "%{http_code}",
                    "https://localhost:\(self.port)/x",
                ]
            ).output
        }

        /// How many files the gateway has open.
        var files: Int {
            let folder = "/proc/\(self.gateway.processID)/fd"
            return (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? 0
        }

        /// How many connections are open.
        var open: Double? { try? self.gateway.metric("sallyport_connections_open{listener=\"public\"}") }
    }

    private static func scanner(_ name: String) throws -> String {
        guard let path = Servers.find([Gateway.root.appending(path: ".build/scanners/bin/\(name)").path]) else {
            try Servers.missing(name, isOptional: true)
        }
        return path
    }

    @Test(
        "sslyze finds no difference from Mozilla's intermediate profile, groups included",
        .enabled(if: isSoak, "only with SOAK")
    )
    func sslyze() throws {
        let sslyze = try Self.scanner("sslyze")
        try Bench.with { bench throws in
            let (status, output) = try Servers.run(
                sslyze,
                [
                    "--mozilla_config", "intermediate", "--certinfo_ca_file", bench.certificates.path("ca.pem"),
                    "localhost:\(bench.port)",
                ]
            )
            #expect(status == 0 && output.contains("OK - Compliant"), "\(output.suffix(3000))")
            #expect(try bench.request() == "200")
        }
    }

    @Test("testssl.sh finds nothing above LOW", .enabled(if: isSoak, "only with SOAK"))
    func testssl() throws {
        guard let testssl = Servers.find(["/usr/bin/testssl", "/usr/bin/testssl.sh"]) else {
            try Servers.missing("testssl.sh", isOptional: true)
        }
        try Bench.with { bench throws in
            let file = bench.certificates.path("findings.json")
            _ = try Servers.run(
                testssl,
                [
                    "--quiet", "--color", "0", "--jsonfile", file, "--ip", "127.0.0.1",
                    "https://localhost:\(bench.port)",
                ],
                within: 900
            )
            struct Finding: Decodable {
                let id, severity, finding: String
            }
            let findings = try JSONDecoder().decode([Finding].self, from: try Data(contentsOf: URL(filePath: file)))
            #expect(findings.contains { $0.id == "TLS1_3" } && findings.contains { $0.id == "ROBOT" })
            // The test's own authority and app; and the order of suites is the client's, as Mozilla's profile has it: all
            // are good, and a phone without AES in hardware asks for ChaCha20.
            let expected = ["cert_", "DNS_CAArecord", "security_headers", "HSTS", "cipher_order"]
            let bad = findings.filter { finding in
                ["MEDIUM", "HIGH", "CRITICAL", "FATAL"].contains(finding.severity)
                    && !expected.contains { finding.id.hasPrefix($0) }
            }
            #expect(bad.isEmpty, "\(bad)")
        }
    }

    @Test("clients that no library is are served or ended, and honest ones are served beside them")
    func oddClients() throws {
        let python = try Self.scanner("python")
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "tls_attacks.py").path
        try Bench.with { bench throws in
            let (status, output) = try Servers.run(python, [script, "\(bench.port)"], within: 280)
            let lines = output.split(separator: "\n")
            #expect(status == 0 && lines.count >= 20, "\(output)")
            for line in lines { #expect(line.hasSuffix(": ok")) }
        }
    }

    @Test("connections with half a first message are gone after ten seconds, and nobody else is refused")
    func halfHellos() throws {
        let count = isSoak ? 10_000 : 1000
        DescriptorLimit.raise()
        try Bench.with(trusted: "127.0.0.9", more: "limits: {connections: \(2 * count)}") { bench throws in
            // Fewer from each address than may begin a handshake at once.
            let silent = try (0..<count).map { index in
                let wire = try Wire(to: bench.port, from: "127.0.\(1 + index / 80).1")
                wire.send([22, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3])
                return wire
            }
            for _ in 0..<5 { #expect(try bench.request() == "200") }
            for wire in silent { #expect(wire.endsNow(within: 30)) }
            #expect(eventually { bench.open == 0 })
            let late = try bench.gateway.metric("sallyport_tls_handshakes_total{result=\"late\"}")
            // Where descriptors are few, the oldest have made room.
            let evicted = try bench.gateway.metric("sallyport_connections_evicted_total{listener=\"public\"}")
            #expect(late + evicted == Double(count), "\(late) \(evicted)")
            #expect(try bench.gateway.metric("sallyport_tls_handshakes_total{result=\"limited\"}") == 0)
        }
    }

    /// A client that opens connections, has one answer on each, and holds them until its input ends.
    private static let idleClient = """
        import resource, socket, ssl, sys
        ca, port, count, protocol = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        context = ssl.create_default_context(cafile=ca)
        context.set_alpn_protocols([protocol])
        authority = b"localhost:%d" % port
        # A preface, settings, and a head by the static table of HPACK (RFC 7541 A) with two literals.
        block = b"\\x82\\x87\\x04\\x02/x\\x01" + bytes([len(authority)]) + authority
        head = bytes([0, 0, len(block), 1, 5, 0, 0, 0, 1]) + block
        frames = b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]) + head
        request = b"GET /x HTTP/1.1\\r\\nHost: " + authority + b"\\r\\n\\r\\n"
        def answer(link):
            if protocol == "http/1.1":
                return link.recv(65536).startswith(b"HTTP/1.1 200")
            received = b""
            while True:
                piece = link.recv(65536)
                if not piece:
                    return False
                received += piece
                at = 0
                while at + 9 <= len(received):
                    size, kind = int.from_bytes(received[at:at + 3], "big"), received[at + 3]
                    if kind == 1 and at + 10 <= len(received):
                        # `:status: 200` of the static table.
                        return received[at + 9] == 0x88
                    at += 9 + size
        links = []
        for index in range(count):
            plain = socket.create_connection(
                ("127.0.0.1", port), timeout=60, source_address=("127.0.%d.1" % (1 + index // 80), 0))
            link = context.wrap_socket(plain, server_hostname="localhost")
            assert link.selected_alpn_protocol() == protocol
            link.sendall(frames if protocol == "h2" else request)
            assert answer(link), index
            links.append(link)
        print("open", flush=True)
        sys.stdin.read()
        """

    @Test(
        "ten thousand idle connections over TLS are all counted and all end, and take less than 400 MB",
        .enabled(if: isSoak && getenv("ASAN_OPTIONS") == nil, "only with SOAK"),
        arguments: ["http/1.1", "h2"]
    )
    func idle(protocol name: String) throws {
        guard let python = Servers.find(["/usr/bin/python3", "/usr/local/bin/python3"]) else {
            try Servers.missing("python3")
        }
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(7), &limit)  // RLIMIT_NOFILE
        // Beside them the gateway has descriptors for 1024 connections to the app, and ends idle ones where a sixth is left.
        let count = min(10_000, (Int(limit.rlim_max) - 1200) / 6 * 5)
        try Bench.with(trusted: "127.0.0.9", more: "limits: {connections: 15000}\ntimeouts: {header: 120s, idle: 15m}")
        { bench in
            #expect(try bench.request() == "200")
            let (files, memory) = (bench.files, bench.gateway.residentBytes)
            let client = Process()
            client.executableURL = URL(filePath: python)
            client.arguments = [
                "-c", Self.idleClient, bench.certificates.path("ca.pem"), "\(bench.port)", "\(count)", name,
            ]
            let (input, output) = (Pipe(), Pipe())
            client.standardInput = input
            client.standardOutput = output
            try client.run()
            defer { client.terminate() }
            // The line may come in two pieces.
            var said = Data()
            while said.last != UInt8(ascii: "\n") {
                let piece = output.fileHandleForReading.availableData
                if piece.isEmpty { break }
                said += piece
            }
            #expect(String(decoding: said, as: UTF8.self) == "open\n")
            #expect(bench.open == Double(count))
            let taken = bench.gateway.residentBytes
            #if DEBUG
            // A debug build has 20 MB more before the first client.
            let most = 430_000_000
            #else
            let most = 400_000_000
            #endif
            #expect(taken < most, "\(taken)")
            #expect(try bench.request() == "200")
            print("\(count) idle connections of \(name): \((taken - memory) / count) bytes each, \(taken) in all")
            try input.fileHandleForWriting.close()
            client.waitUntilExit()
            #expect(eventually { bench.open == 0 })
            #expect(eventually { bench.files <= files + 8 }, "\(bench.files), \(files) before")
        }
    }
}
