import Foundation
import GatewayBench

/// The configuration of each proxy: what `sallyport check --for` prints for the settings of the test, with the addresses of
/// the test.
extension Proxy {
    /// The identity of a user.
    static let identity =
        ["Subject", "Session-Id", "Email", "Name", "Groups", "Aal", "Methods", "Authenticated-At", "Origin", "Actor"]
        .map { "X-Auth-\($0)" }

    /// What `check` calls it.
    private var kind: String {
        switch self {
        case .caddy, .oldCaddy: "caddy"
        case .nginx, .envoy, .haproxy, .traefik: self.rawValue
        }
    }

    /// What `check` prints for a gateway.
    func printed(for gateway: Gateway) throws -> String {
        let settings = gateway.folder.appending(path: "settings.yaml").path
        let result = try Servers.run(
            Gateway.binary.path,
            ["check", "--config", settings, "--insecure-http", "--insecure-unnamed-proxy", "--for", self.kind]
        )
        guard result.status == 0 else { throw BenchFailure("check --for \(self.kind): \(result.output)") }
        return result.output
    }

    /// A configuration of nginx with one server.
    static func nginx(_ server: String) -> String {
        "events {}\nhttp {\nserver {\nlisten 80;\n\(server)\n}\n}\n"
    }

    /// The names and texts of its files.
    func files(_ printed: String, _ places: ProxyPlaces, in folder: URL) throws -> [String: String] {
        var text = printed
        func replace(_ old: String, _ new: String) throws {
            guard text.contains(old) else { throw BenchFailure("no \(old) in what check prints: \(printed)") }
            text.replace(old, with: new)
        }
        let port = places.hasPort ? "\(places.proxy)" : "80"
        switch self {
        case .nginx:
            try replace("listen \(port);", "listen 127.0.0.1:\(places.proxy);")
            try replace("events {}", "daemon off;\nuser root;\nworker_processes 1;\npid nginx.pid;\nevents {}")
            try replace(
                "http {\n",
                """
                http {
                    access_log off;
                    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fcgi;
                    uwsgi_temp_path uwsgi; scgi_temp_path scgi;

                """
            )
            return ["nginx.conf": Self.withReplacedPage(text)]
        case .caddy, .oldCaddy:
            let global = "admin off\nauto_https off\nhttp_port \(places.proxy)\ndefault_bind 127.0.0.1\n"
            return ["Caddyfile": "{\n\(global)}\n\(text)"]
        case .envoy:
            try replace(
                "{address: 0.0.0.0, port_value: \(port)}",
                "{address: 127.0.0.1, port_value: \(places.proxy)}"
            )
            return ["envoy.yaml": text]
        case .haproxy:
            try replace("bind :\(port)", "bind 127.0.0.1:\(places.proxy)")
            try replace("/etc/haproxy/sallyport.lua", folder.appending(path: "sallyport.lua").path)
            let lua = Gateway.root.appending(path: "deploy/proxies/sallyport.lua")
            return ["haproxy.cfg": text, "sallyport.lua": try String(contentsOf: lua, encoding: .utf8)]
        case .traefik: return ["traefik.yaml": Self.traefik(at: places.proxy), "routes.yaml": text]
        }
    }

    /// Traefik's own settings, beside what a file says of requests.
    static func traefik(at port: Int) -> String {
        """
        global: {checkNewVersion: false, sendAnonymousUsage: false}
        log: {level: ERROR}
        entryPoints: {web: {address: "127.0.0.1:\(port)"}}
        providers: {file: {filename: routes.yaml, watch: false}}

        """
    }

    /// The same with a copy of the location of all paths, in which nginx replaces missing pages by another one.
    private static func withReplacedPage(_ text: String) -> String {
        let start = "        location / {\n"
        let end = "\n        }\n"
        guard let first = text.range(of: start),
            let last = text.range(of: end, range: first.upperBound..<text.endIndex)
        else { return text }
        let body = text[first.upperBound..<last.upperBound]
        let own =
            "        location /again/ {\n            proxy_intercept_errors on;\n"
            + "            error_page 404 = /again/instead;\n\(body)"
        return text.replacingCharacters(in: first.lowerBound..<first.lowerBound, with: own)
    }
}
