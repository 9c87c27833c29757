import Foundation
import GatewayBench
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// The built binary with TLS of its own, before curl and openssl.
@Suite("TLS at the gateway's own address", .blocking) struct TLSServingTests {
    /// A gateway with certificates for localhost and for names of example.com, and an app behind it.
    struct Bench {
        let gateway: Gateway
        let certificates: EdgeCertificates
        let app: FakeUpstream

        static let certificatesOfAll = """
              certificates:
                - {certificate_file: own.pem, key_file: own.key, default: true}
                - {certificate_file: wild.pem, key_file: wild.key}
                - {certificate_file: exact.pem, key_file: exact.key}
                - {certificate_file: rsa.pem, key_file: rsa.key}
            """

        static func with(
            tls: String = "  certificate_file: own.pem\n  key_file: own.key\n",
            more: String = "",
            serve: @escaping @Sendable (Link) -> Void = FakeUpstream.echo,
            prepare: (EdgeCertificates) throws -> Void = { _ in },
            _ body: (Bench) throws -> Void
        ) throws {
            let certificates = try EdgeCertificates()
            try certificates.authority()
            try certificates.certificate("own", for: "DNS:localhost,IP:127.0.0.1")
            try prepare(certificates)
            let app = try FakeUpstream(serve: serve)
            defer { app.stop() }
            let port = try ServerPorts.take()
            try Gateway.with(Self.settings(app, certificates, port, tls: tls, more: more)) {
                try body(Bench(gateway: $0, certificates: certificates, app: app))
            }
        }

        static func settings(
            _ app: FakeUpstream,
            _ certificates: EdgeCertificates,
            _ port: Int,
            tls: String,
            more: String = ""
        ) -> String {
            let placed = tls.replacing(/(_file: )([a-z]+\.)/) { "\($0.1)\(certificates.path(""))/\($0.2)" }
            return """
                hosts:
                  - public_url: https://localhost:\(port)
                    endpoints: true
                    routes: [{path: /**, auth: public}]
                  - public_url: https://a.example.com:\(port)
                    routes: [{path: /**, auth: public}]
                listen: 127.0.0.1:\(port)
                event_loops: 1
                admin: {listen: "127.0.0.1:0"}
                upstream: http://127.0.0.1:\(app.port)
                trusted_proxies: [127.0.0.9] # so that a host that no certificate covers may be served behind a proxy
                tls:
                \(placed)
                drain: {delay: 0s, timeout: 1s}
                \(more)

                """
        }

        /// As `Host` has it.
        var host: String { "localhost:\(self.gateway.port)" }

        /// Asks with curl for a path on localhost.
        func curl(_ arguments: [String], path: String = "/x") throws -> (status: Int32, output: String) {
            try Servers.run(
                "/usr/bin/curl",
                ["-sS", "--max-time", "20", "--cacert", self.certificates.path("ca.pem")]
                    + ["--resolve", "localhost:\(self.gateway.port):127.0.0.1"]
                    + (arguments.contains("--http2") ? [] : ["--http1.1"]) + arguments + [
                        "https://localhost:\(self.gateway.port)\(path)"
                    ]
            )
        }

        /// What openssl says about a connection over which nothing is sent.
        func openssl(_ arguments: [String], input: String = "") throws -> String {
            try Servers.run(
                "/usr/bin/openssl",
                ["s_client", "-connect", "127.0.0.1:\(self.gateway.port)", "-CAfile", self.certificates.path("ca.pem")]
                    + arguments,
                input: Array(input.utf8),
                within: 20
            ).output
        }

        /// The subject of the certificate that a name gets; nil: the handshake fails.
        func subject(_ name: String?, _ arguments: [String] = []) throws -> String? {
            let output = try self.openssl((name.map { ["-servername", $0] } ?? ["-noservername"]) + arguments)
            return output.firstMatch(of: /subject=CN = (\S+)/).map { String($0.1) }
        }
    }

    @Test("a request is answered over TLS 1.3 and 1.2, and its line says with what")
    func request() throws {
        try Bench.with { bench throws in
            for (option, version, cipher) in [
                ("--tlsv1.3", "1.3", "TLS_AES"), ("--tls-max", "1.2", "TLS_ECDHE_ECDSA_WITH_"),
            ] {
                let arguments = option == "--tls-max" ? [option, "1.2"] : [option]
                let (status, output) = try bench.curl(arguments + ["-w", "%{http_code}"], path: "/\(version)")
                #expect(status == 0 && output.hasSuffix("200"), "\(output)")
                #expect(
                    eventually {
                        bench.gateway.output.split(separator: "\n").contains {
                            $0.contains("\"path\":\"/\(version)\"") && $0.contains("\"tls.version\":\"\(version)\"")
                                && $0.contains("\"tls.cipher\":\"\(cipher)") && $0.contains("\"tls.group\":\"")
                                && $0.contains("\"tls.alpn\":\"http/1.1\"")
                                && $0.contains("\"tls.server_name\":\"localhost\"")
                        }
                    },
                    "\(bench.gateway.output.suffix(1000))"
                )
            }
            #expect(bench.app.requests.count == 2)
            #expect(try bench.gateway.metric("sallyport_tls_handshakes_total{result=\"ok\"}") == 2)
        }
    }

    @Test("old versions and suites without forward secrecy or with CBC are refused")
    func refused() throws {
        try Bench.with { bench throws in
            for arguments in [
                ["-tls1"], ["-tls1_1"], ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA"],
                ["-tls1_2", "-cipher", "AES128-GCM-SHA256"], ["-tls1_2", "-cipher", "DHE-RSA-AES128-GCM-SHA256"],
            ] {
                let output = try bench.openssl(
                    arguments + ["-cipher", "ALL:@SECLEVEL=0"].filter { _ in arguments.count == 1 }
                )
                #expect(!output.contains("subject=CN = own"), "\(arguments): \(output)")
            }
            for suite in ["AES128-GCM-SHA256", "AES256-GCM-SHA384", "CHACHA20-POLY1305"] {
                let output = try bench.openssl(["-tls1_2", "-cipher", "ECDHE-ECDSA-\(suite)"])
                #expect(output.contains("Cipher is ECDHE-ECDSA-\(suite)"), "\(output)")
            }
            #expect(try bench.gateway.metric("sallyport_tls_handshakes_total{result=\"failed\"}") >= 4)
        }
    }

    @Test(
        "the protocol is agreed on by ALPN; a client that speaks none of them is told so, one that says none is served"
    )
    func protocols() throws {
        try Bench.with { bench throws in
            #expect(try bench.openssl(["-alpn", "x,http/1.1"]).contains("ALPN protocol: http/1.1"))
            #expect(try bench.openssl(["-alpn", "http/1.1,h2"]).contains("ALPN protocol: h2"))
            let multiplexed = try bench.curl(["--http2", "-w", "%{http_code} %{http_version}"], path: "/h2")
            #expect(multiplexed.output.hasSuffix("200 2"), "\(multiplexed.output)")
            #expect(bench.app.requests.last?.target == "/h2")
            let none = try bench.openssl(["-alpn", "imap"])
            #expect(none.contains("alert number 120") || none.contains("no application protocol"), "\(none)")
            let silent = try bench.openssl(
                ["-quiet"],
                input: "GET /y HTTP/1.1\r\nHost: \(bench.host)\r\nConnection: close\r\n\r\n"
            )
            #expect(silent.contains("HTTP/1.1 200"), "\(silent)")
            #expect(try bench.gateway.metric("sallyport_tls_handshakes_total{result=\"no_protocol\"}") == 1)
        }
    }

    @Test("a certificate is chosen by name: exact before wildcard of one label, a curve before RSA, else the default")
    func names() throws {
        try Bench.with(
            tls: Bench.certificatesOfAll,
            prepare: { certificates in
                try certificates.certificate("wild", for: "DNS:*.example.com")
                try certificates.certificate("exact", for: "DNS:exact.example.com")
                try certificates.certificate(
                    "rsa",
                    for: "DNS:exact.example.com,DNS:only.example.net",
                    key: ["rsa:2048"]
                )
            }
        ) { bench throws in
            for (name, subject) in [
                ("localhost", "own"), ("LOCALHOST", "own"), ("a.example.com", "wild"), ("exact.example.com", "exact"),
                ("Exact.Example.com", "exact"), ("a.b.example.com", "own"), ("example.com", "own"),
                ("only.example.net", "rsa"), ("unknown.example", "own"),
            ] { #expect(try bench.subject(name) == subject, "\(name)") }
            #expect(try bench.subject(nil) == "own")
            let rsa = ["-sigalgs", "rsa_pss_rsae_sha256:rsa_pkcs1_sha256"]
            #expect(try bench.subject("exact.example.com", rsa) == "rsa")
            // Who cannot verify one is shown the other.
            for (arguments, subject) in [
                (["-tls1_2", "-cipher", "ECDHE-RSA-AES128-GCM-SHA256"], "rsa"),
                (["-tls1_2", "-cipher", "ECDHE-RSA-CHACHA20-POLY1305"], "rsa"),
                (["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256"], "exact"),
                (["-tls1_2", "-cipher", "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES128-GCM-SHA256"], "exact"),
                (["-tls1_2", "-curves", "P-384"], "rsa"), (["-cipher", "ECDHE-RSA-AES128-GCM-SHA256"], "exact"),
                (["-tls1_3", "-sigalgs", "ecdsa_secp384r1_sha384:rsa_pss_rsae_sha256"], "rsa"),
                (["-tls1_3", "-sigalgs", "ecdsa_secp256r1_sha256"], "exact"),
            ] as [([String], String)] {
                #expect(try bench.subject("exact.example.com", arguments) == subject, "\(arguments)")
            }
        }
    }

    @Test("without a default nobody gets a certificate who does not name one")
    func noDefault() throws {
        try Bench.with(
            tls: """
                  certificates:
                    - {certificate_file: own.pem, key_file: own.key}
                    - {certificate_file: wild.pem, key_file: wild.key}
                """,
            prepare: { try $0.certificate("wild", for: "DNS:*.example.com") }
        ) { bench throws in
            #expect(try bench.subject("localhost") == "own")
            for name in ["unknown.example", nil] {
                #expect(try bench.subject(name) == nil)
                let output = try bench.openssl(name.map { ["-servername", $0] } ?? ["-noservername"])
                #expect(output.contains("unrecognized name"), "\(output)")
            }
            #expect(try bench.gateway.metric("sallyport_tls_handshakes_total{result=\"unknown_name\"}") == 4)
        }
    }

    @Test("a host that the certificate does not cover gets 421, another one that it covers is served")
    func misdirected() throws {
        try Bench.with { bench throws in
            let port = bench.gateway.port
            for (host, status) in [
                ("localhost", "200"), ("LOCALHOST", "200"), ("a.example.com", "421"), ("A.example.com", "421"),
                ("unknown.example", "421"), ("127.0.0.2", "421"), ("127.0.0.1", "404"),
            ] {
                let (_, output) = try bench.curl(["-H", "Host: \(host):\(port)", "-w", "\n%{http_code}"])
                #expect(output.hasSuffix(status), "\(host): \(output)")
                #expect(output.contains("request.misdirected") == (status == "421"), "\(output)")
            }
        }
    }

    @Test("plain HTTP on the port gets one plain sentence; other bytes get nothing")
    func plain() throws {
        try Bench.with { bench throws in
            let answer = try Wire(to: bench.gateway.port).request("GET / HTTP/1.1\r\nHost: \(bench.host)\r\n\r\n")
            #expect(answer.status == 400 && answer.text.contains("https://"), "\(answer)")
            let wire = try Wire(to: bench.gateway.port)
            wire.send("\u{1}garbage")
            #expect(wire.receiveAll().bytes.isEmpty)
            #expect(bench.app.requests.isEmpty)
            #expect(try bench.gateway.metric("sallyport_tls_handshakes_total{result=\"plain_http\"}") == 1)
            #expect(try bench.gateway.metric("sallyport_tls_handshakes_total{result=\"foreign\"}") == 1)
        }
    }

    @Test("a header of the PROXY protocol in place of TLS is refused, and the log says what to set", arguments: [1, 2])
    func proxyHeader(version: Int) throws {
        try Bench.with { bench throws in
            let wire = try Wire(to: bench.gateway.port)
            wire.send(version == 1 ? Header.line("203.0.113.9") : Header.binary("203.0.113.9"))
            #expect(wire.receiveAll().bytes.isEmpty)
            #expect(eventually { bench.gateway.output.contains("looks like the PROXY protocol") })
            #expect(try bench.gateway.metric("sallyport_tls_handshakes_total{result=\"foreign\"}") == 1)
        }
    }

    @Test("a hello that never ends is closed when the time for the first request is over, and others are served")
    func unfinished() throws {
        try Bench.with(more: "timeouts: {header: 1s}") { bench throws in
            // Fewer than one address may begin at once.
            let halves = try (0..<90).map { _ in
                let wire = try Wire(to: bench.gateway.port, from: "127.0.0.6")
                wire.send([22, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3])
                return wire
            }
            #expect(try bench.curl(["-w", "%{http_code}"]).output.hasSuffix("200"))
            for wire in halves { #expect(wire.receiveAll(seconds: 20).last != .silence) }
            #expect(eventually { (try? bench.gateway.metric("sallyport_connections_open{listener=\"public\"}")) == 0 })
        }
    }

    @Test("F25: SIGHUP takes a renewed pair into use for new connections; a broken one changes nothing")
    func reload() throws {
        try Bench.with { bench throws in
            #expect(try bench.subject("localhost") == "own")
            try bench.certificates.certificate("next", for: "DNS:localhost")
            let settings = { (name: String) in
                Bench.settings(
                    bench.app,
                    bench.certificates,
                    bench.gateway.port,
                    tls: "  certificate_file: \(name).pem\n  key_file: next.key\n"
                )
            }
            try bench.gateway.reload(settings("next"))
            #expect(try bench.subject("localhost") == "next")
            try bench.gateway.reload(settings("own"))
            #expect(try bench.subject("localhost") == "next")
            #expect(bench.gateway.output.contains("does not belong to the certificate of CN=own"))
            #expect(
                try bench.gateway.metric(
                    "sallyport_tls_certificate_not_after_timestamp_seconds{name=\"localhost\"}"
                ) > 1_700_000_000
            )
        }
    }

    @Test(
        "renewed files are taken into use at the next look, through links; what a start would refuse waits until it is mended",
        .enabled(if: ProcessInfo.processInfo.environment["SOAK"] != nil, "only with SOAK")
    )
    func look() throws {
        try Bench.with(prepare: { try $0.link(["own.pem", "own.key"], in: "first") }) { bench throws in
            let certificates = bench.certificates
            #expect(try bench.subject("localhost") == "own")
            try certificates.certificate("second", for: "DNS:localhost")
            try certificates.relink("second")
            #expect(eventually(within: 90) { (try? bench.subject("localhost")) == "second" })
            try certificates.certificate("third", for: "DNS:localhost")
            try certificates.mode(0o644, of: "third.key")
            try certificates.relink("third")
            #expect(eventually(within: 90) { bench.gateway.output.contains("certificates not renewed") })
            #expect(try bench.subject("localhost") == "second")
            // Neither file is a new one.
            try certificates.mode(0o600, of: "third/own.key")
            #expect(eventually(within: 90) { (try? bench.subject("localhost")) == "third" })
            #expect(try bench.gateway.metric("sallyport_tls_reloads_total{result=\"success\"}") == 2)
        }
    }

    @Test("large answers arrive whole, also at a slow reader and over TLS 1.2")
    func large() throws {
        let body = String(repeating: "0123456789abcdef", count: 262_144)
        try Bench.with(serve: FakeUpstream.answering { link, _ in link.answer(body: body) }) { bench throws in
            for arguments in [["--tlsv1.3"], ["--tls-max", "1.2"], ["--limit-rate", "2M"]] {
                let (status, output) = try bench.curl(arguments + ["-o", "/dev/null", "-w", "%{size_download}"])
                #expect(status == 0 && output == "\(body.utf8.count)", "\(arguments): \(status) \(output.suffix(200))")
            }
        }
    }

    @Test("an upload arrives whole, and a session that is resumed is marked and takes no early data")
    func upload() throws {
        try Bench.with { bench throws in
            let file = bench.certificates.path("upload")
            try Data(repeating: 0x61, count: 3_000_000).write(to: URL(filePath: file))
            let (status, output) = try bench.curl([
                "--data-binary", "@\(file)", "-o", "/dev/null", "-w", "%{http_code}",
            ])
            #expect(status == 0 && output == "200", "\(output)")
            #expect(bench.app.requests.last?.body.count == 3_000_000)
            let session = bench.certificates.path("session")
            let request = "GET /z HTTP/1.1\r\nHost: \(bench.host)\r\nConnection: close\r\n\r\n"
            let first = try bench.openssl(
                ["-servername", "localhost", "-sess_out", session, "-ign_eof"],
                input: request
            )
            #expect(first.contains("Max Early Data: 0"), "\(first)")
            let second = try bench.openssl(
                ["-servername", "localhost", "-sess_in", session, "-ign_eof"],
                input: request
            )
            #expect(second.contains("Reused, TLSv1.3") && second.contains("HTTP/1.1 200"), "\(second)")
            func resumed() -> Int { bench.gateway.output.ranges(of: "\"tls.resumed\":true").count }
            #expect(eventually { resumed() == 1 })
            // The gateway does not know the group of the client's first key, and asks for another one.
            let third = try bench.openssl(
                ["-servername", "localhost", "-sess_in", session, "-groups", "X448:X25519", "-ign_eof"],
                input: request
            )
            #expect(third.contains("Reused, TLSv1.3") && third.contains("HTTP/1.1 200"), "\(third)")
            #expect(eventually { resumed() == 2 })
        }
    }

    @Test(
        "CVE-2025-23419, CVE-2025-23048: client certificates are the listener's, and a resumed session does not outlive its authority"
    )
    func clientCertificates() throws {
        let tls =
            "  certificate_file: own.pem\n  key_file: own.key\n  client_certificates: required\n  client_ca_file: "
        try Bench.with(
            tls: tls + "ca.pem\n",
            prepare: { certificates in
                try certificates.authority("foreign")
                try certificates.certificate("client", for: "URI:spiffe://example/client")
                try certificates.certificate("stranger", for: "DNS:stranger", by: "foreign")
                try certificates.certificate("expired", for: "DNS:expired", faketime: "-100d")
            }
        ) { bench throws in
            func ask(_ name: String?) throws -> (status: Int32, output: String) {
                let own = name.map {
                    ["--cert", bench.certificates.path("\($0).pem"), "--key", bench.certificates.path("\($0).key")]
                }
                return try bench.curl((own ?? []) + ["-w", "%{http_code}"])
            }
            let good = try ask("client")
            #expect(good.status == 0 && good.output.hasSuffix("200"), "\(good.output)")
            for name in [nil, "stranger", "expired"] {
                let (status, output) = try ask(name)
                #expect(status != 0, "\(name ?? "none"): \(output)")
            }
            #expect(bench.app.requests.count == 1)
            #expect(try bench.gateway.metric("sallyport_tls_handshakes_total{result=\"client_certificate\"}") == 3)
            let session = bench.certificates.path("session")
            let request = "GET /z HTTP/1.1\r\nHost: \(bench.host)\r\nConnection: close\r\n\r\n"
            let own = [
                "-servername", "localhost", "-cert", bench.certificates.path("client.pem"), "-key",
                bench.certificates.path("client.key"), "-ign_eof",
            ]
            _ = try bench.openssl(own + ["-sess_out", session], input: request)
            #expect(try bench.openssl(own + ["-sess_in", session], input: request).contains("HTTP/1.1 200"))
            let count = bench.app.requests.count
            try bench.gateway.reload(
                Bench.settings(bench.app, bench.certificates, bench.gateway.port, tls: tls + "foreign.pem\n")
            )
            let late = try bench.openssl(own + ["-sess_in", session], input: request)
            #expect(!late.contains("HTTP/1.1 200"), "\(late)")
            #expect(bench.app.requests.count == count)
            #expect(try ask("stranger").output.hasSuffix("200"))
        }
    }

    @Test(
        "a client's certificate that expires ends its connections and what lasts there, and opens no others",
        arguments: ["--http1.1", "--http2"]
    )
    func expiringClient(version: String) throws {
        try Bench.with(
            tls: """
                  certificate_file: own.pem
                  key_file: own.key
                  client_certificates: optional
                  client_ca_file: ca.pem

                """,
            more: "log: {access: true}",
            serve: SocketApp.serve
        ) { bench throws in
            // Made 30 days ago, so that it is valid for some seconds more.
            try bench.certificates.certificate("client", for: "DNS:client", faketime: "-\(30 * 86_400 - 12)s")
            let own = [
                version, "--cert", bench.certificates.path("client.pem"), "--key",
                bench.certificates.path("client.key"),
            ]
            // An answer without an end begins now, beside one that ends: the connection of that one stays open.
            let (status, output) = try bench.curl(
                own + ["--no-buffer", "--parallel", "--parallel-immediate", "-w", "[%{http_code}]"]
                    + ["https://localhost:\(bench.gateway.port)/whole"],
                path: "/events"
            )
            #expect(status != 0 && output.contains("data: 1") && output.components(separatedBy: "[200]").count == 3)
            #expect(
                eventually {
                    bench.gateway.output.split(separator: "\n").contains { line in
                        line.contains("\"path\":\"/events\"") && line.contains("\"require.client_certificate\"")
                    }
                },
                "\(bench.gateway.output.suffix(2000))"
            )
            let open = "sallyport_connections_open{listener=\"public\"}"
            #expect(eventually { (try? bench.gateway.metric(open)) == 0 })
            #expect(try bench.curl(own).status != 0)
            #expect(bench.app.requests.map(\.target).sorted() == ["/events", "/whole"])
        }
    }

    @Test(
        "a kept connection of a client whose certificate has expired carries no further request",
        arguments: ["--http1.1", "--http2"]
    )
    func expiredClient(version: String) throws {
        try Bench.with(
            tls: """
                  certificate_file: own.pem
                  key_file: own.key
                  client_certificates: optional
                  client_ca_file: ca.pem

                """
        ) { bench throws in
            try bench.certificates.certificate("client", for: "DNS:client", faketime: "-\(30 * 86_400 - 12)s")
            let (_, output) = try bench.curl(
                [version, "--cert", bench.certificates.path("client.pem"), "--key"]
                    + [bench.certificates.path("client.key"), "--rate", "4/m", "-w", "[%{http_code}]"]
                    + ["https://localhost:\(bench.gateway.port)/first"],
                path: "/second"
            )
            let results = output.matches(of: /\[(\d+)\]/).map { String($0.1) }
            // A new handshake fails.
            #expect(results == ["200", "000"], "\(output)")
            #expect(bench.app.requests.map(\.target) == ["/first"])
        }
    }

    @Test("handshakes of one address are limited, and those of others are not")
    func budget() throws {
        try Bench.with { bench throws in
            for _ in 0..<130 { _ = try Wire(to: bench.gateway.port, from: "127.0.0.5") }
            #expect(
                eventually {
                    ((try? bench.gateway.metric("sallyport_tls_handshakes_total{result=\"limited\"}")) ?? 0) > 0
                }
            )
            #expect(try bench.curl(["-w", "%{http_code}"]).output.hasSuffix("200"))
        }
    }
}
