import Foundation
import GatewayBench
import Testing

/// No spelling of a path makes a real server serve a protected file to an anonymous client.
@Suite("Spellings of a path", .blocking) struct PathSpellingTests {
    /// Ways to write the path of a protected file, next to a public path `open`.
    private static func spellings(_ path: String, beside open: String) -> [String] {
        let parts = path.split(separator: "/").map(String.init)
        let first = parts.first ?? ""
        let rest = "/" + parts.dropFirst().joined(separator: "/")
        let hex = String(first.utf8.first ?? 0x61, radix: 16)
        let encoded = "/%\(hex)" + first.dropFirst() + rest
        let relative = path.dropFirst()
        return [
            path, "/\(path)", "//\(path)", "/" + first + "/" + rest, encoded,
            "/%\(hex.uppercased())" + first.dropFirst() + rest,
            "/%25\(hex)" + first.dropFirst() + rest, "/\(first)%2F\(rest.dropFirst())",
            "/\(first)%2f\(rest.dropFirst())",
            "/\(first)%5C\(rest.dropFirst())", "/\(first)\\\(rest.dropFirst())", "/\(first);x=1\(rest)",
            "/\(first);\(rest)", "/\(first)/;x\(rest)",
            "\(path);x=1", "/;\(path)", "/;x=1\(path)", "/.\(path)", "/.//\(relative)", "/%2e\(path)",
            "/%2E/\(relative)",
            "\(open)/..\(path)", "\(open)/../..\(path)", "\(open)/x/../..\(path)", "\(open)/./..\(path)",
            "\(open)//..\(path)", "\(open)/..//\(relative)",
            "\(open)/..%2f\(relative)", "\(open)/..%2F\(relative)", "\(open)%2f..%2f\(relative)",
            "\(open)/%2e%2e\(path)", "\(open)/%2e%2e%2f\(relative)",
            "\(open)/.%2e\(path)", "\(open)/%2e.\(path)", "\(open)/%252e%252e\(path)", "\(open)/..;\(path)",
            "\(open)/..;x=1\(path)", "\(open);/..\(path)",
            "\(open)\\..\\\(relative)", "\(open)/..\\\(relative)", "\(open)/%5c..%5c\(relative)",
            "\(open)/..%5c\(relative)", "\(open)/..%c0%af\(relative)",
            "\(open)/%c0%ae%c0%ae\(path)", "\(open)/..%ef%bc%8f\(relative)", "\(open)/%ef%bc%8e%ef%bc%8e\(path)",
            "\(path)%00", "/\(first)%00\(rest)",
            "\(path)#\(open)", "\(path)%23\(open)", "\(path)?\(open)", "\(path)?/../..\(open)", "\(path)%3f\(open)",
            "\(path)/", "\(path)/.", "\(path)%20", "\(path)/x", "\(path)//x", "\(path);a/x", "\(path)%2Fx",
            "\(encoded)/x", path.capitalized, path.uppercased() + "/x",
            "/\(first)::$DATA\(rest)", "/\(first):$I30:$INDEX_ALLOCATION\(rest)", "\(path)%3A%3A$DATA", "\(path):x",
            "\(path)%09", "/\(first).\(rest)", "/\(first)%20\(rest)", path.uppercased(),
            "http://\(Request.host)\(path)", "http://\(Request.host)/\(path)",
            "http://\(Request.host)\(encoded)", "//\(Request.host)\(path)", "/%2F\(relative)", "/%2f%2f\(relative)",
            "\(relative)", "*",
            "\(open)/..%00\(path)", "/\t\(relative)", "\(open)?\(path)",
        ]
    }

    /// A set of routes, and the files that they protect.
    private struct Pair {
        var routes: String
        var protected: [String]
        var open: String
    }

    private static let pairs = [
        Pair(
            routes: "  - path: /**\n    auth: public\n  - path: /admin/**\n",
            protected: ["/admin/secret.html", "/admin/deep/secret.html"],
            open: "/public"
        ),
        Pair(
            routes: "  - path: /**\n  - path: /public/**\n    auth: public\n",
            protected: ["/admin/secret.html", "/secret.html"],
            open: "/public"
        ),
        Pair(
            routes: "  - path: /**\n    auth: public\n  - path: /admin/secret.html\n",
            protected: ["/admin/secret.html"],
            open: "/public"
        ),
        Pair(
            routes: "  - path: /**\n    auth: public\n  - path: /*/deep/**\n",
            protected: ["/admin/deep/secret.html"],
            open: "/public"
        ),
        Pair(
            routes:
                "  - path: /admin/**\n  - path: /admin/open/**\n    auth: public\n    allow_encoded_slashes: true\n",
            protected: ["/admin/secret.html"],
            open: "/admin/open"
        ),
        Pair(
            routes:
                "  - path: /**\n    auth: public\n    allow_encoded_slashes: true\n  - path: /admin/**\n    allow_encoded_slashes: true\n",
            protected: ["/admin/secret.html"],
            open: "/public"
        ),
    ]

    private func check(_ server: String, _ start: (URL, Int) throws -> Servers.Running) throws {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let root = folder.appending(path: "root")
        let files = ["admin/secret.html", "admin/deep/secret.html", "secret.html"]
        for file in files + ["admin/open/index.html", "public/index.html", "public/x/index.html"] {
            let url = root.appending(path: file)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try (files.contains(file) ? "PROTECTED" : "open").write(to: url, atomically: true, encoding: .utf8)
        }
        let port = try ServerPorts.take()
        let running = try start(folder, port)
        defer { running.stop() }
        for pair in Self.pairs {
            try Gateway.with(Config.file(upstream: port, routes: pair.routes)) { gateway throws in
                let token = "Authorization: Bearer \(try gateway.native())"
                for path in pair.protected {
                    let control = try gateway.get(path, [token])
                    #expect(
                        control.status == 200 && control.text.contains("PROTECTED"),
                        "\(server): \(path): \(control.lines)"
                    )
                    for target in Self.spellings(path, beside: pair.open) {
                        for (method, fields) in [
                            ("GET", []), ("POST", ["Content-Length: 0"]),
                            ("GET", ["X-Original-URL: \(path)", "X-Rewrite-URL: \(path)"]),
                        ] {
                            let wire = try gateway.connect()
                            wire.send(Request.get(target, fields + ["Connection: close"], method: method))
                            let answer = String(latin1: wire.receiveAll().bytes)
                            #expect(
                                answer.hasPrefix("HTTP/1.1 "),
                                "\(server): \(method) \(target): \(answer.prefix(200))"
                            )
                            #expect(
                                !answer.contains("PROTECTED"),
                                "\(server) served it: \(method) \(target)\n\(pair.routes)"
                            )
                        }
                    }
                }
            }
        }
    }

    @Test("nginx serves no protected file to an anonymous client")
    func nginx() throws {
        guard let program = Servers.find(["/usr/sbin/nginx"]) else { try Servers.missing("nginx") }
        try self.check("nginx") { folder, port in
            let settings = """
                daemon off;
                master_process off;
                user root;
                pid nginx.pid;
                error_log error.log;
                events { worker_connections 256; }
                http {
                    access_log off;
                    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
                    default_type text/html;
                    server { listen 127.0.0.1:\(port); root \(folder.path)/root; error_page 405 =200 $uri; }
                }
                """
            try settings.write(to: folder.appending(path: "nginx.conf"), atomically: true, encoding: .utf8)
            return try Servers.Running(
                program,
                ["-p", folder.path, "-c", "nginx.conf", "-e", "error.log"],
                in: folder,
                port: port
            )
        }
    }

    @Test("Apache serves no protected file to an anonymous client")
    func apache() throws {
        let modules = "/usr/lib/apache2/modules"
        guard let program = Servers.find(["/usr/sbin/apache2"]), FileManager.default.fileExists(atPath: modules) else {
            try Servers.missing("apache2")
        }
        try self.check("Apache") { folder, port in
            let settings = """
                ServerRoot \(folder.path)
                ServerName \(Request.host)
                Listen 127.0.0.1:\(port)
                PidFile \(folder.path)/apache.pid
                ErrorLog \(folder.path)/error.log
                LoadModule mpm_event_module \(modules)/mod_mpm_event.so
                LoadModule authz_core_module \(modules)/mod_authz_core.so
                LoadModule dir_module \(modules)/mod_dir.so
                DocumentRoot \(folder.path)/root
                AllowEncodedSlashes On
                <Directory />
                Require all granted
                </Directory>
                """
            try settings.write(to: folder.appending(path: "apache.conf"), atomically: true, encoding: .utf8)
            return try Servers.Running(
                program,
                ["-X", "-f", folder.appending(path: "apache.conf").path],
                in: folder,
                port: port
            )
        }
    }

    @Test("Python's server serves no protected file to an anonymous client")
    func python() throws {
        guard let program = Servers.find(["/usr/bin/python3"]) else { try Servers.missing("python3") }
        try self.check("Python") { folder, port in
            try Servers.Running(
                program,
                [
                    "-m", "http.server", "\(port)", "--bind", "127.0.0.1", "--directory",
                    folder.appending(path: "root").path,
                ],
                in: folder,
                port: port
            )
        }
    }
}
