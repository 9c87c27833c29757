import Foundation
import GatewayBench
import Testing

/// Apps that listen at sockets of the machine.
@Suite("Apps behind sockets", .blocking) struct AppSocketTests {
    /// nginx with a server at each of these sockets, which answers with its name and with the `Host` that it was sent.
    private static func nginx(_ names: [String], in folder: URL, port: Int) throws -> Servers.Running {
        guard let nginx = Servers.find(["/usr/sbin/nginx"]) else { try Servers.missing("nginx") }
        let servers = names.map { name in
            """
            server {
                listen unix:\(folder.path)/\(name).sock;
                location /moved { return 302 http://localhost/there; }
                location / { return 200 "\(name) $http_host"; }
            }
            """
        }
        let configuration = """
            daemon off;
            pid \(folder.path)/nginx.pid;
            error_log \(folder.path)/error.log;
            events {}
            http {
                access_log off;
                client_body_temp_path \(folder.path)/body;
                proxy_temp_path \(folder.path)/proxy;
                fastcgi_temp_path \(folder.path)/fastcgi;
                uwsgi_temp_path \(folder.path)/uwsgi;
                scgi_temp_path \(folder.path)/scgi;
                server { listen 127.0.0.1:\(port); }
                \(servers.joined(separator: "\n"))
            }
            """
        try configuration.write(to: folder.appending(path: "nginx.conf"), atomically: true, encoding: .utf8)
        return try Servers.Running(nginx, ["-c", "\(folder.path)/nginx.conf"], in: folder, port: port)
    }

    @Test("nginx at a socket, which it makes after the gateway has started: the same answers as at a port")
    func socket() throws {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "app.sock").path
        let settings = Config.open(upstream: 1).replacing("http://127.0.0.1:1", with: "unix:\(path)")
        try Gateway.with(settings) { gateway throws in
            #expect(gateway.output.contains("there is no socket at \(path)"))
            let refusal = try gateway.get()
            #expect(refusal.status == 502 && refusal.reason == "upstream.unreachable", "\(refusal.lines)")
            let server = try Self.nginx(["app"], in: folder, port: try ServerPorts.take())
            defer { server.stop() }
            let client = try gateway.connect()
            for _ in 0..<10 { #expect(try client.request(Request.get()).text == "app app.example.com") }
            #expect(try gateway.metric(#"sallyport_upstream_connections{state="idle"}"#) == 1)
            let moved = try gateway.get("/moved")
            #expect(moved.lines.contains("Location: \(Request.origin)/there"), "\(moved.lines)")
            #expect(
                try gateway.metric("sallyport_upstream_requests_total{upstream=\"unix:\(path)\",code_class=\"2xx\"}")
                    == 10
            )
        }
    }

    @Test("Sockets are servers of one app: one that goes costs no request, and operators see each")
    func servers() throws {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let names = ["one", "two"]
        let server = try Self.nginx(names, in: folder, port: try ServerPorts.take())
        defer { server.stop() }
        let urls = names.map { "\"unix:\(folder.path)/\($0).sock\"" }.joined(separator: ", ")
        let app = "upstreams: {app: {servers: [\(urls)], balance: round_robin}}\n"
        try Gateway.with(Config.open(upstream: 1, "upstream: app", more: app)) { gateway throws in
            var texts: Set<String> = []
            for _ in 0..<10 { texts.insert(try gateway.get().text) }
            #expect(texts == ["one app.example.com", "two app.example.com"])
            let seen = try gateway.admin("/upstreams").text
            for name in names { #expect(seen.contains("unix:\(folder.path)/\(name).sock"), "\(seen)") }
            try FileManager.default.removeItem(at: folder.appending(path: "one.sock"))
            // Connections that are kept go on: new ones find the socket gone.
            let clients = try (0..<20).map { _ in try gateway.connect() }
            for client in clients { client.send(Request.get()) }
            for client in clients { #expect(try client.answer().status == 200) }
        }
    }
}
