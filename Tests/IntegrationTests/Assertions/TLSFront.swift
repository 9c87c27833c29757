import Foundation
import GatewayBench
import Testing

/// nginx in front of a gateway, for clients that ask over https only. Its certificate is its own.
struct TLSFront {
    private let program: String
    private let folder: URL
    let port: Int

    /// nil, with a note, if it is not installed.
    init(in folder: URL) throws {
        guard let program = Servers.find(["/usr/sbin/nginx"]) else {
            try Servers.missing("nginx")
        }
        self.program = program
        self.folder = folder
        self.port = try ServerPorts.take()
    }

    /// Starts it.
    ///
    /// - Parameter host: The `Host` that the gateway gets.
    func start(gateway: Int, host: String) throws -> Servers.Running {
        func path(_ name: String) -> String { self.folder.appending(path: name).path }
        let made = try Servers.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                "/CN=127.0.0.1", "-keyout", path("server.key"), "-out", path("server.pem"),
            ]
        )
        #expect(made.status == 0, "\(made.output)")
        let text = """
            daemon off;
            pid \(path("nginx.pid"));
            events {}
            http {
                access_log off;
                client_body_temp_path \(path("body"));
                proxy_temp_path \(path("proxy"));
                fastcgi_temp_path \(path("fastcgi"));
                uwsgi_temp_path \(path("uwsgi"));
                scgi_temp_path \(path("scgi"));
                server {
                    listen 127.0.0.1:\(self.port) ssl;
                    ssl_certificate server.pem;
                    ssl_certificate_key server.key;
                    location / {
                        proxy_pass http://127.0.0.1:\(gateway);
                        proxy_set_header Host \(host);
                    }
                }
            }
            """
        try text.write(toFile: path("nginx.conf"), atomically: true, encoding: .utf8)
        return try Servers.Running(
            self.program,
            ["-p", self.folder.path, "-c", "nginx.conf", "-e", "error.log"],
            in: self.folder,
            port: self.port
        )
    }
}
