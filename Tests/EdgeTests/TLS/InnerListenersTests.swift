import Foundation
import GatewayBench
import TestSupport
import Testing

/// TLS of the listeners for operators and for other proxies, with the commands and proxies that ask there.
@Suite("TLS of the listeners for operators and other proxies", .blocking) struct InnerListenersTests {
    private struct Bench {
        let gateway: Gateway
        let certificates: EdgeCertificates
        let settings: String
        /// Where proxies ask.
        let checks: Int
        /// An operator's, and the file that admits it: its SHA-256.
        static let token = "an-operator-of-this-test"
        static let tokens =
            "ops read,sessions,clients c4f3b41b84c4f129ea61b722638f46ccf7eaab07b38989f7a7dc1269e48c189f\n"

        /// - Parameter asksPeers: Whether other proxies need a certificate.
        static func with(asksPeers: Bool = true, _ body: (Bench) throws -> Void) throws {
            let certificates = try EdgeCertificates()
            try certificates.authority()
            try certificates.certificate("own", for: "DNS:localhost")
            try certificates.certificate("second", for: "DNS:second.example")
            try certificates.certificate("proxy", for: "DNS:proxy.internal")
            try certificates.certificate("user", for: "DNS:user.example")
            let app = try FakeUpstream()
            defer { app.stop() }
            let checks = try ServerPorts.take()
            // An address has no name in the certificates, of which none is the default.
            let settings = Config.file(
                upstream: app.port,
                routes: """
                      - {path: /**}
                      - {path: /public/**, auth: public}
                      - {path: /proven/**, require: {client_certificate: {}}}
                    """,
                listen: "[{address: \"127.0.0.1:\(try ServerPorts.take())\", tls: false, client_certificates: none}]",
                admin: "{address: \"127.0.0.1:\(try ServerPorts.take())\", tls: true}",
                more: """
                    tls:
                      certificates:
                        - {certificate_file: \(certificates.path("own.pem")), key_file: \(certificates.path("own.key"))}
                        - {certificate_file: \(certificates.path("second.pem")), key_file: \(certificates.path("second.key"))}
                      client_ca_file: \(certificates.path("ca.pem"))
                    authorization:
                      listen: {address: "127.0.0.1:\(checks)", tls: true}
                      peers: [127.0.0.1]
                    \(asksPeers ? "  peer_certificate: {san_any: [proxy.internal]}" : "")
                    """
            ).replacing("admin:\n", with: "admin:\n  tokens_file: operator-tokens\n")
            try Gateway.with(settings, files: ["operator-tokens": Self.tokens]) { gateway throws in
                try body(Bench(gateway: gateway, certificates: certificates, settings: settings, checks: checks))
            }
        }

        var admin: String { "127.0.0.1:\(self.gateway.adminPort)" }

        /// A command with the gateway's settings.
        func command(_ arguments: [String]) throws -> (status: Int32, output: String) {
            try Servers.run(
                Gateway.binary.path,
                arguments + ["--config", self.gateway.folder.appending(path: "settings.yaml").path]
            )
        }

        func curl(_ arguments: [String]) throws -> (status: Int32, output: String) {
            try Servers.run("/usr/bin/curl", ["-sS", "--max-time", "20"] + arguments)
        }

        /// What a proxy with this certificate is told of a request for a path.
        func check(_ path: String, as name: String?, _ fields: [String] = []) throws -> (status: Int32, output: String)
        {
            let certificate = name.map {
                ["--cert", self.certificates.path("\($0).pem"), "--key", self.certificates.path("\($0).key")]
            }
            return try self.curl(
                (certificate ?? []) + fields.flatMap { ["-H", $0] } + [
                    "-k", "-o", "/dev/null", "-w", "%{http_code} %header{x-sallyport-reason}",
                    "-H", "X-Original-URL: \(Request.origin)\(path)", "-H", "X-Original-Method: GET",
                    "-H", "X-Forwarded-For: 198.51.100.7",
                    "https://127.0.0.1:\(self.checks)/authz/auth-request",
                ]
            )
        }
    }

    @Test("operators, orchestrators and commands ask over TLS by the address; without TLS they get one sentence")
    func admin() throws {
        try Bench.with { bench throws in
            for path in ["/readyz", "/healthz", "/metrics"] {
                let (status, output) = try bench.curl(
                    ["-k", "-o", "/dev/null", "-w", "%{http_code}", "https://\(bench.admin)\(path)"]
                )
                #expect(status == 0 && output == "200", "\(path): \(output)")
            }
            let named = try bench.curl([
                "--cacert", bench.certificates.path("ca.pem"), "--resolve",
                "second.example:\(bench.gateway.adminPort):127.0.0.1",
                "https://second.example:\(bench.gateway.adminPort)/healthz",
            ])
            #expect(named.status == 0 && named.output == "ok\n", "\(named.output)")
            let plain = try bench.curl(["http://\(bench.admin)/healthz"])
            #expect(plain.output.contains("https://"), "\(plain.output)")
            for arguments in [
                ["healthcheck"], ["healthcheck", "--live"], ["healthcheck", "--admin", "https://\(bench.admin)"],
            ] {
                let (status, output) = try bench.command(arguments)
                #expect(status == 0 && output.hasPrefix("200 "), "\(arguments): \(output)")
            }
            #expect(try bench.command(["healthcheck", "--admin", bench.admin]).status == 1)
            let check = try bench.command(["check", "--insecure-http"])
            #expect(check.output.contains("\(bench.admin)  TLS  http/1.1  operators"), "\(check.output)")
            #expect(check.output.contains("127.0.0.1:\(bench.checks)  TLS  http/1.1  checks of other proxies with a"))
        }
    }

    @Test("an operator's token is sent only to a gateway that shows a certificate of the settings")
    func token() throws {
        try Bench.with { bench throws in
            let file = bench.certificates.path("token")
            try Bench.token.write(toFile: file, atomically: true, encoding: .utf8)
            let show = ["limits", "show", "--address", "192.0.2.1", "--token-file", file]
            for arguments in [show, show + ["--admin", "https://\(bench.admin)"]] {
                let (status, output) = try bench.command(arguments)
                #expect(status == 0 && output.contains(": 0 of "), "\(output)")
            }
            // Another server at the same place.
            let port = try ServerPorts.take()
            let server = Process()
            // Threads that run tests block SIGTERM, and what they start would, too.
            server.executableURL = URL(filePath: "/usr/bin/env")
            server.arguments = [
                "--default-signal=TERM", "openssl", "s_server", "-accept", "127.0.0.1:\(port)", "-cert",
                bench.certificates.path("user.pem"), "-key",
                bench.certificates.path("user.key"), "-quiet",
            ]
            let heard = Pipe()
            server.standardOutput = heard
            server.standardError = FileHandle.nullDevice
            server.standardInput = Pipe()
            try server.run()
            defer { server.terminate() }
            #expect(eventually { (try? Wire(to: port)) != nil })
            let (status, output) = try bench.command(show + ["--admin", "https://127.0.0.1:\(port)"])
            #expect(status == 1 && output.contains("not in tls.certificates"), "\(output)")
            // A health check sends no secret, so it asks whoever is there.
            server.terminate()
            server.waitUntilExit()
            #expect(!String(decoding: heard.fileHandleForReading.availableData, as: UTF8.self).contains("Bearer"))
        }
    }

    @Test("a proxy asks with its certificate; others with one of the same authority may not, and it is no client's")
    func peers() throws {
        try Bench.with { bench throws in
            #expect(try bench.check("/public/x", as: "proxy").output == "200 ")
            #expect(try bench.check("/x", as: "proxy").output.hasPrefix("401 "))
            // What the proxy proves says nothing of its client.
            let cookie = "Cookie: sallyport=\(try bench.gateway.browser())"
            #expect(try bench.check("/x", as: "proxy", [cookie]).output == "200 ")
            #expect(
                try bench.check("/proven/x", as: "proxy", [cookie]).output == "403 require.client_certificate"
            )
            #expect(try bench.check("/public/x", as: "user").output == "403 authz.peer")
            #expect(try bench.check("/public/x", as: nil).status != 0)
        }
    }

    /// What `check` prints for a proxy, with the places of this test.
    ///
    /// - Parameter names: The port of a server of names, for a proxy that has no other way to them.
    private func files(of proxy: String, at port: Int, _ bench: Bench, authority: String, names: Int) throws
        -> [String: String]
    {
        let (status, printed) = try bench.command([
            "check", "--insecure-http", "--insecure-unnamed-proxy", "--for", proxy,
        ])
        #expect(status == 0, "\(printed)")
        let text =
            printed.replacing("/etc/\(proxy)/tls/sallyport-ca.pem", with: bench.certificates.path("\(authority).pem"))
            .replacing("/etc/\(proxy)/tls/proxy.", with: bench.certificates.path("proxy."))
        switch proxy {
        case "traefik":
            let own = """
                global: {checkNewVersion: false, sendAnonymousUsage: false}
                log: {level: ERROR}
                entryPoints: {web: {address: "127.0.0.1:\(port)"}}
                providers: {file: {filename: routes.yaml, watch: false}}

                """
            return ["traefik.yaml": own, "routes.yaml": text]
        case "haproxy":
            let lua = Gateway.root.appending(path: "deploy/proxies/sallyport.lua").path
            return [
                "haproxy.cfg":
                    text.replacing("bind :80", with: "bind 127.0.0.1:\(port)")
                    .replacing("/etc/haproxy/sallyport.lua", with: lua)
                    + "resolvers default\n    nameserver test 127.0.0.1:\(names)\n"
            ]
        case "caddy":
            let global = "admin off\nauto_https off\nhttp_port \(port)\ndefault_bind 127.0.0.1\n"
            return ["Caddyfile": "{\n\(global)}\n\(text)"]
        default: break
        }
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \($0);\n" }
        return [
            "nginx.conf":
                text.replacing("events {}", with: "daemon off;\nuser root;\nworker_processes 1;\npid pid;\nevents {}")
                .replacing("http {\n", with: "http {\naccess_log off;\n\(temporary.joined())")
                .replacing("listen 80;", with: "listen 127.0.0.1:\(port);")
        ]
    }

    /// Where Debian or `deploy/test.sh` installs a proxy, and how it is started in a folder of its own.
    private static let programs: [String: (path: String, arguments: [String])] = [
        "nginx": ("/usr/sbin/nginx", ["-p", ".", "-c", "nginx.conf", "-e", "stderr"]),
        "caddy": ("/usr/bin/caddy", ["run", "--config", "Caddyfile", "--adapter", "caddyfile"]),
        "haproxy": ("/usr/sbin/haproxy", ["-db", "-f", "haproxy.cfg"]),
        "traefik": (
            Gateway.root.appending(path: ".build/proxies/bin/traefik").path, ["--configFile=traefik.yaml"]
        ),
    ]

    /// HAProxy has no certificate for its checks.
    @Test(
        "what check prints lets a proxy ask over TLS, with its certificate where it can have one",
        arguments: ["nginx", "caddy", "haproxy", "traefik"]
    )
    func printed(proxy: String) throws {
        let (path, arguments) = try #require(Self.programs[proxy])
        guard let program = Servers.find([path]) else { try Servers.missing(proxy) }
        let names = try NameServer()
        defer { names.stop() }
        try Bench.with(asksPeers: proxy != "haproxy") { bench throws in
            try bench.certificates.authority("foreign")
            // With another authority the gateway is not believed, so nothing passes.
            for (authority, results) in [("ca", ["200", "401"]), ("foreign", ["refused", "refused"])] {
                let port = try ServerPorts.take()
                let folder = bench.gateway.folder.appending(path: "\(proxy)-\(authority)")
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                let files = try self.files(of: proxy, at: port, bench, authority: authority, names: names.port)
                for (name, text) in files {
                    try text.write(to: folder.appending(path: name), atomically: true, encoding: .utf8)
                }
                let running = try Servers.Running(program, arguments, in: folder, port: port, within: 30)
                defer { running.stop() }
                for (path, result) in zip(["/public/x", "/x"], results) {
                    var output = ""
                    /// A name is found, and routes are read, a moment after the port is open.
                    _ = eventually {
                        output =
                            (try? bench.curl([
                                "-o", "/dev/null", "-w", "%{http_code}", "-H", "Host: \(Request.host)",
                                "http://127.0.0.1:\(port)\(path)",
                            ]).output) ?? ""
                        return output == result || result == "refused" && output.hasPrefix("5")
                    }
                    #expect(output == result || result == "refused" && output.hasPrefix("5"), "\(path): \(output)")
                }
            }
        }
    }

    @Test("where a proxy cannot ask so, check says what to do")
    func unprintable() throws {
        try Bench.with { bench throws in
            for proxy in ["haproxy", "ingress-nginx"] {
                let (status, output) = try bench.command(["check", "--insecure-http", "--for", proxy])
                #expect(status == 1 && output.contains("authorization.peer_certificate: \(proxy)"), "\(output)")
            }
            for (proxy, lines) in [
                ("envoy", ["sni: localhost", "{filename: /etc/envoy/tls/proxy.pem}", "uri: \"https://127.0.0.1:"]),
                ("traefik", ["https://localhost:\(bench.checks)/authz/", "cert: /etc/traefik/tls/proxy.pem"]),
                ("gateway-api", ["kind: BackendTLSPolicy", "hostname: localhost", "clientCertificateRef"]),
            ] {
                let (status, output) = try bench.command(["check", "--insecure-http", "--for", proxy])
                #expect(status == 0)
                for line in lines { #expect(output.contains(line), "\(proxy), \(line): \(output)") }
            }
            let (_, explained) = try bench.command([
                "explain", "--insecure-http", "--via", "nginx", "--url", "\(Request.origin)/public/x",
            ])
            #expect(explained.contains("answer to the proxy\n  200 OK"), "\(explained)")
        }
    }

    @Test("a reload renews the certificates of these listeners too, and what is bound keeps its TLS")
    func reload() throws {
        try Bench.with { bench throws in
            try bench.certificates.certificate("own", for: "DNS:renewed.example")
            func names() throws -> String {
                try Servers.run(
                    "/usr/bin/openssl",
                    ["s_client", "-connect", bench.admin, "-noservername"],
                    within: 20
                ).output
            }
            let before = try names()
            try bench.gateway.reload(bench.settings)
            let after = try names()
            func certificate(_ output: String) -> Substring? { output.split(separator: "-----").dropFirst(2).first }
            #expect(certificate(before) != nil && certificate(before) != certificate(after))
            let plain = bench.settings.replacing(
                "listen: {address: \"\(bench.admin)\", tls: true}",
                with: "listen: \(bench.admin)"
            )
            #expect(plain != bench.settings)
            try bench.gateway.reload(plain)
            #expect(bench.gateway.output.contains("admin.listen: takes effect at the next start"))
            #expect(certificate(try names()) == certificate(after))
        }
    }
}
