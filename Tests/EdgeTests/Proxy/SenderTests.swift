import Foundation
import GatewayBench
import Testing

/// Proxies that write the header, as they are installed by Debian.
enum Sender: String, CaseIterable, CustomTestStringConvertible {
    case haproxyV1 = "HAProxy, send-proxy"
    case haproxyV2 = "HAProxy, send-proxy-v2"
    /// With what it knows of TLS, a checksum, and an id of its own.
    case haproxyValues = "HAProxy, send-proxy-v2-ssl-cn with options"
    case nginx = "nginx, stream"

    var testDescription: String { self.rawValue }

    var version: Int { self == .haproxyV1 || self == .nginx ? 1 : 2 }

    private var program: String { self == .nginx ? "/usr/sbin/nginx" : "/usr/sbin/haproxy" }
    private static let module = "/usr/lib/nginx/modules/ngx_stream_module.so"

    private func configuration(from port: Int, to gateway: Int) -> String {
        guard self != .nginx else {
            return """
                load_module \(Self.module);
                daemon off;
                user root;
                worker_processes 1;
                pid nginx.pid;
                events {}
                stream {
                    server {
                        listen 127.0.0.1:\(port);
                        proxy_pass 127.0.0.1:\(gateway);
                        proxy_protocol on;
                    }
                }

                """
        }
        let send =
            switch self {
            case .haproxyV1, .nginx: "send-proxy"
            case .haproxyV2: "send-proxy-v2 check check-send-proxy inter 200ms"
            case .haproxyValues: "send-proxy-v2-ssl-cn proxy-v2-options crc32c,unique-id,authority"
            }
        return """
            defaults
                mode tcp
                timeout connect 5s
                timeout client 30s
                timeout server 30s
            listen front
                bind 127.0.0.1:\(port)
                unique-id-format %[rand(1000000)]-%pid
                server gateway 127.0.0.1:\(gateway) \(send)

            """
    }

    /// Runs `body` with a gateway that clients reach through the proxy only.
    func with(_ body: (Gateway, FakeUpstream) throws -> Void) throws {
        try self.check()
        try ProxiedGateway.with(listen: ProxiedGateway.listen()) { gateway, app throws in
            try self.run(before: gateway) { try body(gateway, app) }
        }
    }

    /// Ends the test if its program is not installed.
    func check() throws {
        guard Servers.find([self.program]) != nil, self != .nginx || Servers.exists(Self.module) else {
            try Servers.missing(self.rawValue)
        }
    }

    /// Runs `body` with the proxy before the gateway.
    func run(before gateway: Gateway, _ body: () throws -> Void) throws {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let port = try ServerPorts.take()
        let file = folder.appending(path: "proxy.conf")
        try self.configuration(from: port, to: gateway.port).write(to: file, atomically: true, encoding: .utf8)
        let arguments =
            self == .nginx ? ["-p", folder.path, "-c", "proxy.conf", "-e", "stderr"] : ["-db", "-f", "proxy.conf"]
        let proxy = try Servers.Running(self.program, arguments, in: folder, port: port, within: 30)
        defer { proxy.stop() }
        gateway.front = port
        try body()
    }
}

extension Servers {
    fileprivate static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }
}

@Suite("Proxies that write the header", .blocking) struct SenderTests {
    private static let page = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Accept: text/html"]

    @Test("The app gets the address of the client behind the proxy", arguments: Sender.allCases)
    func address(sender: Sender) throws {
        try sender.with { gateway, app throws in
            for source in ["127.0.0.7", "127.0.0.8"] {
                #expect(try gateway.get("/public/", from: source).status == 200)
                #expect(app.requests.last?.values("x-forwarded-for") == [source])
            }
            #expect(try gateway.headers("v\(sender.version)") >= 2)
            #expect(try gateway.headers("malformed") == 0)
            if sender == .haproxyValues {
                let id = /"request_id":"[0-9]+-[0-9]+-[0-9]+"/
                #expect(eventually { gateway.output.matches(of: id).count == 2 }, "\(gateway.output)")
            }
        }
    }

    @Test(
        "A handoff that is bound to the address works through the proxy, and nowhere else",
        arguments: Sender.allCases
    )
    func handoff(sender: Sender) throws {
        try sender.with { gateway, app throws in
            let stolen = try gateway.transferToken(from: "127.0.0.7")
            let thief = try gateway.get("/?session_transfer_token=\(stolen)", Self.page, from: "127.0.0.8")
            #expect(thief.sessionCookie == nil && thief.status == 303, "\(thief.lines)")
            let token = try gateway.transferToken(from: "127.0.0.7")
            let answer = try gateway.get("/?session_transfer_token=\(token)", Self.page, from: "127.0.0.7")
            let cookie = try #require(answer.sessionCookie, "\(answer.lines)")
            #expect(try gateway.get("/", ["Cookie: sallyport=\(cookie)"], from: "127.0.0.7").status == 200)
            #expect(app.requests.last?.values("x-forwarded-for") == ["127.0.0.7"])
            #expect(eventually { gateway.output.contains("\"binding\":\"ip/match\"") })
            #expect(gateway.output.contains("\"binding\":\"ip/mismatch\""))
        }
    }

    @Test("The header stands before TLS, with HTTP/1 and HTTP/2 behind it", arguments: Sender.allCases)
    func beforeTLS(sender: Sender) throws {
        try sender.check()
        guard let curl = Servers.find(["/usr/bin/curl"]) else { try Servers.missing("curl") }
        let certificates = try EdgeCertificates()
        try certificates.authority()
        try certificates.certificate("own", for: "DNS:localhost")
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.file(
            upstream: app.port,
            publicURL: "https://localhost",
            listen: ProxiedGateway.listen(),
            more: """
                log: {access: true}
                tls: {certificate_file: "\(certificates.path("own.pem"))", key_file: "\(certificates.path("own.key"))"}

                """
        )
        try Gateway.with(settings) { gateway throws in
            try sender.run(before: gateway) {
                for version in ["--http1.1", "--http2"] {
                    let result = try Servers.run(
                        curl,
                        [
                            "-sS", "--max-time", "20", version, "--interface", "127.0.0.7", "--resolve",
                            "localhost:\(gateway.front ?? 0):127.0.0.1", "--cacert", certificates.path("ca.pem"), "-o",
                            "/dev/null", "-w", "%{http_version} %{http_code}",
                            "https://localhost:\(gateway.front ?? 0)/public/",
                        ]
                    )
                    #expect(result.output == (version == "--http2" ? "2 200" : "1.1 200"))
                    #expect(app.requests.last?.values("x-forwarded-for") == ["127.0.0.7"])
                }
                #expect(eventually { gateway.output.contains("\"proxy.version\":\(sender.version)") })
            }
        }
    }

    @Test("curl's own header is taken")
    func curl() throws {
        guard let curl = Servers.find(["/usr/bin/curl"]) else { try Servers.missing("curl") }
        try ProxiedGateway.with(listen: ProxiedGateway.listen()) { gateway, app throws in
            let result = try Servers.run(
                curl,
                [
                    "-sS", "--max-time", "20", "--haproxy-protocol", "--interface", "127.0.0.1", "-o", "/dev/null",
                    "-w",
                    "%{http_code}", "-H", "Host: \(Request.host)", "http://127.0.0.1:\(gateway.port)/public/",
                ]
            )
            #expect(result.output == "200")
            #expect(app.requests.first?.values("x-forwarded-for") == ["127.0.0.1"])
            #expect(try gateway.headers("v1") == 1)
        }
    }
}
