import Foundation
import GatewayBench
import TestSupport
import Testing

/// Certificates of clients at the gateway's own address, before curl, and operators there.
@Suite("Certificates of clients at the gateway's own address", .blocking) struct ClientCertificateServingTests {
    private struct Bench {
        let gateway: Gateway
        let certificates: EdgeCertificates
        let app: FakeUpstream
        /// An operator's, and the file that admits it: its SHA-256.
        static let token = "an-operator-of-this-test"
        static let tokens =
            "ops read,sessions,clients c4f3b41b84c4f129ea61b722638f46ccf7eaab07b38989f7a7dc1269e48c189f\n"
        /// The address with TLS for clients, and the one for operators.
        let port: Int
        let managementPort: Int

        static func with(_ body: (Bench) throws -> Void) throws {
            let certificates = try EdgeCertificates()
            try certificates.authority()
            try certificates.authority("clients")
            try certificates.certificate("own", for: "DNS:localhost,DNS:app.example.com,DNS:manage.example.com")
            try certificates.certificate(
                "build",
                for: "DNS:Build.example.com,URI:spiffe://example/build",
                by: "clients"
            )
            try certificates.certificate("other", for: "DNS:other.example.com", by: "clients")
            let app = try FakeUpstream()
            defer { app.stop() }
            let (port, managementPort) = (try ServerPorts.take(), try ServerPorts.take())
            let settings = Config.file(
                upstream: app.port,
                routes: """
                      - {path: /**}
                      - {path: /public/**, auth: public}
                      - {path: /deploy/**, require: {client_certificate: {san_any: ["spiffe://example/build"]}}}
                    """,
                listen: """
                    [{address: "127.0.0.1:0", tls: false}, \
                    {address: "127.0.0.1:\(port)", client_certificates: optional}, \
                    {address: "127.0.0.1:\(managementPort)", role: management, \
                    public_url: "https://manage.example.com"}]
                    """,
                more: """
                    tls:
                      certificate_file: \(certificates.path("own.pem"))
                      key_file: \(certificates.path("own.key"))
                      client_ca_file: \(certificates.path("clients.pem"))
                    identity:
                      headers:
                        X-Auth-Subject: subject
                        X-Auth-Client-Certificate-Sha256: client_certificate.sha256
                        X-Auth-Client-Certificate-Subject: client_certificate.subject
                        X-Auth-Client-Certificate-San: client_certificate.san
                    """
            ).replacing(
                "admin:\n  listen: 127.0.0.1:0\n",
                with: "admin: {listen: \"127.0.0.1:0\", tokens_file: operator-tokens}\n"
            )
            try Gateway.with(settings, files: ["operator-tokens": Self.tokens]) { gateway throws in
                try body(
                    Bench(
                        gateway: gateway,
                        certificates: certificates,
                        app: app,
                        port: port,
                        managementPort: managementPort
                    )
                )
            }
        }

        /// The status of a request over TLS.
        func status(_ path: String, as name: String?, _ fields: [String] = []) throws -> String {
            let certificate = name.map {
                ["--cert", self.certificates.path("\($0).pem"), "--key", self.certificates.path("\($0).key")]
            }
            let run = try Servers.run(
                "/usr/bin/curl",
                ["-sS", "--http1.1", "--max-time", "20", "--cacert", self.certificates.path("ca.pem")]
                    + ["--connect-to", "::127.0.0.1:\(self.port)", "-o", "/dev/null", "-w", "%{http_code}"]
                    + (certificate ?? []) + fields.flatMap { ["-H", $0] }
                    + ["https://\(Request.origin.dropFirst("http://".count))\(path)"]
            )
            #expect(run.status == 0, "\(run.output)")
            return run.output
        }

        /// The SHA-256 of a certificate, by openssl.
        func hash(_ name: String) throws -> String {
            let run = try Servers.run(
                "/usr/bin/openssl",
                ["x509", "-in", self.certificates.path("\(name).pem"), "-noout", "-fingerprint", "-sha256"]
            )
            return String(run.output.drop { $0 != "=" }.filter(\.isHexDigit).lowercased())
        }
    }

    @Test(
        "a certificate opens the route that names it to whoever is signed in, and is told to the app, which no client can do"
    )
    func required() throws {
        try Bench.with { bench in
            let cookie = "Cookie: sallyport=\(try bench.gateway.browser())"
            let names = ["sha256", "subject", "san"].map { "x-auth-client-certificate-\($0)" }
            let spoofed = names.map { "\($0): spoofed" } + ["X_Auth_Client_Certificate_Sha256: spoofed"]
            #expect(try bench.status("/deploy/x", as: "build", [cookie] + spoofed) == "200")
            let seen = try #require(bench.app.requests.last)
            #expect(seen.values("x-auth-client-certificate-sha256") == [try bench.hash("build")])
            #expect(seen.values("x-auth-client-certificate-subject") == ["CN=build"])
            #expect(seen.values("x-auth-client-certificate-san") == ["build.example.com,spiffe://example/build"])
            for name in ["other", nil] { #expect(try bench.status("/deploy/x", as: name, [cookie]) == "403") }
            #expect(bench.app.requests.count == 1)
            // A certificate is no session.
            #expect(try bench.status("/deploy/x", as: "build") == "401")
            #expect(try bench.status("/public/x", as: "other", spoofed) == "200")
            #expect(bench.app.requests.last?.values(names[0]) == [try bench.hash("other")])
            #expect(try bench.status("/public/x", as: nil, spoofed) == "200")
            for name in names { #expect(bench.app.requests.last?.values(name) == []) }
            #expect(eventually { bench.gateway.output.contains("require.client_certificate") })
        }
    }

    @Test("the documented calls for clients work as printed, by a name of their own over TLS")
    func management() throws {
        try Bench.with { bench in
            func patch(_ id: String, _ data: String, token: String = Bench.token) throws -> String {
                // The words of the documentation, and where the name is found.
                let run = try Servers.run(
                    "/usr/bin/curl",
                    [
                        "--request", "PATCH", "--url", "https://manage.example.com/api/v2/clients//\(id)",
                        "--header", "authorization: Bearer \(token)", "--header", "content-type: application/json",
                        "--data", data, "-sS", "--cacert", bench.certificates.path("ca.pem"), "--connect-to",
                        "::127.0.0.1:\(bench.managementPort)", "-w", " %{http_code}",
                    ]
                )
                #expect(run.status == 0, "\(run.output)")
                return run.output
            }
            let native = """
                {
                  "session_transfer": {
                    "can_create_session_transfer_token": true,
                    "enforce_device_binding": "ip"
                  }
                }
                """
            let web = """
                {
                  "session_transfer": {
                    "allowed_authentication_methods": ["cookie", "query"]
                  }
                }
                """
            #expect(try patch("native", native).hasSuffix(" 200"))
            let changed = try patch("web", web)
            #expect(changed.contains(#""allowed_authentication_methods":["cookie","query"]"#), "\(changed)")
            #expect(try patch("web", web, token: "x").hasSuffix(" 401"))
            // What is served at another address has another connection (RFC 9110 15.5.20).
            for (host, port, status) in [
                ("localhost", bench.managementPort, "404"), (Request.host, bench.managementPort, "421"),
                ("manage.example.com", bench.port, "421"),
            ] {
                let other = try Servers.run(
                    "/usr/bin/curl",
                    [
                        "-sS", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", bench.certificates.path("ca.pem"),
                        "--connect-to", "::127.0.0.1:\(port)", "-H",
                        "authorization: Bearer \(Bench.token)", "https://\(host)/api/v2/clients",
                    ]
                )
                #expect(other.output == status, "\(host): \(other.output)")
            }
            let plain = try Wire(to: bench.managementPort).request(
                "GET /api/v2/clients HTTP/1.1\r\nHost: manage.example.com\r\n\r\n"
            )
            #expect(plain.status == 400)
            // Both addresses are counted, and nobody else has connected.
            func handshakes(_ result: String) throws -> Double {
                try bench.gateway.metric("sallyport_tls_handshakes_total{result=\"\(result)\"}")
            }
            #expect(try handshakes("ok") == 6)
            #expect(try handshakes("plain_http") == 1)
        }
    }

    @Test("rules know the certificate of the client that comes with a transfer token")
    func rules() throws {
        let certificates = try EdgeCertificates()
        try certificates.authority()
        try certificates.certificate("own", for: "DNS:\(Request.host)")
        try certificates.certificate("build", for: "DNS:build.example.com")
        try certificates.certificate("other", for: "DNS:other.example.com")
        let app = try FakeUpstream()
        defer { app.stop() }
        let port = try ServerPorts.take()
        let settings = Config.file(
            upstream: app.port,
            clients: Config.clients(binding: "none"),
            publicURL: "https://\(Request.host)",
            listen: """
                [{address: "127.0.0.1:0", tls: false, client_certificates: none}, "127.0.0.1:\(port)"]
                """,
            more: """
                tls:
                  certificate_file: \(certificates.path("own.pem"))
                  key_file: \(certificates.path("own.key"))
                  client_certificates: optional
                  client_ca_file: \(certificates.path("ca.pem"))
                rules:
                  - name: own-builds
                    when: 'not ("build.example.com" in event.request.client_certificate.san)'
                    then: deny

                """
        )
        try Gateway.with(settings) { gateway throws in
            func open(as name: String?) throws -> (status: Substring, isSignedIn: Bool) {
                let certificate = name.map {
                    ["--cert", certificates.path("\($0).pem"), "--key", certificates.path("\($0).key")]
                }
                let run = try Servers.run(
                    "/usr/bin/curl",
                    ["-sS", "-i", "--max-time", "20", "--cacert", certificates.path("ca.pem")] + (certificate ?? [])
                        + ["--connect-to", "::127.0.0.1:\(port)", "-H", "Sec-Fetch-Mode: navigate", "-H"]
                        + ["Sec-Fetch-Dest: document", "-H", "Accept: text/html"]
                        + ["https://\(Request.host)/?session_transfer_token=\(try gateway.transferToken())"]
                )
                let isSignedIn = run.output.firstMatch(of: /(?i)set-cookie: sallyport=([^;\r]+);/) != nil
                return (run.output.split(separator: " ").dropFirst().first ?? "", isSignedIn)
            }
            let good = try open(as: "build")
            #expect(good.status == "303")
            #expect(good.isSignedIn)
            for name in ["other", nil] {
                let refused = try open(as: name)
                #expect(refused.status == "403")
                #expect(!refused.isSignedIn)
            }
            #expect(eventually { gateway.output.contains("own-builds") })
        }
    }
}
