import Foundation
import GatewayBench
import Testing

/// What `check --for` makes of each key of routes and upstreams.
@Suite("The keys of routes and upstreams beside another proxy") final class ProxyKeysTests {
    /// With `app.pem` and `app.key`.
    private let folder: URL

    init() throws {
        self.folder = try Servers.folder()
        let made = try Servers.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                "/CN=app",
                "-keyout", self.folder.appending(path: "app.key").path, "-out",
                self.folder.appending(path: "app.pem").path,
            ]
        )
        try #require(made.status == 0, "\(made.output)")
    }

    deinit { try? FileManager.default.removeItem(at: self.folder) }

    private static let proxies = ["nginx", "traefik", "caddy", "envoy", "haproxy", "ingress-nginx", "gateway-api"]

    /// What the gateway does when it is asked, so that the proxy need not know it.
    private static let judged: Set = [
        "name", "path", "path_info", "methods", "audience", "auth", "require", "unauthenticated", "client", "handoff",
        "binding", "binding_action", "bearer", "allow_encoded_slashes", "trusted_origins", "cache",
        "identity_encoding",
    ]

    /// A value of each other key of a route, as it differs from the default.
    private static let routes = [
        "upstream": "other", "host": "inner.example.com", "strip_prefix": "/part", "add_prefix": "/v2",
        "request_headers": "{remove: [X-Debug]}", "response_headers": "{set: {X-Frame-Options: DENY}}",
        "early_hints": "false", "cors": "{origins: [\"https://a.example\"]}", "max_body": "7KiB",
        "timeouts": "{response: 7s}",
    ]

    /// The same for an upstream, with what else the key needs.
    private static let upstreams: [String: [String]] = [
        "url": [], "servers": ["servers: [{url: \"https://a.internal:8443\", weight: 2}, \"https://c.internal\"]"],
        "balance": ["balance: round_robin"], "health": ["health: {path: /healthz}"], "slow_start": ["slow_start: 30s"],
        "retry_on": ["retry_on: [503]"], "ca_file": ["ca_file: app.pem"],
        "certificate_file": ["certificate_file: app.pem", "key_file: app.key"],
        "key_file": ["certificate_file: app.pem", "key_file: app.key"],
        "server_name": ["server_name: app.internal"], "max_connections": ["max_connections: 7"],
        "client_share": ["client_share: 60"],
        "max_queue": ["max_queue: 7"], "reuse": ["reuse: strict"], "answers": ["answers: lenient"],
        "dns_refresh": ["dns_refresh: 7s"],
    ]

    /// The names of the keys in a section of the schema.
    private static func keys(_ section: [String]) throws -> Set<String> {
        let file = Gateway.root.appending(path: "Config/sallyport.schema.json")
        var schema = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any]
        for name in section { schema = schema?[name] as? [String: Any] }
        return Set(try #require(schema?["properties"] as? [String: Any]).keys)
    }

    private static func settings(route: [String] = [], upstream: [String]) -> String {
        let upstream =
            upstream.contains { $0.hasPrefix("servers:") || $0.hasPrefix("url:") }
            ? upstream : ["servers: [\"https://a.internal\", \"https://b.internal\"]"] + upstream
        return """
            public_url: https://app.example.com
            routes:
              - {path: /**, auth: public, upstream: app}
              - path: /part/**
                auth: public
            \((route.contains { $0.hasPrefix("upstream:") } ? route : ["upstream: app"] + route).map { "    \($0)" }.joined(separator: "\n"))
            upstreams:
              app:
            \(upstream.map { "    \($0)" }.joined(separator: "\n"))
              other: {url: "https://other.internal"}
            provider: {oidc: {issuer: "https://id.example.com", client_id: a, client_authentication: none}}
            authorization: {listen: 127.0.0.1:9092, peers: [127.0.0.1]}

            """
    }

    /// What goes to standard output but the warnings, the warnings there, and those on standard error.
    private func print(_ proxy: String, _ settings: String) throws -> (
        text: [String], warnings: [String], errors: [String]
    ) {
        let file = self.folder.appending(path: "sallyport.yaml")
        try settings.write(to: file, atomically: true, encoding: .utf8)
        func lines(_ redirection: String) throws -> [String] {
            let script = "exec \"$0\" check --config \"$1\" --for \"$2\" \(redirection)"
            let result = try Servers.run("/bin/sh", ["-c", script, Gateway.binary.path, file.path, proxy])
            #expect(result.status == 0, "\(proxy): \(result.output)\n\(settings)")
            return result.output.split(separator: "\n").map(String.init)
        }
        let printed = try lines("2>/dev/null")
        return (
            printed.filter { !$0.hasPrefix("# WARNING: ") }, printed.filter { $0.hasPrefix("# WARNING: ") },
            try lines("2>&1 >/dev/null")
        )
    }

    @Test("Each key that the schema has is known here, so that no new one is left out silently")
    func known() throws {
        let routes = try Self.keys(["properties", "routes", "items"])
        #expect(routes == Self.judged.union(Self.routes.keys))
        let upstreams = try Self.keys(["properties", "upstreams", "additionalProperties"])
        #expect(upstreams == Set(Self.upstreams.keys))
    }

    @Test(
        "Each key changes what is printed, or is named in a warning with its place, on standard error, too",
        arguments: proxies
    )
    func told(_ proxy: String) throws {
        let plain = try self.print(proxy, Self.settings(upstream: []))
        func expect(_ key: String, at place: String, _ settings: String) throws {
            let printed = try self.print(proxy, settings)
            let named = printed.errors.filter { line in
                line.hasPrefix("# WARNING: ") && line.contains(place) && line.contains(key)
            }
            #expect(!named.isEmpty || printed.text != plain.text, "\(proxy): nothing of \(key) in \(printed.warnings)")
            #expect(named.allSatisfy(printed.warnings.contains), "\(proxy) \(key): \(printed.warnings)")
        }
        for (key, value) in Self.routes.sorted(by: { $0.key < $1.key }) {
            let place = "https://app.example.com/part/**"
            try expect(key, at: place, Self.settings(route: ["\(key): \(value)"], upstream: []))
        }
        for (key, lines) in Self.upstreams.sorted(by: { $0.key < $1.key }) {
            let lines = key == "url" ? ["url: \"https://a.internal:9443\""] : lines
            try expect(key, at: "upstreams.app: ", Self.settings(upstream: lines))
        }
    }

    @Test(
        "Where a proxy has a directive for an app's files, they are printed",
        arguments: ["traefik", "caddy", "envoy", "nginx"]
    )
    func files(_ proxy: String) throws {
        let files = ["ca_file: app.pem", "certificate_file: app.pem", "key_file: app.key"]
        let printed = try self.print(proxy, Self.settings(upstream: files))
        let text = printed.text.joined(separator: "\n")
        let keys = text.matches(of: /app\.key\b/).count
        // With each key its certificate, which is also the authority.
        #expect(keys > 0 && text.matches(of: /app\.pem\b/).count == 2 * keys, "\(text)")
        #expect(!printed.errors.contains { $0.contains("ca_file") }, "\(printed.errors)")
    }

    @Test(
        "The proxy finds an app's files by their whole paths, also if these have a space",
        arguments: ["traefik", "caddy", "envoy", "nginx", "haproxy"]
    )
    func paths(_ proxy: String) throws {
        let certificates = self.folder.appending(path: "my files")
        try FileManager.default.createDirectory(at: certificates, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            at: self.folder.appending(path: "app.pem"),
            to: certificates.appending(path: "app.pem")
        )
        let file = self.folder.appending(path: "sallyport.yaml")
        let settings = Self.settings(upstream: ["ca_file: my files/app.pem"])
        try settings.write(to: file, atomically: true, encoding: .utf8)
        let script = "cd \"$1\" && exec \"$0\" check --config sallyport.yaml --for \"$2\" 2>/dev/null"
        let arguments = ["-c", script, Gateway.binary.path, self.folder.path, proxy]
        let printed = try Servers.run("/bin/sh", arguments).output
        #expect(printed.contains("\"\(certificates.path)/app.pem\""), "\(printed)")
    }

    @Test(
        "Where a route is for certain methods, no client asks the app for another one",
        arguments: [
            ("nginx", "proxy_set_header x-http-method-override"), ("caddy", "request_header -x-http-method-override"),
            ("traefik", "|x.http.method.override|"), ("envoy", "|x.http.method.override|"),
            ("haproxy", "|x.http.method.override|"),
        ]
    )
    func methods(_ proxy: String, _ text: String) throws {
        let limited = try self.print(proxy, Self.settings(route: ["methods: [GET]"], upstream: []))
        #expect(limited.text.contains { $0.contains(text) }, "\(limited.text)")
        // Else it is for the app to read, as behind the gateway.
        #expect(
            try !self.print(proxy, Self.settings(upstream: [])).text.contains {
                $0.contains("method-override") || $0.contains("method.override")
            }
        )
    }

    @Test("explain says what the app gets from the proxy, and what of its route it does not get", arguments: proxies)
    func explanation(_ proxy: String) throws {
        let file = self.folder.appending(path: "sallyport.yaml")
        let route = ["strip_prefix: /part", "host: inner.example.com"]
        try Self.settings(route: route, upstream: []).write(to: file, atomically: true, encoding: .utf8)
        func explain(_ path: String) throws -> String {
            let arguments = [
                "explain", "--config", file.path, "--via", proxy, "--url", "https://app.example.com\(path)",
            ]
            return try Servers.run(Gateway.binary.path, arguments).output
        }
        let part = try explain("/part/x")
        #expect(part.contains("what the app gets from the proxy\n"), "\(part)")
        #expect(part.contains("the proxy does not apply these keys of the route: host, strip_prefix"), "\(part)")
        let other = try explain("/x")
        #expect(other.contains("what the app gets from the proxy\n") && !other.contains("does not apply"), "\(other)")
        #expect(!(try explain("/.sallyport/login")).contains("what the app gets from the proxy"))
    }
}
